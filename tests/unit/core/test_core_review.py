"""Between two rounds: ties to break, failures to try once more, what is queued, what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from deep_research.core.merge import Bank, merge
from deep_research.core.model import (
    Brief,
    Decision,
    Failure,
    Findings,
    Learning,
    Query,
    ResearchNode,
    Shape,
    Status,
)
from deep_research.core.report import Conflict
from deep_research.core.review import PlainCritic, case_of, onward, tie_break, unmet
from deep_research.core.seams import Case, Review, Scope

DOWN = Failure("unavailable", "search is down")


def failed(node: ResearchNode, failure: Failure = DOWN) -> ResearchNode:
    node.status, node.failure = Status.FAILED, failure
    return node


def case(root: ResearchNode, bank: Bank | None = None, **how: Any) -> Case:
    return case_of(root, bank or Bank(), 1, 5, **how)


def test_only_an_unsettled_conflict_gets_a_tie_break(kit: Any) -> None:
    """The sources' dates settle one; more pages on one side do not."""
    dated = [
        kit.learning(f"As of {y}, Veltran-7 melts at {k} kelvin.")
        for y, k in ((2010, 1790), (2023, 1843))
    ]
    open_ = [kit.learning(f"The Orla dam in Ashford is {m} metres high.") for m in (31, 47)]
    root = ResearchNode(Query("Q"), findings=Findings((*dated, *open_)))
    bank = merge(root)
    assert [c.settled for c in bank.conflicts] == [True, False]
    (tie,) = case(root, bank).due
    assert tie.text == "The Orla dam in Ashford is metres high."
    assert tie.goal.startswith(
        "Sources disagree: 'The Orla dam in Ashford is 31 metres high.' against"
    )
    asked = ResearchNode(Query("the Orla dam in Ashford is metres high"))
    assert case(asked, bank).due == (), "asked once is enough"


def test_a_tie_break_is_a_query_of_bearable_length() -> None:
    text = "tower " * 90
    tie = tie_break(Conflict(Learning(text + "5"), Learning(text + "6"), "why"))
    assert len(tie.text) <= 200
    assert not tie.text.endswith("…")


def test_a_failed_branch_is_tried_once_more_and_only_once() -> None:
    root = ResearchNode(Query("Q"))
    bad, good = root.branch((Query("Ashford", "goal", ("Corby",), 0.5), Query("Barnsley")))
    failed(bad)
    good.status = Status.DONE
    assert case(root).due == (bad.query,)
    assert case(root).failures == ("Ashford: unavailable: search is down",)
    (again,) = root.extend(case(root).due)
    assert case(root).due == (), "it is being tried"
    failed(again)
    assert case(root).due == ()


def test_also_where_the_second_try_shared_its_branch() -> None:
    root = ResearchNode(Query("Q"))
    for child in root.branch((Query("Ashford", "A"), Query("Corby", "C"))):
        failed(child)
    decision = onward(case(root), Review(), Shape(4, 1))
    assert [q.texts for q in decision.delegate] == [("Ashford", "Corby")]
    (again,) = root.extend(decision.delegate)
    failed(again)
    assert case(root).due == ()


def test_what_shared_a_failed_branch_with_a_second_try_has_its_own_second_try() -> None:
    root = ResearchNode(Query("Q"))
    failed(root.branch((Query("Ashford"),))[0])
    failed(root.extend((Query("Ashford", "both", ("Barnsley", "Corby"), 0.5),))[0])
    assert case(root).due == (Query("Barnsley", "both", ("Corby",), 0.5),)


@pytest.mark.parametrize("kind", ["auth", "config", "budget"])
def test_what_another_try_cannot_mend_is_not_tried(kind: str) -> None:
    root = ResearchNode(Query("Q"))
    failed(root.branch((Query("Ashford"),))[0], Failure(kind, "no"))
    found = case(root)
    assert found.due == ()
    assert found.failures == (f"Ashford: {kind}: no",)


def test_neither_the_root_nor_a_cancelled_branch_is_tried_again() -> None:
    root = failed(ResearchNode(Query("Q")))
    root.branch((Query("Ashford"),))[0].status = Status.CANCELLED
    assert case(root).due == ()


def test_what_is_queued_comes_by_promise_then_in_tree_order_and_only_if_open(kit: Any) -> None:
    root = ResearchNode(Query("Ashford"))
    root.decision = Decision(queued=(Query("Corby", gain=0.2), Query("Egham", gain=0.9)))
    (child,) = root.branch((Query("Barnsley"),))
    child.decision = Decision(
        queued=(
            Query("Dover", gain=0.9),
            Query("Ashford", gain=1.0),
            Query("the Egham", gain=0.5),
            Query("The Orla dam in Ashford is metres high"),
        )
    )
    heights = [kit.learning(f"The Orla dam in Ashford is {m} metres high.") for m in (31, 47)]
    bank = merge(ResearchNode(Query("Q"), findings=Findings(tuple(heights))))
    found = case(root, bank)
    assert [q.text for q in found.due] == ["The Orla dam in Ashford is metres high."]
    assert [q.text for q in found.queued] == ["Egham", "Dover", "Corby"]


def test_what_found_no_place_in_an_earlier_turn_waits_with_the_rest() -> None:
    root = ResearchNode(Query("Ashford"), decision=Decision(queued=(Query("Corby", gain=0.2),)))
    found = case(root, left=(Query("Barnsley"), Query("Ashford")))
    assert [q.text for q in found.queued] == ["Barnsley", "Corby"]


def test_onward_takes_what_is_due_then_what_the_critic_wants_then_what_is_queued() -> None:
    root = ResearchNode(Query("Ashford"))
    root.decision = Decision(queued=(Query("Egham"), Query("Dover")))
    failed(root.branch((Query("Corby"),))[0])
    review = Review(True, (Query("Barnsley"), Query("Ashford")))
    decision = onward(case(root), review, Shape(1, 1, per_branch=3))
    assert [q.texts for q in decision.delegate] == [("Corby", "Barnsley", "Egham")]
    assert [q.text for q in decision.queued] == ["Dover"]
    assert onward(case(ResearchNode(Query("Q"))), Review(), Shape(2, 1)) == Decision(
        stop="saturated"
    )


def test_the_plain_critic_wants_what_no_finding_touches(virtual: Any, kit: Any) -> None:
    bank = kit.bank("Iron melts at a high point.")
    state = case(ResearchNode(Query("Q")), bank)
    brief = Brief("Q", outline=("Melting points of metals", "History of prices"))
    gap = Query("History of prices", "Q")
    review = virtual(PlainCritic().review(state, brief, Scope()))
    assert review == Review(True, (gap,), ("History of prices",))
    done = virtual(PlainCritic().review(state, Brief("Q", outline=brief.outline[:1]), Scope()))
    assert done == Review()
    assert unmet(("melting iron",), bank) == ()
