"""One run from question to report, in virtual time: a report always comes out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from deep_research.core.budget import Budget
from deep_research.core.compose import Composer
from deep_research.core.errors import AuthFailed, BadAnswer, ProviderUnavailable
from deep_research.core.events import Kind
from deep_research.core.model import Brief, Findings, Query, ResearchNode, Shape, Status, Usage
from deep_research.core.report import Report
from deep_research.core.seams import Scope
from deep_research.core.supervisor import Limits, Supervisor
from deep_research.core.tree import Tree


def run(virtual: Any, kit: Any, **how: Any) -> tuple[Report, Any]:
    stream = kit.Stream()
    return virtual(kit.lead_run(stream, **how)), stream


def test_a_whole_run(virtual: Any, kit: Any) -> None:
    made = Brief("Question?", "scope", "de", ("Metals", "Prices"), ("first", "second", "third"))
    report, stream = run(virtual, kit, planner=kit.FollowUps(made))
    assert (report.run, report.question) == ("r1", "Question?")
    assert (report.status, report.stop_reason) == ("complete", "depth")
    assert report.tree is not None
    assert report.tree.query == Query("first", "Question?", ("second", "third"))
    assert len(report.learnings) == len(report.references) == 7
    assert report.body.startswith("## All\n\nRootium is one of the metals. [1]")
    assert report.gaps == ("Prices",)
    assert report.usage.seconds == 3.0
    assert stream.of(Kind.BRIEF_READY)[0].data == {
        "language": "de",
        "outline": ["Metals", "Prices"],
        "queries": ["first", "second", "third"],
        "acceptance": [],
        "lookup": False,
        "leads": [],
    }


def test_without_a_brief_the_bare_question_does(virtual: Any, kit: Any) -> None:
    report, stream = run(virtual, kit, planner=kit.FollowUps(BadAnswer("no JSON")))
    assert report.status == "complete"
    assert report.tree is not None
    assert report.tree.query == Query("Question?", "Question?")
    assert stream.of(Kind.WARNING)[0].data["message"] == "no brief: no JSON"
    assert [f.kind for f in report.failures] == ["bad_answer"]


@pytest.mark.parametrize(("stop_at", "nodes"), [(0.0, 0), (0.5, 0), (1.5, 1), (2.5, 3)])
def test_stopping_keeps_what_was_learned(
    stop_at: float, nodes: int, virtual: Any, kit: Any
) -> None:
    report, _ = run(virtual, kit, stop_at=stop_at)
    assert (report.status, report.stop_reason) == ("cancelled", "cancelled")
    assert len(report.learnings) == nodes
    assert bool(report.body) is bool(nodes)
    assert report.usage.seconds == pytest.approx(stop_at)


def test_stopping_during_the_brief(virtual: Any, kit: Any) -> None:
    report, _ = run(virtual, kit, planner=kit.FollowUps(seconds=60), stop_at=5)
    assert (report.status, report.usage.seconds) == ("cancelled", 5.0)


def test_stopping_after_the_research_changes_nothing(virtual: Any, kit: Any) -> None:
    report, _ = run(virtual, kit, writer=kit.ScriptedWriter(seconds=10), stop_at=5)
    assert report.status == "complete"


def test_the_deadline_leaves_time_for_writing(virtual: Any, kit: Any) -> None:
    limits = Limits(Shape(2, 4), Budget(), seconds=3.6)
    report, _ = run(virtual, kit, limits=limits, writer=kit.ScriptedWriter(seconds=0.8))
    assert (report.status, report.stop_reason) == ("partial", "deadline")
    assert len(report.learnings) == 3
    assert report.usage.seconds == pytest.approx(3.5)
    assert report.notes == ()


def test_a_slow_writer_is_cut_at_the_deadline(virtual: Any, kit: Any) -> None:
    limits = Limits(Shape(2, 4), Budget(), seconds=4.0)
    report, _ = run(virtual, kit, limits=limits, writer=kit.ScriptedWriter(seconds=60))
    assert report.usage.seconds == 4.0
    assert report.body
    assert report.notes == ("Written without a language model: no time left.",)


def test_no_time_at_all(virtual: Any, kit: Any) -> None:
    report, _ = run(virtual, kit, limits=Limits(Shape(2, 1), Budget(), seconds=0.0))
    assert (report.status, report.stop_reason, report.body) == ("nothing_found", "deadline", "")


def test_a_budget_ends_research_and_leaves_the_writer_s_share(virtual: Any, kit: Any) -> None:
    seen: list[dict[str, int]] = []

    class Writer(kit.ScriptedWriter):  # type: ignore[misc]
        async def write(self, brief: Brief, bank: Any, scope: Scope, outline: Any = ()) -> Any:
            seen.append(dict(scope.budget.left))
            scope.usage.add(Usage(llm_calls=1, cost=None))
            return await super().write(brief, bank, scope, outline)

    researcher = kit.ScriptedResearcher(brings=kit.citable, spends=lambda _: {"calls": 1})
    limits = Limits(Shape(4, 2), Budget({"calls": 8, "pages": 50}))
    report, _ = run(virtual, kit, researcher=researcher, limits=limits, writer=Writer())
    assert (report.status, report.stop_reason) == ("partial", "budget")
    assert researcher.spent == {"calls": 6}
    assert seen == [{"calls": 2, "pages": 50}]
    assert (report.usage.llm_calls, report.usage.cost) == (1, None)


def test_nothing_found_is_said(virtual: Any, kit: Any) -> None:
    report, _ = run(virtual, kit, researcher=kit.ScriptedResearcher(brings=lambda _: Findings()))
    assert (report.status, report.stop_reason) == ("nothing_found", "no_evidence")
    assert report.body == ""
    assert report.gaps == ("A", "B")


def test_a_refused_key_fails_the_run_with_its_message(virtual: Any, kit: Any) -> None:
    error = AuthFailed("OPENAI_API_KEY is refused")
    researcher = kit.ScriptedResearcher(fails={(): error})
    report, _ = run(virtual, kit, researcher=researcher, planner=kit.FollowUps(error))
    assert (report.status, report.stop_reason) == ("failed", "auth: OPENAI_API_KEY is refused")
    assert [f.kind for f in report.failures] == ["auth"]
    assert report.tree is not None
    assert report.tree.status is Status.FAILED
    assert researcher.began == {}, "the brief met it already"
    report, _ = run(virtual, kit, researcher=kit.ScriptedResearcher(fails={(): error}))
    assert (report.status, report.stop_reason) == ("failed", "auth: OPENAI_API_KEY is refused")


def test_failures_of_branches_are_listed(virtual: Any, kit: Any) -> None:
    researcher = kit.ScriptedResearcher(
        brings=kit.citable, fails={(1,): ProviderUnavailable("search is down")}
    )
    report, _ = run(virtual, kit, researcher=researcher)
    assert report.status == "complete"
    assert [(f.path, f.kind, f.message) for f in report.failures] == [
        ((1,), "unavailable", "search is down")
    ]


def test_bugs_stay_loud(virtual: Any, kit: Any) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        run(virtual, kit, researcher=kit.ScriptedResearcher(fails={(0,): ZeroDivisionError()}))
    assert caught.group_contains(ZeroDivisionError)


def test_conflicts_reach_the_report(virtual: Any, kit: Any) -> None:
    def brings(node: ResearchNode) -> Findings:
        return Findings(
            (
                kit.learning(
                    f"As of 20{10 + len(node.path)}, iron costs {5 + len(node.path)} coins."
                ),
            )
        )

    report, _ = run(virtual, kit, researcher=kit.ScriptedResearcher(brings=brings))
    assert report.conflicts
    assert {c.preferred.text for c in report.conflicts} == {"As of 2012, iron costs 7 coins."}


def test_cancelling_the_caller_cancels_the_run(virtual: Any, kit: Any) -> None:
    async def main() -> None:
        stream = kit.Stream()
        tree = Tree(kit.ScriptedResearcher(), kit.FollowUps(), stream, asyncio.Semaphore(1), {})
        composer = Composer(kit.ScriptedWriter(), kit.ScriptedWriter(), stream)
        supervisor = Supervisor(tree, kit.FollowUps(), composer, stream)
        limits = Limits(Shape(2, 2), Budget())
        task = asyncio.create_task(supervisor.run("r", "Q", limits, asyncio.Event()))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    virtual(main())
