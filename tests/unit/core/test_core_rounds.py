"""The supervisor's further turns as a state machine: review, decide, delegate or write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from deep_research.core.budget import Budget
from deep_research.core.consent import Consent
from deep_research.core.errors import BadAnswer, BudgetExceeded, ProviderUnavailable
from deep_research.core.events import Kind
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
from deep_research.core.ports import Verdict
from deep_research.core.report import Round
from deep_research.core.rounds import Course, Rounds
from deep_research.core.seams import Review
from deep_research.core.tree import Tree

WANTS = Review(
    True, (Query("Corby", "who founded Corby"),), ("Who founded Corby?",), reason="a gap"
)
OUTLINE = (("Towns", (1,)),)


@dataclass
class Led:
    """How it went."""

    root: ResearchNode
    course: Course
    stream: Any
    planner: Any
    critic: Any
    budget: Budget

    @property
    def rounds(self) -> list[tuple[str, tuple[str, ...], str]]:
        return [(r.verdict, r.delegated, r.stop) for r in self.course.rounds]


@pytest.fixture
def lead(virtual: Any, kit: Any) -> Callable[..., Led]:
    """Lead the rounds of a tree that has settled, with a floor of one call a branch."""

    def go(
        *reviews: Review | BaseException,
        root: ResearchNode | None = None,
        planned: tuple[Any, ...] = (),
        brings: Any = kit.citable,
        researcher: Any = None,
        left: dict[str, int] | None = None,
        had: dict[str, int] | None = None,
        approver: Any = None,
        brief: Brief | None = None,
        breadth: int = 2,
        turns: int = 5,
    ) -> Led:
        stream, planner = kit.Stream(), kit.FollowUps(turns=planned)
        critic = kit.ScriptedCritic(reviews)
        researcher = researcher or kit.ScriptedResearcher(brings=brings)
        consent = Consent(approver, asyncio.Event())
        tree = Tree(
            researcher, planner, stream, asyncio.Semaphore(2), {"calls": 1}, consent=consent
        )
        node, course, budget = (
            root or settled(kit.learning("Ashford is a town.")),
            Course(),
            Budget(left),
        )
        rounds = Rounds(tree, planner, critic, stream, turns, had or {})
        virtual(rounds.lead(node, brief or Brief("Q"), Shape(breadth, 2), budget, course))
        return Led(node, course, stream, planner, critic, budget)

    return go


def settled(
    *learnings: Learning, queued: tuple[str, ...] = (), failed: tuple[str, ...] = ()
) -> ResearchNode:
    root = ResearchNode(Query("Ashford"), findings=Findings(learnings), status=Status.DONE)
    root.decision = Decision(stop="depth", queued=tuple(map(Query, queued)))
    for child in root.branch(tuple(map(Query, failed))):
        child.status, child.failure = Status.FAILED, Failure("unavailable", "down", child.path)
    return root


def conflicting(kit: Any) -> ResearchNode:
    return settled(
        *(kit.learning(f"The Orla dam in Ashford is {m} metres high.") for m in (31, 47))
    )


def test_what_the_critic_misses_is_researched_and_then_it_is_content(lead: Any) -> None:
    led = lead(WANTS, Review(reason="all there"))
    assert led.rounds == [("research", ("Corby",), ""), ("report", (), "answered")]
    assert [c.query.text for c in led.root.children] == ["Corby"]
    assert led.course.stop == "answered"
    assert led.course.gaps == ()
    assert led.stream.of(Kind.REVIEWED)[0].data == {
        "turn": 1,
        "learnings": 1,
        "news": 1.0,
        "verdict": "research",
        "gaps": ["Who founded Corby?"],
        "delegate": ["Corby"],
        "stop": "",
        "reason": "a gap",
    }
    assert led.course.rounds[1] == Round(2, 1, 1.0, "report", stop="answered", reason="all there")


def test_a_content_critic_ends_research_and_nobody_else_is_asked(lead: Any) -> None:
    led = lead(Review(outline=OUTLINE))
    assert led.rounds == [("report", (), "answered")]
    assert led.planner.cases == []
    assert (led.course.outline, led.course.reviewed) == (OUTLINE, 1)
    assert not led.root.children


def test_without_rounds_there_is_no_stop() -> None:
    assert Course().stop == ""


def test_what_is_known_and_asked_in_the_tree_is_known_to_a_further_turn(
    lead: Any, kit: Any
) -> None:
    root = settled(kit.learning("Ashford is a town."), failed=("Egham",))
    led = lead(WANTS, root=root)
    node = led.root.children[1]
    assert [x.text for x in node.known] == ["Ashford is a town."]
    assert set(node.asked) >= {"Ashford", "Egham", "Corby"}


def test_a_conflict_is_settled_although_the_critic_is_content(lead: Any, kit: Any) -> None:
    """Nobody is asked whether: the tie-break is due, and it is due once."""
    led = lead(root=conflicting(kit))
    tie = "The Orla dam in Ashford is metres high."
    assert led.rounds == [("research", (tie,), ""), ("report", (), "answered")]
    assert led.planner.cases == []


def test_a_failed_branch_is_tried_once_more_although_the_critic_is_content(
    lead: Any, kit: Any
) -> None:
    root = settled(kit.learning("Ashford is a town."), failed=("Corby",))
    researcher = kit.ScriptedResearcher(fails={(1,): ProviderUnavailable("still down")})
    led = lead(root=root, researcher=researcher)
    assert led.rounds == [("research", ("Corby",), ""), ("report", (), "answered")]
    assert led.critic.cases[0].failures == ("Corby: unavailable: down",)
    assert len(led.critic.cases[1].failures) == 2


def test_a_second_failure_costs_its_siblings_nothing(lead: Any, kit: Any) -> None:
    root = settled(kit.learning("Ashford is a town."), failed=("Corby", "Dover", "Egham"))
    researcher = kit.ScriptedResearcher(
        brings=kit.citable, fails={(3,): ProviderUnavailable("still down")}
    )
    led = lead(root=root, researcher=researcher)
    assert [n.status for n in led.root.children[3:]] == [Status.FAILED, Status.DONE]
    assert led.course.rounds[1].learnings == 1


def test_no_evidence_calls_for_what_is_due_and_queued_and_not_for_a_review(lead: Any) -> None:
    led = lead(root=settled(queued=("Egham",), failed=("Corby",)))
    assert led.rounds[0] == ("research", ("Corby", "Egham"), "")
    assert led.course.rounds[0].reason == "no evidence yet"
    assert len(led.critic.cases) == 1, "only the second turn has something to review"
    assert led.planner.cases == []


def test_no_evidence_and_nothing_to_ask(lead: Any) -> None:
    led = lead(root=settled())
    assert led.rounds == [("research", (), "no_evidence")]
    assert led.critic.cases == []


def test_when_the_turns_are_used_up_the_gaps_are_kept(lead: Any) -> None:
    other = Review(True, (Query("Dover"),), ("Where is Dover?",))
    led = lead(WANTS, other, turns=2)
    assert led.rounds == [("research", ("Corby",), ""), ("research", (), "turns")]
    assert led.course.gaps == ("Where is Dover?",)


def test_a_critic_that_is_never_content_ends_with_the_turns(lead: Any) -> None:
    """M28: it always says 'continue'."""
    reviews = [Review(True, (Query(f"Town number {n}"),)) for n in range(50)]
    led = lead(*reviews)
    assert len(led.course.rounds) == 5
    assert led.course.stop == "turns"


def test_a_turn_without_news_is_the_last(lead: Any, kit: Any) -> None:
    """Marginal gain: it found what was known, or nothing at all."""
    other = Review(True, (Query("Dover"),), ("Where is Dover?",))
    for findings in (Findings((kit.learning("Ashford is a town."),)), Findings()):
        led = lead(WANTS, other, brings=lambda _, found=findings: found)
        assert led.rounds == [("research", ("Corby",), ""), ("research", (), "no_gain")]
        assert led.course.gaps == ("Where is Dover?",)
        assert led.course.rounds[1].news == 0.0


def test_news_is_measured_against_all_that_was_known_before(lead: Any, kit: Any) -> None:
    brings = Findings((kit.learning("Ashford is a town."), kit.learning("Corby is a town.")))
    led = lead(WANTS, brings=lambda _: brings)
    assert [r.news for r in led.course.rounds] == [1.0, 0.5]


def test_without_budget_for_a_branch_research_ends(lead: Any) -> None:
    led = lead(WANTS, left={"calls": 0})
    assert led.rounds == [("research", (), "budget")]
    assert led.planner.cases == [], "the decision would cost, too"


def test_a_content_critic_and_no_budget_is_an_answer(lead: Any, kit: Any) -> None:
    assert lead(left={"calls": 0}, root=conflicting(kit)).rounds == [("report", (), "answered")]


def test_as_many_branches_as_can_be_paid_for_and_the_rest_next_time(lead: Any) -> None:
    many = tuple(Query(f"Town number {n}") for n in range(12))
    led = lead(Review(True, many), Review(True, many), left={"calls": 5}, breadth=6)
    assert len(led.rounds[0][1]) == 10
    left = {q.text for q in many} - set(led.rounds[0][1])
    assert left == set(led.rounds[1][1]), "the sixth branch waits for the next turn"
    assert led.budget.left == {"calls": 5}, "what nobody spent comes back"


@pytest.mark.parametrize(("calls", "asked"), [(3, 0), (4, 1)])
def test_a_round_that_would_starve_the_writer_is_not_begun(
    lead: Any, calls: int, asked: int
) -> None:
    led = lead(WANTS, left={"calls": calls})
    assert len(led.planner.cases) == asked


def test_a_critic_that_fails_or_is_garbled_calls_for_writing(lead: Any, kit: Any) -> None:
    led = lead(
        BadAnswer("no JSON"),
        root=settled(kit.learning("Ashford is a town."), queued=("Ashford town",)),
    )
    assert led.rounds == [("report", (), "answered")]
    assert led.course.rounds[0].reason == "no review: no JSON"
    assert led.stream.of(Kind.WARNING)[0].data == {
        "message": "no review: no JSON",
        "kind": "bad_answer",
    }


MUST = Brief("Q", acceptance=("what Ashford is", "history of the Orla dam"))


def test_a_critic_that_cannot_be_paid_ends_research_for_the_budget(lead: Any) -> None:
    """And what no finding touches is named all the same."""
    led = lead(BudgetExceeded("calls", wanted=1, left=0), left={"calls": 0}, brief=MUST)
    assert led.rounds == [("research", (), "budget")]
    assert led.course.gaps == ("history of the Orla dam",)


def test_without_a_review_what_no_finding_touches_is_missing(lead: Any) -> None:
    assert lead(BadAnswer("no JSON"), brief=MUST).course.gaps == ("history of the Orla dam",)
    assert lead(root=settled(), brief=MUST).course.gaps == MUST.acceptance


def test_a_conflict_is_settled_also_without_a_review(lead: Any, kit: Any) -> None:
    led = lead(BadAnswer("no JSON"), root=conflicting(kit))
    assert led.rounds[0][0] == "research"


def test_bugs_of_a_critic_stay_loud(lead: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        lead(ZeroDivisionError())


def test_a_planner_that_fails_leaves_what_is_due(lead: Any, kit: Any) -> None:
    root = settled(kit.learning("Ashford is a town."), failed=("Egham",))
    led = lead(WANTS, root=root, planned=(BadAnswer("no JSON"),))
    assert led.rounds[0] == ("research", ("Egham",), "")
    assert led.stream.of(Kind.WARNING)[0].data == {
        "message": "no decision: no JSON",
        "kind": "bad_answer",
    }


@pytest.mark.parametrize(
    ("error", "stop"),
    [(BadAnswer("no JSON"), "undecided"), (BudgetExceeded("calls", wanted=1, left=0), "budget")],
)
def test_a_planner_that_fails_with_nothing_due_ends_the_research(
    error: Exception, stop: str, lead: Any
) -> None:
    assert lead(WANTS, planned=(error,)).rounds == [("research", (), stop)]


def test_the_supervisor_may_end_against_the_critic(lead: Any) -> None:
    led = lead(WANTS, planned=(Decision(stop="off_topic", reason="leads away"),))
    assert led.rounds == [("research", (), "off_topic")]
    assert led.course.rounds[0].reason == "leads away"
    assert led.course.gaps == ("Who founded Corby?",)


def test_a_decision_that_says_nothing_is_an_end(lead: Any) -> None:
    assert lead(WANTS, planned=(Decision(),)).course.stop == "saturated"


def test_delegate_together_with_an_end_means_delegate_first(lead: Any) -> None:
    both = Decision((Query("Dover"),), stop="answered")
    assert lead(WANTS, planned=(both,)).rounds[0] == ("research", ("Dover",), "")


def test_what_a_branch_named_and_nobody_looked_at_is_brought_before_the_supervisor(
    lead: Any, kit: Any
) -> None:
    """Also when the critic is content; what is about known things only is not."""
    root = settled(kit.learning("Ashford is a town."), queued=("Kessel foundry", "Ashford history"))
    led = lead(root=root, planned=(Decision((Query("Kessel foundry"),)),))
    assert [q.text for q in led.planner.cases[0].queued] == ["Kessel foundry"]
    assert led.rounds == [("research", ("Kessel foundry",), ""), ("report", (), "answered")]


def test_while_the_budget_is_ample_what_is_queued_is_weighed_too(lead: Any, kit: Any) -> None:
    root = settled(kit.learning("Ashford is a town."), queued=("Ashford town",))
    for had, asked in (({"calls": 9}, 1), ({"calls": 90}, 0), ({}, 0)):
        led = lead(root=root, left={"calls": 9}, had=had, planned=(Decision(stop="no_gain"),))
        assert len(led.planner.cases) == asked
        assert led.course.stop == ("no_gain" if asked else "answered")


def test_delegations_beyond_the_breadth_wait_for_the_next_turn_and_none_is_lost(lead: Any) -> None:
    """M27: twenty delegations at once."""
    twenty = tuple(Query(f"Town number {n}") for n in range(20))
    led = lead(WANTS, WANTS, WANTS, planned=(Decision(twenty),), breadth=3)
    assert led.rounds[0][1] == tuple(q.text for q in twenty[:3])
    assert led.critic.cases[1].queued[:17] == twenty[3:]
    waiting = led.critic.cases[1].queued
    assert led.planner.cases[1].queued == waiting
    done = {text for r in led.course.rounds for text in r.delegated}
    assert {q.text for q in led.critic.cases[2].queued} >= {q.text for q in twenty} - done


def test_what_the_critic_wanted_once_is_not_kept_for_it(lead: Any) -> None:
    many = tuple(Query(f"Town number {n}") for n in range(9))
    led = lead(Review(True, many), breadth=2)
    follow_ups = {q.text for n in led.root.children for q in n.findings.follow_ups}
    assert {q.text for q in led.critic.cases[1].queued} <= follow_ups


def test_a_person_approves_every_turn(lead: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover(lambda p: Verdict((*p.queries[:1],)))
    led = lead(WANTS, approver=approver)
    assert [(p.path, [q.text for q in p.queries]) for p in approver.asked] == [((), ["Corby"])]
    assert led.rounds[0] == ("research", ("Corby",), "")


@pytest.mark.parametrize(("rejected", "stop"), [(True, "rejected"), (False, "not_approved")])
def test_a_turn_that_a_person_refuses_is_the_last(
    lead: Any, kit: Any, *, rejected: bool, stop: str
) -> None:
    led = lead(WANTS, approver=kit.ScriptedApprover(lambda _: Verdict(rejected=rejected)))
    assert led.rounds == [("research", (), stop)]
    assert not led.root.children


def test_a_tie_that_only_the_critic_sees_is_broken_though_it_is_content(
    lead: Any, kit: Any
) -> None:
    tie = Query("When does the plane land?", "Cannot both hold")
    led = lead(Review(ties=(tie,)), Review(ties=(tie,)), left={"calls": 1})
    assert led.rounds == [("research", (tie.text,), ""), ("report", (), "answered")]


def test_what_is_due_needs_no_decision_and_is_done_before_the_budget_ends(
    lead: Any, kit: Any
) -> None:
    root = settled(kit.learning("Ashford is a town."), failed=("Egham",))
    led = lead(WANTS, root=root, left={"calls": 2})
    assert led.rounds[0] == ("research", ("Egham",), "")
    assert led.planner.cases == []


def test_a_review_that_cannot_be_paid_for_ends_the_research_for_the_budget(lead: Any) -> None:
    led = lead(BudgetExceeded("tokens", wanted=4457, left=4228))
    assert led.course.stop == "budget"


def test_what_the_run_went_on_without_is_kept_for_the_report(lead: Any) -> None:
    led = lead(BadAnswer("no JSON"))
    assert [f.kind for f in led.root.mishaps] == ["bad_answer"]
    led = lead(WANTS, planned=(BadAnswer("no JSON"),))
    assert [f.kind for f in led.root.mishaps] == ["bad_answer"]
