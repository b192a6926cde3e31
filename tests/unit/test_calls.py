"""An answer of a language model is what the contract says, or the plugin is to blame."""

import pytest

from deep_research.core.model import Source
from deep_research.core.ports import Completion, ToolCall
from deep_research.runtime.calls import checked

CALL, PAGE = ToolCall("a", "think"), Source("https://example.org/")


async def given(answer):
    return answer


async def test_a_whole_answer_is_passed_on():
    answer = Completion("x", calls=(CALL,), cited=(PAGE,))
    assert await checked(given(answer)) is answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "answered with None"),
        (Completion("x", calls=[CALL]), "tuple of ToolCalls"),
        (Completion("x", calls=None), "None for a tuple of ToolCalls"),
        (Completion("x", calls=({"name": "think"},)), "tuple of ToolCalls"),
        (Completion("x", cited=("https://example.org/",)), "tuple of Sources"),
    ],
)
async def test_anything_else_is_the_plugins_fault(answer, words):
    with pytest.raises(TypeError, match=words):
        await checked(given(answer))
