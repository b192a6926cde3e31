"""Every way in which models have been seen to wrap, break and bend an answer."""

import json
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, Field

from deep_research.steps._ask import Answer
from deep_research.steps._clean import clean, repeated_tail, strip_reasoning
from deep_research.steps._parse import Unparsable, parse

DATA = Path(__file__).parents[2] / "../shared/data/json"


class Item(Answer):
    query: str = Field(validation_alias=AliasChoices("query", "text", "q"))
    goal: str = Field("", validation_alias=AliasChoices("goal", "research_goal", "purpose"))


class Plan(Answer):
    queries: list[Item] = Field(default_factory=list)


class Lesson(Answer):
    learnings: list[Item] = Field(default_factory=list)
    follow_ups: list[str] = Field(
        default_factory=list, validation_alias=AliasChoices("follow_ups", "followUpQuestions")
    )


class Verdict(Answer):
    action: Literal["stop", "go_on"]
    reason: str = ""
    weight: float | None = None
    sure: bool = False
    evidence: list[int] = Field(default_factory=list)
    best: int = 0


ONE = '[{"query": "tidal turbine lifetime", "researchGoal": "years in service"}]'
TWO = (
    '{"queries": [{"query": "tidal turbine lifetime", "researchGoal": "years"}, '
    '{"query": "tidal turbine cost", "researchGoal": "price"}]}'
)
GOOD = [("tidal turbine lifetime", "years in service")]


def plan(text):
    return [(i.query, i.goal) for i in parse(text, Plan).value.queries]


WRAPPINGS = {
    "bare": ONE,
    "think": f"<think>options [1] or [2], use {{topic}}</think>{ONE}",
    "think, unclosed": f"<think>pick [1] or {{a}} {ONE}",
    "think, unclosed, fence": f"<think>hm [1]\n```json\n{ONE}\n```",
    "think, opened in the prompt": f"let me see {{x}} [2]\n</think>\n{ONE}",
    "thinking": f"<thinking>[{{}}]</thinking>\n{ONE}",
    "reasoning": f"<reasoning>a</reasoning>{ONE}",
    "other brackets": f"◁think▷well [0]◁/think▷{ONE}",
    "other brackets, unclosed": f"◁think▷well [0] {ONE}",
    "capitals": f"[THINK]well[/THINK]{ONE}",
    "channels": f"<|channel|>analysis<|message|>so [1]<|end|><|start|>assistant<|channel|>final<|message|>{ONE}",
    "channels, no end": f"<|channel|>analysis<|message|>so [1]<|channel|>final<|message|>{ONE}",
    "snippet after": f'{ONE}\nNote: I used {{"style": "broad"}} and [1, 2].',
    "snippet before": f'Format is {{"style": "broad"}}. {ONE}',
    "fence": f"Sure!\n```json\n{ONE}\n```\nHope this helps.",
    "fence in capitals": f"```JSON\n{ONE}\n```",
    "fence, unclosed": f"Here:\n```\n{ONE}",
    "prose around": f"Here are the queries: {ONE} Good luck!",
    "trailing commas": ONE.replace("}]", ",},]"),
    "single quotes": ONE.replace('"', "'"),
    "smart quotes": ONE.replace('{"', "{“").replace('"}', "”}").replace('": "', "”: “").replace('", "', "”, “"),
    "line comment": ONE.replace("[{", "[\n// the first\n{").replace("}]", "}\n]"),
    "block comment": ONE.replace("[{", "[/* all */{"),
    "BOM": "\ufeff" + ONE,
    "no-break spaces": ONE.replace(": ", ":\u00a0").replace(", ", ",\u00a0"),
    "full-width colon": ONE.replace('": "', '"："'),
    "missing bracket": ONE[:-1],
    "queries": f'{{"queries": {ONE}}}',
    "results": f'{{"results": {ONE}}}',
    "items": f'{{"items": {ONE}}}',
    "deep": f'{{"output": {{"data": {{"searchQueries": {ONE}}}}}}}',
    "tool call": f'{{"name": "search", "arguments": {{"queries": {ONE}}}}}',
    "tool call, text": json.dumps({"function": {"name": "plan", "arguments": f'{{"queries": {ONE}}}'}}),
    "tool calls": f'[{{"name": "plan", "arguments": {{"queries": {ONE}}}}}]',
    "encoded twice": json.dumps(ONE),
    "encoded twice inside": json.dumps({"queries": ONE}),
    "nested": f"[{ONE}]",
    "nested twice": f"[[{ONE}, []]]",
    "one object": ONE[1:-1],
    "object for list": f'{{"queries": {ONE[1:-1]}}}',
    "numbered object": f'{{"queries": {{"1": {ONE[1:-1]}}}}}',
    "junk among items": ONE.replace("[{", '[null, 3, true, "", {"a": 1}, [], {'),
    "same again": ONE.replace("}]", '}, {"query": " Tidal  turbine LIFETIME "}]'),
    "other keys": '[{"Q": "tidal turbine lifetime", "Research Goal": "years in service", "id": 7}]',
    "text in a list": '[{"query": ["tidal turbine lifetime"], "goal": [null, "years in service"]}]',
    "text in an object": '[{"query": {"text": "tidal turbine lifetime"}, "goal": {"x": "years in service"}}]',
    "lines": "1. **Query:** tidal turbine lifetime\n   **Goal:** years in service",
    "lines, full-width": "Query： tidal turbine lifetime\nResearch goal： years in service",
    "control characters": ONE.replace("turbine", "tur\x00bine").replace("years", "years\ud800"[:5]),
}  # fmt: skip


@pytest.mark.parametrize("text", WRAPPINGS.values(), ids=WRAPPINGS.keys())
def test_one_query_in_any_wrapping(text):
    assert plan(text) == GOOD


@pytest.mark.parametrize("keep", [55, 70, 100, 110])
def test_cut_json_keeps_its_complete_items_and_says_so(keep):
    """Cut anywhere inside the second object: the first one stands, nothing of the second."""
    text = TWO[: TWO.index("tidal turbine cost") - 12 + keep - 55]
    for prefix in ("", "```json\n", "<think>x</think>"):
        parsed = parse(prefix + text, Plan)
        assert [i.query for i in parsed.value.queries] == ["tidal turbine lifetime"]
        assert parsed.cut


@pytest.mark.parametrize("end", range(20, len(TWO)))
def test_cut_anywhere_never_brings_half_a_query(end):
    try:
        found = parse(TWO[:end], Plan).value.queries
    except Unparsable:
        return
    whole = {"tidal turbine lifetime", "tidal turbine cost"}
    if len(found) > 1 or end > TWO.index("}"):
        assert {i.query for i in found} <= whole


def test_cut_in_a_later_list_keeps_the_earlier_one():
    text = '{"learnings": [{"text": "a", "goal": "b"}], "follow_ups": ["Why is th'
    parsed = parse(text, Lesson)
    assert [i.query for i in parsed.value.learnings] == ["a"]
    assert parsed.value.follow_ups == []
    assert parsed.cut
    parsed = parse(text.replace("Why is th", 'Why?", "How com'), Lesson)
    assert parsed.value.follow_ups == ["Why?"]


def test_cut_text_is_kept_where_it_is_all_there_is():
    parsed = parse('{"action": "stop", "reason": "because the bud', Verdict)
    assert (parsed.value.action, parsed.cut) == ("stop", True)
    assert parse('[{"query": "tidal tur', Plan).cut


def test_whole_answers_are_not_said_to_be_cut():
    assert not parse(ONE, Plan).cut
    assert not parse(ONE.replace("}]", ",}]"), Plan).cut


def test_one_object_a_line():
    assert plan('{"query": "a"}\n{"query": "b", "goal": "c"}\n') == [("a", ""), ("b", "c")]


def test_the_later_of_two_equal_answers_counts():
    """A draft comes before the answer."""
    assert plan('Draft: {"queries": ["a"]} Final: {"queries": ["b"]}') == [("b", "")]
    assert plan('["a", "b"] is too broad. [{"query": "c", "goal": "d"}]') == [("c", "d")]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ('["a", "b"]', ["a", "b"]),
        ('["", ["a", "b"], "  "]', ["a", "b"]),
        ('{"queries": "only one"}', ["only one"]),
        ('{"queries": "- a\\n- b"}', ["a", "b"]),
        ('[{"query": 2026, "researchGoal": ["x"]}]', ["2026"]),
        ('[{"query": null}, {"query": "n/a"}, {"query": true}, {"query": "a"}]', ["a"]),
        ("1. a b\n2) **c d**\n- e f\n", ["a b", "c d", "e f"]),
        ("Queries:\n1. a b", ["a b"]),
        ('{"queries": []}', []),
        ("[]", []),
        ('{"queries": null}', []),
        ("I use [square] brackets and {curly} ones [1].\n1. a b", ["a b"]),
    ],
)
def test_bare_strings_and_odd_items(text, queries):
    assert [i.query for i in parse(text, Plan).value.queries] == queries


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("Why is it so?", ["Why is it so?"]),
        ("Why? How?", ["Why?", "How?"]),
        ({"question": "Why?"}, ["Why?"]),
        ({"1": "Why?", "2": "How?"}, ["Why?", "How?"]),
        (7, []),
        (None, []),
        ([{"question": "Why?"}, {"text": "How?"}], ["Why?", "How?"]),
        (["Why?", None, 3, "None", "null", ["How?"]], ["Why?", "How?"]),
        ('["Why?"]', ["Why?"]),
    ],
)
def test_follow_ups_are_questions_never_characters(given, meant):
    text = json.dumps({"learnings": [], "followUpQuestions": given})
    assert parse(text, Lesson).value.follow_ups == meant


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('{"action": "GO ON"}', "action", "go_on"),
        ('{"action": "stop", "weight": "0.75 or so"}', "weight", 0.75),
        ('{"action": "stop", "weight": "high"}', "weight", None),
        ('{"action": "stop", "weight": 1e999}', "weight", None),
        ('{"action": "stop", "weight": true}', "weight", None),
        ('{"action": "stop", "sure": "yes"}', "sure", True),
        ('{"action": "stop", "sure": "perhaps"}', "sure", False),
        ('{"action": "stop", "evidence": "[S3], 5-7"}', "evidence", [3, 5, 6, 7]),
        ('{"action": "stop", "evidence": ["1", {"id": 2}, 3.0, 4.5, null, "9-8"]}', "evidence", [1, 2, 3, 9, 8]),
        ('{"action": "stop", "evidence": 4}', "evidence", [4]),
        ('{"action": "stop", "best": {"x": []}}', "best", 0),
        ("Action: stop\nReason: enough", "reason", "enough"),
        ("**Action:** stop\n**Reason:**\n", "reason", ""),
    ],
)  # fmt: skip
def test_other_types(text, field, value):
    assert getattr(parse(text, Verdict).value, field) == value


@pytest.mark.parametrize(
    "text",
    ["", "   ", "I found no information.", "{}", "[1, 2]", '{"action": "dance"}', "null", "<think>hm",
     '{"queries": [', "[" * 5000, '{"a":' * 5000, "}" * 100, '{"queries": ]', "- {\n- }", "x: y"],
)  # fmt: skip
@pytest.mark.parametrize("answer", [Plan, Verdict])
def test_what_cannot_be_meant_is_said_so(text, answer):
    with pytest.raises(Unparsable, match=r"wanted|no JSON"):
        parse(text, answer)


def test_the_empty_answer_has_its_own_words():
    with pytest.raises(Unparsable, match="empty"):
        parse(" ", Plan)


def test_wrapping_has_an_end():
    text = ONE
    for _ in range(9):
        text = f'{{"x": {text}}}'
    with pytest.raises(Unparsable):
        parse(text, Plan)
    deep = json.dumps({"queries": [[[[[[[[["a"]]]]]]]]]})
    assert parse(deep, Plan).value.queries == []


def test_nesting_has_an_end():
    value = "a"
    for _ in range(9):
        value = {"text": value}
    with pytest.raises(Unparsable):
        parse(json.dumps({"action": value}), Verdict)
    assert parse(json.dumps([{"query": value}, {"query": "b"}]), Plan).value.queries[0].query == "b"
    assert plan(json.dumps([{"query": [[[[[[["a"]]]]]]]}, "b"])) == [("b", "")]


def test_several_queries_by_lines():
    text = "Query: a\nGoal: b\n\nQuery: c\n"
    assert plan(text) == [("a", "b"), ("c", "")]


def test_a_required_list_may_be_left_out():
    class Named(Answer):
        name: str
        sources: list[int]

    assert parse('{"name": "a"}', Named).value.sources == []


def test_a_long_list_is_capped():
    text = json.dumps([f"query {i}" for i in range(2000)])
    assert len(parse(text, Plan).value.queries) == 500


def test_lists_keep_to_their_longest():
    class Short(Answer):
        names: list[str] = Field(max_length=2)

    assert parse('["a", "b", "c"]', Short).value.names == ["a", "b"]


@given(st.text() | st.text(alphabet='[]{}",:\\ antrufls10.-/*`<>\n\ud800'))
def test_no_text_raises_anything_else(text):
    for answer in (Plan, Lesson, Verdict):
        try:
            parse(text, answer)
        except Unparsable:
            continue


@given(
    st.lists(st.tuples(st.text(st.characters(categories=["L"]), min_size=1), st.text("abc xyz")))
)
def test_plain_json_comes_back(items):
    """What is JSON of the asked shape is read as it stands (equal queries once)."""
    text = json.dumps({"queries": [{"query": q, "goal": g} for q, g in items]})
    got = [i.query for i in parse(text, Plan).value.queries]
    odd = {"none", "null", "na", "nil", "undefined", "nan"}
    first = {}
    for q, _ in items:
        if q.casefold() not in odd:
            first.setdefault(q.casefold(), q)
    assert got == list(first.values())


# --- reasoning, repetition, characters ---------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think>a</think> b <think>c</think> d", "b  d"),
        ("a</think>b", "b"),
        ("before <think>cut off", "before"),
        ("<think>cut off", ""),
        ("<think>{broken}", ""),
        ("<think>" + "[" * 500 + "]", ""),
        ('{"text": "the tag <think> is odd"}', '{"text": "the tag <think> is odd"}'),
        ("<|im_start|>answer<|im_end|>", "answer"),
    ],
)
def test_reasoning_is_stripped(text, left):
    assert strip_reasoning(text) == left


PARAGRAPH = "The turbine ran for nine years without a fault. It was then lifted and refitted.\n\n"


@pytest.mark.parametrize("tail", ["", "The turbine ran for"])
def test_a_repeated_paragraph_is_cut_to_its_first_copy(tail):
    text, cut = repeated_tail("Introduction.\n\n" + PARAGRAPH * 12 + tail)
    assert cut
    assert text.count("nine years") == 1
    assert text.startswith("Introduction.")


@pytest.mark.parametrize("text", ["", "a", PARAGRAPH * 2, "ha " * 20, "| a | b |\n" * 3])
def test_what_is_no_repetition_stays(text):
    assert repeated_tail(text) == (text, False)


def test_endless_white_space_is_a_repetition():
    assert repeated_tail('{"a": 1' + "\n" * 5000) == ('{"a": 1', True)


def test_repeated_tail_is_linear():
    """A million characters are looked at from the end only."""
    assert repeated_tail("ab" * 500_000)[1]


def test_clean_mends_surrogate_pairs_and_drops_lone_ones():
    assert clean("a\ud83d\ude00b\ud800c\x00\ufeff\u00a0d") == "a😀b\ufffdc d"


# --- foreign test sets -------------------------------------------------------------------------


@pytest.mark.skipif(not DATA.exists(), reason="data set not here")
def test_json_test_suite_raises_nothing():
    for path in sorted((DATA / "JSONTestSuite").iterdir()):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        for answer in (Plan, Verdict):
            try:
                parse(text, answer)
            except Unparsable:
                continue


@pytest.mark.skipif(not DATA.exists(), reason="data set not here")
def test_json_repair_vectors_raise_nothing():
    for line in (DATA / "json_repair_vectors.jsonl").read_text().splitlines():
        vector = json.loads(line)
        for answer in (Plan, Verdict):
            try:
                parse(vector["input"], answer)
            except Unparsable:
                continue
