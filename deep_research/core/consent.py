"""A person's consent to each round of retrieval, whoever plans it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .model import Decision, Path, Query
from .ports import Approver, Proposal


@dataclass(slots=True)
class Consent:
    """Asks the approver, if there is one. Being a branch gives no way round it.

    Attributes:
        approver: Who says yes or no; None approves everything.
        stop: Is set when the run is rejected.
        rejected: Whether it was.
    """

    approver: Approver | None = None
    stop: asyncio.Event | None = None
    rejected: bool = False

    @property
    def refusal(self) -> str:
        """The reason to stop where nothing was agreed to."""
        return "rejected" if self.rejected else "not_approved"

    async def of(self, path: Path, queries: Sequence[Query], reason: str = "") -> tuple[Query, ...]:
        """Return the queries that may be searched for; none at all once the run is rejected."""
        if self.rejected:
            return ()
        if self.approver is None or not queries:
            return tuple(queries)
        verdict = await self.approver.approve(Proposal(path, tuple(queries), reason))
        if verdict.rejected:
            self.rejected = True
            if self.stop is not None:
                self.stop.set()
        # Another branch may have been rejected while this one was asked about.
        return () if self.rejected else verdict.queries

    async def allowed(
        self, path: Path, decision: Decision, *, breadth: int, affordable: int
    ) -> Decision:
        """Keep a decision within breadth, budget and what a person agrees to; the rest is queued.

        A planner may be a language model: the shape is kept here, whatever it says.
        """
        wanted, stop = decision.delegate, decision.stop
        most = min(breadth, affordable)
        if affordable < min(breadth, len(wanted)):
            stop = "budget"
        elif wanted and not breadth:
            stop = stop or "depth"
        kept = wanted[:most]
        agreed = await self.of(path, kept, decision.reason)
        if kept and not agreed:
            stop = self.refusal
        queued = (*agreed[most:], *wanted[most:], *decision.queued)
        return replace(decision, delegate=agreed[:most], stop=stop, queued=queued)
