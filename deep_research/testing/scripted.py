"""A language model that answers from a script."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deep_research.core.ports import Completion, Prompt, ToolCall
from deep_research.core.text import shorten


class Calls:
    """An answer that calls tools: `Calls(("think", {"reflection": "…"}), text="Let me see.")`.

    Args:
        calls: Names and arguments; arguments as text are passed on as they are, broken or not.
        text: What is said beside them.
    """

    def __init__(self, *calls: tuple[str, Mapping[str, Any] | str], text: str = "") -> None:
        self.calls, self.text = calls, text

    def numbered(self, after: int) -> tuple[ToolCall, ...]:
        """Return the calls with ids, the first 'call_1' if `after` calls were none."""
        return tuple(
            ToolCall(f"call_{n}", name, given if isinstance(given, str) else _json(given))
            for n, (name, given) in enumerate(self.calls, after + 1)
        )


Answer = str | Mapping[str, Any] | Sequence[Any] | Calls | Completion | Exception
"""What a script may say: text, what becomes JSON, calls, a whole completion, an error to raise."""


@dataclass(slots=True)
class Reply:
    """One line of a script: which prompts it answers, and how.

    Attributes:
        answer: The answer, or a function of the prompt that gives it.
        role: Only prompts of this role.
        step: Only prompts whose `name` this is (steps name their answer's schema).
        match: Only prompts in whose system or user text or turns this regular expression finds
            something.
        times: How often it answers; None is without end, and then it need not be used.
        delay: Seconds before the answer.
    """

    answer: Answer | Callable[[Prompt], Answer]
    role: str = ""
    step: str = ""
    match: str = ""
    times: int | None = 1
    delay: float = 0.0

    def fits(self, prompt: Prompt) -> bool:
        """Tell whether this line answers the prompt."""
        return (
            self.times != 0
            and self.role in {"", prompt.role}
            and self.step in {"", prompt.name}
            and re.search(self.match, "\n".join(_texts(prompt))) is not None
        )

    def __str__(self) -> str:
        wants = {"role": self.role, "step": self.step, "match": self.match}
        return ", ".join(f"{k}={v!r}" for k, v in wants.items() if v) or "any prompt"


class ScriptedLLM:
    """A language model that follows a script: the first line that fits answers.

    Args:
        script: Lines in order. A bare answer is a `Reply` to one prompt of any kind, a bare
            function one to all.
        model: Name reported in completions.
        cost: Micro-dollars per call, None for an unknown price.

    Attributes:
        prompts: All prompts, in the order of their arrival.
        running: Calls under way now; `most_running` is the most there ever were.

    Tokens are counted as a quarter of the characters. Call `check` at the end of a test.
    """

    def __init__(
        self,
        *script: Reply | Answer | Callable[[Prompt], Answer],
        model: str = "scripted",
        cost: int | None = 0,
    ) -> None:
        self.script = [_line(item) for item in script]
        self.prompts: list[Prompt] = []
        self.running = self.most_running = 0
        self._model, self._cost = model, cost
        self._unanswered: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer as the script says.

        Raises:
            AssertionError: No line fits; `check` will say so again, should this get lost.
        """
        self.prompts.append(prompt)
        line = next((line for line in self.script if line.fits(prompt)), None)
        if line is None:
            self._unanswered.append(prompt)
            raise AssertionError(f"no answer scripted for {_brief(prompt)}")
        if line.times is not None:
            line.times -= 1
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await asyncio.sleep(line.delay)
        finally:
            self.running -= 1
        answer = line.answer(prompt) if callable(line.answer) else line.answer
        if isinstance(answer, Exception):
            raise answer
        return self._completion(prompt, answer)

    def _completion(self, prompt: Prompt, answer: Answer) -> Completion:
        if isinstance(answer, Completion):
            return answer
        calls: tuple[ToolCall, ...] = ()
        if isinstance(answer, Calls):
            if not prompt.tools:
                raise AssertionError(f"calls scripted where no tools are: {_brief(prompt)}")
            text, calls = answer.text, answer.numbered(sum(len(t.calls) for t in prompt.turns))
        else:
            text = answer if isinstance(answer, str) else _json(answer)
        return Completion(
            text,
            self._model,
            "tool_calls" if calls else "stop",
            _size(prompt),
            _tokens("".join((text, *(c.name + c.arguments for c in calls)))),
            self._cost,
            calls=calls,
        )

    def worst_case(self, prompt: Prompt) -> Mapping[str, int]:
        """Return one call, the prompt's tokens and its `max_tokens`."""
        tokens = _size(prompt) + prompt.max_tokens
        return {"calls": 1, "tokens": tokens} | ({} if self._cost is None else {"cost": self._cost})

    def check(self) -> None:
        """Raise AssertionError if prompts went unanswered or answers were not asked for."""
        unanswered = [_brief(prompt) for prompt in self._unanswered]
        if unanswered:
            raise AssertionError(f"prompts without an answer: {unanswered}")
        unused = [f"{line} ({line.times}×)" for line in self.script if line.times]
        if unused:
            raise AssertionError(f"answers that nobody asked for: {unused}")


def _line(item: Reply | Answer | Callable[[Prompt], Answer]) -> Reply:
    if isinstance(item, Reply):
        return replace(item)
    return Reply(item, times=None if callable(item) else 1)


def _brief(prompt: Prompt) -> str:
    return f"role={prompt.role!r} step={prompt.name!r}: {shorten(prompt.user, 200)!r}"


def _texts(prompt: Prompt) -> Iterator[str]:
    """Yield what was said so far."""
    yield from (prompt.system, prompt.user)
    for turn in prompt.turns:
        calls = (f"{call.name} {call.arguments}" for call in turn.calls)
        yield from (turn.text, *calls, *turn.results)


def _size(prompt: Prompt) -> int:
    tools = (f"{t.name} {t.description} {_json(t.parameters)}" for t in prompt.tools)
    return _tokens("".join((*_texts(prompt), *tools)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _tokens(text: str) -> int:
    return len(text) // 4 + 1
