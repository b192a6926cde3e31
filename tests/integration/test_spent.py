"""The usage table of a report: every call of every model is in it, and it adds up to the usage."""

import asyncio
from functools import partial

import pytest

from deep_research import wiring
from deep_research.app import Run
from deep_research.config import load
from deep_research.core.model import Usage
from deep_research.plugins.exporters.json import parse
from deep_research.registry import check_engine
from deep_research.runtime.guard import Timeouts
from deep_research.testing import Reply, ScriptedLLM

pytestmark = pytest.mark.usefixtures("place")

ROLES = {"planner": "strong", "reader": "cheap", "writer": "eloquent"}
PRICES = {"strong": 900, "cheap": 7, "eloquent": 5000}
"""Micro-dollars per call."""


@pytest.fixture
def tiers(monkeypatch, clerk):
    """Make a run whose planner, reader and writer are three models of different prices."""

    def make(corpus, question, *, prices=PRICES, instead=None, **arguments):
        doubles = {
            name: ScriptedLLM(
                *(instead or {}).get(name, ()), *clerk().script, model=name, cost=cost
            )
            for name, cost in prices.items()
        }
        monkeypatch.setattr(wiring, "make_model", lambda choice, _: doubles[choice.model])
        models = {f"models.{role}": f"ollama:{name}" for role, name in ROLES.items()}
        given = {"docs": [str(corpus)], **models, **arguments}
        run = Run(question, load(arguments=given, environ={}, check=check_engine))
        return run, doubles

    return make


def summed(report):
    total = Usage()
    for row in report.spent:
        total.add(Usage(row.calls, row.input_tokens, row.output_tokens, row.cost))
    return total


def assert_adds_up(report):
    total, usage = summed(report), report.usage
    assert total.llm_calls == usage.llm_calls > 0
    assert (total.input_tokens, total.output_tokens) == (usage.input_tokens, usage.output_tokens)
    assert total.cost == usage.cost


async def test_models_of_three_tiers(tiers, corpus, question):
    """Each step is listed under the model that plays its role, with that model's price."""
    run, doubles = tiers(corpus, question)
    report = await run.execute()
    assert report.status == "complete", report.stop_reason
    assert_adds_up(report)
    steps = [row.step for row in report.spent]
    assert steps == ["brief", "decide", "learn", "review", "section"]
    for row in report.spent:
        assert row.model == ROLES[row.role]
        assert row.cost == row.calls * PRICES[row.model]
    for name, double in doubles.items():
        assert sum(row.calls for row in report.spent if row.model == name) == len(double.prompts)
    assert {row.step: row.role for row in report.spent}["learn"] == "reader"


async def test_in_two_phases_the_table_is_of_both(tiers, corpus, question):
    run, _ = tiers(corpus, question)
    report = await run.report(await run.research())
    assert_adds_up(report)
    assert {"planner", "reader", "writer"} == {row.role for row in report.spent}


async def test_the_table_is_in_the_files(tiers, corpus, question):
    run, _ = tiers(corpus, question, **{"report.formats": ["html"]})
    report = await run.execute()
    assert parse((run.folder / "report.json").read_bytes()).spent == report.spent
    text = (run.folder / "report.md").read_text("utf-8")
    assert f"| Total |  | {report.usage.llm_calls} | " in text
    assert '<table class="usage">' in (run.folder / "report.html").read_text("utf-8")


async def test_one_unknown_price_leaves_the_total_unknown(tiers, corpus, question):
    run, _ = tiers(corpus, question, prices={**PRICES, "cheap": None})
    report = await run.execute()
    assert_adds_up(report)
    assert report.usage.cost is None
    costs = {row.model: row.cost for row in report.spent}
    assert costs["cheap"] is None
    assert costs["strong"]


async def test_an_attempt_that_hung_is_a_call_of_its_step(tiers, monkeypatch, corpus, question):
    """It may have been paid for: it counts at its worst price, under the model that was asked."""
    monkeypatch.setattr(wiring, "Timeouts", lambda **_: Timeouts(llm=0.05))
    monkeypatch.setattr(wiring, "Gate", partial(wiring.Gate, sleep=lambda _: asyncio.sleep(0)))
    hangs = Reply("never", step="learnings", times=1, delay=30)
    run, doubles = tiers(corpus, question, instead={"cheap": [hangs]}, breadth=1, depth=1)
    report = await run.execute()
    assert report.status == "complete", report.stop_reason
    assert_adds_up(report)
    (learn,) = [row for row in report.spent if row.step == "learn"]
    assert (learn.model, learn.calls) == ("cheap", len(doubles["cheap"].prompts))
    assert learn.cost == 7 * learn.calls


async def test_a_run_that_is_stopped_counts_what_was_cut_off(tiers, corpus, question):
    asked = asyncio.Event()

    async def hang(_prompt):
        asked.set()
        await asyncio.Event().wait()

    run, doubles = tiers(corpus, question)
    doubles["cheap"].complete = hang
    task = asyncio.create_task(run.execute())
    await asked.wait()
    run.stop()
    report = await task
    assert report.status == "cancelled"
    assert_adds_up(report)
    (learn,) = [row for row in report.spent if row.step == "learn"]
    assert (learn.model, learn.cost) == ("cheap", 7)
    assert run.tally.progress.usage.llm_calls == report.usage.llm_calls


async def test_without_a_model_there_is_no_table(corpus, question):
    run = Run(question, load(arguments={"docs": [str(corpus)], "llm": "none"}, environ={}))
    report = await run.execute()
    assert report.spent == ()
    assert "## Usage" not in (run.folder / "report.md").read_text("utf-8")
