"""A memory as a run uses it: it may fail, and then the run goes on and says so."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.core.errors import DeepResearchError
from deep_research.core.events import Event, Kind
from deep_research.core.ports import Lead, Memory
from deep_research.core.report import Report
from deep_research.core.seams import Emit


class Leads:
    """Recalls before the research, remembers after it.

    Args:
        memory: What earlier runs established; None remembers nothing.
        emit: The run's event stream.
    """

    def __init__(self, memory: Memory | None, emit: Emit) -> None:
        self._memory, self._emit = memory, emit
        self._notes: list[str] = []

    async def recall(self, question: str) -> Sequence[Lead]:
        """Return what earlier runs established on the topic; nothing if it cannot be read."""
        if self._memory is None:
            return ()
        try:
            return await self._memory.recall(question)
        except DeepResearchError as error:
            self._failed("earlier runs are not recalled", error)
            return ()

    async def remember(self, report: Report) -> None:
        """Keep what the report verified, and note on it what of the memory failed."""
        if self._memory is not None:
            try:
                await self._memory.remember(report)
            except DeepResearchError as error:
                self._failed("this run is not remembered", error)
        report.notes = (*report.notes, *self._notes)

    def _failed(self, what: str, error: DeepResearchError) -> None:
        text = f"{what}: {error}"
        self._emit(Event(Kind.WARNING, data={"message": text, "kind": error.kind}))
        self._notes.append(f"{text[0].upper()}{text[1:]}.")
