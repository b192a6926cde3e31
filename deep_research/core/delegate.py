"""From follow-ups to branches: nothing is asked twice, what the breadth leaves over rides along."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil

from .model import Decision, Query, ResearchNode, Shape
from .text import names, terms, unique, words


def fresh(queries: Iterable[Query], asked: Iterable[str]) -> list[Query]:
    """Drop blank queries and those that say the same as an earlier one or one of `asked`."""
    first: dict[str, Query] = {}
    for query in queries:
        first.setdefault(" ".join(query.text.split()), query)
    return [replace(first[text], text=text) for text in unique(first, asked)]


def split(queries: Iterable[Query], asked: Iterable[str]) -> tuple[list[Query], list[Query]]:
    """Part fresh queries into those that name something nobody has asked about, and the others.

    Of two that name the same new thing, the first is of the first kind and the second of the other.
    """
    asked = tuple(asked)
    known = {word for text in asked for word in words(text)}
    topics = {term for text in asked for term in terms(text)}
    new: list[Query] = []
    old: list[Query] = []
    for query in fresh(queries, asked):
        (new if _names_new(query.text, known, topics) else old).append(query)
        known.update(word for name in names(query.text) for word in words(name))
        topics.update(terms(query.text))
    return new, old


def choose(
    queries: Iterable[Query], *, asked: Iterable[str], breadth: int, per_branch: int
) -> tuple[Query, ...]:
    """Form at most `breadth` branches of at most `per_branch` search texts each.

    The queries come in order of priority.

    Queries that name something nobody has asked about lead; further ones of that kind join the
    branches in turn. So a tree of breadth 4 that meets six unexplained things looks at all six, and
    does not ask twice about one.
    """
    new, old = split(queries, asked)
    branches = [[query] for query in (*new, *old)[:breadth]]
    for i, query in enumerate(new[breadth : breadth * per_branch]):
        branches[i % breadth].append(query)
    return tuple(_joined(branch) for branch in branches)


def pack(
    queries: Iterable[Query], *, asked: Iterable[str], breadth: int, per_branch: int
) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    """Form as few branches as the queries need, each filled evenly; return what is left over, too.

    A branch is read and learned from at once, so a fuller one costs no more calls than another.
    """
    found: list[Query] = []
    rest: list[Query] = []
    room = breadth * per_branch
    for query in fresh(queries, asked):
        if len(query.texts) <= room:
            found.append(query)
            room -= len(query.texts)
        else:
            rest.append(query)
    count = min(breadth, ceil(_size(found) / per_branch))
    branches: list[list[Query]] = [[] for _ in range(count)]
    # The large ones first: then the small ones fill up what these leave.
    for query in sorted(found, key=lambda q: -len(q.texts)):
        fitting = [b for b in branches if not b or _size(b) + len(query.texts) <= per_branch]
        if fitting:
            min(fitting, key=_size).append(query)
        elif len(branches) < breadth:
            branches.append([query])
        else:
            rest.append(query)
    return tuple(_joined(branch) for branch in branches if branch), tuple(rest)


def _size(branch: list[Query]) -> int:
    return sum(len(query.texts) for query in branch)


def _names_new(text: str, known: set[str], topics: set[str]) -> bool:
    """Tell whether a query names something unknown.

    Without a name it does if most of its terms are unknown; in a script without capitals always.
    """
    found = names(text)
    if found:
        return any(word not in known for name in found for word in words(name))
    if not text.isascii() and text.lower() == text.upper():
        return True
    said = set(terms(text))
    return len(said - topics) * 2 > len(said)


def _joined(branch: list[Query]) -> Query:
    lead, *rest = branch
    goals = dict.fromkeys(q.goal for q in branch if q.goal)
    also = tuple(text for q in rest for text in q.texts)
    return Query(lead.text, " ".join(goals), (*lead.also, *also), max(q.gain for q in branch))


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
