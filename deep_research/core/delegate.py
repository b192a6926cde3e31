"""From follow-ups to branches: nothing is asked twice, what the breadth leaves over rides along."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Decision, Query, ResearchNode, Shape
from .text import names, unique, words


def fresh(queries: Iterable[Query], asked: Iterable[str]) -> list[Query]:
    """Drop blank queries and those that say the same as an earlier one or one of `asked`."""
    goals: dict[str, str] = {}
    for query in queries:
        goals.setdefault(" ".join(query.text.split()), query.goal)
    return [Query(text, goals[text]) for text in unique(goals, asked)]


def choose(
    queries: Iterable[Query], *, asked: Iterable[str], breadth: int, per_branch: int
) -> tuple[Query, ...]:
    """Form at most `breadth` branches of at most `per_branch` search texts each.

    The queries come in order of priority.

    Queries that name something nobody has asked about lead; further ones of that kind join the
    branches in turn. So a tree of breadth 4 that meets six unexplained things looks at all six, and
    does not ask twice about one.
    """
    asked = tuple(asked)
    known = {word for text in asked for word in words(text)}
    new: list[Query] = []
    old: list[Query] = []
    for query in fresh(queries, asked):
        (new if _names_new(query.text, known) else old).append(query)
        known.update(word for name in names(query.text) for word in words(name))
    branches = [[query] for query in (*new, *old)[:breadth]]
    for i, query in enumerate(new[breadth : breadth * per_branch]):
        branches[i % breadth].append(query)
    return tuple(_joined(branch) for branch in branches)


def _names_new(text: str, known: set[str]) -> bool:
    """Tell whether a query names something unknown; in a script without capitals it always does."""
    found = names(text)
    if not found:
        return not text.isascii() and text.lower() == text.upper()
    return any(word not in known for name in found for word in words(name))


def _joined(branch: list[Query]) -> Query:
    lead, *rest = branch
    goals = dict.fromkeys(q.goal for q in branch if q.goal)
    return Query(lead.text, " ".join(goals), tuple(q.text for q in rest))


def why_stop(node: ResearchNode, shape: Shape) -> Decision | None:
    """Return the reason that a fixed tree has to stop at this node, or None if it goes deeper.

    'depth': the shape allows no more levels. 'saturated': nothing was learned that its ancestors
    did not know.
    'no_follow_ups': nothing is left to ask. The root always goes on: its branches may find what it
    could not.
    """
    if shape.depth <= 0:
        return Decision(stop="depth")
    if not node.path:
        return None
    known = {learning.text for learning in node.known}
    if all(learning.text in known for learning in node.findings.learnings):
        return Decision(stop="saturated")
    if not node.findings.follow_ups:
        return Decision(stop="no_follow_ups")
    return None
