"""The standard nested researcher: search, choose pages, read, learn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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
        hits, failures = await self._search(node, scope)
        failures.extend(scope.mishaps)
        wanted = list(self.learner.choose(node, brief, hits))
        # The root's texts are two wordings of one subject; a branch's are different things.
        subjects = len(node.query.texts) if node.path else 1
        pages = await self._read(wanted, subjects, scope, failures)
        read = tuple(dict.fromkeys(same_page(p.source.url) for p in pages))
        if not pages:
            return Findings(failures=tuple(failures))
        node.findings = Findings(read=read, failures=tuple(failures))  # kept if learning fails
        lesson = await self.learner.learn(node, brief, pages, scope)
        for mishap in lesson.failures:
            data = {"message": mishap.message, "kind": mishap.kind}
            self.emit(Event(Kind.WARNING, node.path, data))
        self.emit(
            Event(
                Kind.LEARNED,
                node.path,
                {
                    "learnings": len(lesson.learnings),
                    "follow_ups": [q.text for q in lesson.follow_ups],
                    "texts": [learning.text for learning in lesson.learnings],
                },
            )
        )
        return Findings(lesson.learnings, lesson.follow_ups, read, (*failures, *lesson.failures))

    async def _search(
        self, node: ResearchNode, scope: Scope
    ) -> tuple[list[Sequence[Source]], list[Failure]]:
        """One list of hits per text. A text that fails is a failure; all of them is an error."""

        async def one(text: str) -> Sequence[Source] | DeepResearchError:
            try:
                found = await self.outside.search(text, scope)
            except DeepResearchError as error:
                return error
            data = {"query": text, "hits": len(found)}
            self.emit(Event(Kind.SEARCHED, node.path, data))
            return found

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(text)) for text in node.query.texts]
        hits: list[Sequence[Source]] = []
        errors: list[DeepResearchError] = []
        for task in tasks:
            answer = task.result()
            if isinstance(answer, DeepResearchError):
                errors.append(answer)
            else:
                hits.append(answer)
        if not hits:
            raise errors[0]
        return hits, [Failure.of(e, node.path) for e in errors]

    async def _read(
        self, wanted: list[Source], queries: int, scope: Scope, failures: list[Failure]
    ) -> list[Page]:
        """Read the best pages at once; if most of them fail, the next best in a second go."""
        goal = self.pages_per_query * queries
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
            for page in await self._read_all(batch, scope, failures):
                if all(page.sha256 != other.sha256 for other in pages):
                    pages.append(page)
        return pages

    async def _read_all(
        self, sources: list[Source], scope: Scope, failures: list[Failure]
    ) -> list[Page]:
        async def one(source: Source) -> Page | Failure:
            try:
                return await self.outside.read(source, scope)
            except DeepResearchError as error:
                said = str(error)
                told = said if source.url in said else f"{source.url}: {said}"
                return Failure(error.kind, told, scope.path)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(source)) for source in sources]
        answers = [task.result() for task in tasks]
        failures.extend(a for a in answers if isinstance(a, Failure))
        return [a for a in answers if isinstance(a, Page)]
