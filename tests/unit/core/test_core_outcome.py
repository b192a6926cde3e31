"""Every way a run can end has a status and a reason."""

from __future__ import annotations

from typing import Any

import pytest

from deep_research.core.model import (
    Brief,
    Decision,
    Failure,
    Findings,
    Learning,
    Query,
    ResearchNode,
    Status,
)
from deep_research.core.outcome import failures, gaps, outcome
from deep_research.core.report import RunStatus

DOWN = Failure("unavailable", "search is down")
FULL = Failure("journal", "disk full")
KEY = Failure("auth", "set OPENAI_API_KEY")
POOR = Failure("budget", "budget of calls: 1 wanted, 0 left")
PAGE = Failure("page_unreadable", "https://x.example/: empty")


def tree(
    stops: tuple[str, ...] = (),
    *,
    root: Failure | None = None,
    branches: tuple[Failure | None, ...] = (),
    trouble: tuple[Failure, ...] = (),
) -> ResearchNode:
    node = ResearchNode(Query("Q"), failure=root, findings=Findings(failures=trouble))
    for child, failure in zip(
        node.branch(tuple(Query("q") for _ in branches)), branches, strict=True
    ):
        child.failure = failure
    for child, stop in zip(node.walk(), stops, strict=False):
        child.decision = Decision(stop=stop)
    return node


def missed(node: ResearchNode, failure: Failure) -> ResearchNode:
    node.mishaps = (failure,)
    return node


CASES: list[tuple[ResearchNode, bool, dict[str, Any], str, str]] = [
    (tree(("depth",)), True, {}, "complete", "depth"),
    (
        tree(("", "saturated", "depth", "saturated"), branches=(None,) * 3),
        True,
        {},
        "complete",
        "depth",
    ),
    (
        tree(("", "saturated", "x", "saturated"), branches=(None,) * 3),
        True,
        {},
        "complete",
        "saturated",
    ),
    (tree(), True, {}, "complete", "done"),
    (tree(), True, {"stopped": "cancelled"}, "cancelled", "cancelled"),
    (tree(), False, {"stopped": "rejected", "late": True}, "cancelled", "rejected"),
    (tree(), True, {"late": True}, "partial", "deadline"),
    (tree(("depth",)), True, {"course": "answered"}, "complete", "answered"),
    (tree(("depth",)), True, {"course": "turns"}, "complete", "turns"),
    (tree(("depth",)), True, {"course": "budget"}, "partial", "budget"),
    (tree(), False, {"course": "budget"}, "nothing_found", "budget"),
    (tree(("not_approved",)), False, {}, "nothing_found", "not_approved"),
    (tree(), False, {"course": "not_approved"}, "nothing_found", "not_approved"),
    (tree(("budget",)), False, {"course": "not_approved"}, "nothing_found", "budget"),
    (tree(), True, {"course": "not_approved"}, "partial", "not_approved"),
    (tree(), True, {"course": "undecided"}, "partial", "undecided"),
    (tree(("not_approved",)), True, {}, "partial", "not_approved"),
    (tree(), False, {"late": True}, "nothing_found", "deadline"),
    (tree(("budget",)), True, {}, "partial", "budget"),
    (tree(("budget",)), False, {}, "nothing_found", "budget"),
    (tree(root=POOR), False, {}, "nothing_found", "budget"),
    (tree(branches=(POOR, None)), True, {}, "partial", "budget"),
    (tree(branches=(POOR, DOWN)), False, {}, "nothing_found", "budget"),
    (tree(), False, {}, "nothing_found", "no_evidence"),
    (tree(root=KEY), False, {}, "failed", "auth: set OPENAI_API_KEY"),
    (tree(root=KEY), True, {}, "partial", "auth: set OPENAI_API_KEY"),
    (tree(branches=(DOWN, KEY)), False, {}, "failed", "unavailable: search is down"),
    (tree(branches=(DOWN, None)), False, {}, "nothing_found", "no_evidence"),
    (tree(branches=(DOWN, DOWN)), True, {}, "complete", "done"),
    (missed(tree(), DOWN), False, {}, "failed", "unavailable: search is down"),
    (missed(tree(branches=(None,)), DOWN), False, {}, "failed", "unavailable: search is down"),
    (missed(tree(), PAGE), False, {}, "nothing_found", "no_evidence"),
    (missed(tree(), DOWN), True, {}, "complete", "done"),
    (tree(trouble=(PAGE, DOWN)), False, {}, "nothing_found", "no_evidence"),
    (tree(trouble=(FULL,)), False, {}, "failed", "journal: disk full"),
    (tree(trouble=(PAGE,)), False, {}, "nothing_found", "no_evidence"),
    (tree(trouble=(DOWN,), branches=(None,)), False, {}, "nothing_found", "no_evidence"),
]


@pytest.mark.parametrize(("root", "found", "how", "status", "reason"), CASES)
def test_status_and_reason(
    root: ResearchNode, *, found: bool, how: dict[str, Any], status: str, reason: str, kit: Any
) -> None:
    bank = kit.bank("Iron is grey.") if found else kit.bank()
    how = {"late": False, "stopped": "", **how}
    assert outcome(root, bank, **how) == (RunStatus(status), reason)


def test_a_mishap_counts_only_if_nothing_was_found(kit: Any) -> None:
    """The brief met an outage: with branches or without, that is why there is nothing."""
    for root in (tree(branches=(None,), trouble=(PAGE,)), tree(trouble=(PAGE,))):
        root.mishaps = (PAGE, DOWN)
        assert outcome(root, kit.bank(), late=False, stopped="") == (
            RunStatus.FAILED,
            "unavailable: search is down",
        )
        assert outcome(root, kit.bank("x"), late=False, stopped="")[0] is RunStatus.COMPLETE


def test_failures_come_in_tree_order() -> None:
    root = tree(root=KEY, branches=(None, DOWN), trouble=(PAGE,))
    root.mishaps = (DOWN,)
    root.children[0].findings = Findings(failures=(POOR,))
    assert failures(root) == (DOWN, PAGE, KEY, POOR, DOWN)
    root.children[1].findings = Findings(failures=(PAGE, FULL))
    assert failures(root) == (DOWN, PAGE, KEY, POOR, FULL, DOWN), "a page's failure is told once"


def test_gaps_are_open_headings_and_barren_branches(kit: Any) -> None:
    root = ResearchNode(Query("Q"))
    found, barren, never = root.branch((Query("found"), Query("barren"), Query("never begun")))
    found.findings = Findings((Learning("x"),))
    found.status = barren.status = Status.DONE
    assert never.status is Status.PENDING
    brief = Brief("Q", outline=("Melting points of metals", "History of prices", "the"))
    bank = kit.bank("Iron melts at a high point.")
    assert gaps(root, brief, bank) == ("History of prices", "barren")
    seen = ("Who pays?", "barren")
    assert gaps(root, brief, bank, seen) == ("Who pays?", "barren")


def test_gaps_are_few(kit: Any) -> None:
    brief = Brief("Q", outline=tuple(f"Heading number {i}" for i in range(20)))
    assert len(gaps(ResearchNode(Query("Q")), brief, kit.bank())) == 8
