"""Marginal gain: what is news, what share of it, how long there was none."""

from __future__ import annotations

from typing import Any

import pytest

from deep_research.core.budget import Budget
from deep_research.core.model import Findings, Learning, Query, ResearchNode
from deep_research.core.news import DRY, divided, measure, news, share


def test_news_is_what_can_be_cited_and_nobody_knew(kit: Any) -> None:
    known = [kit.learning("Iron melts at 1811 kelvin.")]
    found = [
        kit.learning("iron melts at 1811  kelvin"),
        kit.learning("Tin melts at 505 kelvin."),
        kit.learning("Tin melts at 505 KELVIN."),
        Learning("Lead melts at 600 kelvin."),
    ]
    assert news(found, known) == [found[1]]
    assert news(found[:1], []) == found[:1]


def test_other_numbers_and_a_negation_are_news(kit: Any) -> None:
    known = [kit.learning("The drug is effective in adults."), kit.learning("Iron costs 5 coins.")]
    found = [
        kit.learning("The drug is not effective in adults."),
        kit.learning("Iron costs 6 coins."),
    ]
    assert news(found, known) == found


def test_what_is_known_without_a_source_is_known_all_the_same(kit: Any) -> None:
    assert news([kit.learning("Iron is grey.")], [Learning("Iron is grey.")]) == []


@pytest.mark.parametrize(("part", "whole", "expected"), [(0, 0, 0.0), (1, 3, 0.33), (2, 2, 1.0)])
def test_shares(part: int, whole: int, expected: float) -> None:
    assert share(range(part), range(whole)) == expected


def test_results_without_news_in_a_row_are_counted_down_a_branch(kit: Any) -> None:
    old, new = kit.learning("Iron is grey."), kit.learning("Tin is white.")
    root = ResearchNode(Query("Q"), findings=Findings((old,)))
    measure(root)
    assert (root.news, root.dry) == (1.0, 0)
    (child,) = root.branch((Query("a"),))
    child.findings = Findings((old,))
    measure(child)
    assert (child.news, child.dry) == (0.0, 1)
    (leaf,) = child.branch((Query("b"),))
    measure(leaf)
    assert (leaf.news, leaf.dry) == (0.0, 1), "who has read nothing has no result"
    leaf.findings = Findings(read=("a.example",))
    measure(leaf)
    assert (leaf.news, leaf.dry) == (0.0, DRY), "pages that say nothing are no news either"
    (late,) = child.branch((Query("c"),))
    late.findings = Findings((old, new))
    measure(late)
    assert (late.news, late.dry) == (0.5, 0)
    (again,) = root.extend((Query("d"),))
    assert again.dry == 0, "a new turn begins anew"


def test_more_goes_where_more_news_is_expected() -> None:
    had = Budget({"calls": 100, "pages": 100})
    queries = [Query("a", gain=0.0), Query("b"), Query("c", also=("d",))]
    dull, plain, large = (share.left for share in divided(had, queries))
    assert dull["calls"] < plain["calls"] <= large["calls"] + 1, (
        "a call reads all texts of a branch"
    )
    assert dull["pages"] < plain["pages"] < large["pages"]
    assert sum(x["pages"] for x in (dull, plain, large)) == 100
