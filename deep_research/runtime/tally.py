"""How far a run is: counts of the whole tree, made from its events alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deep_research.core.events import Event, Kind
from deep_research.core.model import Path, Usage

_QUICK: Final = 0.02
_SHARE: Final = 9
"""A listener that takes t > 20 ms is left alone for 9 t: it gets a tenth of the time."""


@dataclass(frozen=True, slots=True)
class ResearchProgress:
    """Where a run stands; counts are of the whole tree and never go back.

    Attributes:
        current_depth: Deepest level begun.
        total_depth: Levels of the tree, at most.
        current_breadth: Branches of the question begun.
        total_breadth: Branches of the question, at most.
        current_query: The query begun last.
        completed_queries: Queries that have ended, in whatever way.
        total_queries: Queries planned so far.
        learnings: Learnings so far.
        sources: Pages read so far.
        usage: What was spent so far.
        node: The node that the event happened at; () is the question.
        event: What just happened.
    """

    current_depth: int = 0
    total_depth: int = 0
    current_breadth: int = 0
    total_breadth: int = 0
    current_query: str = ""
    completed_queries: int = 0
    total_queries: int = 0
    learnings: int = 0
    sources: int = 0
    usage: Usage = field(default_factory=Usage)
    node: Path = ()
    event: Event | None = None


class Tally:
    """Adds up events; `progress` is where they lead."""

    def __init__(self) -> None:
        self.progress = ResearchProgress()
        self._planned: set[Path] = set()
        self._begun: set[Path] = set()
        self._ended: set[Path] = set()
        self._searched: set[tuple[Path, str]] = set()

    def add(self, event: Event) -> ResearchProgress:
        """Count one event and return where the run stands."""
        usage = replace(self.progress.usage, seconds=event.at)
        self._spend(usage, event)
        self.progress = replace(
            self.progress, **self._changes(event), usage=usage, node=event.path, event=event
        )
        return self.progress

    def _changes(self, event: Event) -> Mapping[str, Any]:
        now, data = self.progress, event.data
        changes: dict[str, Any] = {}
        match event.kind:
            case Kind.RUN_STARTED:
                changes = {"total_breadth": data["breadth"], "total_depth": data["depth"]}
            case Kind.NODE_STARTED:
                self._begun.add(event.path)
                self._planned.add(event.path)
                changes = {
                    "current_depth": max(now.current_depth, len(event.path)),
                    "current_breadth": sum(len(path) == 1 for path in self._begun),
                    "current_query": data["query"],
                    "total_queries": len(self._planned),
                }
            case Kind.DECIDED:
                self._planned |= {(*event.path, i) for i, _ in enumerate(data["delegate"])}
                changes = {"total_queries": len(self._planned)}
            case Kind.LEARNED:
                changes = {"learnings": now.learnings + data["learnings"]}
            case Kind.PAGE_READ:
                changes = {"sources": now.sources + 1}
            case Kind.NODE_FINISHED | Kind.NODE_FAILED:
                self._ended.add(event.path)
                self._planned.add(event.path)  # what fails before it begins was planned, too
                changes = {
                    "completed_queries": len(self._ended),
                    "total_queries": len(self._planned),
                }
        return changes

    def _spend(self, usage: Usage, event: Event) -> None:
        data = event.data
        if event.kind in (Kind.PAGE_READ, Kind.PAGE_FAILED):
            usage.pages += 1
        elif event.kind is Kind.CALL and data["kind"] == "search":
            self._searched.add((event.path, data["query"]))
            usage.searches = len(self._searched)
        elif event.kind is Kind.CALL and data.get("ok", True):
            cost = data.get("cost")
            usage.add(Usage(1, data.get("input_tokens", 0), data.get("output_tokens", 0), cost))


class ProgressCallback:
    """A sink that calls a user's function with a `ResearchProgress` after each event.

    A slow function misses some, never the last one: it must not hold up the run.

    Args:
        callback: Sync or async.
        clock: Seconds; measures how long the function takes.
    """

    def __init__(
        self,
        callback: Callable[[ResearchProgress], object],
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._callback, self._clock = callback, clock
        self._tally = Tally()
        self._not_before = 0.0
        self._missed = False

    def __repr__(self) -> str:
        return f"ProgressCallback({self._callback!r})"

    def emit(self, event: Event) -> object:
        """Count `event` and call the function; returns what it returns."""
        self._tally.add(event)
        self._missed = self._clock() < self._not_before
        return None if self._missed else self._call()

    def flush(self) -> object:
        """Call once more if the last progress was missed; returns what the function returns."""
        return self._call() if self._missed else None

    def _call(self) -> object:
        self._missed = False
        began = self._clock()
        try:
            return self._callback(self._tally.progress)
        finally:
            ended = self._clock()
            if ended - began > _QUICK:
                self._not_before = ended + (ended - began) * _SHARE
