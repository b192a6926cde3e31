"""The recursion's promises, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.budget import Budget
from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    BudgetExceeded,
    ConfigError,
    ProviderUnavailable,
)
from deep_research.core.events import Kind
from deep_research.core.model import Brief, Decision, Findings, Query, ResearchNode, Shape, Status
from deep_research.core.tree import Tree

SHAPES = st.builds(Shape, st.integers(1, 4), st.integers(0, 3), st.integers(1, 3))


def below(root: ResearchNode) -> int:
    return sum(1 for _ in root.walk()) - 1


def picture(root: ResearchNode) -> list[Any]:
    """Everything about a tree that must not depend on time."""
    return [
        (n.path, n.query, n.status, n.failure, n.findings, n.decision, n.known, n.asked, n.read)
        for n in root.walk()
    ]


@given(shape=SHAPES)
@settings(max_examples=30, deadline=None)
def test_size_is_foretold_by_the_shape(shape: Shape, virtual: Any, kit: Any) -> None:
    root = virtual(kit.grow(shape, kit.ScriptedResearcher()))
    assert below(root) == shape.size()
    assert all(n.status is Status.DONE for n in root.walk())


def test_breadth_one_depth_three_is_a_path(virtual: Any, kit: Any) -> None:
    root = virtual(kit.grow(Shape(1, 3), kit.ScriptedResearcher()))
    assert [n.path for n in root.walk()] == [(), (0,), (0, 0), (0, 0, 0)]


@given(shape=st.builds(Shape, st.integers(1, 50), st.integers(1, 6), st.integers(1, 5)))
def test_breadth_never_grows_and_is_never_zero(shape: Shape) -> None:
    deeper = shape.deeper()
    assert 1 <= deeper.breadth <= shape.breadth
    assert deeper.depth == shape.depth - 1


def test_a_planner_cannot_outgrow_the_shape(virtual: Any, kit: Any) -> None:
    """Six follow-ups are delegated at every node; the shape allows two levels of two."""
    root = virtual(
        kit.grow(Shape(2, 2), kit.ScriptedResearcher(), planner=kit.FollowUps(cap=False))
    )
    assert below(root) == Shape(2, 2).size()
    leaf = root.children[0].children[0]
    assert leaf.decision == Decision(stop="depth", queued=leaf.findings.follow_ups)
    assert root.decision.queued == root.findings.follow_ups[2:], "queued, not dropped"


def test_a_child_starts_as_soon_as_its_own_parent_has_learned(virtual: Any, kit: Any) -> None:
    slow = {(): 1.0, (0,): 500.0}
    researcher = kit.ScriptedResearcher(seconds=lambda path: slow.get(path, 3.0))
    virtual(kit.grow(Shape(2, 2), researcher))
    assert researcher.began[1, 0] == researcher.began[1, 1] == 4.0
    assert researcher.began[0, 0] == 501.0


def test_one_permit_finishes_any_depth(virtual: Any, kit: Any) -> None:
    researcher = kit.ScriptedResearcher()
    root = virtual(kit.grow(Shape(2, 5), researcher, permits=1))
    assert below(root) == Shape(2, 5).size()
    assert researcher.peak == 1


RUNS = st.fixed_dictionaries(
    {
        "seeds": st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
        "permits": st.tuples(st.integers(1, 9), st.integers(1, 9)),
        "budget": st.none() | st.integers(0, 60),
        "cost": st.integers(0, 3),
        "failing": st.sets(
            st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), max_size=5
        ),
        "shape": SHAPES,
    }
)


@given(run=RUNS)
@settings(max_examples=80, deadline=None)
def test_neither_speed_nor_permits_change_the_tree_and_no_budget_is_overspent(
    run: dict[str, Any], virtual: Any, kit: Any
) -> None:
    """Also with failures and a budget that runs dry."""
    pictures = []
    for seed, permits in zip(run["seeds"], run["permits"], strict=True):
        researcher = kit.ScriptedResearcher(
            seconds=lambda path, seed=seed: hash((seed, path)) % 97 / 10,
            spends=lambda _: {"calls": run["cost"]},
            fails={path: ProviderUnavailable("down") for path in run["failing"]},
        )
        amounts = {} if run["budget"] is None else {"calls": run["budget"]}
        budget = Budget(amounts)
        floor = {"calls": run["cost"]}
        grown = kit.grow(run["shape"], researcher, permits=permits, budget=budget, floor=floor)
        pictures.append(picture(virtual(grown)))
        assert researcher.peak <= permits
        if amounts:
            assert researcher.spent.get("calls", 0) + budget.left["calls"] == run["budget"]
            assert budget.left["calls"] >= 0
    assert pictures[0] == pictures[1]


def test_a_failing_branch_ends_alone(virtual: Any, kit: Any) -> None:
    researcher = kit.ScriptedResearcher(fails={(1,): ProviderUnavailable("no answer")})
    root = virtual(kit.grow(Shape(3, 2), researcher))
    assert [n.status for n in root.children] == [Status.DONE, Status.FAILED, Status.DONE]
    failed = root.children[1]
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.path) == ("unavailable", (1,))
    assert not failed.children
    assert root.children[0].children
    assert root.children[2].children


def test_what_was_learned_before_a_failed_deepening_is_kept(virtual: Any, kit: Any) -> None:
    planner = kit.FollowUps(fails={(0,): BadAnswer("no queries")})
    root = virtual(kit.grow(Shape(2, 2), kit.ScriptedResearcher(), planner=planner))
    assert root.children[0].status is Status.FAILED
    assert root.children[0].findings.learnings


def test_a_planner_out_of_budget_only_stops_its_branch(virtual: Any, kit: Any) -> None:
    planner = kit.FollowUps(fails={(0,): BudgetExceeded("calls", wanted=1, left=0)})
    root = virtual(kit.grow(Shape(2, 2), kit.ScriptedResearcher(), planner=planner))
    assert root.children[0].status is Status.DONE
    assert root.children[0].decision.stop == "budget"


def test_a_root_that_finds_nothing_does_not_end_the_run(virtual: Any, kit: Any) -> None:
    researcher = kit.ScriptedResearcher(fails={(): ProviderUnavailable("search is down")})
    root = virtual(kit.grow(Shape(2, 1), researcher))
    assert root.status is Status.DONE
    assert [f.kind for f in root.mishaps] == ["unavailable"]
    assert all(child.findings.learnings for child in root.children)


@pytest.mark.parametrize(
    "error",
    [AuthFailed("set KEY"), ConfigError("no model"), BudgetExceeded("calls", wanted=2, left=1)],
)
def test_what_no_branch_can_mend_ends_the_run_at_the_root(
    error: Exception, virtual: Any, kit: Any
) -> None:
    root = virtual(kit.grow(Shape(2, 2), kit.ScriptedResearcher(fails={(): error})))
    assert root.status is Status.FAILED
    assert root.failure is not None
    assert root.failure.message == str(error)
    assert not root.children


def test_bugs_stay_loud(virtual: Any, kit: Any) -> None:
    researcher = kit.ScriptedResearcher(fails={(0, 1): ZeroDivisionError()})
    with pytest.raises(ExceptionGroup) as caught:
        virtual(kit.grow(Shape(2, 2), researcher))
    assert caught.group_contains(ZeroDivisionError)


@given(moment=st.floats(0.0, 9.0))
@settings(max_examples=40, deadline=None)
def test_cancelling_leaves_no_task_and_keeps_what_was_learned(
    moment: float, virtual: Any, kit: Any
) -> None:
    researcher = kit.ScriptedResearcher(seconds=lambda path: 1.0 + len(path))

    async def main() -> tuple[ResearchNode, Budget]:
        tree = Tree(researcher, kit.FollowUps(), kit.Stream(), asyncio.Semaphore(3), {})
        root = ResearchNode(Query("Question"))
        budget = Budget({"calls": 100})
        task = asyncio.create_task(tree.investigate(root, Brief("Q"), Shape(3, 3), budget))
        await asyncio.sleep(moment)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return root, budget

    root, budget = virtual(main())
    assert researcher.busy == 0
    assert budget.left == {"calls": 100}
    assert root.status is Status.CANCELLED
    ended = {Status.DONE, Status.CANCELLED, Status.PENDING}
    assert {n.status for n in root.walk()} <= ended
    for node in root.walk():
        learned = node.path in researcher.ended and bool(node.findings.learnings)
        assert learned or node.status in {Status.CANCELLED, Status.PENDING}


def test_a_deadline_keeps_what_was_learned(virtual: Any, kit: Any) -> None:
    async def main() -> ResearchNode:
        tree = Tree(
            kit.ScriptedResearcher(), kit.FollowUps(), kit.Stream(), asyncio.Semaphore(9), {}
        )
        root = ResearchNode(Query("Question"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await tree.investigate(root, Brief("Q"), Shape(2, 3), Budget())
        return root

    root = virtual(main())
    assert all(n.findings.learnings for n in (root, *root.children))
    assert root.children[0].children[0].status is Status.CANCELLED


def test_as_many_children_as_can_be_paid_for(virtual: Any, kit: Any) -> None:
    researcher = kit.ScriptedResearcher(spends=lambda _: {"calls": 2})
    budget = Budget({"calls": 7})
    root = virtual(kit.grow(Shape(4, 1), researcher, budget=budget, floor={"calls": 2}))
    assert len(root.children) == 2
    assert root.decision.stop == "budget"
    assert root.decision.queued == root.findings.follow_ups[2:4]
    assert [n.status for n in root.children] == [Status.DONE, Status.DONE]


def test_not_one_child_without_budget(virtual: Any, kit: Any) -> None:
    budget = Budget({"calls": 1})
    root = virtual(
        kit.grow(Shape(4, 1), kit.ScriptedResearcher(), budget=budget, floor={"calls": 2})
    )
    assert root.decision == Decision(stop="budget", queued=root.findings.follow_ups[:4])
    assert not root.children


def test_a_node_knows_its_ancestors_and_its_siblings_questions_only(virtual: Any, kit: Any) -> None:
    def brings(node: ResearchNode) -> Findings:
        base = kit.grown(node)
        return Findings(base.learnings, base.follow_ups, read=(f"page {node.path}",))

    root = virtual(kit.grow(Shape(2, 2), kit.ScriptedResearcher(brings=brings)))
    node = root.children[0].children[1]
    assert [x.text for x in node.known] == ["Learned at root.", "Learned at 0."]
    assert node.read == {"page ()", "page (0,)"}
    assert root.children[1].query.text in node.asked
    assert len(node.asked) == len(set(node.asked))


def test_every_step_is_told(virtual: Any, kit: Any) -> None:
    stream = kit.Stream()

    async def main() -> None:
        researcher = kit.ScriptedResearcher(fails={(1,): ProviderUnavailable("down")})
        tree = Tree(researcher, kit.FollowUps(), stream, asyncio.Semaphore(9), {})
        root = ResearchNode(Query("Question", "goal", ("more",)))
        await tree.investigate(root, Brief("Q"), Shape(2, 1), Budget())

    virtual(main())
    assert stream.of(Kind.NODE_STARTED)[0].data == {
        "query": "Question",
        "goal": "goal",
        "also": ["more"],
    }
    assert [e.data["kind"] for e in stream.of(Kind.NODE_FAILED)] == ["unavailable"]
    assert [e.path for e in stream.of(Kind.NODE_FINISHED)] == [(0,), ()]
    assert stream.of(Kind.NODE_FINISHED)[0].data["usage"]["llm_calls"] == 0
    assert len(stream.of(Kind.DECIDED)) == 2
