"""Marginal gain: how much of what was learned is news."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .budget import Budget
from .merge import same
from .model import Learning, Query, ResearchNode
from .text import numbers

DRY: Final = 2
"""So many results in a row without news end a branch."""
_LEAST: Final = 0.25
"""What a branch without promise of news weighs beside one (1.25) of which all was news."""


def news(found: Iterable[Learning], known: Iterable[Learning]) -> list[Learning]:
    """Return what of `found` nobody knew, and nothing twice. What cannot be cited is no news."""
    seen: dict[tuple[str, ...], list[Learning]] = {}

    def said(learning: Learning) -> bool:
        like = seen.setdefault(tuple(sorted(set(numbers(learning.text)))), [])
        if any(same(learning, other) for other in like):
            return True
        like.append(learning)
        return False

    for learning in known:
        said(learning)
    return [x for x in found if x.evidence and not said(x)]


def share(part: Sequence[object], whole: Sequence[object]) -> float:
    """Return how much of `whole` is `part`, 0 to 1, to two decimals; 0 if there is nothing."""
    return round(len(part) / len(whole), 2) if whole else 0.0


def measure(node: ResearchNode) -> None:
    """Note on a node that has learned how much of it is news, and for how long there was none."""
    if not node.findings.learnings and not node.findings.read:
        return  # nothing was read: that is a failure, not a result without news
    new = news(node.findings.learnings, node.known)
    node.news = share(new, node.findings.learnings)
    node.dry = 0 if new else node.dry + 1


def divided(budget: Budget, queries: Sequence[Query]) -> list[Budget]:
    """Split a budget among branches: more where more news is to be expected.

    More search texts need more pages and tokens in proportion, but not more calls.
    """
    news = [_LEAST + query.gain for query in queries]
    texts = [n * len(query.texts) for n, query in zip(news, queries, strict=True)]
    return budget.split(texts, calls=news)
