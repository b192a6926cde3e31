"""Tool calls as models make them: read, mended, refused with a reason; conversations that shrink."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices, Field

from deep_research.core.ports import Completion, ToolCall, Turn
from deep_research.steps._ask import Answer, schema_of
from deep_research.steps._toolbox import Arguments, ToolSpec, as_tool, fit_turns, read_calls, size


class Search(Answer):
    queries: list[str] = Field(validation_alias=AliasChoices("queries", "query", "q"))


class Think(Answer):
    reflection: str = Field(validation_alias=AliasChoices("reflection", "thought"))


class Task(Answer):
    topic: str
    goal: str = ""


class Conduct(Answer):
    research_topic: str = Field(validation_alias=AliasChoices("research_topic", "topic"))
    goal: str = ""


class Delegate(Answer):
    tasks: list[Task]


class Complete(Answer):
    reason: str = ""


LOOKUP = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
TOOLS = [
    ToolSpec("search", "finds pages", Search),
    ToolSpec("think", "notes", Think),
    ToolSpec("ConductResearch", "delegates", Conduct),
    ToolSpec("delegate_all", "delegates more", Delegate),
    ToolSpec("ResearchComplete", "ends", Complete),
    ToolSpec("lookup", "asks the archive", parameters=LOOKUP),
    ToolSpec("ping", "asks nothing", parameters={"type": "object"}),
]


def wish(name, arguments):
    (found,) = read_calls(Completion("", calls=(ToolCall("c1", name, arguments),)), TOOLS)
    return found


def calls_in(text):
    return [
        (w.call.name, json.loads(w.call.arguments)) for w in read_calls(Completion(text), TOOLS)
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("search", '{"queries": ["a", "b"]}', Search(queries=["a", "b"])),
        ("search", '{"query": "a b"}', Search(queries=["a b"])),
        ("search", '{"what": "a"}', Search(queries=["a"])),
        ("search", '"heat"', Search(queries=["heat"])),
        ("search", "heat pumps", Search(queries=["heat pumps"])),
        ("search", '["a", "b"]', Search(queries=["a", "b"])),
        ("search", "{'queries': ['a',]}", Search(queries=["a"])),
        ("search", '{"queries": ["a", "b', Search(queries=["a"])),
        ("search", '"{\\"queries\\": [\\"a\\"]}"', Search(queries=["a"])),
        ("think", '{"thought": "hm"}', Think(reflection="hm")),
        ("ConductResearch", '{"topic": "x"}', Conduct(research_topic="x")),
        ("ConductResearch", '{"subject": "x", "goal": "g"}', Conduct(research_topic="x", goal="g")),
        ("ResearchComplete", "{}", Complete()),
        ("ResearchComplete", "", Complete()),
        ("ResearchComplete", "{broken", Complete()),
        ("ResearchComplete", '{"reason": "done"}', Complete(reason="done")),
        ("lookup", '{"id": 3}', Arguments(values={"id": 3})),
        ("lookup", '"{\\"id\\": 3}"', Arguments(values={"id": 3})),
        ("ping", "", Arguments(values={})),
    ],
)
def test_arguments_are_read_as_they_were_meant(name, arguments, value):
    """M26, O9, O10: other names, bare values, broken and doubly written JSON."""
    found = wish(name, arguments)
    assert (found.value, found.problem) == (value, "")
    assert found.spec.name == name


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("search", "{}", 'search: queries is missing; call it with {"queries": ["…"]}'),
        ("search", '{"queries": []}', "search: queries is missing; call it"),
        ("search", '{"queries": null}', "search: queries is missing; call it"),
        ("search", '{"a": "x", "b": "y"}', "search: queries is missing; call it"),
        ("search", "", "search: the arguments are no JSON object: ''; call it"),
        ("search", "{broken", "search: the arguments are no JSON object: '{broken'; call it"),
        ("search", '{"quer', "search: the arguments are no JSON object"),
        ("search", "[", "search: the arguments are no JSON object"),
        ("think", "{}", 'think: reflection is missing; call it with {"reflection": "…"}'),
        ("think", '{"reflection": ""}', "think: reflection is missing"),
        (
            "delegate_all",
            "{}",
            'delegate_all: tasks is missing; call it with {"tasks": [{"topic": "…", "goal": "…"}]}',
        ),
        ("lookup", "{}", "lookup: id is missing"),
        ("lookup", "", "lookup: the arguments are no JSON object: ''"),
        ("ping", "what?", "ping: the arguments are no JSON object: 'what?'"),
        ("web_browse", '{"u": 1}', "there is no tool 'web_browse'; there are: search, think, "),
    ],
)
def test_what_cannot_be_done_is_told(name, arguments, problem):
    """M26, O11: the model reads what is wrong, and how it would be right."""
    found = wish(name, arguments)
    assert found.value is None
    assert found.problem.startswith(problem)


@pytest.mark.parametrize(
    "name", ["conduct_research", "CONDUCT-RESEARCH", "functions.ConductResearch"]
)
def test_names_are_read_as_they_were_meant(name):
    found = wish(name, '{"topic": "x"}')
    assert found.call.name == found.spec.name == "ConductResearch"


def test_calls_are_repeated_so_that_any_provider_takes_them():
    """Ids of their own, names that may be names, arguments that are JSON objects."""
    calls = (
        ToolCall("call_2", "search", '{"queries": ["a"'),
        ToolCall("", "web browse!", "nonsense"),
        ToolCall("x", "!", "[1]"),
        ToolCall("x", "think", "hm"),
        ToolCall("y", "think", '{"thought": "hm"}'),
        ToolCall("y", "lookup", None),
    )
    found = [w.call for w in read_calls(Completion("", calls=calls), TOOLS)]
    assert [c.id for c in found] == ["call_2", "call_2_", "x", "call_4", "y", "call_6"]
    assert [c.name for c in found] == ["search", "web_browse_", "_", "think", "think", "lookup"]
    assert [json.loads(c.arguments) for c in found] == [
        {"queries": ["a"]},
        {},
        {},
        {"reflection": "hm"},
        {"thought": "hm"},
        {},
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "search", "arguments": {"queries": ["a"]}}',
        '{"name": "search", "arguments": "{\\"queries\\": [\\"a\\"]}"}',
        '{"tool": "Search", "args": {"queries": ["a"]}}',
        '{"action": "search", "action_input": {"queries": ["a"]}}',
        '{"action": "search", "queries": ["a"]}',
        '{"search": {"queries": ["a"]}}',
        '{"tool_calls": [{"type": "function", "function": {"name": "search", "arguments": "{\\"queries\\": [\\"a\\"]}"}}]}',
        'I will look.\n```json\n[{"tool": "search", "parameters": {"queries": ["a"]}}]\n```',
        '<tool_call>{"name": "search", "arguments": {"queries": ["a"]}}</tool_call>',
        '<think>{"name": "think", "arguments": {}}</think>{"name": "search", "arguments": {"queries": ["a"]}}',
        'Thought: I see.\nAction: search\nAction Input: {"queries": ["a"]}\nObservation: nothing',
        '**Action:** `search`\n**Action Input:** {"queries": ["a"]}',
        '<function=search>{"queries": ["a"]}</function>',
    ],
)
def test_calls_written_as_text_count(text):
    assert calls_in(text) == [("search", {"queries": ["a"]})]


def test_several_written_calls_count_in_their_order():
    text = "".join(
        f'<tool_call>{{"name": "{name}", "arguments": {{"queries": ["{name}"]}}}}</tool_call>'
        for name in ("search", "web", "search")
    )
    found = read_calls(Completion(text), TOOLS)
    assert [w.call.name for w in found] == ["search", "web", "search"]
    assert [w.call.id for w in found] == ["call_1", "call_2", "call_3"]
    assert [bool(w.problem) for w in found] == [False, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The bridge is 412 m long.",
        "<think>call search?</think>It is done.",
        '{"name": "The bridge", "length": 412}',
        '[{"title": "a"}, "b", 3]',
        '{"queries": ["a"]}',
        "3",
    ],
)
def test_prose_and_other_json_is_no_call(text):
    assert read_calls(Completion(text), TOOLS) == []


def test_what_was_called_comes_before_what_was_written():
    spoken = Completion('{"name": "think", "arguments": {}}', calls=(ToolCall("1", "ping"),))
    assert [w.call.name for w in read_calls(spoken, TOOLS)] == ["ping"]


def test_calls_without_end_are_cut():
    many = tuple(ToolCall("", "ping") for _ in range(1000))
    assert len(read_calls(Completion("", calls=many), TOOLS)) == 64


HOSTILE = st.one_of(
    st.text(max_size=80),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["name", "function", "arguments", "queries", "search", "id", "calls"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    ).map(json.dumps),
)


DEEP = '{"queries": ' + "[" * 900 + "]" * 900 + "}"


@settings(deadline=None)
@given(HOSTILE, st.sampled_from([t.name for t in TOOLS] + ["", "x"]), HOSTILE)
@example("[" * 900, "search", DEEP)
@example(DEEP, "ping", '{"a":' * 900)
def test_no_text_breaks_the_reading(text, name, arguments):
    for spoken in (Completion(text), Completion("", calls=(ToolCall("", name, arguments),))):
        for found in read_calls(spoken, TOOLS):
            assert (found.value is None) == bool(found.problem)
            assert isinstance(json.loads(found.call.arguments), dict)


def test_what_cannot_be_json_is_an_empty_object():
    assert wish("ping", {"a": {1, 2}}).call.arguments == "{}"


def test_tools_show_their_schema():
    assert as_tool(TOOLS[0]).parameters == schema_of(Search)
    assert as_tool(TOOLS[5]).parameters is LOOKUP


# --- conversations -----------------------------------------------------------------------------


def count(text):
    return len(text.split())


def turn(n, *results):
    return Turn("", tuple(ToolCall(f"{n}-{i}", "search") for i, _ in enumerate(results)), results)


def words(word, n):
    return " ".join([word] * n)


def results_of(turns):
    return [t.results for t in turns]


HISTORY = (
    turn(1, words("old", 100), words("twice", 100)),
    turn(2, words("middle", 100)),
    turn(3, f"again: {words('twice', 100)}"),
    turn(4, words("new", 100)),
)


def test_a_conversation_that_fits_stays():
    assert fit_turns(HISTORY, 10_000, count) == HISTORY
    assert fit_turns((), 0, count) == ()


def test_older_duplicates_go_first_then_the_oldest_never_the_newest():
    """O13: the newest finding stays, whatever the limit."""
    dropped_one = fit_turns(HISTORY, 480, count)
    assert results_of(dropped_one)[1:] == results_of(HISTORY)[1:]
    assert dropped_one[0].results == (words("old", 100), "(the same stands in a later result)")
    dropped_two = fit_turns(HISTORY, 400, count)
    assert dropped_two[0].results[0].startswith("(left out to save room: old old")
    assert results_of(dropped_two)[1:] == results_of(HISTORY)[1:]
    least = fit_turns(HISTORY, 0, count)
    assert least == HISTORY[-1:]


def test_short_results_are_not_replaced_by_longer_notes():
    turns = (turn(1, "noted", ""), turn(2, "noted"), turn(3, words("new", 50)))
    assert fit_turns(turns, 75, count) == turns[1:]


def test_every_call_has_a_result():
    odd = Turn("", (ToolCall("1", "a"), ToolCall("2", "b")), ("one",))
    more = Turn("", (ToolCall("3", "a"),), ("one", "two"))
    told = Turn("prose", (), ("call a tool",))
    assert results_of(fit_turns((odd, more, told), 1000, count)) == [
        ("one", "(no result)"),
        ("one",),
        ("call a tool",),
    ]


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=3), min_size=1, max_size=6),
    st.integers(0, 300),
)
def test_what_is_left_fits_or_is_the_newest_turn(lengths, limit):
    turns = [turn(n, *(words(f"w{i % 2}", i) for i in row)) for n, row in enumerate(lengths)]
    kept = fit_turns(turns, limit, count)
    assert kept[-1] == turns[-1]
    assert len(kept) == 1 or sum(size(t, count) for t in kept) <= limit
    assert all(len(t.calls) == len(t.results) for t in kept)
    assert [t.calls for t in kept] == [t.calls for t in turns[len(turns) - len(kept) :]]
