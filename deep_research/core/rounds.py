"""The supervisor's further turns: review what came back, then delegate again or stop.

settled ──► review ──► research? ──yes──► decide ──► delegate ──► settled
                           │no              │nothing worth it
                           └─────► write ◄──┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from .budget import Budget
from .delegate import pack, split
from .errors import BudgetExceeded, DeepResearchError
from .events import Event, Kind
from .merge import Bank, merge
from .model import Brief, Decision, Failure, Query, ResearchNode, Shape
from .news import news, share
from .outcome import unmet
from .report import Round
from .review import case_of, with_ties
from .seams import Case, Critic, Emit, Outline, Planner, Review, Scope
from .tree import Tree

_ROUND: Final = 4
"""What a round that is decided needs, in nodes: two for the decision, a branch, a review."""


@dataclass(slots=True)
class Course:
    """How the rounds of a run went.

    Attributes:
        rounds: One per turn, in order.
        gaps: What is missing, as the last review sees it.
        outline: Sections that the last review proposes, and
        reviewed: how many items the bank had then: an outline holds for that bank only.
    """

    rounds: tuple[Round, ...] = ()
    gaps: tuple[str, ...] = ()
    outline: Outline = ()
    reviewed: int = 0

    @property
    def stop(self) -> str:
        """Why the supervisor stopped; '' if it never came to that."""
        return self.rounds[-1].stop if self.rounds else ""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Leads the research after the first turn.

    Attributes:
        tree: Grows what is delegated.
        planner: Decides what is delegated.
        critic: Reviews.
        emit: The run's event stream.
        turns: Times that research may be delegated, the first turn included.
        had: What research could spend when it began. A ceiling is leave to spend: while a third of
            it is left, what is only thinly known is brought before the supervisor, too.
    """

    tree: Tree
    planner: Planner
    critic: Critic
    emit: Emit
    turns: int = 1
    had: Mapping[str, int] = field(default_factory=dict)

    async def lead(
        self, root: ResearchNode, brief: Brief, shape: Shape, budget: Budget, course: Course
    ) -> None:
        """Take turns until nothing is worth another; `course` always tells how far it came."""
        scope = Scope((), budget, root.usage)
        branch = replace(shape, depth=1)
        nodes, before, left = list(root.walk()), Bank(), tuple[Query, ...]()
        turn = 0
        while True:
            turn += 1
            bank = merge(root)
            found = [x for node in nodes for x in node.findings.learnings]
            new = news(found, before.learnings)
            case = case_of(root, bank, turn, self.turns, left)
            review = await self._review(case, brief, scope)
            case = with_ties(case, review.ties)
            decision = await self._decide(case, review, brief, branch, scope, dry=not new)
            novelty = share(new, found)
            self._note(course, case, review, decision, found=len(found), novelty=novelty)
            if not decision.delegate:
                return
            before = bank
            # What the critic asks for it asks again; delegations that found no place must not go.
            left = tuple(query for query in decision.queued if query not in review.queries)
            nodes = root.extend(decision.delegate)
            await self.tree.grow(nodes, brief, replace(branch, depth=0), budget)

    async def _review(self, case: Case, brief: Brief, scope: Scope) -> Review:
        """Ask the critic. Without a review: no evidence calls for research, evidence for writing.

        Where nothing was found there is nothing to review either; and where no budget is left for a
        review, it is the budget that ends the research.
        """
        gaps = unmet(brief.acceptance or brief.outline, case.bank)
        if not case.bank.items:
            return Review(research=True, gaps=gaps, reason="no evidence yet")
        try:
            return await self.critic.review(case, brief, scope)
        except DeepResearchError as error:
            told = {"message": f"no review: {error}", "kind": error.kind}
            self.emit(Event(Kind.WARNING, data=told))
            unpaid = isinstance(error, BudgetExceeded)
            if not unpaid:
                self._went_without(case, error)
            return Review(unpaid, gaps=gaps, reason=f"no review: {error}", unpaid=unpaid)

    async def _decide(
        self,
        case: Case,
        review: Review,
        brief: Brief,
        shape: Shape,
        scope: Scope,
        *,
        dry: bool,
    ) -> Decision:
        """Say what is delegated next, or why the research ends here."""
        # The critic recommends, the supervisor decides: what was named and never looked at is
        # brought before it in any case.
        if not review.research:
            unseen = _unseen(case)
            ample = not unseen and scope.budget.ample(self.had)
            case = case if ample else replace(case, queued=unseen)
        more = (*(review.queries if review.research else ()), *case.queued)
        asks = bool(more and case.bank.items)
        paid = scope.budget.affords(self.tree.floor)
        if paid < _ROUND and asks and case.due:
            more, asks = (), False  # what is due can be had without asking anybody
        wanted = (*case.due, *more)
        spent = paid < (_ROUND if asks else 1)
        if not wanted:
            if review.unpaid or (spent and review.research):
                return Decision(stop="budget")
            return Decision(stop="answered" if case.bank.items else "no_evidence")
        if case.turn >= case.turns:
            return Decision(stop="turns")
        if case.turn > 1 and dry and not case.due:
            return Decision(stop="no_gain")
        if spent:
            return Decision(stop="budget" if review.research else "answered")
        if asks:
            decision = await self._asked(case, review, brief, shape, scope)
        else:
            decision = _plainly(wanted, shape)
        affordable = scope.budget.affords(self.tree.floor)
        return await self.tree.consent.allowed(
            (), decision, breadth=shape.breadth, affordable=affordable
        )

    async def _asked(
        self, case: Case, review: Review, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        try:
            return await self.planner.decide_turn(case, review, brief, shape, scope)
        except DeepResearchError as error:
            told = {"message": f"no decision: {error}", "kind": error.kind}
            self.emit(Event(Kind.WARNING, data=told))
            if not isinstance(error, BudgetExceeded):
                self._went_without(case, error)
            if case.due:
                return _plainly(case.due, shape)
            return Decision(stop="budget" if isinstance(error, BudgetExceeded) else "undecided")

    @staticmethod
    def _went_without(case: Case, error: DeepResearchError) -> None:
        """Keep for the report what the run had to go on without."""
        case.root.mishaps = (*case.root.mishaps, Failure.of(error, case.root.path))

    def _note(
        self,
        course: Course,
        case: Case,
        review: Review,
        decision: Decision,
        *,
        found: int,
        novelty: float,
    ) -> None:
        verdict = "research" if review.research or decision.delegate else "report"
        texts = tuple(text for query in decision.delegate for text in query.texts)
        stop = "" if decision.delegate else decision.stop or "saturated"
        reason = decision.reason or review.reason
        made = Round(case.turn, found, novelty, verdict, review.gaps, texts, stop, reason)
        course.rounds = (*course.rounds, made)
        course.gaps, course.outline = review.gaps, review.outline
        course.reviewed = len(case.bank.items)
        self.emit(
            Event(
                Kind.REVIEWED,
                data={
                    "turn": case.turn,
                    "learnings": found,
                    "news": novelty,
                    "verdict": verdict,
                    "gaps": list(review.gaps),
                    "delegate": list(texts),
                    "stop": stop,
                    "reason": reason,
                },
            )
        )


def _plainly(wanted: Sequence[Query], shape: Shape) -> Decision:
    """Delegate what is wanted without asking anybody."""
    branches, rest = pack(wanted, asked=(), breadth=shape.breadth, per_branch=shape.per_branch)
    return Decision(branches, queued=rest)


def _unseen(case: Case) -> tuple[Query, ...]:
    """Return the queued follow-ups that name something no branch has looked at."""
    asked = [text for node in case.root.walk() for text in node.query.texts]
    return tuple(split(case.queued, asked)[0])
