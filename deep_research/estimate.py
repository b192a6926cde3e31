"""What a run can use at most, said before anything is spent.

The bound holds for what is answered: every question to a model is taken to be asked twice with the
longest prompt and answered at full length. A call that is given up because no answer came in time
and is made again comes on top; budgets (`budget.*`) hold for that, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from .config import Config, ModelChoice
from .core.model import Shape
from .runtime.tokens import count

_ASKS: Final = 2
"""An answer that cannot be understood is asked for once more, with the reason …"""
_COMPLAINT: Final = 300
"""… in so many tokens …"""
_ROOM: Final = 2
"""… and, if it was cut off, with so many times the room."""
_MARGIN: Final = 1.25
"""What a model's own tokenizer may count above ours."""
_FIRST: Final = 3
"""Search texts of the first look, at most; further nodes have `queries_per_branch`."""
_SCOPE, _TEXT, _HEADING = 300, 40, 1500
"""Tokens of a brief, of a search text, and of instructions, schema and tags in one prompt."""
_ANSWER: Final = 270
"""Tokens of a question back and its answer: they become part of the brief."""
_LEARNINGS, _QUOTE = 14, 150
"""Learnings of one search text, at most, and the tokens of a quote in a prompt."""
_SECTIONS, _REWRITES = 10, 24
"""Sections of a report and sentences that are said again, at most."""
_OUTLINE: Final = 12_000
"""Tokens of findings that the outline is made from, and that a critic reviews."""
_DECIDED, _FAILED = 6000, 70
"""Tokens of findings, gaps and open questions that a decision is made from, and of a failure …"""
_TALK, _LARGE = 5, 8
"""… in a conversation of so many calls, at the root and above more nodes than this."""
_LOST, _SAID, _RESULT = 18, 24_000, 1000
"""Calls in which a researcher with tools only thinks or errs; tokens of its talk, of a result."""
_LEADS: Final = 12 * _QUOTE
"""Tokens of what memory holds on a topic."""
_OUT: Final = {
    "brief": 1500,
    "decide": 1500,
    "plan": 2000,
    "learn": 4000,
    "react": 2000,
    "review": 4000,
    "outline": 4000,
    "section": 4000,
    "rewrite": 600,
}
"""The longest answer of each step, in tokens."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An upper bound.

    Attributes:
        nodes: Queries of the tree, the question included.
        calls: Model calls that are answered.
        tokens: Tokens in and out of these.
        searches: Searches.
        pages: Page reads.
        cost: USD, or None if a price is unknown.
        limited: Budgets that cut the bound, by name.
    """

    nodes: int
    calls: int
    tokens: int
    searches: int
    pages: int
    cost: float | None
    limited: tuple[str, ...] = ()


class _Work(NamedTuple):
    """Questions of one step: who answers, how many answers, tokens in and out of all of them."""

    role: str
    calls: int
    given: int
    made: int


def estimate(
    config: Config, shape: Shape, models: Mapping[str, ModelChoice], question: str = ""
) -> Estimate:
    """Return the most that a run with these settings can use; budgets are part of the settings.

    Args:
        config: All settings.
        shape: Breadth and depth of the tree.
        models: Who plays which role; empty without a language model.
        question: It stands in every prompt, so a long one counts.
    """
    nodes = most_nodes(config, shape)
    searches = _texts(config, shape)
    # A second go, if most pages of the first fail; and no more than was found.
    pages = searches * min(2 * config.reading.pages_per_query, config.search.results)
    if models and config.researcher == "react":  # on top of the standard way, which may have to do
        searches += nodes * config.supervisor.tool_calls
        pages += nodes * config.supervisor.tool_calls
    work = list(_work(config, shape, count(question))) if models else []
    found = {
        "calls": sum(w.calls for w in work),
        "tokens": sum(w.given + w.made for w in work),
        "searches": searches,
        "pages": pages,
    }
    limits = config.budget.amounts()
    limited = [name for name, value in found.items() if limits.get(name, value) < value]
    bounded = {name: min(value, limits.get(name, value)) for name, value in found.items()}
    cost = _cost(work, models)
    most = config.budget.cost
    if most is not None and (cost is None or most < cost):
        cost = most
        limited.append("cost")
    return Estimate(nodes, **bounded, cost=cost, limited=tuple(limited))


def most_nodes(config: Config, shape: Shape) -> int:
    """Return how many queries a run can have, the question included.

    The supervisor may delegate to as many branches as the question has, in each further turn.
    """
    return 1 + shape.size() + (config.turns - 1) * shape.breadth


def _work(config: Config, shape: Shape, question: int) -> Iterator[_Work]:
    """Yield the steps of a run that ask a model."""
    nodes, texts = most_nodes(config, shape), _texts(config, shape)
    back = config.supervisor.clarify
    prompt = _HEADING + _SCOPE + question + back * _ANSWER + (_LEADS if config.memory.file else 0)
    asked = _TEXT * (_FIRST + shape.depth * shape.breadth * shape.per_branch)
    learnt = nodes * _OUT["learn"] + texts * _LEARNINGS * _QUOTE
    yield _step("planner", "brief", 2 if back else 1, prompt)
    if config.planner == "tree":
        yield _step("planner", "plan", 1, prompt + asked + _OUT["learn"])
    else:
        told = prompt + _OUT["brief"] + _TEXT * texts + _FAILED * nodes
        yield from _lead(config.turns, max(1, _asking(shape)), told)
    if config.researcher == "react":
        yield _loops(nodes, config.supervisor.tool_calls, prompt + _TEXT * texts)
    read = math.ceil(config.reading.tokens * texts / nodes)
    tree = shape.size() + 1
    yield _step("reader", "learn", tree, prompt + asked + read)
    # What is delegated later is told all that was asked in the whole tree.
    yield _step("reader", "learn", nodes - tree, prompt + _TEXT * texts + read)
    yield _step("writer", "outline", 1, prompt + _OUTLINE)
    # All findings stand in one section each.
    yield _step("writer", "section", _SECTIONS, prompt + learnt // _SECTIONS)
    yield _step("writer", "rewrite", _REWRITES, prompt + 3 * _QUOTE)


def _lead(turns: int, nodes: int, prompt: int) -> Iterator[_Work]:
    """Yield what the supervisor asks.

    A decision for each of the tree's `nodes` that ask and for each further turn; a review after
    each turn.
    """
    talk = sum(prompt + _DECIDED + i * _OUT["decide"] for i in range(_TALK))
    # One more length: a last answer that was cut off gets twice the room.
    made = (_TALK - 1 + _ROOM) * _OUT["decide"]
    times = nodes + turns - 1
    yield _Work("planner", times * _TALK, math.ceil(times * talk * _MARGIN), times * made)
    if turns > 1:
        yield _step("planner", "review", turns, prompt + _OUTLINE)


def _asking(shape: Shape) -> int:
    """Count the nodes that have so much below them that a model is asked about it."""
    return 1 + shape.breadth * _asking(shape.deeper()) if shape.size() > _LARGE else 0


def _loops(nodes: int, tool_calls: int, prompt: int) -> _Work:
    """Return the work of researchers with tools: each call brings one result at least, or none."""
    calls = nodes * (tool_calls + _LOST)
    given = calls * (prompt + _SAID + tool_calls * _RESULT) * _MARGIN
    return _Work("planner", calls, math.ceil(given), calls * _OUT["react"])


def _texts(config: Config, shape: Shape) -> int:
    """Return the search texts of a whole run, at most."""
    return _FIRST + (most_nodes(config, shape) - 1) * shape.per_branch


def _step(role: str, name: str, questions: int, prompt: int) -> _Work:
    """Return the work of a step whose every question is asked twice, the second time at length."""
    given = questions * (_ASKS * prompt + _COMPLAINT) * _MARGIN
    made = questions * (_ASKS - 1 + _ROOM) * _OUT[name]
    return _Work(role, questions * _ASKS, math.ceil(given), made)


def _cost(work: list[_Work], models: Mapping[str, ModelChoice]) -> float | None:
    """Return USD; prices are per million tokens (in, out)."""
    total = 0.0
    for step in work:
        prices = models[step.role].prices
        if prices is None:
            return None
        total += (step.given * prices[0] + step.made * prices[1]) / 1_000_000
    return round(total, 4)
