"""A whole run as a team: brief, person, critic and rounds, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from deep_research.core.budget import Budget
from deep_research.core.errors import AuthFailed, ProviderUnavailable
from deep_research.core.model import (
    Brief,
    Decision,
    Findings,
    Path,
    Query,
    ResearchNode,
    Shape,
    Status,
)
from deep_research.core.ports import Lead, Verdict
from deep_research.core.report import Report
from deep_research.core.seams import Review
from deep_research.core.supervisor import Limits

LIMITS = Limits(Shape(2, 1), Budget(), turns=5)
WANTS = Review(True, (Query("Corby"),), ("Who founded Corby?",), (("Metals", (1, 2, 3)),))
BRIEF = Brief("Question?", queries=("first", "second"))


def run(virtual: Any, kit: Any, **how: Any) -> tuple[Report, Any]:
    stream = kit.Stream()
    limits = replace(how.pop("limits", LIMITS), budget=Budget(how.pop("left", None)))
    return virtual(kit.lead_run(stream, limits=limits, **how)), stream


def root(report: Report) -> ResearchNode:
    assert report.tree is not None
    return report.tree


class Answered:
    """A planner for a lookup: the first look answers it."""

    def __init__(self, kit: Any, *, lookup: bool = True) -> None:
        self.inner = kit.FollowUps(Brief("Question?", lookup=lookup))
        self.brief, self.decide_turn = self.inner.brief, self.inner.decide_turn

    async def decide(self, *_: Any) -> Decision:
        return Decision(stop="answered", queued=(Query("Egham"),))


def test_a_critic_leads_to_rework(virtual: Any, kit: Any) -> None:
    """The tutorial's first path: review, more research, review, report."""
    critic = kit.ScriptedCritic([WANTS])
    report, _ = run(virtual, kit, critic=critic)
    assert (report.status, report.stop_reason) == ("complete", "answered")
    assert [r.verdict for r in report.rounds] == ["research", "report"]
    assert [n.query.text for n in root(report).children[2:]] == ["Corby"]
    assert len(report.learnings) == 4
    assert len(critic.cases) == 2


def test_an_exhausted_turn_budget_names_the_gaps(virtual: Any, kit: Any) -> None:
    """The tutorial's second path."""
    critic = kit.ScriptedCritic([WANTS] * 9)
    report, _ = run(virtual, kit, critic=critic, limits=replace(LIMITS, turns=2))
    assert (report.status, report.stop_reason) == ("complete", "turns")
    assert report.gaps[0] == "Who founded Corby?"
    assert len(report.rounds) == 2
    assert report.body


def test_an_exhausted_budget_makes_the_report_partial(virtual: Any, kit: Any) -> None:
    """Two calls are the writer's; one for each node of the tree leaves none for a round."""
    researcher = kit.ScriptedResearcher(brings=kit.citable, spends=lambda _: {"calls": 1})
    critic = kit.ScriptedCritic([WANTS])
    report, _ = run(virtual, kit, critic=critic, researcher=researcher, left={"calls": 5})
    assert (report.status, report.stop_reason) == ("partial", "budget")
    assert [r.stop for r in report.rounds] == ["budget"]
    assert report.gaps[0] == "Who founded Corby?"


def test_one_turn_grows_one_tree_and_reviews_nothing(virtual: Any, kit: Any) -> None:
    critic = kit.ScriptedCritic([WANTS])
    report, _ = run(virtual, kit, critic=critic, limits=replace(LIMITS, turns=1))
    assert critic.cases == []
    assert report.rounds == ()
    assert report.stop_reason == "depth"


def test_a_failed_root_has_no_rounds(virtual: Any, kit: Any) -> None:
    critic = kit.ScriptedCritic([WANTS])
    researcher = kit.ScriptedResearcher(fails={(): AuthFailed("set KEY")})
    report, _ = run(virtual, kit, critic=critic, researcher=researcher)
    assert (report.status, report.rounds) == ("failed", ())
    assert critic.cases == []


def test_a_run_in_which_everything_failed_tries_once_more_and_says_why(
    virtual: Any, kit: Any
) -> None:
    down = ProviderUnavailable("search is down")
    paths = [(), *((i,) for i in range(9))]
    researcher = kit.ScriptedResearcher(fails=dict.fromkeys(paths, down))
    report, _ = run(virtual, kit, researcher=researcher)
    assert (report.status, report.stop_reason) == ("failed", "unavailable: search is down")
    assert sorted(researcher.began) == [(), (0,), (1,), (2,)], "A and B share the second try"


def test_a_lookup_says_so_and_goes_no_further(virtual: Any, kit: Any) -> None:
    critic = kit.ScriptedCritic([WANTS])
    report, _ = run(virtual, kit, planner=Answered(kit), critic=critic)
    assert (report.status, report.stop_reason) == ("complete", "answered")
    assert report.notes == (
        "A short question: one search answered it, so research went no further.",
    )
    assert critic.cases == []
    report, _ = run(virtual, kit, planner=Answered(kit, lookup=False), critic=critic)
    assert report.notes == ()
    assert len(critic.cases) == 2, "a question that is no lookup is reviewed all the same"


def test_the_last_review_s_outline_is_the_writer_s_for_the_same_bank_only(
    virtual: Any, kit: Any
) -> None:
    outline = (("Metals", (1, 2, 3)),)
    writer = kit.ScriptedWriter()
    run(virtual, kit, critic=kit.ScriptedCritic([Review(outline=outline)]), writer=writer)
    assert writer.outlines == [outline]
    writer = kit.ScriptedWriter()
    run(virtual, kit, critic=kit.ScriptedCritic([WANTS], seconds=1), writer=writer, stop_at=3.5)
    assert writer.outlines == [outline], "nothing more was learned until it was stopped"
    writer = kit.ScriptedWriter()
    critic = kit.ScriptedCritic([WANTS, Review()], seconds=1)
    run(virtual, kit, critic=critic, writer=writer, stop_at=4.5)
    assert writer.outlines == [()], "the bank has grown since"


def test_stopping_in_the_middle_of_a_round_keeps_the_rounds_before(virtual: Any, kit: Any) -> None:
    review = Review(True, (Query("Corby"), Query("Dover"), Query("Egham")), ("a gap",))
    researcher = kit.ScriptedResearcher(
        brings=kit.citable, seconds=lambda path: 5.0 if path == (3,) else 1.0
    )
    report, _ = run(
        virtual, kit, researcher=researcher, critic=kit.ScriptedCritic([review]), stop_at=3.5
    )
    assert (report.status, report.stop_reason) == ("cancelled", "cancelled")
    assert [n.status for n in root(report).children] == [Status.DONE] * 3 + [Status.CANCELLED]
    assert root(report).status is Status.DONE
    assert len(report.learnings) == 4
    assert [r.delegated for r in report.rounds] == [("Corby", "Egham", "Dover")]
    assert report.gaps[0] == "a gap"
    assert report.body


def test_a_deadline_in_the_middle_of_a_round(virtual: Any, kit: Any) -> None:
    """Four seconds, one of them for writing: the round's branches would end after three."""
    critic = kit.ScriptedCritic([WANTS], seconds=0.5)
    report, _ = run(virtual, kit, critic=critic, limits=replace(LIMITS, seconds=4.0))
    assert (report.status, report.stop_reason) == ("partial", "deadline")
    assert root(report).children[2].status is Status.CANCELLED
    assert len(report.learnings) == 3
    assert report.gaps[0] == "Who founded Corby?"
    assert report.usage.seconds == 3.0


def test_a_deadline_during_a_review(virtual: Any, kit: Any) -> None:
    critic = kit.ScriptedCritic([WANTS], seconds=60)
    report, _ = run(virtual, kit, critic=critic, limits=replace(LIMITS, seconds=4.0))
    assert (report.status, report.stop_reason, report.rounds) == ("partial", "deadline", ())
    assert len(report.learnings) == 3


def test_the_first_look_is_approved_before_anything_is_searched(virtual: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover(lambda p: Verdict(p.queries[1:] or p.queries))
    report, _ = run(virtual, kit, planner=kit.FollowUps(BRIEF), approver=approver)
    first = approver.asked[0]
    assert (first.path, first.reason) == ((), "a first look")
    assert first.queries == (Query("first", "Question?"), Query("second", "Question?"))
    assert root(report).query == Query("second", "Question?")
    assert [p.path for p in approver.asked[:2]] == [(), ()], "then what is delegated"
    assert len(root(report).children) == 1


@pytest.mark.parametrize("rejected", [True, False])
def test_refusing_the_first_look_ends_the_run(rejected: bool, virtual: Any, kit: Any) -> None:
    researcher = kit.ScriptedResearcher()
    critic = kit.ScriptedCritic()
    approver = kit.ScriptedApprover(lambda _: Verdict(rejected=rejected))
    report, _ = run(virtual, kit, researcher=researcher, critic=critic, approver=approver)
    told = ("cancelled", "rejected") if rejected else ("nothing_found", "not_approved")
    assert (report.status, report.stop_reason) == told
    assert root(report).decision.stop == told[1]
    assert researcher.began == {}
    assert (len(approver.asked), critic.cases) == (1, [])


def reject_at(path: Path, kit: Any, *, after: int) -> Any:
    """An approver who rejects what is asked at `path`, after so many agreements there."""
    seen: list[Path] = []

    def says(proposal: Any) -> Verdict:
        seen.append(proposal.path)
        return Verdict(proposal.queries, rejected=seen.count(path) > after)

    return kit.ScriptedApprover(says, seconds=lambda _: 0.1)


@pytest.mark.parametrize(
    ("at", "after", "learned", "asked"),
    [((), 1, 1, [(), ()]), ((0,), 0, 3, [(), (), (0,), (1,)]), ((), 2, 3, [(), (), ()])],
    ids=["the tree", "a branch", "a round"],
)
def test_rejecting_later_keeps_what_is_there_and_spends_nothing_more(
    virtual: Any, kit: Any, *, at: Path, after: int, learned: int, asked: list[Path]
) -> None:
    """The tutorial's third path: nobody is asked again, no model writes the report."""
    researcher = kit.ScriptedResearcher(brings=kit.citable, spends=lambda _: {"calls": 1})
    writer, plain, critic = kit.ScriptedWriter(), kit.ScriptedWriter(), kit.ScriptedCritic([WANTS])
    approver = reject_at(at, kit, after=after)
    report, _ = run(
        virtual,
        kit,
        researcher=researcher,
        critic=critic,
        approver=approver,
        writer=writer,
        plain=plain,
        left={"calls": 40},
        limits=replace(LIMITS, shape=Shape(2, 1 if after == 2 else 2)),
    )
    assert (report.status, report.stop_reason) == ("cancelled", "rejected")
    assert (writer.outlines, len(plain.outlines)) == ([], 1)
    assert len(report.learnings) == researcher.spent["calls"] == learned
    assert len(critic.cases) == len(report.rounds) == (after == 2)
    assert [p.path for p in approver.asked] == asked
    assert report.body
    assert report.notes == ()


def test_what_a_person_refuses_in_a_branch_ends_that_branch_only(virtual: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover(lambda p: Verdict(() if p.path == (0,) else p.queries))
    report, _ = run(virtual, kit, approver=approver, limits=Limits(Shape(2, 2), Budget()))
    first, second = root(report).children
    assert (first.decision.stop, first.children) == ("not_approved", [])
    assert len(second.children) == 2
    assert report.status == "complete"


def test_a_person_is_asked_what_the_planner_wants_to_know(virtual: Any, kit: Any) -> None:
    class Person:
        async def clarify(self, questions: Any) -> tuple[str, ...]:
            return (" the town ", " ")

    planner = kit.FollowUps(BRIEF, asks=("Which Ashford?", "Since when?", "Why?"))
    leads = (Lead("Ashford is a town."),)
    run(virtual, kit, planner=planner, clarifier=Person(), leads=leads)
    assert planner.told == {"Which Ashford?": "the town"}
    assert planner.leads == leads
    run(virtual, kit, planner=planner)
    assert planner.told == {}, "nobody is there"
    planner = kit.FollowUps(BRIEF)
    run(virtual, kit, planner=planner, clarifier=Person())
    assert planner.told == {}, "nothing was asked"


def test_a_round_s_usage_is_the_root_s(virtual: Any, kit: Any) -> None:
    class Critic(kit.ScriptedCritic):  # type: ignore[misc]
        async def review(self, case: Any, brief: Brief, scope: Any) -> Review:
            scope.budget.hold({"calls": 1})
            scope.usage.llm_calls += 1
            review: Review = await super().review(case, brief, scope)
            return review

    report, _ = run(virtual, kit, critic=Critic([WANTS]), left={"calls": 40})
    assert report.usage.llm_calls == 2
    assert root(report).usage.llm_calls == 2


def test_a_run_can_be_led_in_one_call(virtual: Any, kit: Any) -> None:
    from deep_research.core.compose import Composer
    from deep_research.core.supervisor import Supervisor
    from deep_research.core.tree import Tree

    async def main() -> Report:
        stream, planner = kit.Stream(), kit.FollowUps()
        researcher = kit.ScriptedResearcher(brings=lambda _: Findings())
        tree = Tree(researcher, planner, stream, asyncio.Semaphore(1), {})
        composer = Composer(kit.ScriptedWriter(), kit.ScriptedWriter(), stream)
        chief = Supervisor(tree, planner, composer, stream)
        return await chief.run("r2", "Q", Limits(Shape(1, 1), Budget()), asyncio.Event())

    report = virtual(main())
    assert (report.run, report.status) == ("r2", "nothing_found")
