"""Doubles for the core's seams, and virtual time: `kit` has them, `virtual` runs a coroutine."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import looptime
import pytest

from deep_research.core.budget import Budget
from deep_research.core.compose import Composer
from deep_research.core.errors import DeepResearchError, ProviderUnavailable
from deep_research.core.events import Event, Kind
from deep_research.core.merge import Bank, Item
from deep_research.core.model import (
    Brief,
    Decision,
    Evidence,
    Findings,
    Learning,
    Page,
    Path,
    Query,
    ResearchNode,
    Shape,
    Source,
)
from deep_research.core.passages import quote_at
from deep_research.core.ports import Lead, Proposal, Verdict
from deep_research.core.report import Report
from deep_research.core.review import PlainCritic, onward
from deep_research.core.seams import (
    Case,
    Clarify,
    DraftSection,
    Outline,
    Review,
    Scope,
    Sentence,
)
from deep_research.core.supervisor import Limits, Supervisor
from deep_research.core.tree import Tree


def run_virtual(main: Coroutine[Any, Any, Any]) -> Any:
    """Run `main` in a fresh loop in which sleeping takes no time."""
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0)) as runner:
        return runner.run(main)


def page(text: str, url: str = "https://a.example/", title: str = "", published: str = "") -> Page:
    """A saved page."""
    source = Source(url, title, published=published)
    return Page(source, text, hashlib.sha256(text.encode()).hexdigest())


def evidence(
    quote: str, url: str = "https://a.example/", published: str = "", title: str = ""
) -> Evidence:
    """Evidence that is the whole text of a page."""
    return quote_at(page(quote, url, title, published), 0, len(quote))


def learning(text: str, *places: Evidence, path: Path = ()) -> Learning:
    """A learning; without places its own words on a page of its own are its evidence."""
    return Learning(text, places or (evidence(text, f"https://{abs(hash(text))}.example/"),), path)


def bank(*texts: str | Learning) -> Bank:
    """A bank of these learnings."""
    learnings = [t if isinstance(t, Learning) else learning(t) for t in texts]
    return Bank(tuple(Item(i, x) for i, x in enumerate(learnings, 1)), (), tuple(learnings))


def draft(*texts: str | Sentence, title: str = "Findings") -> DraftSection:
    """A section; the n-th bare text cites item n."""
    return DraftSection(
        title,
        tuple(t if isinstance(t, Sentence) else Sentence(t, (i,)) for i, t in enumerate(texts, 1)),
    )


@dataclass
class Stream:
    """An `Emit` that keeps everything."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event, /) -> None:
        self.events.append(event)

    def of(self, kind: Kind) -> list[Event]:
        return [e for e in self.events if e.kind is kind]


def grown(node: ResearchNode) -> Findings:
    """One learning named after the path and more follow-ups than any breadth here."""
    name = "-".join(map(str, node.path)) or "root"
    follow_ups = tuple(Query(f"Query {name} number {i}") for i in range(6))
    return Findings((Learning(f"Learned at {name}."),), follow_ups)


@dataclass
class ScriptedResearcher:
    """A `Researcher`: takes `seconds`, spends `spends`, fails where it is told to."""

    seconds: Callable[[Path], float] = lambda _: 1.0
    spends: Callable[[Path], Mapping[str, int]] = lambda _: {}
    fails: Mapping[Path, BaseException] = field(default_factory=dict)
    brings: Callable[[ResearchNode], Findings] = grown
    began: dict[Path, float] = field(default_factory=dict)
    ended: dict[Path, float] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)
    busy: int = 0
    peak: int = 0

    async def investigate(self, node: ResearchNode, brief: Brief, scope: Scope) -> Findings:
        clock = asyncio.get_running_loop().time
        self.began[node.path] = clock()
        self.busy += 1
        self.peak = max(self.peak, self.busy)
        try:
            amounts = self.spends(node.path)
            scope.budget.hold(amounts)
            for name, amount in amounts.items():
                self.spent[name] = self.spent.get(name, 0) + amount
            await asyncio.sleep(self.seconds(node.path))
            if node.path in self.fails:
                raise self.fails[node.path]
            return self.brings(node)
        finally:
            self.busy -= 1
            self.ended[node.path] = clock()


@dataclass
class FollowUps:
    """A `Planner` that delegates the first follow-ups until the depth is used up.

    Further turns go by `turns`, one each; then what is due and open is delegated.
    """

    made: Brief | DeepResearchError | None = None
    seconds: float = 0.0
    fails: Mapping[Path, DeepResearchError] = field(default_factory=dict)
    cap: bool = True
    asks: Sequence[str] = ()
    turns: Sequence[Decision | DeepResearchError] = ()
    cases: list[Case] = field(default_factory=list)
    leads: tuple[Lead, ...] = ()
    told: dict[str, str] = field(default_factory=dict)

    async def brief(
        self, question: str, scope: Scope, clarify: Clarify, leads: Sequence[Lead]
    ) -> Brief:
        await asyncio.sleep(self.seconds)
        if isinstance(self.made, DeepResearchError):
            raise self.made
        self.leads = tuple(leads)
        self.told = dict(await clarify(self.asks))
        return self.made or Brief(question)

    async def decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        if node.path in self.fails:
            raise self.fails[node.path]
        if not self.cap:
            return Decision(node.findings.follow_ups)
        if shape.depth <= 0:
            return Decision(stop="depth")
        asked = node.findings.follow_ups or (Query("A"), Query("B"), Query("C"), Query("D"))
        return Decision(asked[: shape.breadth])

    async def decide_turn(
        self, case: Case, review: Review, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        self.cases.append(case)
        if len(self.cases) > len(self.turns):
            return onward(case, review, shape)
        decision = self.turns[len(self.cases) - 1]
        if isinstance(decision, DeepResearchError):
            raise decision
        return decision


@dataclass
class ScriptedCritic:
    """A `Critic` that says, or raises, one thing after the other; in the end, that it is done."""

    reviews: Sequence[Review | BaseException] = ()
    seconds: float = 0.0
    cases: list[Case] = field(default_factory=list)

    async def review(self, case: Case, brief: Brief, scope: Scope) -> Review:
        self.cases.append(case)
        await asyncio.sleep(self.seconds)
        if len(self.cases) > len(self.reviews):
            return Review()
        review = self.reviews[len(self.cases) - 1]
        if isinstance(review, BaseException):
            raise review
        return review


@dataclass
class ScriptedApprover:
    """An `Approver` that lets `says` decide, after `seconds`."""

    says: Callable[[Proposal], Verdict] = lambda proposal: Verdict(proposal.queries)
    seconds: Callable[[Path], float] = lambda _: 0.0
    asked: list[Proposal] = field(default_factory=list)

    async def approve(self, proposal: Proposal) -> Verdict:
        self.asked.append(proposal)
        await asyncio.sleep(self.seconds(proposal.path))
        return self.says(proposal)


@dataclass
class ScriptedWriter:
    """A `Writer` that returns, or raises, what it is given; counts rewrites."""

    drafts: Sequence[DraftSection] | BaseException = ()
    again: Callable[[Sentence], Awaitable[Sentence]] | None = None
    seconds: float = 0.0
    rewritten: list[str] = field(default_factory=list)
    told: list[Sequence[str]] = field(default_factory=list)
    outlines: list[Outline] = field(default_factory=list)

    async def write(
        self, brief: Brief, bank: Bank, scope: Scope, outline: Outline = ()
    ) -> tuple[DraftSection, ...]:
        self.outlines.append(outline)
        await asyncio.sleep(self.seconds)
        if isinstance(self.drafts, BaseException):
            raise self.drafts
        return tuple(self.drafts) or (
            DraftSection("All", tuple(Sentence(i.learning.text, (i.id,)) for i in bank.items)),
        )

    async def rewrite(
        self, sentence: Sentence, missing: Sequence[str], bank: Bank, brief: Brief, scope: Scope
    ) -> Sentence:
        self.rewritten.append(sentence.text)
        self.told.append(missing)
        return await self.again(sentence) if self.again else sentence


@dataclass
class FakeOutside:
    """An `Outside` over two mappings; what is missing raises, what is an error is raised."""

    hits: Mapping[str, Sequence[Source] | DeepResearchError] = field(default_factory=dict)
    pages: Mapping[str, str | DeepResearchError] = field(default_factory=dict)
    searched: list[str] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)

    async def search(self, query: str, scope: Scope) -> Sequence[Source]:
        self.searched.append(query)
        found = self.hits.get(query, ())
        if isinstance(found, DeepResearchError):
            raise found
        return found

    async def read(self, source: Source, scope: Scope) -> Page:
        scope.budget.hold({"pages": 1})
        self.asked_for.append(source.url)
        text = self.pages.get(source.url, ProviderUnavailable("gone"))
        if isinstance(text, DeepResearchError):
            raise text
        return page(text, source.url, source.title)


async def grow(
    shape: Shape,
    researcher: Any,
    *,
    planner: Any = None,
    permits: int = 99,
    budget: Any = None,
    floor: Any = None,
) -> ResearchNode:
    """Grow a tree and return its root."""
    tree = Tree(
        researcher, planner or FollowUps(), Stream(), asyncio.Semaphore(permits), floor or {}
    )
    root = ResearchNode(Query("Question"))
    await tree.investigate(root, Brief("Question"), shape, budget or Budget())
    return root


def citable(node: ResearchNode) -> Findings:
    """A citable learning like no other node's, and more follow-ups than any breadth here."""
    name = "".join("abcdefghijklmnopqrstuvwxyz"[i] for i in node.path).capitalize() or "Root"
    return Findings((learning(f"{name}ium is one of the metals."),), grown(node).follow_ups)


async def lead_run(
    stream: Stream,
    *,
    researcher: Any = None,
    planner: Any = None,
    writer: Any = None,
    plain: Any = None,
    critic: Any = None,
    approver: Any = None,
    clarifier: Any = None,
    limits: Limits | None = None,
    stop_at: float | None = None,
    permits: int = 4,
    leads: Sequence[Lead] = (),
) -> Report:
    """Lead one whole run; no task may outlive it."""
    planner = planner or FollowUps()
    researcher = researcher or ScriptedResearcher(brings=citable)
    tree = Tree(researcher, planner, stream, asyncio.Semaphore(permits), {"calls": 1})
    composer = Composer(writer or ScriptedWriter(), plain or ScriptedWriter(), stream)
    chief = Supervisor(
        tree, planner, composer, stream, critic or PlainCritic(), approver, clarifier
    )
    stop = asyncio.Event()
    if stop_at is not None:
        asyncio.get_running_loop().call_later(stop_at, stop.set)
    limits = limits or Limits(Shape(2, 2), Budget())
    done = await chief.research("Question?", limits, stop, leads)
    report = await chief.report("r1", done)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return report


@pytest.fixture(scope="session")
def virtual() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine in virtual time."""
    return run_virtual


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """The doubles and makers of this file."""
    return SimpleNamespace(
        page=page,
        evidence=evidence,
        learning=learning,
        bank=bank,
        draft=draft,
        Stream=Stream,
        grown=grown,
        ScriptedResearcher=ScriptedResearcher,
        FollowUps=FollowUps,
        ScriptedCritic=ScriptedCritic,
        ScriptedApprover=ScriptedApprover,
        ScriptedWriter=ScriptedWriter,
        FakeOutside=FakeOutside,
        grow=grow,
        citable=citable,
        lead_run=lead_run,
    )
