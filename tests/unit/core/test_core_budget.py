"""Budgets conserve every unit, whatever is done with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.budget import RESOURCES, Budget
from deep_research.core.errors import BudgetExceeded
from deep_research.core.model import Query
from deep_research.core.news import divided

AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 1000))


def test_hold_takes_all_or_nothing() -> None:
    budget = Budget({"calls": 5, "tokens": 10})
    with pytest.raises(BudgetExceeded, match="budget of tokens: 11 wanted, 10 left") as caught:
        budget.hold({"calls": 1, "tokens": 11})
    assert budget.left == {"calls": 5, "tokens": 10}
    assert (caught.value.resource, caught.value.wanted, caught.value.left) == ("tokens", 11, 10)
    budget.hold({"calls": 5, "tokens": 10})
    assert budget.left == {"calls": 0, "tokens": 0}


def test_what_is_not_named_is_unlimited() -> None:
    budget = Budget()
    budget.hold({"calls": 10**9})
    budget.settle({"calls": 10**9}, {"calls": 3})
    assert budget.left == {}
    assert budget.affords({"calls": 1}) >= 10**6
    assert budget.set_aside(0.5, at_least={"calls": 2}).left == {}
    assert [b.left for b in budget.split([1, 2])] == [{}, {}]


def test_a_call_that_needs_nothing_passes_even_when_overdrawn() -> None:
    """An answer may turn out dearer than its estimate; what is free still goes through."""
    budget = Budget({"tokens": 10})
    budget.hold({"tokens": 10})
    budget.settle({"tokens": 10}, {"tokens": 15})
    assert budget.left == {"tokens": -5}
    assert budget.affords({"tokens": 1}) == 0
    budget.hold({"tokens": 0})
    with pytest.raises(BudgetExceeded):
        budget.hold({"tokens": 1})


@given(left=AMOUNTS, held=AMOUNTS, actual=AMOUNTS)
def test_settling_charges_what_was_used(
    left: dict[str, int], held: dict[str, int], actual: dict[str, int]
) -> None:
    budget = Budget(left)
    try:
        budget.hold(held)
    except BudgetExceeded:
        assert budget.left == left
        return
    budget.settle(held, actual)
    assert budget.left == {n: v - actual.get(n, 0) for n, v in left.items()}


WEIGHTS = st.lists(st.floats(0.25, 8.0), max_size=7)
OVERDRAWN = st.dictionaries(st.sampled_from(RESOURCES), st.integers(-50, 1000))


@given(left=OVERDRAWN, weights=WEIGHTS)
def test_a_split_is_in_proportion_and_gives_the_heavier_never_less(
    left: dict[str, int], weights: list[float]
) -> None:
    """Also when an answer was dearer than its estimate: what is overdrawn is shared, too."""
    shares = Budget(left).split(weights)
    assert [s.left for s in shares] == [s.left for s in Budget(left).split(weights)]
    for name, amount in left.items():
        own = [s.left[name] for s in shares]
        assert sum(own) == (amount if weights else 0)
        for part, weight in zip(own, weights, strict=True):
            assert abs(part - amount * weight / sum(weights)) <= 1
        for i, a in enumerate(weights):
            for j, b in enumerate(weights):
                assert amount < 0 or a <= b or own[i] >= own[j]
                assert not (a == b and i < j) or own[i] >= own[j]


@given(
    queries=st.lists(
        st.builds(
            Query,
            st.just("x"),
            also=st.lists(st.just("y"), max_size=2).map(tuple),
            gain=st.integers(0, 100).map(lambda n: n / 100),  # as news are measured
        ),
        min_size=1,
        max_size=6,
    ),
    amount=st.integers(0, 100),
)
def test_more_texts_or_more_news_never_get_a_branch_less(queries: list[Query], amount: int) -> None:
    shares = divided(Budget({"calls": amount, "pages": amount}), queries)
    assert all(sum(s.left[n] for s in shares) == amount for n in ("calls", "pages"))
    for one, a in zip(queries, shares, strict=True):
        for other, b in zip(queries, shares, strict=True):
            if len(one.texts) >= len(other.texts) and one.gain >= other.gain and one != other:
                assert a.left["pages"] >= b.left["pages"] or one.gain == other.gain
                assert a.left["calls"] >= b.left["calls"] or one.gain == other.gain


def test_of_equals_the_first_get_what_rounding_leaves_over() -> None:
    assert [s.left["calls"] for s in Budget({"calls": 8}).split([1, 1, 1])] == [3, 3, 2]
    assert [s.left["calls"] for s in Budget({"calls": 1}).split([1, 1.01])] == [0, 1]
    assert [s.left["calls"] for s in Budget({"calls": -5}).split([1, 1])] == [-2, -3]


def test_the_budget_is_ample_while_a_third_of_every_ceiling_is_left() -> None:
    had = {"calls": 9, "tokens": 90, "pages": 90}
    assert Budget({"calls": 3, "tokens": 30, "pages": 0}).ample(had)
    assert not Budget({"calls": 2, "tokens": 90, "pages": 90}).ample(had)
    assert not Budget({"calls": 9, "tokens": 29, "pages": 90}).ample(had)
    assert not Budget({"pages": 90}).ample({"pages": 90}), "nobody has said what may be spent"
    assert not Budget().ample({})


@given(left=AMOUNTS, weights=WEIGHTS, spend=st.integers(0, 20))
def test_split_and_reclaim_conserve_every_unit(
    left: dict[str, int], weights: list[float], spend: int
) -> None:
    budget = Budget(left)
    shares = budget.split(weights)
    for name, amount in left.items():
        assert sum(s.left[name] for s in shares) + budget.left[name] == amount
    spent = 0
    for share in shares:
        if share.affords({"calls": spend}):
            share.hold({"calls": spend})
            spent += spend
    budget.reclaim(shares)
    expected = {n: v - (spent if n == "calls" else 0) for n, v in left.items()}
    assert budget.left == expected
    assert all(not any(s.left.values()) for s in shares)


@given(left=AMOUNTS, share=st.floats(0, 1), least=AMOUNTS)
def test_setting_aside_conserves_and_never_overdraws(
    left: dict[str, int], share: float, least: dict[str, int]
) -> None:
    budget = Budget(left)
    reserve = budget.set_aside(share, at_least=least)
    for name, amount in left.items():
        assert reserve.left[name] + budget.left[name] == amount
        assert budget.left[name] >= 0
        assert reserve.left[name] >= min(amount, least.get(name, 0))


def test_setting_aside_leaves_other_resources_alone() -> None:
    budget = Budget({"calls": 10, "pages": 10})
    reserve = budget.set_aside(0.25, of=("calls", "cost"), at_least={"calls": 4})
    assert (budget.left, reserve.left) == ({"calls": 6, "pages": 10}, {"calls": 4})
    assert repr(reserve) == "Budget({'calls': 4})"


@given(left=st.integers(-5, 100), amount=st.integers(1, 20))
def test_what_is_afforded_can_be_held_that_often_and_not_once_more(left: int, amount: int) -> None:
    budget = Budget({"calls": left})
    for _ in range(budget.affords({"calls": amount})):
        budget.hold({"calls": amount})
    with pytest.raises(BudgetExceeded):
        budget.hold({"calls": amount})
