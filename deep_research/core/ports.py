"""What a run needs from outside, as Protocols: implement one and it can be plugged in.

Two rings. *Plugins* (`LLM`, `SearchEngine`, `PageReader`, `Exporter`) are what users swap:
structural, no base class. *Seams* (`Outside`, `Researcher`, `Planner`, `Writer`, `Emit`) are how
the core sees the layers round it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .budget import Budget
from .events import Event
from .merge import Bank
from .model import (
    Brief,
    Decision,
    Failure,
    Findings,
    Page,
    Path,
    ResearchNode,
    Shape,
    Source,
    Usage,
)
from .report import Report

# --- plugins -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a language model.

    Attributes:
        role: Whose work it is: 'planner', 'reader' or 'writer'; the configuration maps roles to
            models.
        system: Stable instructions; equal for all calls of a step, so that providers can cache
            them.
        user: The task; stable parts first. Text from pages stands between tags and is data, never
            instruction.
        schema: JSON schema of the answer, or None for plain text.
        name: Short name of the answer's schema, for providers that want one.
        max_tokens: Longest answer, in tokens.
    """

    role: str
    system: str
    user: str
    schema: Mapping[str, Any] | None = None
    name: str = "answer"
    max_tokens: int = 2000


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer.

    Attributes:
        text: The answer without reasoning.
        model: Name of the model that gave it.
        finish: 'stop', 'length' (cut off) or the provider's own word.
        input_tokens: As the provider counted, or an estimate if `estimated`.
        output_tokens: Likewise, reasoning included.
        cost: Micro-dollars, or None if the price is unknown.
        estimated: Whether the counts are estimates.
    """

    text: str
    model: str = ""
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | None = None
    estimated: bool = False


class LLM(Protocol):
    """A language model, or several behind one endpoint."""

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer `prompt`. Raises only `ProviderError`s; never retries by itself."""
        ...

    def worst_case(self, prompt: Prompt) -> Mapping[str, int]:
        """Return the upper bound of one call as budget amounts.

        'calls', 'tokens' and, if the price is known, 'cost' in micro-dollars.
        """
        ...


class SearchEngine(Protocol):
    """A search engine or an index of documents."""

    name: str

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        """Return at most `limit` hits, best first; none found is an empty sequence, no error."""
        ...


class PageReader(Protocol):
    """Turns a source into a page of text."""

    async def read(self, source: Source) -> Page:
        """Fetch and extract. Raises `PageUnreadable`, `Refused` or another `ProviderError`."""
        ...


class Exporter(Protocol):
    """Renders a report in one format. `suffix` is the file's ending without the dot."""

    suffix: str

    def export(self, report: Report) -> bytes:
        """Return the file's bytes. Pure: no I/O."""
        ...


class ProgressSink(Protocol):
    """Whoever listens to events; must be quick and must not raise (the stream guards it)."""

    def emit(self, event: Event) -> None: ...


# --- seams -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Scope:
    """On whose account calls are made: the node, its budget, what it used, what it went without."""

    path: Path = ()
    budget: Budget = field(default_factory=Budget)
    usage: Usage = field(default_factory=Usage)
    mishaps: list[Failure] = field(default_factory=list)


class Outside(Protocol):
    """Every outside call of a run passes here: permit, budget, retry, timeout, events, record.

    A permit is held for one call, never while waiting to try again. All raise `DeepResearchError`s
    only.
    """

    async def complete(self, prompt: Prompt, scope: Scope, step: str) -> Completion:
        """Ask the model that plays `prompt.role`."""
        ...

    async def search(self, query: str, scope: Scope) -> Sequence[Source]:
        """Ask all configured engines; merged, canonical, de-duplicated, best first.

        An engine that fails is reported and the others count. Raises only if all of them fail.
        """
        ...

    async def read(self, source: Source, scope: Scope) -> Page:
        """Read a page, once per URL and run, whoever asks."""
        ...


class Emit(Protocol):
    """Tells the run's stream that something happened. Never blocks, never raises."""

    def __call__(self, event: Event, /) -> None: ...


class Researcher(Protocol):
    """A nested researcher: answers one query with its own searching, reading and learning."""

    async def investigate(self, node: ResearchNode, brief: Brief, scope: Scope) -> Findings:
        """Return what `node.query` brought.

        May use `node.known`, `node.asked` and `node.read`, nothing of siblings.
        """
        ...


class Planner(Protocol):
    """Turns a question into a brief, and decides after each node what to ask next."""

    async def brief(self, question: str, scope: Scope) -> Brief:
        """Say what is to be researched. Falls back to the bare question rather than fail."""
        ...

    async def decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Delegate at most `shape.breadth` queries below `node`, or stop with a reason."""
        ...


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a draft; `evidence` are ids of `Bank.items`, paragraphs count from 0."""

    text: str
    evidence: tuple[int, ...] = ()
    paragraph: int = 0


@dataclass(frozen=True, slots=True)
class DraftSection:
    """A heading with its sentences, before numbering."""

    title: str
    sentences: tuple[Sentence, ...]


class Writer(Protocol):
    """Turns the bank into sections. It cites ids of the bank; code renders numbers and URLs."""

    async def write(self, brief: Brief, bank: Bank, scope: Scope) -> tuple[DraftSection, ...]:
        """Write all sections. Raises `DeepResearchError` if it cannot: then a plainer one does."""
        ...

    async def rewrite(
        self, sentence: Sentence, missing: Sequence[str], bank: Bank, brief: Brief, scope: Scope
    ) -> Sentence:
        """Say it again so that the quotes carry it; called once for each that failed the check."""
        ...
