"""Reading an answer: of all that a model may have meant, what fits the asked shape best."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

from ._candidates import Candidate, candidates
from ._clean import clean, strip_reasoning
from ._foreign import by_place, without_schemas
from ._shape import Fit, Loose, decoded, field_names, fit_model, fold_key, item_model, list_field

T = TypeVar("T", bound=BaseModel)

_LINE = re.compile(r"^\s*(?P<bullet>[-*•+]\s+|\(?\d{1,3}[.):]\s+|#{1,6}\s+)?(?P<rest>.*?)\s*$")
_PAIR = re.compile(
    r"^[\s*_`\"']*(?P<key>[^:：\[\]{}<>]{1,40}?)[\s*_`\"']*[:：][\s*_`\"']*(?P<value>.*)$"
)
_TAGGED = re.compile(r"<(\w{1,40})>([^<>]*)</\1>")
_WRAPPED: Final = 4
_WIDE: Final = 60
_GUESS: Final = 0.4
_EMPTY: Final = 1.0


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """An answer, and whether it broke off (only its complete items are there)."""

    value: T
    cut: bool = False


class Unparsable(Exception):  # noqa: N818 - never leaves this layer; becomes `BadAnswer`
    """Nothing in the text fits; the message says what was wanted, for the model to read."""


def parse(text: str, answer: type[T]) -> Parsed[T]:
    """Return what `text` says in the shape of `answer`.

    Reasoning, code fences, prose, wrappers, tool calls, several snippets, almost-JSON and cut JSON
    are seen through; the candidate with the most that fits wins, the later one among equals.
    Without any JSON, numbered lines and `Key: value` lines are read.

    Raises:
        Unparsable: There is nothing that fits. No other exception, whatever the text.
    """
    best: tuple[float, Candidate, Fit] | None = None
    for found in candidates(text):
        for value in _unwrapped(found.value):
            fitted = _fit_answer(value, answer)
            if found.cut and fitted and fitted.score <= _EMPTY:
                continue  # it broke off before the first item: that is no 'nothing found'
            if fitted and (best is None or fitted.score * found.trust >= best[0]):
                best = (fitted.score * found.trust, found, fitted)
    if best is None:
        fitted = _fit_answer(_from_lines(strip_reasoning(clean(text)), answer), answer)
        if fitted is None:
            raise Unparsable(_complaint(text, answer))
        best = (_GUESS, Candidate(None, _GUESS), fitted)
    return Parsed(best[2].value, best[1].cut)


def _unwrapped(value: Loose) -> Iterator[Any]:
    """Yield what the value wraps (under a key, in a tool call, in a string), then itself."""
    layer = [without_schemas(value)]
    layers = []
    for _ in range(_WRAPPED):
        layer = [v for v in map(_read, layer) if isinstance(v, dict | list)]
        layers.append(layer)
        layer = [inner for v in layer for inner in _inside(v)][:_WIDE]
    for layer in reversed(layers):
        yield from reversed(layer)


def _inside(value: dict[str, Any] | list[Any]) -> list[Any]:
    if isinstance(value, dict):
        inner = list(value.values())
        counted = len(inner) > 1 and len({re.sub(r"[\W_]*\d+$", "", k) for k in value}) == 1
        return [*inner, inner] if counted else inner  # {"query1": …, "query2": …} is a list
    if len(value) == 1 or not all(isinstance(item, dict) for item in value):
        return value[:1] if len(value) == 1 else []
    # several tool calls, each with its arguments in one of its members
    held = [[v for v in map(_read, i.values()) if isinstance(v, dict)] for i in value]
    return [[h[0] for h in held]] if all(len(h) == 1 for h in held) else []


def _read(value: Loose) -> Loose:
    return decoded(value) if isinstance(value, str) else value


def _fit_answer(value: Loose, answer: type[BaseModel]) -> Fit | None:
    """Fit an object; a list, or a lone item, stands for the answer's first list."""
    main = list_field(answer)
    fits = [fit_model(value, answer)]
    kind = item_model(answer, main) if main else None
    if main and (isinstance(value, list) or kind):
        bare = fit_model({main: value if isinstance(value, list) else [value]}, answer)
        fits.append(bare if bare and (value == [] or getattr(bare.value, main)) else None)
        if kind and isinstance(value, list) and (placed := by_place(value, kind)):
            guess = fit_model({main: placed}, answer)
            fits.append(guess and guess._replace(score=guess.score * _GUESS))
    return max((f for f in fits if f), key=lambda f: f.score, default=None)


def _from_lines(text: str, answer: type[BaseModel]) -> dict[str, Any]:
    """Read bullets, numbered lines and `Key: value` lines into the answer's fields and items."""
    main = list_field(answer)
    kind = item_model(answer, main) if main else None
    own, inner = field_names(answer), field_names(kind) if kind else {}
    result: dict[str, Any] = {}
    items: list[Any] = []
    current: dict[str, str] = {}
    for line in _rows(_TAGGED.sub(r"\n\1: \2\n", text)):
        match = _LINE.match(line)
        rest, bullet = (match["rest"], bool(match["bullet"])) if match else ("", False)
        pair = _PAIR.match(rest)
        key = fold_key(pair["key"]) if pair else ""
        if pair and key in inner:
            if inner[key] in current:
                current = {}
            if not current:
                items.append(current)
            current[inner[key]] = pair["value"].strip("*_`\"' ,")
        elif pair and key in own:
            if any(c.isalnum() for c in pair["value"]):
                result[own[key]] = pair["value"].strip("*_`\"' ,")
        elif bullet and any(c.isalnum() for c in rest):
            items.append(rest.strip("*_`\"' ,"))
            current = {}
    return {**result, main: items} if items and main else result


def _rows(text: str) -> Iterator[str]:
    """Yield the lines; those of a table as one `Heading: cell` line for each cell."""
    heads: list[str] = []
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|") or len(cells) < len(("key", "value")):
            heads = []
            yield line
        elif not heads:
            heads = cells
        elif any(re.search(r"[^\s:-]", c) for c in cells):
            yield from (f"{head}: {cell}" for head, cell in zip(heads, cells, strict=False))


def _complaint(text: str, answer: type[BaseModel]) -> str:
    wanted = ", ".join(answer.model_fields)
    if not text.strip():
        return f"the answer was empty; wanted is a JSON object with {wanted}"
    return f"no JSON object with {wanted} was found in the answer"
