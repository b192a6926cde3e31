"""Tool calls that a model wrote into its text instead of making them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from deep_research.core.ports import ToolCall

from ._candidates import candidates
from ._clean import clean, strip_reasoning
from ._shape import Loose, fold_key

_NAMES: Final = frozenset({"name", "tool", "toolname", "action", "function", "functionname"})
_ARGUMENTS: Final = frozenset(
    {"arguments", "parameters", "args", "params", "input", "actioninput", "toolinput", "kwargs"}
)
_WRAPPERS: Final = frozenset({"toolcalls", "calls", "actions", "tools", "functioncalls"})
_LINES: Final = re.compile(
    r"Action[*_]*:[*_]*[ \t]*[`*_]*(?P<action>[\w.-]+)[^\n]*\n\s*[*_]*Action Input[*_]*:[*_]*"
    r"(?P<input>(?s:.*?))(?=\n\s*[*_]*(?:Observation|Thought|Action)\b|\Z)"
    r"|<function=(?P<function>[\w.-]+)>(?P<given>(?s:.*?))(?:</function>|\Z)"
)
"""The forms of https://arxiv.org/abs/2210.03629 and of Llama's custom tools."""


def written(text: str, known: Callable[[str], bool]) -> list[ToolCall]:
    """Return the calls that a text means, without ids; [] if it means none.

    JSON of a name and arguments, alone, in a list, in tags or in a fence; an object whose only
    member is called like a tool; 'Action:' with 'Action Input:'. Of several snippets the one with
    the most calls counts.

    Args:
        text: What the model said; its reasoning does not count.
        known: Tells whether there is a tool of that name.
    """
    best: list[ToolCall] = []
    for found in candidates(text):
        calls = list(_calls(found.value, known))
        best = calls if len(calls) > len(best) else best
    if best:
        return best
    return [
        ToolCall("", m["action"] or m["function"], (m["input"] or m["given"] or "").strip())
        for m in _LINES.finditer(strip_reasoning(clean(text)))
    ]


def as_json(value: Loose) -> str:
    """Return a text as it is, anything else as JSON; what cannot be JSON becomes '{}'."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return "{}"


def _calls(value: Loose, known: Callable[[str], bool]) -> Iterator[ToolCall]:
    if isinstance(value, list):
        for item in value:
            call = _call(item, known) if isinstance(item, dict) else None
            if call is not None:
                yield call
    elif isinstance(value, dict):
        listed = [v for k, v in value.items() if fold_key(k) in _WRAPPERS and isinstance(v, list)]
        call = _call(value, known)
        if listed:
            yield from _calls(listed[0], known)
        elif call is not None:
            yield call


def _call(value: dict[str, Any], known: Callable[[str], bool]) -> ToolCall | None:
    """Read {"name": …, "arguments": …}, {"action": …, its arguments}, or {"search": arguments}."""
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((k for k in value if fold_key(k) in _NAMES and isinstance(value[k], str)), None)
    if name is None:
        only = next(iter(value)) if len(value) == 1 else ""
        return ToolCall("", only, as_json(value[only])) if known(only) else None
    given = next((k for k in value if k != name and fold_key(k) in _ARGUMENTS), None)
    if given is not None:
        return ToolCall("", value[name], as_json(value[given]))
    rest = {k: v for k, v in value.items() if k != name}
    return ToolCall("", value[name], as_json(rest)) if known(value[name]) else None
