"""Tools and conversations as a request has them.

Wire format: https://platform.openai.com/docs/api-reference/chat/create (`tools`, and `messages` of
the roles assistant and tool).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from deep_research.core.ports import Prompt, Tool, ToolCall, Turn
from deep_research.steps._candidates import mended

BLANKS: Final = (None, "", "…")
"""What may stand for no words beside calls. Older Ollamas lose calls beside '', LM Studio and
others refuse null, Bedrock refuses both.
"""
PLAIN_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
"""Mistral's ids; no other endpoint minds them."""
_LONGEST_NAME: Final = 64
_NOTHING: Final = "(nothing)"
_UNSIGNED: Final = "skip_thought_signature_validator"

Message = dict[str, Any]


@dataclass(slots=True)
class Style:
    """How one endpoint wants turns.

    Attributes:
        blank: Which of `BLANKS` it takes.
        plain_ids: Whether ids must be nine letters or digits.
        either: Whether words beside calls are refused.
        signed: Whether calls need Gemini's signature of the thought behind them. Its stand-in is
            https://ai.google.dev/gemini-api/docs/thought-signatures.
        told: Whether calls can only be told in words: DeepSeek's and Kimi's thinking models want
            their reasoning back, which is not kept.
    """

    blank: int = 0
    plain_ids: bool = False
    either: bool = False
    signed: bool = False
    told: bool = False


def tool_list(tools: Sequence[Tool]) -> list[Message]:
    """Return `tools` as a request has them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.description,
                "parameters": {"type": "object", "properties": {}, **tool.parameters},
            },
        }
        for name, tool in zip(wire_names(tools), tools, strict=True)
    ]


def turn_messages(prompt: Prompt, style: Style) -> list[Message]:
    """Return the messages that `prompt.turns` add: each id stands once and has one answer.

    Where no tools are offered, calls and results are told in words: endpoints refuse calls of tools
    that they do not know.
    """
    if style.told or not prompt.tools:
        return [message for turn in prompt.turns for message in _in_words(turn)]
    names = {own: wire for wire, own in wire_names(prompt.tools).items()}
    ids = _ids(prompt.turns, style)
    return [m for turn in prompt.turns for m in _messages(turn, names, ids, style)]


def new_id(n: int) -> str:
    """Return the id of the n-th call of a conversation, in a form that every endpoint takes."""
    return f"call{n:05d}"


def wire_names(tools: Sequence[Tool]) -> dict[str, str]:
    """Return name on the wire → the tool's own name, in order.

    Letters, digits, '_' and '-', at most 64, no digit first, each once: what OpenAI, Anthropic and
    Gemini have in common.
    """
    names: dict[str, str] = {}
    for tool in tools:
        name = _wire_name(tool.name)
        numbered = (f"{name[: _LONGEST_NAME - 4]}_{n}" for n in count(2))
        while name in names:
            name = next(numbered)
        names[name] = tool.name
    return names


def spoken(prompt: Prompt) -> Iterator[str]:
    """Yield the texts that tools and turns add to a request, for counting: one per message."""
    for tool in prompt.tools:
        yield json.dumps([tool.name, tool.description, dict(tool.parameters)], ensure_ascii=False)
    for turn in prompt.turns:
        calls = (f"{call.id} {call.name} {call.arguments}" for call in turn.calls)
        yield " ".join((turn.text, *calls))
        yield from (result or _NOTHING for result in turn.results)


def _messages(
    turn: Turn, names: Mapping[str, str], ids: Iterator[str], style: Style
) -> Iterator[Message]:
    if not turn.calls:
        yield from _in_words(turn)
        return
    named = [(next(ids), call) for call in turn.calls]
    text = "" if style.either else _sendable(turn.text)
    extra = {"extra_content": {"google": {"thought_signature": _UNSIGNED}}} if style.signed else {}
    yield {
        "role": "assistant",
        "content": text or BLANKS[style.blank],
        "tool_calls": [_call(call_id, call, names) | extra for call_id, call in named],
    }
    for n, (call_id, _) in enumerate(named):
        result = _sendable("".join(turn.results[n : n + 1]))
        yield {"role": "tool", "tool_call_id": call_id, "content": result or _NOTHING}


def _ids(turns: Sequence[Turn], style: Style) -> Iterator[str]:
    """Yield an id per call: its own, unless it has none, an earlier call's or an odd one."""
    given = {call.id for turn in turns for call in turn.calls}
    fresh = (i for i in map(new_id, count(1)) if i not in given)
    used: set[str] = set()
    for call in (call for turn in turns for call in turn.calls):
        odd = style.plain_ids and not PLAIN_ID.fullmatch(call.id)
        if odd or not call.id.strip() or call.id in used:
            yield next(fresh)
        else:
            used.add(call.id)
            yield call.id


def _wire_name(name: str) -> str:
    kept = re.sub(r"[^a-zA-Z0-9_-]", "_", name.strip()) or "unnamed"
    return (kept if re.match(r"[a-zA-Z_]", kept) else f"_{kept}")[:_LONGEST_NAME]


def _call(call_id: str, call: ToolCall, names: Mapping[str, str]) -> Message:
    function = {"name": names.get(call.name) or _wire_name(call.name), "arguments": _object(call)}
    return {"id": call_id, "type": "function", "function": function}


def _object(call: ToolCall) -> str:
    """The arguments as a JSON object: servers parse them back and trip over anything else."""
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        found = mended(call.arguments)
        return json.dumps(found[0]) if found and isinstance(found[0], dict) else "{}"
    return _sendable(call.arguments) if isinstance(value, dict) else "{}"


def _in_words(turn: Turn) -> Iterator[Message]:
    """One message of each side. Tags and JSON are how most models would write a call as text."""
    calls = [
        f'<tool_call>{{"name": {json.dumps(call.name)}, "arguments": {_object(call)}}}</tool_call>'
        for call in turn.calls
    ]
    said = "\n".join(filter(None, (_sendable(turn.text), *calls)))
    yield {"role": "assistant", "content": said or BLANKS[-1]}
    if turn.results:
        told = [_sendable(result) or _NOTHING for result in turn.results]
        if turn.calls:
            told = [f"<tool_response>\n{text}\n</tool_response>" for text in told]
        yield {"role": "user", "content": "\n".join(told)}


def _sendable(text: str) -> str:
    """The text without lone surrogates: models write them in JSON, requests cannot hold them."""
    return text.encode("utf-8", "replace").decode().strip()
