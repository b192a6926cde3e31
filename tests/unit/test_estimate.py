"""The bound that is told before a run: it grows with what is asked, and budgets cut it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.config import load, resolve_llm
from deep_research.estimate import estimate
from deep_research.wiring import shape_of

PRICED = {"llm": "openai:m", "models.prices": {"m": [1.0, 4.0]}}


def bound(question="", **arguments):
    config = load(arguments=arguments, environ={"OPENAI_API_KEY": "k"})
    return estimate(config, shape_of(config), resolve_llm(config), question)


def test_without_a_model_nothing_is_asked_or_paid():
    most = bound(llm="none")
    assert (most.calls, most.tokens, most.cost) == (0, 0, 0.0)
    assert most.nodes == 13
    assert most.searches > 13


def test_nodes_are_those_of_the_shape():
    assert bound(llm="none", breadth=1, depth=3).nodes == 4
    assert bound(llm="none", breadth=4, depth=3).nodes == 29


@given(
    breadth=st.integers(1, 8),
    depth=st.integers(1, 4),
    more=st.sampled_from(["breadth", "depth", "tokens", "pages_per_query"]),
)
def test_more_of_anything_never_lowers_the_bound(breadth, depth, more):
    less = {"breadth": breadth, "depth": depth, "tokens": 4000, "pages_per_query": 4}
    names = {"tokens": "reading.tokens", "pages_per_query": "reading.pages_per_query"}
    a, b = (
        bound(**PRICED, **{names.get(k, k): v for k, v in values.items()})
        for values in (less, {**less, more: less[more] * 2})
    )
    for field in ("nodes", "calls", "tokens", "searches", "pages", "cost"):
        assert getattr(a, field) <= getattr(b, field)


def test_a_long_question_stands_in_every_prompt():
    assert bound("why? " * 5000, **PRICED).tokens > bound("why?", **PRICED).tokens + 50 * 5000


@pytest.mark.parametrize("name", ["calls", "tokens", "searches", "pages"])
def test_budgets_cut_the_bound_and_are_named(name):
    most = bound(**PRICED, **{f"budget.{name}": 3})
    assert getattr(most, name) == 3
    assert most.limited == (name,)


def test_budget_that_is_larger_is_not_named():
    assert bound(**PRICED, **{"budget.calls": 10**9}).limited == ()


def test_cost():
    assert bound(**PRICED).cost > 0.1
    assert bound(llm="openai:m").cost is None
    limited = bound(**PRICED, max_cost=0.1)
    assert (limited.cost, limited.limited) == (0.1, ("cost",))
    assert bound(**PRICED, max_cost=10**6).limited == ()
