"""The nouns of a research run: plain data, no I/O, imported by everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from .errors import DeepResearchError

Path = tuple[int, ...]
"""Where a node stands in the tree: () is the root, (1, 0) the first child of the second branch."""


@dataclass(frozen=True, slots=True)
class Query:
    """What one branch looks for.

    Attributes:
        text: What is typed into the search engine.
        goal: What the answer is wanted for, in words.
        also: Further search texts of the same branch: follow-ups that the breadth left over ride
            along here.
        gain: How much news it promises, 0 to 1: the share of news in the result that it came from.
    """

    text: str
    goal: str = ""
    also: tuple[str, ...] = ()
    gain: float = 1.0

    @property
    def texts(self) -> tuple[str, ...]:
        """All search texts of this query, the main one first."""
        return (self.text, *self.also)


@dataclass(frozen=True, slots=True)
class Source:
    """A search hit. `url` is canonical; `published` is an ISO date or ''; `rank` counts from 0."""

    url: str
    title: str = ""
    snippet: str = ""
    engine: str = ""
    rank: int = 0
    published: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The saved text of a source; quotes point into `text` by character.

    Attributes:
        source: The hit it was read for; `source.url` is the address after redirects.
        text: The whole readable text.
        sha256: Hex digest of `text` in UTF-8; the name of the saved file.
        media_type: As served, for instance 'text/html'.
        fetched_at: ISO 8601 time in UTC.
        marks: (offset, label) of places inside the text, for instance (0, 'p. 1'), in rising order.
    """

    source: Source
    text: str
    sha256: str
    media_type: str = "text/plain"
    fetched_at: str = ""
    marks: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words on a saved page: `page.text[start:end] == quote`."""

    source: Source
    sha256: str
    quote: str
    start: int
    end: int
    fetched_at: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Learning:
    """One finding and the words that support it. Without evidence it cannot be cited."""

    text: str
    evidence: tuple[Evidence, ...] = ()
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something ended early, as data: it outlives the exception, the task and the process."""

    kind: str
    message: str
    path: Path = ()

    @classmethod
    def of(cls, error: DeepResearchError, path: Path = ()) -> Failure:
        """Describe `error`, which happened at `path`."""
        return cls(error.kind, str(error), path)


@dataclass(frozen=True, slots=True)
class Findings:
    """What one node brought: what is known now, what to ask next, what was read, what failed."""

    learnings: tuple[Learning, ...] = ()
    follow_ups: tuple[Query, ...] = ()
    read: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens below a node: queries to delegate, or a reason to stop.

    Both only where some queries had to be left out: then `stop` says why. What is worth asking but
    has no place here is `queued` for a later turn of the supervisor, the best first.
    """

    delegate: tuple[Query, ...] = ()
    stop: str = ""
    queued: tuple[Query, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How wide and how deep the tree may still grow from here.

    Attributes:
        breadth: Branches below one node, at least 1.
        depth: Levels still to come, at least 0.
        min_breadth: Halving stops here (default 2), but a tree of breadth 1 stays a path.
        per_branch: Search texts that one branch may carry (default 2), so that what the breadth
            leaves over is not lost.
    """

    breadth: int
    depth: int
    min_breadth: int = 2
    per_branch: int = 2

    @property
    def room(self) -> int:
        """How many follow-ups can still be used below this node."""
        return self.places if self.depth > 0 else 0

    @property
    def places(self) -> int:
        """How many search texts the branches of one level take."""
        return self.breadth * self.per_branch

    def deeper(self) -> Shape:
        """Return the shape one level down: half as wide, never wider, never 0."""
        floor = min(self.breadth, self.min_breadth)
        return replace(self, breadth=max(self.breadth // 2, floor, 1), depth=self.depth - 1)

    def size(self) -> int:
        """Count the nodes that this shape allows below the root (4×2: 12, 4×3: 28)."""
        return self.breadth * (1 + self.deeper().size()) if self.depth > 0 else 0


class Status(StrEnum):
    """Where a node stands; only the task that owns it moves it on."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class Usage:
    """What was spent. `cost` is in micro-dollars, or None as soon as one price was unknown."""

    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | None = 0
    searches: int = 0
    pages: int = 0
    seconds: float = 0.0

    def add(self, other: Usage) -> None:
        """Add `other` in place; an unknown cost stays unknown. `seconds` is not added."""
        self.llm_calls += other.llm_calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        self.searches += other.searches
        self.pages += other.pages


@dataclass(frozen=True, slots=True)
class Brief:
    """What the run researches against.

    Attributes:
        question: The person's own words, never changed.
        scope: What is in and out, in a sentence or two.
        language: ISO 639-1 code of the report's language.
        outline: Headings that a good answer would have.
        queries: The first search texts, broad.
        acceptance: What a good answer must contain, one thing each: the critic ticks it off.
        lookup: Whether one search can answer it.
        leads: What earlier runs established, as text: to verify, never evidence.
    """

    question: str
    scope: str = ""
    language: str = "en"
    outline: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    lookup: bool = False
    leads: tuple[str, ...] = ()


@dataclass(slots=True)
class ResearchNode:
    """One query, what was learned from it, and the nodes that grew out of it.

    `known`, `asked` and `read` come from its ancestors: with the query, all that a node may depend
    on. `room` is how many follow-ups can still be used below it. `news` is the share of what it
    learned (0 to 1) that was not known; `dry` counts the results without news in a row that end
    with it. `failure` ended the node; `mishaps` are what it went on without.
    """

    query: Query
    path: Path = ()
    known: tuple[Learning, ...] = field(default=(), repr=False)
    asked: tuple[str, ...] = field(default=(), repr=False)
    read: frozenset[str] = field(default=frozenset(), repr=False)
    room: int = 0
    news: float = 0.0
    dry: int = 0
    findings: Findings = field(default_factory=Findings)
    decision: Decision = field(default_factory=Decision)
    children: list[ResearchNode] = field(default_factory=list)
    status: Status = Status.PENDING
    failure: Failure | None = None
    mishaps: tuple[Failure, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def branch(self, queries: tuple[Query, ...]) -> list[ResearchNode]:
        """Attach one child per query, in the planner's order, and return them."""
        asked = dict.fromkeys((*self.asked, *_texts((self.query, *queries))))
        return self._attach(
            queries,
            known=(*self.known, *self.findings.learnings),
            asked=tuple(asked),
            read=self.read | frozenset(self.findings.read),
            dry=self.dry,
        )

    def extend(self, queries: tuple[Query, ...]) -> list[ResearchNode]:
        """Attach one more child per query; all that the settled tree knows is known to them."""
        nodes = list(self.walk())
        asked = dict.fromkeys(_texts((*(node.query for node in nodes), *queries)))
        return self._attach(
            queries,
            known=tuple(x for node in nodes for x in node.findings.learnings),
            asked=tuple(asked),
            read=frozenset(url for node in nodes for url in node.findings.read),
            dry=0,
        )

    def _attach(
        self,
        queries: tuple[Query, ...],
        *,
        known: tuple[Learning, ...],
        asked: tuple[str, ...],
        read: frozenset[str],
        dry: int,
    ) -> list[ResearchNode]:
        first = len(self.children)
        new = [
            ResearchNode(query, (*self.path, i), known, asked, read, dry=dry)
            for i, query in enumerate(queries, first)
        ]
        self.children.extend(new)
        return new

    def walk(self) -> Iterator[ResearchNode]:
        """Yield this node and all below it: parents first, siblings in planned order."""
        yield self
        for child in self.children:
            yield from child.walk()


def _texts(queries: Iterable[Query]) -> Iterator[str]:
    for query in queries:
        yield from query.texts
