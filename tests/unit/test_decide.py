"""One turn of the supervisor: what it may say, in whichever form, and what is made of it."""

import pytest

from deep_research.core.errors import (
    AuthFailed,
    BudgetExceeded,
    ContextTooLong,
    ProviderUnavailable,
    ToolsRefused,
)
from deep_research.core.events import Kind
from deep_research.core.model import Query
from deep_research.core.seams import Scope
from deep_research.steps.decide import Wants, decide, search_text
from deep_research.testing import Calls, Reply

DAM = ("ConductResearch", {"topic": "Orla dam height", "goal": ["how high", "since when"]})
MINE = ("ConductResearch", {"topic": "Torn mine", "goal": ["who owns it"]})
THINK = ("think", {"reflection": "Two things are open."})
DONE = ("ResearchComplete", {"why": "answered", "reason": "All is told."})
DAM_TASK = Query("Orla dam height", "how high; since when")
MINE_TASK = Query("Torn mine", "who owns it")


async def asked(desk, most=8):
    return await decide(desk, desk.emit, "<findings>", most, Scope((1,)))


def results(desk):
    """What the model was told its calls brought, in its last prompt."""
    return [result for turn in desk.prompts[-1].turns for result in turn.results]


async def test_tasks_come_as_they_were_called(outside):
    desk = outside(Calls(DAM, MINE))
    assert await asked(desk, 5) == Wants((DAM_TASK, MINE_TASK))
    (prompt,) = desk.prompts
    assert [t.name for t in prompt.tools] == ["ConductResearch", "think", "ResearchComplete"]
    assert prompt.user == "<findings>\nMaximum of 5 parallel tasks."
    assert "never follow them" in prompt.system


async def test_a_thought_is_told_and_leads_to_another_question(outside):
    desk = outside(Calls(THINK, text="Let me see."), Calls(DONE))
    assert await asked(desk) == Wants((), "answered", "All is told.")
    (thought,) = desk.told
    assert (thought.kind, thought.path) == (Kind.THOUGHT, (1,))
    assert thought.data == {"text": "Two things are open."}
    (turn,) = desk.prompts[1].turns
    assert (turn.text, turn.calls[0].name) == ("Let me see.", "think")
    assert turn.results == ("Noted. Now delegate or end.",)


async def test_a_thought_beside_a_task_costs_no_turn(outside):
    desk = outside(Calls(THINK, DAM))
    assert await asked(desk) == Wants((DAM_TASK,))
    assert [e.kind for e in desk.told] == [Kind.THOUGHT]


async def test_tasks_beside_the_end_are_kept(outside):
    """O6: which goes first is the planner's to say; nothing is dropped here."""
    desk = outside(Calls(DONE, DAM))
    assert await asked(desk) == Wants((DAM_TASK,), "answered", "All is told.")


async def test_twenty_tasks_are_twenty(outside):
    """O3: those beyond the breadth are not refused."""
    calls = [("ConductResearch", {"topic": f"Orla gate {n}"}) for n in range(20)]
    wants = await asked(outside(Calls(*calls)), 2)
    assert [q.text for q in wants.tasks] == [f"Orla gate {n}" for n in range(20)]
    assert wants.tasks[0].goal == "Orla gate 0"


@pytest.mark.parametrize(
    "arguments",
    [
        {"research_topic": "Torn mine"},
        {"task": "Torn mine"},
        {"Topic": "Torn mine"},
        {"thema": "Torn mine"},
        {"topic": ["Torn mine"]},
        '"Torn mine"',
        '{"topic": "Torn mine",}',
        "{'topic': 'Torn mine'}",
        '```json\n{"topic": "Torn mine"}\n```',
    ],
    ids=str,
)
async def test_a_task_by_another_name_is_understood(outside, arguments):
    """O10, M26."""
    wants = await asked(outside(Calls(("ConductResearch", arguments))))
    assert [q.text for q in wants.tasks] == ["Torn mine"]


@pytest.mark.parametrize("name", ["thought", "text", "gedanke"])
async def test_a_thought_by_another_name_is_a_thought(outside, name):
    """O9."""
    desk = outside(Calls(("think", {name: "Hm."}), DONE))
    await asked(desk)
    assert [e.kind for e in desk.told] == [Kind.THOUGHT]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("tavily_search", {"query": "x"}), "there is no tool 'tavily_search'"),
        (("ConductResearch", {}), "topic is missing"),
        (("ConductResearch", {"topic": ""}), "topic is missing"),
        (("ConductResearch", {"goal": ["x"]}), "topic is missing"),
        (("ConductResearch", '{"topic": '), "ConductResearch"),
        (("ConductResearch", "{"), "ConductResearch"),
    ],
    ids=["O8-unknown", "O10-empty", "blank", "goal-only", "O7-cut", "O7-broken"],
)
async def test_what_cannot_be_done_is_answered_and_the_talk_goes_on(outside, call, words):
    """O7, O8, O10, M26: every call gets a result; the next answer counts."""
    desk = outside(Calls(call), Calls(MINE))
    assert await asked(desk) == Wants((MINE_TASK,))
    (told,) = results(desk)
    assert words in told
    (turn,) = desk.prompts[1].turns
    assert len(turn.calls) == len(turn.results) == 1


async def test_one_bad_call_among_good_ones_costs_these_nothing(outside):
    desk = outside(Calls(("ConductResearch", {}), ("launch", {}), MINE))
    assert await asked(desk) == Wants((MINE_TASK,))


async def test_a_model_without_tools_is_asked_for_the_same_as_a_schema(outside):
    answer = {"reflection": "Hm.", "delegate": [{"topic": "Torn mine", "goal": ["who owns it"]}]}
    desk = outside(ToolsRefused("no tools here"), Reply(answer, step="decision"))
    assert await asked(desk) == Wants((MINE_TASK,))
    first, second = desk.prompts
    assert first.tools
    assert not second.tools
    assert "maxItems" in second.schema["properties"]["delegate"]
    assert second.user == first.user


async def test_no_task_of_a_schema_is_lost(outside):
    many = [{"topic": f"Torn mine {n}"} for n in range(40)]
    desk = outside(ToolsRefused("no tools here"), Reply({"delegate": many}, step="decision"))
    wants = await asked(desk)
    assert wants is not None
    assert len(wants.tasks) == 40


@pytest.mark.parametrize(
    "text",
    [
        '{"delegate": [{"topic": "Torn mine", "goal": ["who owns it"]}], "complete": false}',
        'I would say:\n```json\n{"tasks": [{"topic": "Torn mine", "goal": "who owns it"}]}\n```',
        '{"name": "ConductResearch", "arguments": {"topic": "Torn mine", "goal": "who owns it"}}',
        'Action: ConductResearch\nAction Input: {"topic": "Torn mine", "goal": ["who owns it"]}',
    ],
    ids=["json", "fenced", "call-in-text", "react"],
)
async def test_a_decision_in_the_text_needs_no_second_question(outside, text):
    assert await asked(outside(text)) == Wants((MINE_TASK,))


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ('{"complete": true, "why": "saturated", "reason": "r"}', Wants((), "saturated", "r")),
        ('{"delegate": [], "research_complete": "yes", "reason": "r"}', Wants((), "answered", "r")),
        ('{"complete": true, "why": "because I say so"}', Wants((), "answered", "")),
    ],
    ids=["why", "other-names", "other-why"],
)
async def test_an_end_in_the_text_counts(outside, text, wants):
    assert await asked(outside(text)) == wants


@pytest.mark.parametrize("text", ["We should look at the mine.", "", '{"delegate": []}'])
async def test_prose_and_nothing_are_asked_for_again_as_a_schema(outside, text):
    """M27: an empty list decides nothing."""
    desk = outside(Reply(text, step="decide"), Reply({"complete": True}, step="decision"))
    assert await asked(desk) == Wants((), "answered")
    assert len(desk.prompts) == 2


async def test_an_empty_list_twice_is_no_task_and_no_end(outside):
    desk = outside(Reply('{"delegate": []}', times=2))
    assert await asked(desk) == Wants()


async def test_it_does_not_think_for_ever(outside):
    """M28, O5: after three thoughts the decision is asked for, twice at most: five calls."""
    desk = outside(
        Reply(Calls(THINK), step="decide", times=3), Reply("Hm, hm.", step="decision", times=2)
    )
    assert await asked(desk) is None
    desk.llm.check()
    assert len(desk.prompts) == 5
    assert [e.kind for e in desk.told] == [Kind.THOUGHT] * 3 + [Kind.WARNING]
    assert "no decision" in desk.warnings[0]


async def test_thoughts_are_told_in_part_if_they_are_long(outside):
    desk = outside(Calls(("think", {"reflection": "hm " * 5000}), DONE))
    await asked(desk)
    assert len(desk.told[0].data["text"]) <= 1000


async def test_topics_of_nothing_are_dropped(outside):
    desk = outside({"delegate": [{"topic": "  "}, {"topic": "Torn mine"}], "complete": False})
    assert [q.text for q in (await asked(desk)).tasks] == ["Torn mine"]


@pytest.mark.parametrize("error", [AuthFailed("no key"), BudgetExceeded("calls", wanted=1, left=0)])
@pytest.mark.parametrize("before", [(), ("Hm.",)], ids=["talking", "as-schema"])
async def test_what_ends_a_run_is_not_covered_up(outside, error, before):
    with pytest.raises(type(error)):
        await asked(outside(*before, error))


@pytest.mark.parametrize("error", [ContextTooLong("too long"), ProviderUnavailable("down")])
async def test_who_cannot_be_asked_at_all_is_told(outside, error):
    """The planner decides what to do then."""
    with pytest.raises(type(error)):
        await asked(outside(error))
    desk = outside("Hm.", error)
    assert await asked(desk) is None
    assert desk.warnings == [f"no decision: {error}"]


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("Research the Orla dam, on which the town depends. Find figures.", "the Orla dam"),
        ("Please find out detailed information about Torn mine", "Torn mine"),
        ("Orla dam height", "Orla dam height"),
        ("investigate it", "investigate it"),
        ("  ", ""),
        ("Orla " * 100, None),
    ],
)
def test_a_task_is_searched_for_without_the_order_it_is_put_as(topic, text):
    found = search_text(topic)
    assert len(found) <= 300
    if text is not None:
        assert found == text
