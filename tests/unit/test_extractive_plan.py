"""Planning by rule: the brief and the decision what to ask next."""

import pytest

from deep_research.core.budget import Budget
from deep_research.core.model import Brief, Findings, Learning, Query, ResearchNode, Shape
from deep_research.core.seams import Scope
from deep_research.extractive.plan import ExtractivePlanner

PLANNER = ExtractivePlanner()


async def brief(question, **options):
    async def nobody(questions):
        return {}

    return await ExtractivePlanner(**options).brief(question, Scope(), nobody)


async def decide(node, shape, question="Who?", **budget):
    return await PLANNER.decide(node, Brief(question), shape, Scope(budget=Budget(budget)))


def node(*follow_ups, path=(0,), **more):
    findings = Findings((Learning("new"),), tuple(Query(f, "goal") for f in follow_ups))
    return ResearchNode(Query("q"), path, findings=findings, **more)


async def test_the_brief_asks_the_question_and_its_names():
    made = await brief("Who directed Jaguar with Ann Lee?")
    assert made.queries == ("Who directed Jaguar with Ann Lee?", "Jaguar", "Ann Lee")
    assert (made.language, made.outline) == ("en", ())


async def test_comparisons_become_an_outline():
    made = await brief("Which came first, Jaguar or Lynx?")
    assert made.outline == ("Jaguar", "Lynx")
    assert made.queries[1:] == ("Jaguar", "Lynx")


async def test_parts_are_asked_for_with_what_they_belong_to():
    made = await brief("Wind power: cost, lifetime and noise")
    assert made.outline == ("cost", "lifetime", "noise")
    assert made.queries[1:] == ("Wind power cost", "Wind power lifetime")


async def test_a_question_without_names_is_asked_clause_by_clause():
    made = await brief("Who ruled the country in which the first modern opera house opened?")
    assert "first modern opera house opened" in made.queries


async def test_the_language_can_be_set_and_long_questions_are_cut_for_searching():
    made = await brief("word " * 400, language="fi")
    assert made.language == "fi"
    assert all(len(q) <= 300 for q in made.queries)
    assert (await brief("??")).queries == ("??",)


async def test_the_best_follow_ups_lead_and_the_next_ride_along():
    decision = await decide(node("a", "b", "c", "d", "e"), Shape(2, 1))
    assert [q.texts for q in decision.delegate] == [("a", "c"), ("b", "d")]


async def test_a_small_budget_takes_the_best_only():
    decision = await decide(node("a", "b", "c"), Shape(3, 1), searches=1, pages=9)
    assert [q.texts for q in decision.delegate] == [("a",)]


async def test_parts_the_first_node_had_no_room_for_come_first():
    root = node("x", path=())
    decision = await decide(root, Shape(4, 1), "Wind power: cost and noise")
    assert [q.text for q in decision.delegate] == ["Wind power cost", "Wind power noise", "x"]


@pytest.mark.parametrize(
    ("at", "shape", "budget", "reason"),
    [
        (node("a"), Shape(2, 0), {}, "depth"),
        (node(), Shape(2, 1), {}, "no_follow_ups"),
        (node(path=()), Shape(2, 1), {}, "no_follow_ups"),
        (node("a", known=(Learning("new"),)), Shape(2, 1), {}, "saturated"),
        (node("a"), Shape(2, 1), {"searches": 0}, "budget"),
        (node("a"), Shape(2, 1), {"pages": 0}, "budget"),
    ],
)
async def test_reasons_to_stop(at, shape, budget, reason):
    decision = await decide(at, shape, **budget)
    assert (decision.stop, decision.delegate) == (reason, ())
