"""The standard nested researcher: search, choose pages, read, learn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from .errors import BudgetExceeded, DeepResearchError
from .events import Event, Kind
from .model import Brief, Failure, Findings, Learning, Page, Query, ResearchNode, Source
from .seams import Emit, Outside, Scope
from .urls import host, same_page


@dataclass(frozen=True, slots=True)
class Lesson:
    """What was learned from some pages, what to ask next, and what was gone on without."""

    learnings: tuple[Learning, ...] = ()
    follow_ups: tuple[Query, ...] = ()
    failures: tuple[Failure, ...] = ()


class Learner(Protocol):
    """The two choices that need judgement: which hits to read, and what the pages say."""

    def choose(
        self, node: ResearchNode, brief: Brief, hits: Sequence[Sequence[Source]]
    ) -> Sequence[Source]:
        """Order the hits worth reading, best first; `hits`: one list per search that answered."""
        ...

    async def learn(
        self, node: ResearchNode, brief: Brief, pages: Sequence[Page], scope: Scope
    ) -> Lesson:
        """Say what the pages tell about the node's query. Called only if there is a page."""
        ...


def unread_first(
    node: ResearchNode, hits: Sequence[Sequence[Source]], *, per_host: int = 3
) -> list[Source]:
    """Take turns between the lists, each page once.

    Last come what ancestors have read and, before that, hits beyond `per_host` of one host.
    """
    longest = max((len(h) for h in hits), default=0)
    turns = [h[i] for i in range(longest) for h in hits if i < len(h)]
    tiers: tuple[list[Source], ...] = ([], [], [])
    seen: set[str] = set()
    crowd: Counter[str] = Counter()
    for source in turns:
        key = same_page(source.url)
        if key in seen:
            continue
        seen.add(key)
        if key in node.read:
            tiers[2].append(source)
            continue
        site = host(source.url)
        crowd[site] += 1
        tiers[bool(site) and crowd[site] > per_host].append(source)
    return [source for tier in tiers for source in tier]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A `Researcher`: searches all texts at once, reads the best pages, has them learned from.

    Attributes:
        outside: Search and reading.
        learner: With or without a language model.
        emit: The run's event stream.
        pages_per_query: Pages to read for each search text; the first look counts as one.
    """

    outside: Outside
    learner: Learner
    emit: Emit
    pages_per_query: int = 6

    async def investigate(self, node: ResearchNode, brief: Brief, scope: Scope) -> Findings:
        """Return what the query brought; failed searches and pages are among its failures.

        Raises:
            DeepResearchError: No search answered at all, or learning failed.
        """
        found = await search_each(self.outside, self.emit, node.query.texts, scope)
        errors = [e for e in found if isinstance(e, DeepResearchError)]
        hits = [h for h in found if not isinstance(h, DeepResearchError)]
        if not hits:
            raise errors[0]
        failures = [*(Failure.of(e, node.path) for e in errors), *scope.mishaps]
        wanted = self.learner.choose(node, brief, hits)
        # The root's texts are two wordings of one subject; a branch's are different things.
        subjects = len(node.query.texts) if node.path else 1
        pages = await read_best(
            self.outside, wanted, self.pages_per_query * subjects, scope, failures
        )
        return await teach(
            self.learner, node, brief, pages, scope=scope, failures=failures, emit=self.emit
        )


async def search_each(
    outside: Outside, emit: Emit, texts: Sequence[str], scope: Scope
) -> list[Sequence[Source] | DeepResearchError]:
    """Search all texts at once; return for each, in order, its hits or why there are none."""

    async def one(text: str) -> Sequence[Source] | DeepResearchError:
        try:
            found = await outside.search(text, scope)
        except DeepResearchError as error:
            return error
        emit(Event(Kind.SEARCHED, scope.path, {"query": text, "hits": len(found)}))
        return found

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(text)) for text in texts]
    return [task.result() for task in tasks]


async def read_each(
    outside: Outside, sources: Sequence[Source], scope: Scope
) -> list[Page | Failure]:
    """Read all sources at once; return for each, in order, its page or why there is none."""

    async def one(source: Source) -> Page | Failure:
        try:
            return await outside.read(source, scope)
        except DeepResearchError as error:
            said = str(error)
            told = said if source.url in said else f"{source.url}: {said}"
            return Failure(error.kind, told, scope.path)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(source)) for source in sources]
    return [task.result() for task in tasks]


async def read_best(
    outside: Outside,
    wanted: Sequence[Source],
    goal: int,
    scope: Scope,
    failures: list[Failure],
) -> list[Page]:
    """Read the best `goal` pages at once; if most of them fail, the next best in a second go.

    What could not be read, or was not for want of budget, is added to `failures`.
    """
    pages: list[Page] = []
    for _ in range(2):
        if len(pages) > goal // 2:
            break
        due = min(goal - len(pages), len(wanted))
        n = min(due, scope.budget.affords({"pages": 1}))
        if n < due:
            cut = f"budget of pages: {due - n} of {due} pages not read"
            failures.append(Failure(BudgetExceeded.kind, cut, scope.path))
        batch, wanted = wanted[:n], wanted[n:]
        for page in await read_each(outside, batch, scope):
            if isinstance(page, Failure):
                failures.append(page)
            elif all(page.sha256 != other.sha256 for other in pages):
                pages.append(page)
    return pages


async def teach(
    learner: Learner,
    node: ResearchNode,
    brief: Brief,
    pages: Sequence[Page],
    *,
    scope: Scope,
    failures: Sequence[Failure],
    emit: Emit,
    also: Sequence[str] = (),
) -> Findings:
    """Have the pages learned from and tell of it; without a page only the failures are left.

    Args:
        learner: Learns.
        node: Whose query it is.
        brief: What the run is about.
        pages: What was read.
        scope: On whose account.
        failures: What went wrong before.
        emit: The run's event stream.
        also: Search texts beyond the node's that found pages: they tell what is wanted of these.

    Raises:
        DeepResearchError: Learning failed; what was read and what failed is kept in the node.
    """
    if not pages:
        return Findings(failures=tuple(failures))
    # What a tool said has no address that could be read again.
    urls = (p.source.url for p in pages if "://" in p.source.url)
    read = tuple(dict.fromkeys(map(same_page, urls)))
    node.findings = Findings(read=read, failures=tuple(failures))
    wanted = replace(node.query, also=(*node.query.also, *also))
    lesson = await learner.learn(replace(node, query=wanted), brief, pages, scope)
    for mishap in lesson.failures:
        data = {"message": mishap.message, "kind": mishap.kind}
        emit(Event(Kind.WARNING, node.path, data))
    learned = {
        "learnings": len(lesson.learnings),
        "follow_ups": [q.text for q in lesson.follow_ups],
        "texts": [learning.text for learning in lesson.learnings],
    }
    emit(Event(Kind.LEARNED, node.path, learned))
    return Findings(lesson.learnings, lesson.follow_ups, read, (*failures, *lesson.failures))
