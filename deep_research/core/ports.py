"""What a run needs from outside, as Protocols: implement one and it can be plugged in.

Structural, no base class. How the core sees the layers round it stands in `seams`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .events import Event
from .model import Page, Path, Query, Source
from .report import Report


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a language model may call.

    Attributes:
        name: What it is called by.
        description: What it does, for the model.
        parameters: JSON schema of its arguments: an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool; `arguments` is the JSON that it wrote, unchecked."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model said and called in a conversation, and what each call brought.

    Attributes:
        text: What it said beside its calls.
        calls: Its calls, in order.
        results: One text per call, in the same order; without calls, one text that the model is
            told next.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str, ...] = ()


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
        tools: What the model may call. A model that cannot call anything may ignore them and
            answer in text.
        turns: What came after `user` in the same conversation, the oldest first.
    """

    role: str
    system: str
    user: str
    schema: Mapping[str, Any] | None = None
    name: str = "answer"
    max_tokens: int = 2000
    tools: tuple[Tool, ...] = ()
    turns: tuple[Turn, ...] = ()


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
        calls: The tools it wants called, in order; only where the prompt had tools.
        cited: Pages that the provider's own web search names as its sources: to be read and
            checked, never evidence by themselves.
    """

    text: str
    model: str = ""
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | None = None
    estimated: bool = False
    calls: tuple[ToolCall, ...] = ()
    cited: tuple[Source, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a person is asked to approve: the queries of one round of retrieval.

    Attributes:
        path: The node they belong to; () is the question itself.
        queries: What would be searched for, in order.
        reason: Why, in a few words.
    """

    path: Path
    queries: tuple[Query, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person said of a proposal.

    Attributes:
        queries: What may be searched for: all, some, or changed ones; none plans nothing more
            here.
        rejected: Whether the whole run is to end.
        reason: Why, for the record.
    """

    queries: tuple[Query, ...] = ()
    rejected: bool = False
    reason: str = ""


class Approver(Protocol):
    """Whoever says yes or no before anything is searched for."""

    async def approve(self, proposal: Proposal) -> Verdict:
        """Say what of `proposal` may be done."""
        ...


class Clarifier(Protocol):
    """Whoever can say what an ambiguous request means."""

    async def clarify(self, questions: Sequence[str]) -> Sequence[str]:
        """Answer each question; '' where there is no answer, nothing at all to leave it open."""
        ...


@dataclass(frozen=True, slots=True)
class Lead:
    """What an earlier run established: something to verify, never evidence.

    Attributes:
        text: The claim.
        urls: Pages that it stood on.
        date: When that run ended, ISO date.
        published: How old these pages were: the newest of their dates, ISO date, or ''.
    """

    text: str
    urls: tuple[str, ...] = ()
    date: str = ""
    published: str = ""


class Memory(Protocol):
    """What earlier runs established."""

    async def recall(self, question: str) -> Sequence[Lead]:
        """Return what is remembered on the topic of `question`, the most fitting first."""
        ...

    async def remember(self, report: Report) -> None:
        """Keep the verified claims of a finished run."""
        ...
