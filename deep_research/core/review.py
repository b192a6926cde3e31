"""Between two rounds: what the findings themselves call for, and a critic that goes by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .delegate import fresh, pack
from .merge import Bank
from .model import Brief, Decision, Query, ResearchNode, Shape
from .outcome import unmet
from .report import Conflict
from .seams import Case, Review, Scope
from .text import shorten, terms

_LONGEST = 200
_HOPELESS = frozenset({"auth", "config", "budget"})


def case_of(
    root: ResearchNode, bank: Bank, turn: int, turns: int, left: Iterable[Query] = ()
) -> Case:
    """Put together the state of the research after `turn` turns; the tree has settled.

    What earlier turns would have delegated, had there been a place, is `left`.
    """
    nodes = list(root.walk())
    asked = [text for node in nodes for text in node.query.texts]
    again = _again(nodes)
    ties = fresh(map(tie_break, _open(bank.conflicts)), asked)
    waiting = (*left, *(query for node in nodes for query in node.decision.queued))
    queued = sorted(waiting, key=lambda q: -q.gain)
    return Case(
        root,
        bank,
        turn,
        turns,
        (*ties, *again),
        tuple(fresh(queued, (*asked, *(q.text for q in ties)))),
        tuple(
            f"{node.query.text}: {node.failure.kind}: {shorten(node.failure.message, _LONGEST)}"
            for node in nodes
            if node.failure
        ),
    )


def with_ties(case: Case, ties: Iterable[Query]) -> Case:
    """Make the critic's own ties due, too: those that have not been searched for yet."""
    asked = [text for node in case.root.walk() for text in node.query.texts]
    known = [text for query in case.due for text in query.texts]
    return replace(case, due=(*fresh(ties, (*asked, *known)), *case.due))


def tie_break(conflict: Conflict) -> Query:
    """Return the query that may settle a conflict."""
    one, other = conflict.preferred.text, conflict.other.text
    shared = set(terms(other))
    subject = " ".join(w for w in one.split() if set(terms(w)) <= shared)
    return Query(
        shorten(subject, _LONGEST).removesuffix("…"),
        f"Sources disagree: {one!r} against {other!r}. Find out which holds, and since when.",
    )


def _open(conflicts: Iterable[Conflict]) -> Iterator[Conflict]:
    """Yield the conflicts that neither date nor number of pages settles."""
    return (conflict for conflict in conflicts if not conflict.settled)


def _again(nodes: Iterable[ResearchNode]) -> list[Query]:
    """Return the queries of branches that failed and have not been tried twice."""
    nodes = list(nodes)
    # By text: a second try may have shared its branch with another query.
    tried = Counter(text for node in nodes for text in node.query.texts)
    again: list[Query] = []
    for node in nodes:
        texts = [text for text in node.query.texts if tried[text] == 1]
        if node.path and _worth_another_try(node) and texts:
            again.append(replace(node.query, text=texts[0], also=tuple(texts[1:])))
    return again


def _worth_another_try(node: ResearchNode) -> bool:
    return bool(node.failure and node.failure.kind not in _HOPELESS)


def onward(case: Case, review: Review, shape: Shape) -> Decision:
    """Delegate what is due and open, in order: the decision of a planner that weighs nothing."""
    asked = [text for node in case.root.walk() for text in node.query.texts]
    wanted = (*case.due, *fresh((*review.queries, *case.queued), asked))
    branches, rest = pack(wanted, asked=(), breadth=shape.breadth, per_branch=shape.per_branch)
    return Decision(branches, "" if branches else "saturated", rest)


@dataclass(frozen=True, slots=True)
class PlainCritic:
    """A `Critic` by rule: wants what the findings call for, and what no finding touches."""

    async def review(self, case: Case, brief: Brief, scope: Scope) -> Review:
        """Compare the bank with acceptance list and outline; costs nothing."""
        del scope
        gaps = unmet(brief.acceptance or brief.outline, case.bank)
        queries = tuple(Query(gap, brief.question) for gap in gaps)
        return Review(bool(queries), queries=queries, gaps=gaps)
