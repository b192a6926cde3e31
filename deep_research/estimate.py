"""What a run may cost at most, said before anything is spent. Always above what really happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .config import Config, ModelChoice
from .core.model import Shape

_ASKS: Final = 3
"""Completed calls that one question to a model may become: asked, asked again with the error, asked with more room."""
_OVERHEAD: Final = 3000
_PLAN: Final = (6000, 2000)
_LEARN_OUT: Final = 4000
_OUTLINE: Final = (16_000, 4000)
_SECTION: Final = (16_000, 4000)
_SECTIONS: Final = 40
_REWRITE: Final = (4000, 600)
_REWRITES: Final = 24


@dataclass(frozen=True, slots=True)
class Estimate:
    """An upper bound. `cost` is in USD, None if a price is unknown; `limited` names the budgets that cut it."""

    nodes: int
    calls: int
    tokens: int
    searches: int
    pages: int
    cost: float | None
    limited: tuple[str, ...] = ()


def estimate(config: Config, shape: Shape, models: Mapping[str, ModelChoice]) -> Estimate:
    """Return the most that a run with these settings can use; budgets are part of the settings."""
    nodes = shape.size() + 1
    searches = nodes * shape.per_branch
    pages = 2 * searches * config.reading.pages_per_query
    work = _work(config, nodes, shape.per_branch) if models else []
    calls = sum(n * _ASKS for _, n, _, _ in work)
    tokens = sum(n * _ASKS * (given + taken + _OVERHEAD) for _, n, given, taken in work)
    cost = _cost(work, models)
    found = {"calls": calls, "tokens": tokens, "searches": searches, "pages": pages}
    limits = config.budget.amounts()
    limited = [name for name, value in found.items() if limits.get(name, value) < value]
    bounded = {name: min(value, limits.get(name, value)) for name, value in found.items()}
    if "cost" in limits and (cost is None or limits["cost"] / 1_000_000 < cost):
        cost = limits["cost"] / 1_000_000
        limited.append("cost")
    return Estimate(nodes, **bounded, cost=cost, limited=tuple(limited))


def _work(config: Config, nodes: int, texts: int) -> list[tuple[str, int, int, int]]:
    """(role, questions, tokens in, tokens out) of each step."""
    learn_in = config.reading.tokens * texts
    return [
        ("planner", 2, *_PLAN),
        ("reader", nodes, learn_in, _LEARN_OUT),
        ("writer", 1, *_OUTLINE),
        ("writer", _SECTIONS, *_SECTION),
        ("writer", _REWRITES, *_REWRITE),
    ]


def _cost(
    work: list[tuple[str, int, int, int]], models: Mapping[str, ModelChoice]
) -> float | None:
    total = 0.0
    for role, n, given, taken in work:
        prices = models[role].prices
        if prices is None:
            return None
        total += n * _ASKS * ((given + _OVERHEAD) * prices[0] + taken * prices[1]) / 1_000_000
    return round(total, 4)
