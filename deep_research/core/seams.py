"""How the core sees the layers round it, as Protocols: seams, where `ports` are what users swap."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

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
    Query,
    ResearchNode,
    Shape,
    Source,
    Usage,
)
from .ports import Completion, Lead, Prompt


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


Clarify = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Asks the person these questions; those that were answered come back with their answers."""

Outline = tuple[tuple[str, tuple[int, ...]], ...]
"""Titles of sections, each with the ids of the bank's items that belong there."""


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

    async def brief(
        self, question: str, scope: Scope, clarify: Clarify, leads: Sequence[Lead]
    ) -> Brief:
        """Say what is to be researched. Falls back to the bare question rather than fail.

        Args:
            question: The person's words.
            scope: On whose account.
            clarify: Asks the person; () comes back where nobody can answer.
            leads: What earlier runs established.
        """
        ...

    async def decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Delegate at most `shape.breadth` queries below `node`, or stop with a reason."""
        ...

    async def decide_turn(
        self, case: Case, review: Review, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Delegate at most `shape.breadth` queries more from the top, or stop with a reason.

        Asked between two rounds, when the tree has settled and the critic wants more research.
        """
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """The state of the research between two rounds: what a critic and a supervisor go by.

    Attributes:
        root: The settled tree.
        bank: What is known.
        turn: Turns taken so far, from 1.
        turns: Turns that there are.
        due: Queries that the findings themselves call for: to break ties, and to try once more what
            failed.
        queued: Follow-ups that no branch had a place for, the most promising first.
        failures: What failed, in words.
    """

    root: ResearchNode
    bank: Bank
    turn: int = 1
    turns: int = 1
    due: tuple[Query, ...] = ()
    queued: tuple[Query, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """What a critic says of the findings.

    Attributes:
        research: Whether it recommends more research rather than writing.
        queries: What to search for next, the most important first.
        gaps: What is missing or stands on one side only, for the report.
        outline: Sections for the report: a title and the ids of the bank's items that belong there.
        reason: Why, in a few words.
        ties: Queries that would settle which of two findings holds: they are due in any case.
        unpaid: Whether there was no budget for a review; then this stands for one.
    """

    research: bool = False
    queries: tuple[Query, ...] = ()
    gaps: tuple[str, ...] = ()
    outline: Outline = ()
    reason: str = ""
    ties: tuple[Query, ...] = ()
    unpaid: bool = False


class Critic(Protocol):
    """Reviews all findings against what a good answer must contain."""

    async def review(self, case: Case, brief: Brief, scope: Scope) -> Review:
        """Say what is missing, one-sided or in conflict, and whether to go on."""
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

    async def write(
        self, brief: Brief, bank: Bank, scope: Scope, outline: Outline = ()
    ) -> tuple[DraftSection, ...]:
        """Write all sections, along `outline` if there is one.

        Raises `DeepResearchError` if it cannot: then a plainer one does.
        """
        ...

    async def rewrite(
        self, sentence: Sentence, missing: Sequence[str], bank: Bank, brief: Brief, scope: Scope
    ) -> Sentence:
        """Say it again so that the quotes carry it; called once for each that failed the check."""
        ...
