"""What a chat completion says, whatever form the endpoint gave it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from deep_research.steps._clean import strip_reasoning

_ERRORS: Final = range(400, 600)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, normalised.

    Attributes:
        text: The answer without reasoning; a refusal's words if there is nothing else.
        finish: Why it ended.
        model: The model's name as the endpoint gives it, or ''.
        input_tokens: As counted by the provider, 0 if it does not say.
        output_tokens: Likewise, reasoning included.
        said: All that was generated, reasoning included; for estimating.
    """

    text: str
    finish: str
    model: str
    input_tokens: int
    output_tokens: int
    said: str


def read_reply(body: Mapping[str, Any]) -> Reply | None:
    """Return the reply in a chat completion's JSON, or None if it is none.

    Content may be missing, a string or a list of blocks; arguments of a tool call stand in for it.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return None
    content = _text(message.get("content"))
    text = strip_reasoning(content) or _arguments(message)
    finish = choice.get("finish_reason")
    refusal = _text(message.get("refusal"))
    if not text and refusal:
        text, finish = refusal, "refusal"
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    input_tokens, output_tokens = _usage(body.get("usage"))
    return Reply(
        text,
        finish if isinstance(finish, str) else "stop",
        _text(body.get("model")),
        input_tokens,
        output_tokens,
        thought + content,
    )


def read_error(body: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return status and words of an error that came with status 200, as some gateways send it."""
    error = body.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return 500, str(error)
    code = error.get("code")
    status = code if isinstance(code, int) and code in _ERRORS else 500
    return status, _text(error.get("message")) or str(error)


def _text(content: object) -> str:
    """Text of a string or of the text blocks in a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and block.get("type") in ("text", "output_text", None):
            parts.append(_text(block.get("text")))
    return "".join(parts)


def _arguments(message: Mapping[str, Any]) -> str:
    """The arguments of the tool calls, one a line: JSON, as if it had been the answer."""
    calls = message.get("tool_calls")
    functions = (
        [c.get("function") for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
    )
    said = []
    for function in (*functions, message.get("function_call")):
        given = function.get("arguments") if isinstance(function, dict) else None
        said.append(
            json.dumps(given, ensure_ascii=False) if isinstance(given, dict) else _text(given)
        )
    return "\n".join(filter(None, said))


def _usage(usage: object) -> tuple[int, int]:
    """Tokens in and out; where the total is more than both, it holds the reasoning."""
    if not isinstance(usage, dict):
        return 0, 0
    given, made, total = (
        value if isinstance(value, int) and value > 0 else 0
        for value in (usage.get(f"{n}_tokens") for n in ("prompt", "completion", "total"))
    )
    return given, max(made, total - given) if given else made
