"""What a run really uses never exceeds what was told before it began."""

import asyncio
import itertools
import re

import pytest

from deep_research import estimate as bounds
from deep_research import wiring
from deep_research.app import Run
from deep_research.config import load
from deep_research.estimate import estimate
from deep_research.registry import check_engine
from deep_research.testing import Reply

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def conduct(monkeypatch, corpus, question):
    """Run with a model that is no server: quick, and every prompt can be looked at."""

    def run(double, **arguments):
        monkeypatch.setattr(wiring, "make_model", lambda *_: double)
        arguments = {"docs": [str(corpus)], "llm": "ollama:m", **arguments}
        config = load(arguments=arguments, environ={}, check=check_engine)
        made = Run(question, config)
        most = estimate(config, made.shape, made.models, question)
        return most, asyncio.run(made.execute())

    return run


def assert_within(most, usage):
    assert usage.llm_calls <= most.calls
    assert usage.input_tokens + usage.output_tokens <= most.tokens
    assert usage.searches <= most.searches
    assert usage.pages <= most.pages


@pytest.mark.parametrize(
    "shape",
    [(1, 1), (1, 3), (2, 2), (4, 2), (3, 3), (8, 1)],
    ids=lambda s: f"{s[0]}x{s[1]}",
)
def test_of_any_shape(shape, conduct, clerk):
    breadth, depth = shape
    most, report = conduct(clerk(), breadth=breadth, depth=depth)
    assert report.status == "complete"
    nodes = list(report.tree.walk())
    assert len(nodes) <= most.nodes
    assert_within(most, report.usage)


@pytest.mark.parametrize("breadth", [1, 4])
def test_when_every_first_answer_is_rubbish_and_long(breadth, conduct, clerk):
    """Everything is asked twice, and the first answer fills its room."""

    def rubbish(prompt):
        return "no " * (prompt.max_tokens * 4 // 3)

    stubborn = Reply(rubbish, match=r"^(?![\s\S]*previous answer could not be used)", times=None)
    most, report = conduct(clerk(stubborn), breadth=breadth)
    assert report.usage.llm_calls > 2 * len(list(report.tree.walk()))
    assert_within(most, report.usage)


def test_without_a_model(conduct, clerk):
    most, report = conduct(clerk(), llm="none", breadth=6)
    assert_within(most, report.usage)


def never_enough():
    """A supervisor that thinks first and delegates as much as it may; a critic that wants more."""
    thoughts = itertools.cycle([True, False])
    topics = (
        f"{what} {n}" for n in range(999) for what in ("Harrison H", "Kendall K", "Maskelyne M")
    )

    def decide(_prompt):
        if next(thoughts):
            return {"name": "think", "arguments": {"reflection": "Hm."}}
        return {"delegate": [{"topic": next(topics), "goal": "all"} for _ in range(16)]}

    def review(_prompt):
        gaps = [f"What of {next(topics)}?" for _ in range(6)]
        return {"gaps": gaps, "sections": [], "verdict": "research"}

    return Reply(decide, step="decide", times=None), Reply(review, step="review", times=None)


@pytest.mark.parametrize("shape", [(1, 1), (4, 2), (6, 3)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_of_a_supervisor_that_never_has_enough(shape, conduct, clerk):
    breadth, depth = shape
    llm = clerk(*never_enough())
    most, report = conduct(llm, breadth=breadth, depth=depth)
    assert report.status == "complete", report.stop_reason
    assert len(report.rounds) > 1
    assert len(list(report.tree.walk())) <= most.nodes
    assert_within(most, report.usage)


def test_of_a_researcher_that_uses_all_its_tools(conduct, clerk):
    """One new search a turn, with a thought before each of the first."""

    def search(prompt):
        n = len(prompt.turns)
        if n % 2 and n < 9:
            return {"name": "think", "arguments": {"reflection": f"Hm {n}."}}
        return {"name": "search", "arguments": {"queries": [f"longitude clock {n}"]}}

    llm = clerk(Reply(search, step="react", times=None))
    most, report = conduct(llm, researcher="react", breadth=2, depth=1, planner="tree")
    assert report.status == "complete", report.stop_reason
    (react,) = [row for row in report.spent if row.step == "react"]
    assert react.calls == 14 * len(list(report.tree.walk()))
    assert_within(most, report.usage)


@pytest.mark.parametrize("planner", ["supervisor", "tree"])
def test_the_constants_are_those_of_the_steps(conduct, clerk, planner):
    """No step may ask for a longer answer than the bound counts with."""

    def invents(prompt):
        ids = re.findall(r"^\[(\d+)\]$", prompt.user, re.MULTILINE)
        return {"sentences": [{"text": f"It was {n}999 km.", "evidence": [int(n)]} for n in ids]}

    llm = clerk(Reply(invents, step="section", times=None), *never_enough())
    conduct(llm, planner=planner, researcher="react")
    asked = {"learnings": "learn", "decision": "decide"}
    steps = {asked.get(p.name, p.name) for p in llm.prompts}
    assert steps == set(bounds._OUT) - ({"decide", "review"} if planner == "tree" else {"plan"})
    for prompt in llm.prompts:
        name = asked.get(prompt.name, prompt.name)
        assert prompt.max_tokens == bounds._OUT[name]
