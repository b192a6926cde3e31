"""The tool calls in an answer: as data, in any of the forms in use, or as text.

Text forms: Hermes and Qwen `<tool_call>`, Qwen-Coder `<function=…><parameter=…>`, Llama
`<function=…>{…}</function>`, Mistral `[TOOL_CALLS]`, OpenAI's harmony `to=functions.…`, and bare or
fenced JSON that names an offered tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from deep_research.core.ports import Prompt, ToolCall
from deep_research.steps._candidates import mended
from deep_research.steps._clean import clean

from ._turns import new_id, wire_names

_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_TAGGED: Final = re.compile(
    r"<tool_call>(?P<call>.*?)(?:</tool_call>|(?=<tool_call>)|\Z)"
    r"|\[TOOL_CALLS\](?P<mistral>.*?)(?=\[TOOL_CALLS\]|\Z)"
    r"|<function=(?P<name>[^<>\s]+)>(?P<body>.*?)(?:</function>|(?=<function=)|\Z)"
    r"|(?:<\|channel\|>)?(?:commentary|analysis)?\s*to=functions\.(?P<to>[\w-]+)"
    r"[^{<]*(?:<\|(?:constrain|message)\|>\w*)*(?P<harmony>\{.*?)(?:<\|call\|>|<\|end\|>|\Z)",
    re.DOTALL,
)
_FUNCTION: Final = re.compile(r"\s*<function=([^<>\s]+)>(.*?)(?:</function>\s*)?\Z", re.DOTALL)
_PARAMETER: Final = re.compile(
    r"<parameter=([^<>\s]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL
)
_NAMED: Final = re.compile(
    r"\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\]\s*)?(\{.*)", re.DOTALL
)
_FENCE: Final = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_BETWEEN: Final = re.compile(r"[\s;,]*")
_LONGEST: Final = 400_000


def message_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """Return the calls that a message has as data, with what it lacks left empty."""
    listed = message.get("tool_calls")
    items = list(listed) if isinstance(listed, list) else []
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    items += [b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_use"]
    items.append(message.get("function_call"))  # before there were tools
    return [call for call in map(_item, items) if call and (call.name or call.arguments)]


def text_calls(text: str, offered: Mapping[str, str]) -> tuple[list[ToolCall], str]:
    """Return the calls that stand in `text`, and the text without them.

    Args:
        text: An answer.
        offered: Name on the wire → own name; JSON without tags counts only if it names one of them.
    """
    calls: list[ToolCall] = []
    text = text[:_LONGEST]

    def taken(match: re.Match[str]) -> str:
        found = list(_tagged(match))
        calls.extend(found)
        return "" if found else match[0]

    rest = _TAGGED.sub(taken, text)
    if calls:
        return calls, rest.strip()

    def fenced(match: re.Match[str]) -> str:
        found = _known(match[1], offered)
        calls.extend(found)
        return "" if found else match[0]

    rest = _FENCE.sub(fenced, text)
    if not calls:
        calls = _known(text, offered)
        rest = "" if calls else text
    return calls, rest.strip()


def settled(calls: Sequence[ToolCall], prompt: Prompt) -> tuple[ToolCall, ...]:
    """Return `calls` with the tools' own names, and each with an id of its own."""
    offered = wire_names(prompt.tools)
    earlier = [call.id for turn in prompt.turns for call in turn.calls]
    used = set(earlier)
    fresh = (i for i in map(new_id, count(len(earlier) + 1)) if i not in used)
    done = []
    for call in calls:
        call_id = clean(call.id).strip()
        if not call_id or call_id in used:
            call_id = next(fresh)
        used.add(call_id)
        name = _own_name(clean(call.name).strip(), offered)
        done.append(ToolCall(call_id, name, clean(call.arguments).strip() or "{}"))
    return tuple(done)


def _own_name(name: str, offered: Mapping[str, str]) -> str:
    """The tool that `name` means: models add name spaces and numbers and change the spelling."""
    bare = re.sub(r":\d+$", "", name)
    for said in (name, bare, bare.rpartition(".")[2]):
        if said in offered:
            return offered[said]
        if said in offered.values():
            return said
    alike = {_fold(own): own for own in offered.values()}
    if not name and len(offered) == 1:
        return next(iter(offered.values()))
    return alike.get(_fold(bare)) or alike.get(_fold(bare.rpartition(".")[2])) or name


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _item(item: object) -> ToolCall | None:
    """One call: OpenAI nests name and arguments in 'function', others do not."""
    if not isinstance(item, dict):
        return None
    nested = item.get("function")
    inner = nested if isinstance(nested, dict) else item
    name = next((inner[k] for k in ("name", "tool") if isinstance(inner.get(k), str)), "")
    if not name and isinstance(nested, str):
        name = nested
    given = next((inner[k] for k in _ARGUMENTS if inner.get(k) is not None), "")
    ids = (item.get(key) for key in ("call_id", "id"))  # Responses: 'id' is the item's own
    call_id = next((i for i in ids if isinstance(i, str)), "")
    return ToolCall(call_id, name, given if isinstance(given, str) else _json(given))


def _tagged(match: re.Match[str]) -> Iterator[ToolCall]:
    if match["name"]:
        yield _function(match["name"], match["body"])
    elif match["to"]:
        yield ToolCall("", match["to"], match["harmony"].strip())
    else:
        body = match["call"] if match["mistral"] is None else match["mistral"]
        if inner := _FUNCTION.match(body):
            yield _function(inner[1], inner[2])
        elif named := _NAMED.match(body):
            yield ToolCall("", named[1], named[2].strip())
        else:
            yield from _loaded(body)


def _function(name: str, body: str) -> ToolCall:
    pairs = _PARAMETER.findall(body)
    return ToolCall("", name, _json(dict(pairs)) if pairs else body.strip())


def _known(text: str, offered: Mapping[str, str]) -> list[ToolCall]:
    """The calls that a whole text is, if all of them are of offered tools."""
    text = text.strip()
    if text[:1] not in ("{", "["):
        return []
    calls = list(_loaded(text))
    own = set(offered.values())
    return calls if all(_own_name(call.name, offered) in own for call in calls) else []


def _loaded(text: str) -> Iterator[ToolCall]:
    """The calls in JSON values, one after the other or in a list; mended where it is broken."""
    decoder = json.JSONDecoder(strict=False)
    values: list[Any] = []
    position = 0
    while position < len(text):
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]  # may be empty
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            values += mended(text[position:])[:1]
            break
        values.append(value)
    yield from _calls_in(values)


def _calls_in(values: Sequence[Any]) -> Iterator[ToolCall]:
    for value in values:
        inner = value.get("tool_calls") if isinstance(value, dict) else value
        if isinstance(inner, list):
            yield from _calls_in(inner)
        elif (call := _item(value)) and call.name:
            yield call


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
