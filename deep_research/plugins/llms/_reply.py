"""What a chat completion says, whatever form the endpoint gave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from deep_research.core.model import Source
from deep_research.core.ports import Prompt, ToolCall
from deep_research.steps._clean import strip_reasoning

from ._calls import message_calls, settled, text_calls
from ._cited import cited
from ._turns import wire_names

_MANY_TOKENS: Final = 10**9
_ERRORS: Final = range(400, 600)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, normalised.

    Attributes:
        text: The answer without reasoning; arguments of calls, else a refusal's words, if there is
            nothing else.
        finish: Why it ended.
        model: The model's name as the endpoint gives it, or ''.
        input_tokens: As counted by the provider, 0 if it does not say.
        output_tokens: Likewise, reasoning included.
        said: All that was generated, reasoning included; for estimating.
        words: As `text`, without the arguments of calls.
        calls: The calls that it has as data, as they came.
        cited: The pages that the provider's own search names.
    """

    text: str
    finish: str = "stop"
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    said: str = ""
    words: str = ""
    calls: tuple[ToolCall, ...] = ()
    cited: tuple[Source, ...] = ()

    def understood(self, prompt: Prompt) -> tuple[str, tuple[ToolCall, ...]]:
        """Return what `prompt` was answered in words, and in calls if it offered tools.

        Calls that stand in the text count where there are none as data. Some servers lose them
        among the reasoning: there they count only if nothing else was said.
        """
        if not prompt.tools:
            return self.text, ()
        calls, words = list(self.calls), self.words
        offered = wire_names(prompt.tools)
        if not calls and words:
            calls, words = text_calls(words, offered)
        elif not calls and self.finish != "length":
            calls, _ = text_calls(self.said, offered)
        return words, settled(calls, prompt)


def read_reply(body: Mapping[str, Any]) -> Reply | None:
    """Return the reply in a chat completion's JSON, or None if it is none.

    Content may be missing, a string or a list of blocks.
    Of several choices the first that says something counts. Bodies of older and of servers' own
    endpoints, which some gateways answer with, are read too.
    """
    found = list(_messages(body))
    if not found:
        return None
    choice, message = next((f for f in found if f[1].get("content")), found[0])
    content = _text(message.get("content"))
    # gateways put calls and words into two choices
    calls = next(filter(None, (message_calls(m) for _, m in found)), [])
    arguments = "\n".join(call.arguments for call in calls if call.arguments)
    words = strip_reasoning(content)
    finish = choice.get("finish_reason")
    refusal = _text(message.get("refusal"))
    if not words and not arguments and refusal:
        words, finish = refusal, "refusal"
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    input_tokens, output_tokens = _usage(body.get("usage"))
    return Reply(
        words or arguments,
        finish if isinstance(finish, str) else "stop",
        _text(body.get("model")),
        input_tokens,
        output_tokens,
        thought + content + arguments,
        words,
        tuple(calls),
        cited(body),
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
        items = [item for item in output if isinstance(item, dict)]
        parts = [item.get("content") for item in items]
        yield (
            {},
            {
                "content": [b for p in parts if isinstance(p, list) for b in p],
                "tool_calls": [i for i in items if i.get("type") == "function_call"],
            },
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


def _usage(usage: object) -> tuple[int, int]:
    """Tokens in and out; where the total is more than both, it holds the reasoning."""
    if not isinstance(usage, dict):
        return 0, 0
    given, made, total = (
        value if isinstance(value, int) and 0 < value < _MANY_TOKENS else 0
        for value in (usage.get(f"{n}_tokens") for n in ("prompt", "completion", "total"))
    )
    return given, max(made, total - given) if given else made
