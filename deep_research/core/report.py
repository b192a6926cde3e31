"""What a run hands over: the report and everything it can be checked by."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .model import Failure, Learning, ResearchNode, Usage


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    NOTHING_FOUND = "nothing_found"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Support(StrEnum):
    """Whether the quotes carry all of the sentence, part of it, none of it, or disagree."""

    VERIFIED = "verified"
    PARTIAL = "partial"
    UNSUPPORTED = "unsupported"
    CONFLICTING = "conflicting"


@dataclass(frozen=True, slots=True)
class Reference:
    """One numbered source of the report; `sha256` names the saved page."""

    n: int
    url: str
    title: str
    published: str
    fetched_at: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A claim's pointer: reference number and the exact words, `page[start:end] == quote`."""

    reference: int
    quote: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One cited sentence of the report. `missing` lists what its quotes do not contain."""

    text: str
    section: str
    support: Support
    citations: tuple[Citation, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report; `text` is Markdown with [n] references."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two learnings that give the same thing different values; `preferred` is the newer one.

    `settled` tells whether their dates decide: one that is open gets a query to break the tie.
    """

    preferred: Learning
    other: Learning
    reason: str
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """What one step used of one model: a row of the report's usage table.

    `cost` is in micro-dollars, or None as soon as one price was unknown.
    """

    step: str
    role: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: int | None


@dataclass(frozen=True, slots=True)
class Round:
    """What came of one turn of the supervisor, and what it decided next.

    Attributes:
        n: Counts from 1.
        learnings: What this turn brought.
        news: Share of it (0 to 1) that nobody knew before.
        verdict: What the critic recommends: 'research' or 'report'.
        gaps: What is missing, as the critic sees it.
        delegated: Search texts of the next turn; empty ends the research.
        stop: Why it ends, in one word; '' while it goes on.
        reason: The critic's or the supervisor's own words.
    """

    n: int
    learnings: int
    news: float
    verdict: str
    gaps: tuple[str, ...] = ()
    delegated: tuple[str, ...] = ()
    stop: str = ""
    reason: str = ""


@dataclass(slots=True)
class Report:
    """The result of a run. `report.json` is this, see `docs/reference/report.md`."""

    run: str
    question: str
    status: RunStatus
    stop_reason: str
    body: str = ""
    sections: tuple[Section, ...] = ()
    claims: tuple[Claim, ...] = ()
    references: tuple[Reference, ...] = ()
    learnings: tuple[Learning, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    gaps: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    tree: ResearchNode | None = None
    usage: Usage = field(default_factory=Usage)
    spent: tuple[Spent, ...] = ()
    rounds: tuple[Round, ...] = ()
    notes: tuple[str, ...] = ()
    config_digest: str = ""
    version: str = ""
