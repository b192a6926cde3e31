"""Tools for a language model: what it may call, what it meant to call, what it still remembers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel

from deep_research.core.ports import Completion, Tool, ToolCall, Turn
from deep_research.core.text import shorten

from ._ask import Answer, schema_of
from ._candidates import candidates
from ._parse import Unparsable, parse
from ._shape import Loose, decoded, field_kinds, field_names, fit_model, fold_key, item_model
from ._written import as_json, written

_BAD_IN_NAME: Final = re.compile(r"[^\w-]", re.ASCII)
_LONGEST_NAME: Final = 64  # https://platform.openai.com/docs/api-reference/chat/create, tools
_MOST_CALLS: Final = 64
_SHOWN: Final = 120
_NOTE: Final = 80
_SAME: Final = "(the same stands in a later result)"


class Arguments(Answer):
    """The arguments of a tool that brings its own schema, as the model wrote them."""

    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool, and what its arguments become.

    Attributes:
        name: What it is called by; a model's case and punctuation do not matter.
        description: What it does, for the model.
        answer: Model of its arguments; a field that is required must not be empty.
        parameters: JSON schema of a tool that brings its own; its arguments are `Arguments`.
    """

    name: str
    description: str
    answer: type[Answer] = Arguments
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What a model wants done.

    Attributes:
        call: As it is repeated in the conversation, safe for any provider: an id of its own, a name
            that may be one, arguments that are a JSON object.
        spec: The tool, or None if there is none of that name.
        value: The arguments in the shape of `spec.answer`, or None.
        problem: Why it cannot be done, for the model to read; '' if it can.
    """

    call: ToolCall
    spec: ToolSpec | None = None
    value: Answer | None = None
    problem: str = ""


def as_tool(spec: ToolSpec) -> Tool:
    """Return the tool as a prompt shows it."""
    own = spec.parameters
    return Tool(spec.name, spec.description, schema_of(spec.answer) if own is None else own)


def read_calls(completion: Completion, tools: Sequence[ToolSpec]) -> list[Wish]:
    """Return what the model wants done, in its order. Never raises.

    Where it called nothing, its text may still be calls: JSON of a name and arguments, or the
    lines 'Action:' and 'Action Input:'. An empty list means that it called nothing at all.
    """
    calls = completion.calls or written(
        completion.text, lambda name: _spec(name, tools) is not None
    )
    wishes: list[Wish] = []
    ids: set[str] = set()
    for n, call in enumerate(calls[:_MOST_CALLS], 1):
        own = call.id if call.id and call.id not in ids else f"call_{n}"
        while own in ids:
            own += "_"
        ids.add(own)
        given = as_json(call.arguments)
        wishes.append(_wish(ToolCall(own, str(call.name), given), tools))
    return wishes


def _wish(call: ToolCall, tools: Sequence[ToolSpec]) -> Wish:
    spec = _spec(call.name, tools)
    given = _mapping(call.arguments)
    if spec is None:
        there = ", ".join(t.name for t in tools)
        problem = f"there is no tool {shorten(call.name, _SHOWN)!r}; there are: {there}"
        name = _BAD_IN_NAME.sub("_", call.name)[:_LONGEST_NAME] or "unknown"
        safe = replace(call, name=name, arguments=_repeated(call.arguments, given))
        return Wish(safe, problem=problem)
    value, problem = _value(call.arguments, given, spec)
    again = _repeated(call.arguments, given)
    if given is None and value is not None and not isinstance(value, Arguments):
        again = value.model_dump_json(exclude_unset=True)
    return Wish(replace(call, name=spec.name, arguments=again), spec, value, problem)


def _spec(name: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """Find a tool by its name, also behind a prefix: 'functions.search'."""
    known = {fold_key(t.name): t for t in reversed(tools)}
    last = re.split(r"[.:/]", name)[-1]
    return known.get(fold_key(name)) or known.get(fold_key(last))


def _value(raw: str, given: Mapping[str, Any] | None, spec: ToolSpec) -> tuple[Answer | None, str]:
    """Shape the arguments of a call; else say what is wrong with them."""
    if spec.parameters is not None:
        return _own_value(raw, given, spec)
    value: Answer | None = None
    if given is not None or raw.lstrip()[:1] != "{":  # a broken key must not pass for a value
        try:
            value = parse(raw, spec.answer).value
        except Unparsable:
            value = _stand_in(raw, spec.answer)
    fields = spec.answer.model_fields.items()
    needed = [name for name, field in fields if field.is_required()]
    if value is None and not needed:
        return spec.answer(), ""
    missing = [name for name in needed if not getattr(value, name, None)]
    if not missing and value is not None:
        return value, ""
    wrong = _no_object(raw) if given is None else f"{', '.join(missing)} is missing"
    shape = json.dumps(_example(spec.answer), ensure_ascii=False)
    return None, f"{spec.name}: {wrong}; call it with {shape}"


def _own_value(
    raw: str, given: Mapping[str, Any] | None, spec: ToolSpec
) -> tuple[Answer | None, str]:
    """Check the arguments of a tool that brings its own schema for what it requires."""
    required = (spec.parameters or {}).get("required")
    needed = map(str, required if isinstance(required, list) else ())
    missing = [name for name in needed if name not in (given or {})]
    if given is None and (missing or raw.strip()):
        return None, f"{spec.name}: {_no_object(raw)}"
    if missing:
        return None, f"{spec.name}: {', '.join(missing)} is missing"
    return Arguments(values=dict(given or {})), ""


def _no_object(raw: str) -> str:
    return f"the arguments are no JSON object: {shorten(raw, _SHOWN)!r}"


def _stand_in(raw: str, answer: type[Answer]) -> Answer | None:
    """Take a bare value, or the one member of an unknown name, for the first field needed."""
    lone: Loose = raw
    try:
        lone = json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        if raw.lstrip()[:1] in ("", "{", "["):
            return None
    given: dict[str, Any] = lone if isinstance(lone, dict) else {"": lone}
    known = field_names(answer)
    unknown = [key for key in given if fold_key(key) not in known]
    name = next((n for n, f in answer.model_fields.items() if f.is_required()), None)
    if name is None or len(unknown) != 1:
        return None
    fitted = fit_model({**given, name: given[unknown[0]]}, answer)
    value = fitted.value if fitted else None
    return value if isinstance(value, answer) else None


def _example(model: type[BaseModel]) -> dict[str, Any]:
    """Return arguments as they would be right, with '…' for what is to be filled in."""
    shown: dict[str, Any] = dict.fromkeys(model.model_fields, "…")
    for name in field_kinds(model)[1]:
        item = item_model(model, name)
        shown[name] = [_example(item) if item else "…"]
    return shown


def _mapping(raw: str) -> dict[str, Any] | None:
    """Return the JSON object in `raw`, mended if need be, or None."""
    for found in candidates(raw):
        value = decoded(found.value) if isinstance(found.value, str) else found.value
        if isinstance(value, dict):
            return {str(key): item for key, item in value.items()}
    return None


def _repeated(raw: str, given: Mapping[str, Any] | None) -> str:
    """Return arguments as a JSON object: as they are if they are one, else as they were read."""
    try:
        whole = isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        whole = False
    return raw if whole else as_json(given or {})


def fit_turns(turns: Sequence[Turn], limit: int, count: Callable[[str], int]) -> tuple[Turn, ...]:
    """Shrink a conversation to at most `limit` tokens, as far as its newest turn allows.

    First what a later result says again goes, then the oldest results, each for a note of one
    line, then the oldest turns as a whole. The newest turn stays, and every call has its result.
    """
    kept = [_paired(turn) for turn in turns]
    later: list[str] = [r for turn in kept for r in turn.results]
    repeats = iter([any(r in other for other in later[i + 1 :]) for i, r in enumerate(later)])
    same = [[next(repeats) for _ in turn.results] for turn in kept]
    total = sum(size(turn, count) for turn in kept)
    for only_same in (True, False):
        for i, turn in enumerate(kept[:-1]):
            for j, result in enumerate(turn.results):
                if total <= limit:
                    return tuple(kept)
                note = _SAME if same[i][j] else f"(left out to save room: {shorten(result, _NOTE)})"
                saved = count(result) - count(note)
                if saved > 0 and (same[i][j] or not only_same):
                    results = (*kept[i].results[:j], note, *kept[i].results[j + 1 :])
                    kept[i] = replace(kept[i], results=results)
                    total -= saved
    while total > limit and len(kept) > 1:
        total -= size(kept.pop(0), count)
    return tuple(kept)


def size(turn: Turn, count: Callable[[str], int]) -> int:
    """Return about how many tokens a turn takes."""
    said = (turn.text, *(f"{c.name} {c.arguments}" for c in turn.calls), *turn.results)
    return sum(count(text) + 4 for text in said if text)


def _paired(turn: Turn) -> Turn:
    """Return the turn with one result per call."""
    lacking = len(turn.calls) - len(turn.results)
    if not turn.calls or not lacking:
        return turn
    results = (*turn.results, *("(no result)",) * lacking)
    return replace(turn, results=results[: len(turn.calls)])
