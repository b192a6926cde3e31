"""What a chat completion says, whatever form the endpoint gave it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from deep_research.steps._clean import strip_reasoning

_MANY_TOKENS: Final = 10**9
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
    Of several choices the first that says something counts. Bodies of older and of servers' own
    endpoints, which some gateways answer with, are read too.
    """
    found = list(_messages(body))
    if not found:
        return None
    choice, message = next((f for f in found if f[1].get("content")), found[0])
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


def _messages(body: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield (choice, message) of each choice."""
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict):
            yield choice, message
        elif isinstance(choice, dict) and isinstance(choice.get("text"), str):
            yield choice, {"content": choice["text"]}  # the older completions
    if isinstance(body.get("message"), dict):  # Ollama's own /api/chat
        yield {"finish_reason": body.get("done_reason")}, body["message"]
    output = body.get("output")  # https://platform.openai.com/docs/api-reference/responses
    if isinstance(output, list):
        parts = [part.get("content") for part in output if isinstance(part, dict)]
        yield {}, {"content": [b for p in parts if isinstance(p, list) for b in p]}


def read_stream(text: str) -> Mapping[str, Any] | None:
    """Return the completion that server-sent events add up to, or None if `text` holds none.

    Some servers stream although nobody asked. Format:
    https://platform.openai.com/docs/api-reference/chat-streaming
    """
    whole: dict[str, Any] = {}
    content: list[str] = []
    finish = None
    for line in text.splitlines():
        with suppress(ValueError, RecursionError):
            event = json.loads(line.removeprefix("data:"), strict=False)
            if not line.startswith("data:") or not isinstance(event, dict):
                continue
            whole |= {k: v for k, v in event.items() if v is not None}
            choices = event.get("choices")
            choice = choices[0] if isinstance(choices, list) and choices else None
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(choice, dict) and isinstance(delta, dict):
                content.append(_text(delta.get("content")))
                finish = choice.get("finish_reason") or finish
    if not whole:
        return None
    message = {"content": "".join(content)}
    return (
        whole | {"choices": [{"message": message, "finish_reason": finish}]} if content else whole
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
        value if isinstance(value, int) and 0 < value < _MANY_TOKENS else 0
        for value in (usage.get(f"{n}_tokens") for n in ("prompt", "completion", "total"))
    )
    return given, max(made, total - given) if given else made
