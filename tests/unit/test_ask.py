"""Asking for a typed answer: the schema, one re-ask that shows the error, and what is noted."""

import copy
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from deep_research.core.errors import BadAnswer, BudgetExceeded, ContextTooLong, ProviderUnavailable
from deep_research.core.ports import Completion, Prompt
from deep_research.core.seams import Scope
from deep_research.steps._ask import Answer, ask, schema_of


class Item(Answer):
    text: str = Field("", description="what is so", min_length=1)
    ids: list[int] = Field(default_factory=list)
    kind: Literal["fact", "figure"] = "fact"
    weight: float | None = Field(None, ge=0)


class Lesson(Answer):
    items: list[Item] = Field(default_factory=list, max_length=9)
    questions: list[str] = Field(default_factory=list)


class Outside:
    """Answers with what it was given, in turn."""

    def __init__(self, *answers):
        self.answers, self.prompts = list(answers), []

    async def complete(self, prompt, scope, step):
        assert (scope.path, step) == ((1,), "learn")
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Completion) else Completion(answer)


PROMPT = Prompt("reader", "rules", "the task", max_tokens=500)
GOOD = '{"items": [{"text": "a", "ids": [1]}], "questions": []}'


async def lesson(*answers, **settings):
    outside = Outside(*answers)
    return outside, await ask(outside, PROMPT, Lesson, Scope((1,)), "learn", **settings)


async def test_a_good_answer_needs_one_call():
    outside, value = await lesson(GOOD)
    assert value.items == [Item(text="a", ids=[1])]
    assert not value.cut
    (prompt,) = outside.prompts
    assert (prompt.user, prompt.system) == ("the task", "rules")
    assert prompt.schema == schema_of(Lesson)


@pytest.mark.parametrize("bad", ["", "  ", "I cannot say.", '{"action": 1}'])
async def test_a_bad_answer_is_asked_for_once_more_with_the_reason(bad):
    outside, value = await lesson(bad, GOOD)
    assert len(value.items) == 1
    again = outside.prompts[1]
    assert again.user.startswith("the task\n\n"), "the beginning stays, so that it is cached"
    assert "could not be used" in again.user
    assert "items" in again.user
    assert again.max_tokens == 500


async def test_a_second_bad_answer_is_an_error_that_shows_it():
    with pytest.raises(BadAnswer, match=r"learn: no JSON .* asking again: 'I still cannot"):
        await lesson("I cannot say.", "I still cannot say.", GOOD)


async def test_an_answer_that_was_cut_to_nothing_gets_more_room():
    outside, _ = await lesson(Completion("thinking aloud", finish="length"), GOOD)
    assert outside.prompts[1].max_tokens == 1000


@pytest.mark.parametrize(
    "answer",
    [
        Completion(GOOD, finish="length"),
        Completion(GOOD[:-2] + '"x", "y', finish="length"),
        GOOD[:-1] + "\n" * 300,
        '{"items": [' + '{"text": "the same again and again", "ids": [1, 2]},' * 40,
    ],
)
async def test_what_lost_its_end_or_ran_in_circles_is_kept_and_noted(answer):
    outside, value = await lesson(answer)
    assert value.cut
    assert len(value.items) == 1
    assert len(outside.prompts) == 1


TWO = '{"items": [{"text": "a"}, {"text": "b"}], "questions": ["c?"]}'


@pytest.mark.parametrize("finish", ["stop", "length"])
async def test_what_broke_off_before_a_field_is_asked_for_again(finish):
    """The questions stand at the end: losing them would end the branch."""
    outside, value = await lesson(Completion(TWO[:40], finish=finish), TWO)
    assert (len(value.items), value.questions, value.cut) == (2, ["c?"], False)
    assert "it broke off before questions" in outside.prompts[1].user
    assert outside.prompts[1].max_tokens == (1000 if finish == "length" else 500)


async def test_what_broke_off_without_reason_is_asked_for_again():
    _, value = await lesson(TWO[:-4], TWO)
    assert not value.cut


@pytest.mark.parametrize(
    "second",
    ["I cannot.", TWO[:24], ProviderUnavailable("500"), BudgetExceeded("tokens", wanted=2, left=1)],
)
async def test_half_an_answer_is_better_than_none(second):
    _, value = await lesson(TWO[:34], second)
    assert [i.text for i in value.items] == ["a"]
    assert value.cut


async def test_the_longer_of_two_halves_counts():
    _, value = await lesson(TWO[:25], TWO[:-4])
    assert len(value.items) == 2


async def test_an_error_before_any_answer_passes():
    with pytest.raises(ProviderUnavailable):
        await lesson("I cannot say.", ProviderUnavailable("500"))


async def test_half_an_answer_without_lists():
    class Plain(BaseModel):
        name: str
        reason: str = ""

    outside = Outside('{"name": "x", "reason": "the first', '{"name": "x", "reason": "the')
    value = await ask(outside, PROMPT, Plain, Scope((1,)), "learn")
    assert value.name == "x"


async def test_errors_of_the_call_pass():
    with pytest.raises(ContextTooLong):
        await lesson(ContextTooLong("too long"))


async def test_more_than_asked_is_dropped():
    outside, value = await lesson('["a", "b", "c"]', most=2)
    assert [i.text for i in value.items] == ["a", "b"]
    assert outside.prompts[0].schema["properties"]["items"]["maxItems"] == 2


async def test_any_pydantic_model_will_do():
    class Plain(BaseModel):
        name: str

    value = await ask(Outside('{"NAME": "x"}'), PROMPT, Plain, Scope((1,)), "learn", most=3)
    assert value == Plain(name="x")


def test_the_schema_is_closed_inlined_and_plain():
    """What strict modes refuse (defaults, titles, references, lengths) is not in it."""
    item = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what is so"},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "kind": {"type": "string", "enum": ["fact", "figure"]},
            "weight": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "required": ["text", "ids", "kind", "weight"],
        "additionalProperties": False,
    }
    schema = copy.deepcopy(dict(schema_of(Lesson)))
    schema.pop("description", None)
    item_schema = schema["properties"]["items"].pop("items")
    item_schema.pop("description", None)
    assert item_schema == item
    assert schema == {
        "type": "object",
        "properties": {
            "items": {"type": "array", "maxItems": 9},
            "questions": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["items", "questions"],
        "additionalProperties": False,
    }


def test_the_schema_is_made_once():
    assert schema_of(Lesson, 3) is schema_of(Lesson, 3)
    assert schema_of(Lesson, 3) is not schema_of(Lesson, 4)
