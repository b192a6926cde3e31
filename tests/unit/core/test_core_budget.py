"""Budgets conserve every unit, whatever is done with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.budget import RESOURCES, Budget
from deep_research.core.errors import BudgetExceeded

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
    assert [b.left for b in budget.split(2)] == [{}, {}]


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


@given(left=AMOUNTS, parts=st.integers(0, 7), spend=st.integers(0, 20))
def test_split_and_reclaim_conserve_every_unit(
    left: dict[str, int], parts: int, spend: int
) -> None:
    budget = Budget(left)
    shares = budget.split(parts)
    for name, amount in left.items():
        own = [s.left[name] for s in shares]
        assert sum(own) + budget.left[name] == amount
        assert not own or max(own) - min(own) <= 1
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
