"""Shaping a loose value into an answer model, as near as it can be meant."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

from annotated_types import MaxLen
from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ._candidates import LIKE_JSON, mended
from ._clean import repeated_tail, tidy

_NOTHING: Final = frozenset(
    {"", "none", "null", "n/a", "na", "nil", "undefined", "nan", "-", "...", "…", "string"}
)
_MARKER: Final = re.compile(
    r"\[\D{0,3}\d{1,4}(?:\s*[,;–-]\s*\D{0,3}\d{1,4})*\]|【\d{1,4}[^】]{0,40}】"
)
_PLACEHOLDER: Final = re.compile(
    r"<[\w\s-]{1,40}>|\{\{?[\w\s-]{1,40}\}?\}|\[(?:your|insert)[\w\s-]{1,40}\]"
)
_TEXT_KEYS: Final = (
    "text",
    "value",
    "content",
    "question",
    "query",
    "title",
    "name",
    "description",
)
_DEEP: Final = 6
_MANY: Final = 500
_LONG: Final = 600
_HUGE: Final = 1e300


Loose: TypeAlias = Any
"""Any JSON value, or any annotation: what it is, is found out here."""


class Fit(NamedTuple):
    """A shaped value, and how much of it was really there."""

    value: Any
    score: float


def fit(value: Loose, kind: Loose, deep: int = 0) -> Fit | None:
    """Shape `value` into `kind`, or None if nothing in it can be meant so. Never raises.

    `kind` is a model, str, int, float, bool, a Literal of texts, a list or a union of these.
    """
    kind = _plain(kind)
    origin: Loose = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _fit_union(value, get_args(kind), deep)
    if _is_list(kind):
        return _fit_list(value, (*get_args(kind), str)[0], deep)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return fit_model(value, kind, deep)
    if origin is Literal:
        return _fit_choice(value, get_args(kind))
    return _SCALARS[kind](value, deep)


def fit_model(value: Loose, model: type[BaseModel], deep: int = 0) -> Fit | None:
    """Shape an object; a bare string stands for the model's first text field."""
    if isinstance(value, str):
        main, text = main_field(model), _text(value, deep)
        return _built(model, {main: text.value}, 1.0) if main and text else None
    if not isinstance(value, Mapping):
        return None
    fields = {name: (field, _names(name, field)) for name, field in model.model_fields.items()}
    data: dict[str, Any] = {}
    score = 0.0
    for name, (field, names) in fields.items():
        given = [v for k, v in value.items() if fold_key(str(k)) in names]
        shaped = next((f for v in given if (f := fit(v, field.annotation, deep + 1))), None)
        many = _is_list(field.annotation)
        if shaped is None and many and (given or field.is_required()):
            shaped = Fit([], 0.0)
        if shaped is None:
            continue
        most = next((m.max_length for m in field.metadata if isinstance(m, MaxLen)), None)
        data[name] = shaped.value[:most] if most and many else shaped.value
        score += shaped.score + len(given[:1])
    return _built(model, data, score) if score else None


def _fit_list(value: Loose, kind: Loose, deep: int) -> Fit:
    """Shape a list: flat, without what is no item, equal texts once."""
    items: list[Any] = []
    seen: set[str] = set()
    score = 0.0
    for given in _items(value, kind, deep):
        shaped = fit(given, kind, deep + 1)
        if shaped is None or len(items) >= _MANY:
            continue
        key = " ".join(_main_text(shaped.value).casefold().split())
        if key and key in seen:
            continue
        seen.add(key)
        items.append(shaped.value)
        score += shaped.score
    return Fit(items, score)


def fold_key(key: str) -> str:
    """Return a key without case and punctuation."""
    return "".join(c for c in key.casefold() if c.isalnum())


def _items(value: Loose, kind: Loose, deep: int) -> Iterator[Any]:
    """Yield what a list of `kind` was meant to hold; a lone text is one item, not characters."""
    if deep > _DEEP:
        return
    kind = _plain(kind)
    if isinstance(value, str):
        value = decoded(value)
    if isinstance(value, str):
        yield from _numbers(value) if kind is int else _lines(value)
    elif isinstance(value, list):
        for item in value:
            whole = isinstance(item, dict) or (isinstance(item, str) and kind is not int)
            yield from [item] if whole else _items(item, kind, deep + 1)
    elif isinstance(value, dict) and fit(value, kind, deep + 1) is None:
        for item in value.values():
            yield from _items(item, kind, deep + 1)
    elif isinstance(value, dict) or kind is not str:
        yield value  # a lone number or null among texts is none


def _lines(text: str) -> Iterator[str]:
    """Several questions or bullets in one string are several items."""
    for line in text.splitlines():
        bare = re.sub(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+", "", line)
        yield from (part for part in re.split(r"(?<=[?？])\s+(?=\S)", bare) if part.strip())


def pointed(text: str, ids: Sequence[int]) -> list[int]:
    """Return `ids`, or the numbers in brackets in the text itself: 'It opened in 1891 [3].'."""
    return list(ids) or [n for m in _MARKER.finditer(text) for n in _numbers(m[0])]


def _numbers(text: str) -> Iterator[int]:
    """Yield the numbers in '3, 5-7' or '[S3]'."""
    for match in re.finditer(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?", text):
        first, last = int(match[1]), int(match[2] or match[1])
        yield from range(first, min(last, first + 50) + 1) if last >= first else (first, last)


def _built(model: type[BaseModel], data: dict[str, Any], score: float) -> Fit | None:
    try:
        return Fit(model.model_validate(data), score)
    except ValidationError:
        return None


def _fit_union(value: Loose, kinds: tuple[Any, ...], deep: int) -> Fit | None:
    fits = [fit(value, kind, deep + 1) for kind in kinds if kind is not type(None)]
    best = max((f for f in fits if f), key=lambda f: f.score, default=None)
    return best or (Fit(None, 0.0) if type(None) in kinds else None)


def _fit_choice(value: Loose, choices: tuple[Any, ...]) -> Fit | None:
    words = {fold_key(str(choice)): choice for choice in choices}
    key = fold_key(str(value))
    return Fit(words[key], 1.0) if key in words else None


def _text(value: Loose, deep: int) -> Fit | None:
    """Text, a number, a list of texts, or an object that holds one under a usual name."""
    if isinstance(value, str):
        text = tidy(value)
        if len(text) > _LONG:
            text, _ = repeated_tail(text)
        nothing = text.casefold() in _NOTHING or _PLACEHOLDER.fullmatch(text)
        return None if nothing else Fit(text, 1.0)
    if isinstance(value, bool) or value is None or deep > _DEEP:
        return None
    if isinstance(value, int | float):
        return Fit(repr(value), 0.5) if abs(value) < _HUGE else None
    if isinstance(value, list | tuple):
        parts = [f.value for f in (_text(v, deep + 1) for v in value[:_MANY]) if f]
        return Fit(", ".join(parts), 0.5) if parts else None
    keys = {fold_key(str(k)): v for k, v in value.items()}
    named = next((keys[k] for k in _TEXT_KEYS if isinstance(keys.get(k), str)), None)
    only = next(iter(value.values()), None) if len(value) == 1 else None
    return _text(only if named is None else named, deep + 1)


def _whole(value: Loose, deep: int) -> Fit | None:  # noqa: ARG001 - one signature for all
    if isinstance(value, Mapping):
        value = next((v for v in value.values() if isinstance(v, int | str)), None)
    if isinstance(value, str):
        value = next(_numbers(value), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return Fit(value, 1.0) if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Loose, deep: int) -> Fit | None:  # noqa: ARG001 - one signature for all
    if isinstance(value, str):
        match = re.search(r"-?\d{1,15}(?:\.\d{1,15})?", value)
        value = float(match[0]) if match else None
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return Fit(float(value), 1.0) if good and abs(value) < _HUGE else None


def _flag(value: Loose, deep: int) -> Fit | None:  # noqa: ARG001 - one signature for all
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    key = str(value).strip().casefold()
    return Fit(words[key], 1.0) if key in words else None


_SCALARS: Final = {str: _text, int: _whole, float: _number, bool: _flag}


def decoded(text: str) -> Loose:
    """Return JSON, or almost JSON, that was written into a string, or the string itself."""
    bare = text.strip()
    if bare[:1] in ("[", "{"):
        try:
            return json.loads(bare, strict=False)
        except (ValueError, RecursionError):
            if LIKE_JSON.match(bare) and bare[-1] in "]}":
                return next(iter(mended(bare)), text)
    return text


def _plain(kind: Loose) -> Loose:
    origin: Loose = get_origin(kind)
    return get_args(kind)[0] if origin is Annotated else kind


def _is_list(kind: Loose) -> bool:
    origin: Loose = get_origin(_plain(kind))
    return origin in (list, tuple)


def main_field(model: type[BaseModel]) -> str:
    """Return the name of the model's first text field, or ''."""
    return next((n for n, f in model.model_fields.items() if _plain(f.annotation) is str), "")


def list_field(model: type[BaseModel]) -> str:
    """Return the name of the model's first list, or ''."""
    return next((n for n, f in model.model_fields.items() if _is_list(f.annotation)), "")


def item_model(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """Return the model of a list field's items, or None if they are no objects."""
    args = get_args(_plain(model.model_fields[name].annotation))
    kind = _plain(args[0]) if args else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def field_kinds(model: type[BaseModel]) -> tuple[list[str], list[str]]:
    """Return the names of the model's text fields and of its lists, each in order."""
    fields = model.model_fields.items()
    texts = [n for n, f in fields if _plain(f.annotation) is str]
    return texts, [n for n, f in fields if _is_list(f.annotation)]


def field_names(model: type[BaseModel]) -> dict[str, str]:
    """Return every folded name of every field, and the field it means."""
    return {n: name for name, f in model.model_fields.items() for n in _names(name, f)}


def _names(name: str, field: FieldInfo) -> frozenset[str]:
    """All folded names of a field: its own and its aliases'."""
    also = field.validation_alias
    aliases = also.choices if isinstance(also, AliasChoices) else [also]
    return frozenset(fold_key(n) for n in (name, *aliases) if isinstance(n, str))


def _main_text(value: Loose) -> str:
    """The text by which two items are the same; '' where they never are."""
    if isinstance(value, BaseModel):
        value = getattr(value, main_field(type(value)), "")
    return value if isinstance(value, str) else ""
