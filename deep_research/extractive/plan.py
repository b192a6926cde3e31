"""Planning by rule: the question's parts are the outline, its names the first queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from deep_research.core.delegate import why_stop
from deep_research.core.model import Brief, Decision, Query, ResearchNode, Shape
from deep_research.core.ports import Lead
from deep_research.core.review import onward
from deep_research.core.seams import Case, Clarify, Review, Scope
from deep_research.core.text import shorten, unique

from .language import detect
from .question import analyse, aspects, clauses, sides

_FIRST: Final = 3
_LONGEST: Final = 300
_FLOOR: Final = {"searches": 1, "pages": 1}


@dataclass(frozen=True, slots=True)
class ExtractivePlanner:
    """A `Planner` without a language model.

    Attributes:
        language: ISO 639-1 code of the report's language, or None for the question's own.
        queries: Search texts of the first node, at most.
    """

    language: str | None = None
    queries: int = _FIRST

    async def brief(
        self, question: str, scope: Scope, clarify: Clarify, leads: Sequence[Lead] = ()
    ) -> Brief:
        """Take the question apart. Never fails, and asks nobody."""
        del scope, clarify
        parts = aspects(question) or sides(question)
        first = [question, *_parts(question), *analyse(question).names, *clauses(question)]
        return Brief(
            question,
            language=self.language or detect(question),
            outline=tuple(unique(parts)),
            queries=tuple(shorten(text, _LONGEST) for text in unique(first)[: self.queries])
            or (question,),
            leads=tuple(lead.text for lead in leads),
        )

    async def decide_turn(
        self, case: Case, review: Review, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Delegate what is due and open, in order."""
        del brief, scope
        return onward(case, review, shape)

    async def decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Ask about the names that lead on, as many as breadth and budget allow, or say why not.

        Parts of the question that the first node had no room for are asked first.
        """
        if stop := why_stop(node, shape):
            return stop
        queries = list(node.findings.follow_ups)
        if not node.path:
            rest = unique(_parts(brief.question), node.query.texts)
            queries[:0] = [Query(text, brief.question) for text in rest]
        if not queries:
            return Decision(stop="no_follow_ups")
        affordable = scope.budget.affords(_FLOOR)
        if not affordable:
            return Decision(stop="budget")
        wanted = min(len(queries), shape.breadth * shape.per_branch)
        cut = "budget" if affordable < wanted else ""
        return Decision(_branches(queries, shape, affordable), cut)


def _parts(question: str) -> Iterator[str]:
    """Yield the things that a question compares, or the parts it asks for, as search texts."""
    yield from sides(question)
    head = question.partition(":")[0] if ":" in question else ""
    for part in aspects(question):
        yield f"{head} {part}".strip()


def _branches(queries: Sequence[Query], shape: Shape, affordable: int) -> tuple[Query, ...]:
    """The best queries lead a branch each; the next ride along, as far as they can be paid for."""
    leads = list(queries[: min(shape.breadth, affordable)])
    more = queries[len(leads) : min(len(leads) * shape.per_branch, affordable)]
    for i, query in enumerate(more):
        at = i % len(leads)
        leads[at] = replace(leads[at], also=(*leads[at].also, query.text))
    return tuple(leads)
