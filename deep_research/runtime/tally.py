"""How far a run is and what it has spent on what, made from its events alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deep_research.core.events import Event, Kind
from deep_research.core.model import Path, Usage
from deep_research.core.report import Spent

_QUICK: Final = 0.02
_STEPS: Final = (
    "brief",
    "clarify",
    "decide",
    "plan",
    "learn",
    "react",
    "review",
    "outline",
    "section",
    "rewrite",
)
"""The order of a run's steps; others come last, by name."""
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
        self._models: Mapping[str, str] = {}
        self._spent: dict[tuple[str, str, str], Usage] = {}

    @property
    def spent(self) -> tuple[Spent, ...]:
        """What each step used of each model; the rows add up to the calls of `progress.usage`.

        Steps stand in the order of a run, whoever answered first.
        """
        rows: dict[tuple[str, str, str], Usage] = {}
        for (step, role, model), usage in self._spent.items():
            key = step, role, model or self._silent(step, role)
            rows.setdefault(key, Usage()).add(usage)
        return tuple(
            Spent(*key, used.llm_calls, used.input_tokens, used.output_tokens, used.cost)
            for key, used in sorted(rows.items(), key=lambda row: _place(row[0]))
        )

    def _silent(self, step: str, role: str) -> str:
        """Name the model that was paid and gave no name, because it did not answer in time.

        It is the one that answered the step's other calls if there is just one, else the one that
        is set for the role.
        """
        others = {key[2] for key in self._spent if key[:2] == (step, role)} - {""}
        if len(others) == 1:
            return others.pop()
        return self._models.get(role, "")

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
                self._models = data.get("llm", {})
                changes = {"total_breadth": data["breadth"], "total_depth": data["depth"]}
            case Kind.NODE_STARTED:
                self._begun.add(event.path)
                self._planned.add(event.path)
                changes = {
                    "current_depth": max(now.current_depth, len(event.path)),
                    "current_breadth": _branches(self._begun),
                    "current_query": data["query"],
                    **self._totals(),
                }
            case Kind.DECIDED:
                self._planned |= {(*event.path, i) for i, _ in enumerate(data["delegate"])}
                changes = self._totals()
            case Kind.LEARNED:
                changes = {"learnings": now.learnings + data["learnings"]}
            case Kind.PAGE_READ:
                changes = {"sources": now.sources + 1}
            case Kind.NODE_FINISHED | Kind.NODE_FAILED:
                self._ended.add(event.path)
                self._planned.add(event.path)  # what fails before it begins was planned, too
                changes = {"completed_queries": len(self._ended), **self._totals()}
        return changes

    def _totals(self) -> dict[str, Any]:
        """Count what is planned. Further turns may plan more branches than the tree's breadth."""
        broad = max(self.progress.total_breadth, _branches(self._planned))
        return {"total_queries": len(self._planned), "total_breadth": broad}

    def _spend(self, usage: Usage, event: Event) -> None:
        data = event.data
        if event.kind in (Kind.PAGE_READ, Kind.PAGE_FAILED):
            usage.pages += 1
        elif event.kind is Kind.CALL and data["kind"] == "search":
            self._searched.add((event.path, data["query"]))
            usage.searches = len(self._searched)
        elif event.kind is Kind.CALL and (data.get("ok", True) or data.get("paid", False)):
            tokens = data.get("input_tokens", 0), data.get("output_tokens", 0)
            used = Usage(1, *tokens, data.get("cost"))
            usage.add(used)
            key = data.get("step", ""), data.get("role", ""), data.get("model", "")
            self._spent.setdefault(key, Usage()).add(used)


def _place(row: tuple[str, str, str]) -> tuple[int, tuple[str, str, str]]:
    """Return where a row of the usage table stands."""
    return _STEPS.index(row[0]) if row[0] in _STEPS else len(_STEPS), row


def _branches(paths: Iterable[Path]) -> int:
    return sum(len(path) == 1 for path in paths)


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
