"""Searching with several engines: each query text once a run, failing engines rested."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from deep_research.core.errors import (
    ConfigError,
    DeepResearchError,
    ProviderTimeout,
    RateLimited,
)
from deep_research.core.events import Event, Kind
from deep_research.core.model import Failure, Path, Source
from deep_research.core.ports import SearchEngine
from deep_research.core.seams import Emit, Scope
from deep_research.core.text import shorten

from .calls import Call, Patience, guarded
from .hits import fuse, usable
from .once import Once
from .permits import Permits

_COOL_DOWN: Final = 30.0
"""Seconds that an engine rests which asked to slow down without saying for how long."""

_LONGEST: Final = 400
"""Characters of a query: engines refuse longer ones, and no page is about that much at once."""


class Searching:
    """All engines of a run behind one call. What is too long to search for is cut.

    Args:
        engines: Asked together for every query; their order decides ties.
        emit: Is told of every call.
        now: Seconds since the run's gate was first used.
        permits: How many engine calls may be under way.
        patience: When to try again.
        results: Most hits to ask an engine for and to return.
        accept: Whether a hit may be used at all.
        timeout: Seconds for one call.
    """

    def __init__(
        self,
        engines: Sequence[SearchEngine],
        *,
        emit: Emit,
        now: Callable[[], float],
        permits: Permits,
        patience: Patience,
        results: int,
        accept: Callable[[Source], bool],
        timeout: float,
    ) -> None:
        self._engines, self._emit, self._now = tuple(engines), emit, now
        self._permits, self._patience = permits, patience
        self._results, self._accept, self._timeout = results, accept, timeout
        self._once: Once[str, tuple[tuple[Source, ...], tuple[Failure, ...]]] = Once()
        self._rests_until: dict[str, float] = {}

    async def __call__(self, query: str, scope: Scope) -> Sequence[Source]:
        """Return the merged hits; engines that failed beside others are mishaps of the scope.

        A search that failed altogether is given back to the budget.

        Raises:
            BudgetExceeded: No search is left.
            ConfigError: There is no engine.
            ProviderError: All engines failed; the first one's error.
        """
        text = shorten(query, _LONGEST).removesuffix("…")
        if not text:
            return ()
        held = {"searches": 1}
        scope.budget.hold(held)
        try:
            hits, failed = await self._once(text, lambda: self._search(text, scope))
        except DeepResearchError:
            scope.budget.settle(held, {})
            raise
        scope.mishaps.extend(replace(f, path=scope.path) for f in failed)
        return hits

    async def _search(
        self, query: str, scope: Scope
    ) -> tuple[tuple[Source, ...], tuple[Failure, ...]]:
        if not self._engines:
            raise ConfigError("no search engine is configured: name one, or a folder of documents")
        scope.usage.searches += 1
        rested = [e for e in self._engines if self._rests_until.get(_name(e), 0.0) <= self._now()]
        engines = rested or self._engines
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._ask(engine, query, scope.path, alone=len(engines) == 1))
                for engine in engines
            ]
        outcomes = [task.result() for task in tasks]
        answers = [o for o in outcomes if not isinstance(o, DeepResearchError)]
        errors = [o for o in outcomes if isinstance(o, DeepResearchError)]
        if not answers:
            raise errors[0]
        failed = [
            Failure(outcome.kind, f"search with {_name(engine)} failed: {outcome}")
            for engine, outcome in zip(engines, outcomes, strict=True)
            if isinstance(outcome, DeepResearchError)
        ]
        return fuse(answers, self._accept, self._results), tuple(failed)

    async def _ask(
        self, engine: SearchEngine, query: str, path: Path, *, alone: bool
    ) -> list[Source] | DeepResearchError:
        """Ask one engine, several times if need be.

        Only the last engine is waited for when it asks to slow down; with others there it rests.
        """
        name, attempt = _name(engine), 1
        while True:
            result = await self._attempt(engine, query, path, attempt)
            if not isinstance(result, DeepResearchError):
                return result
            hung = isinstance(result, ProviderTimeout)  # it had its time: not asked again
            wait = None if hung else self._patience.wait(result, attempt)
            if isinstance(result, RateLimited):
                self._rests_until[name] = self._now() + (result.retry_after or _COOL_DOWN)
                wait = wait if alone else None
            if wait is None:
                self._warn(path, f"search with {name} failed: {result}", result.kind)
                return result
            await self._patience.sleep(wait)
            attempt += 1

    async def _attempt(
        self, engine: SearchEngine, query: str, path: Path, attempt: int
    ) -> list[Source] | DeepResearchError:
        name = _name(engine)

        async def hits() -> tuple[list[Source], int]:
            return usable(await engine.search(query, limit=self._results))

        async with self._permits:
            known = {"kind": "search", "engine": name, "query": query, "attempt": attempt}
            call = Call(self._emit, self._now, path, known)
            try:
                found, junk = await guarded(name, self._timeout, hits)
            except DeepResearchError as error:
                call.failed(error)
                return error
            call.done(hits=len(found))
            if junk:
                self._warn(path, f"{name}: {junk} hits without a usable address dropped", "junk")
            return found

    def _warn(self, path: Path, message: str, kind: str) -> None:
        self._emit(Event(Kind.WARNING, path, {"message": message, "kind": kind}))


def _name(engine: SearchEngine) -> str:
    return str(getattr(engine, "name", "") or type(engine).__name__)
