"""Grow a research tree: each query goes deeper as soon as it has learned something."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from .budget import Budget
from .consent import Consent
from .errors import AuthFailed, BudgetExceeded, ConfigError, DeepResearchError
from .events import Event, Kind
from .model import Brief, Decision, Failure, Findings, ResearchNode, Shape, Status
from .news import divided, measure
from .seams import Emit, Planner, Researcher, Scope

_FATAL = (AuthFailed, ConfigError, BudgetExceeded)


@dataclass(frozen=True, slots=True)
class Tree:
    """The recursion. Nothing is held while waiting for children: one permit does for any depth.

    Attributes:
        researcher: Answers one query.
        planner: Decides what to ask below a node.
        emit: The run's event stream.
        permits: How many nested researchers work at once, in the whole tree.
        floor: What one node needs at least, as budget amounts: no more children are started than
            what is left pays for.
        spare: Follow-ups that a leaf may name for a later turn.
        consent: Whether a person approves what is searched for.
    """

    researcher: Researcher
    planner: Planner
    emit: Emit
    permits: asyncio.Semaphore
    floor: Mapping[str, int]
    spare: int = 0
    consent: Consent = field(default_factory=Consent)

    async def investigate(
        self, node: ResearchNode, brief: Brief, shape: Shape, budget: Budget
    ) -> None:
        """Answer one query, then delegate deeper. A failure ends this branch and no other."""
        scope = Scope(node.path, budget, node.usage)
        node.room = shape.room or self.spare
        try:
            self._move(node, Status.RUNNING)
            node.findings = await self._learn(node, brief, scope)
            measure(node)
            node.decision = await self._decide(node, brief, shape, scope)
            children = node.branch(node.decision.delegate)
            await self.grow(children, brief, shape.deeper(), budget)
            self._move(node, Status.DONE)
        except DeepResearchError as error:
            self.fail(node, error)
        except asyncio.CancelledError:
            self._move(node, Status.CANCELLED)
            raise

    async def _learn(self, node: ResearchNode, brief: Brief, scope: Scope) -> Findings:
        try:
            async with self.permits:
                return await self.researcher.investigate(node, brief, scope)
        except DeepResearchError as error:
            if node.path or isinstance(error, _FATAL):
                raise
            # The root only scouts: what it could not find, its branches may.
            node.mishaps = (*node.mishaps, Failure.of(error, node.path))
            return node.findings

    async def _decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        try:
            decision = await self.planner.decide(node, brief, shape, scope)
        except BudgetExceeded:
            decision = Decision(stop="budget")
        decision = await self.consent.allowed(
            node.path,
            decision,
            breadth=shape.breadth if shape.depth > 0 else 0,
            affordable=scope.budget.affords(self.floor),
        )
        data = {
            "delegate": [q.text for q in decision.delegate],
            "stop": decision.stop,
            "reason": decision.reason,
            "queued": [q.text for q in decision.queued],
            "news": node.news,
        }
        self.emit(Event(Kind.DECIDED, node.path, data))
        return decision

    async def grow(
        self, children: list[ResearchNode], brief: Brief, shape: Shape, budget: Budget
    ) -> None:
        """Grow all children at once, each on its share: more for more texts and for more news."""
        shares = divided(budget, [child.query for child in children])
        try:
            async with asyncio.TaskGroup() as group:
                for child, share in zip(children, shares, strict=True):
                    group.create_task(self.investigate(child, brief, shape, share))
        finally:
            budget.reclaim(shares)

    def fail(self, node: ResearchNode, error: DeepResearchError) -> None:
        """End this node for a reason that is told."""
        self._move(node, Status.FAILED, Failure.of(error, node.path))

    def _move(self, node: ResearchNode, status: Status, failure: Failure | None = None) -> None:
        """Set the node's status and tell whoever watches."""
        node.status, node.failure = status, failure
        if status is Status.RUNNING:
            query = node.query
            data = {"query": query.text, "goal": query.goal, "also": list(query.also)}
            self.emit(Event(Kind.NODE_STARTED, node.path, data))
        elif failure:
            data = {"kind": failure.kind, "message": failure.message}
            self.emit(Event(Kind.NODE_FAILED, node.path, data))
        else:
            learnings = len(node.findings.learnings)
            self.emit(
                Event(
                    Kind.NODE_FINISHED,
                    node.path,
                    {"status": str(status), "learnings": learnings, "usage": asdict(node.usage)},
                )
            )
