"""Supervise: what is worth asking next, at every node and over the whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from deep_research.core.delegate import fresh, pack, split
from deep_research.core.effort import answers
from deep_research.core.errors import AuthFailed, BudgetExceeded, DeepResearchError
from deep_research.core.events import Event, Kind
from deep_research.core.merge import fit
from deep_research.core.model import Brief, Decision, Learning, Query, ResearchNode, Shape
from deep_research.core.news import DRY
from deep_research.core.ports import Lead
from deep_research.core.seams import Case, Clarify, Emit, Outside, Review, Scope
from deep_research.core.text import names

from ._prompt import assignment, block, bullets, data
from .brief import Briefer
from .decide import Wants, decide

_KNOWN_TOKENS: Final = 1500
_WORTH_ASKING: Final = 8
"""A decision about fewer nodes than this costs more than it saves: there the rule decides."""
_MOST_OPEN: Final = 24


@dataclass(frozen=True, slots=True)
class SupervisorPlanner:
    """A `Planner` that weighs at every node, and over the whole run, whether to go on.

    Asks the model where much is at stake: at the root, above large subtrees, and between the
    rounds. Elsewhere a rule decides by what the results show: what names something new is asked,
    what nobody needs now is queued, two results without news end a branch.

    Attributes:
        outside: Where the model is asked.
        emit: The run's event stream.
        count: Counts the tokens of a text.
        briefer: Makes the brief.
    """

    outside: Outside
    emit: Emit
    count: Callable[[str], int]
    briefer: Briefer

    async def brief(
        self, question: str, scope: Scope, clarify: Clarify, leads: Sequence[Lead] = ()
    ) -> Brief:
        """Ask the planner for a brief."""
        return await self.briefer.brief(question, scope, clarify, leads)

    async def decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Delegate what is worth it, or stop: answered, saturated, no_gain, off_topic, depth."""
        found = node.findings
        follow_ups = [replace(q, gain=node.news) for q in found.follow_ups]
        if not node.path and brief.lookup and answers(brief.question, found.learnings):
            return Decision(stop="answered", queued=tuple(follow_ups))
        if shape.depth <= 0:
            return Decision(stop="depth", queued=tuple(follow_ups))
        if node.dry >= DRY:
            return Decision(stop="no_gain", queued=tuple(follow_ups))
        asked = (*node.asked, *node.query.texts)
        new, old = split(follow_ups, asked)
        if not node.path or (len(new) > shape.breadth and shape.size() > _WORTH_ASKING):
            wants = await self._asked(node, brief, (*new, *old), shape, scope)
            return self._led(node, brief, wants, (*new, *old), shape)
        branches, rest = _packed(new, asked, shape)
        stop = "" if branches else "answered" if node.news else "saturated"
        return Decision(branches, stop, (*rest, *old))

    async def decide_turn(
        self, case: Case, review: Review, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Delegate once more from the top, or stop."""
        asked = [text for node in case.root.walk() for text in node.query.texts]
        new, old = split((*review.queries, *case.queued), asked)
        open_ = (*new, *old)
        user = self._state(
            brief,
            [item.learning for item in case.bank.items],
            open_=(*case.due, *open_),
            gaps=review.gaps,
            failures=case.failures,
            asked=asked,
        )
        most = _most(open_, shape)
        wants = await decide(self.outside, self.emit, user, most, scope)
        if wants is None:
            wants = Wants(reason="no decision that can be understood")
        # What was asked already may be asked again only where the findings call for it.
        tasks = (*case.due, *fresh(_reworded(wants.tasks, open_, asked), asked))
        branches, rest = _packed(tasks, (), shape)
        stop = "" if branches else wants.stop or "saturated"
        return Decision(branches, stop, (*rest, *open_), wants.reason)

    async def _asked(
        self,
        node: ResearchNode,
        brief: Brief,
        open_: Sequence[Query],
        shape: Shape,
        scope: Scope,
    ) -> Wants | None:
        """Ask about one node; None if no answer can be understood."""
        user = self._state(
            brief,
            [*node.known, *node.findings.learnings],
            open_=open_,
            failures=[f.message for f in node.mishaps],
            asked=(*node.asked, *node.query.texts),
        )
        try:
            return await decide(self.outside, self.emit, user, _most(open_, shape), scope)
        except (AuthFailed, BudgetExceeded):
            raise
        except DeepResearchError as error:
            self.emit(Event(Kind.WARNING, node.path, {"message": f"no decision: {error}"}))
            return None

    @staticmethod
    def _led(
        node: ResearchNode,
        brief: Brief,
        wants: Wants | None,
        open_: Sequence[Query],
        shape: Shape,
    ) -> Decision:
        """Follow the model where it can be followed, and the follow-ups where not."""
        asked = (*node.asked, *node.query.texts)
        wanted = fresh(wants.tasks, asked) if wants else []
        evidence = any(x.evidence for x in node.findings.learnings)
        if not wanted and not (wants and wants.stop and evidence):
            headings = [] if open_ else [f"{brief.question} {h}" for h in brief.outline]
            wanted = [*open_, *(Query(text, brief.question) for text in headings)]
        branches, rest = _packed(wanted, asked, shape)
        left = fresh(open_, (*asked, *(t for q in branches for t in q.texts)))
        stop = "" if branches else (wants and wants.stop) or "no_follow_ups"
        return Decision(branches, stop, (*rest, *left), wants.reason if wants else "")

    def _state(
        self,
        brief: Brief,
        learnings: Sequence[Learning],
        *,
        open_: Iterable[Query],
        gaps: Iterable[str] = (),
        failures: Iterable[str] = (),
        asked: Iterable[str] = (),
    ) -> str:
        """Tell what is known, what is missing and what is open."""
        known = fit(learnings, _KNOWN_TOKENS, self.count)
        questions = [q.goal or q.text for q in open_][:_MOST_OPEN]
        return (
            assignment(brief)
            + bullets("acceptance", brief.acceptance)
            + bullets("leads_to_verify", brief.leads)
            + bullets("findings", (x.text for x in known))
            + bullets("missing", gaps)
            + bullets("failed", failures)
            + bullets("reminder", [f"already asked: {text}" for text in asked])
            + (bullets("open_questions", questions) or block("question", data(brief.question)))
        )


def _packed(
    queries: Iterable[Query], asked: Iterable[str], shape: Shape
) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    return pack(queries, asked=asked, breadth=shape.breadth, per_branch=shape.per_branch)


def _most(open_: Sequence[Query], shape: Shape) -> int:
    """Return how many tasks may be wished for: one for each open thing, as far as there is room."""
    return min(shape.places, max(shape.breadth, len(open_)))


def _reworded(
    tasks: Iterable[Query], open_: Iterable[Query], asked: Sequence[str]
) -> Iterator[Query]:
    """Put a task that was asked already as an open question about the same thing, if there is one.

    Its wording may find pages that the first one has not.
    """
    left = list(open_)
    for task in tasks:
        named = set(names(task.text))
        same = [q for q in left if named and named <= set(names(q.text))]
        if fresh([task], asked) or not same:
            yield task
        else:
            left.remove(same[0])
            yield same[0]
