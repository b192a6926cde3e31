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
    return estimate(config, shape_of(config, resolve_llm(config)), resolve_llm(config), question)


def test_without_a_model_nothing_is_asked_or_paid():
    most = bound(llm="none")
    assert (most.calls, most.tokens, most.cost) == (0, 0, 0.0)
    assert most.nodes == 13 + 4 * 4
    assert most.searches > most.nodes


def test_nodes_of_a_tree_are_those_of_the_shape():
    assert bound(llm="none", planner="tree", breadth=1, depth=3).nodes == 4
    assert bound(llm="none", planner="tree", breadth=4, depth=3).nodes == 29


@pytest.mark.parametrize("turns", [1, 2, 20])
def test_each_further_turn_of_the_supervisor_may_add_branches_to_the_question(turns):
    most = bound(**PRICED, breadth=3, depth=1, **{"supervisor.turns": turns})
    packed = {"tree.queries_per_branch": 4}
    tree = bound(**PRICED, breadth=3, depth=1, planner="tree", **packed)
    assert most.nodes == tree.nodes + 3 * (turns - 1)
    assert most.searches == tree.searches + 3 * (turns - 1) * 4
    # Twice each: what is learned, a review; five calls of a decision in place of a plan.
    reviews = turns if turns > 1 else 0
    assert most.calls == tree.calls + 2 * 3 * (turns - 1) + 2 * reviews + 5 * turns - 2


def test_large_subtrees_are_decided_about_one_by_one():
    """Of 6×3, the question and each of its branches (9 below each); of 4×3, the question alone."""
    for breadth, more in ((6, 6), (4, 0)):
        shape = {"breadth": breadth, "depth": 3, "supervisor.turns": 1}
        tree = bound(**PRICED, **shape, planner="tree", **{"tree.queries_per_branch": 4})
        assert bound(**PRICED, **shape).calls == tree.calls - 2 + 5 * (1 + more)


def test_a_researcher_with_tools_may_make_all_its_calls_at_each_node():
    plain, react = (bound(**PRICED, researcher=name) for name in ("pipeline", "react"))
    assert react.searches == plain.searches + 10 * plain.nodes
    assert react.pages == plain.pages + 10 * plain.nodes
    assert react.calls > plain.calls + 10 * plain.nodes
    fewer = bound(**PRICED, researcher="react", **{"supervisor.tool_calls": 2})
    assert fewer.tokens < react.tokens


def test_a_question_back_costs_a_second_brief():
    asks, silent = (bound(**PRICED, **{"supervisor.clarify": n}) for n in (3, 0))
    assert asks.calls == silent.calls + 2
    assert asks.tokens > silent.tokens


def test_what_is_remembered_stands_in_the_prompts():
    with_memory = bound(**PRICED, **{"memory.file": "m.sqlite"})
    assert with_memory.tokens > bound(**PRICED).tokens


@given(
    breadth=st.integers(1, 8),
    depth=st.integers(1, 4),
    more=st.sampled_from(["breadth", "depth", "tokens", "pages_per_query", "turns"]),
    planner=st.sampled_from(["supervisor", "tree"]),
)
def test_more_of_anything_never_lowers_the_bound(breadth, depth, more, planner):
    less = {"breadth": breadth, "depth": depth, "tokens": 4000, "pages_per_query": 4, "turns": 3}
    names = {"tokens": "reading.tokens", "pages_per_query": "reading.pages_per_query"}
    names["turns"] = "supervisor.turns"
    a, b = (
        bound(**PRICED, planner=planner, **{names.get(k, k): v for k, v in values.items()})
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
