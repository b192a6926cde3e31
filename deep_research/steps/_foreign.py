"""Answers that keep to another form: the schema itself, names of fields in another language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from ._shape import Loose, field_kinds, field_names, fold_key

_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})
_WORDS: Final = frozenset(
    {"type", "properties", "items", "required", "description", "title", "default", "enum", "format"}
    | {"additionalProperties", "maxItems", "minItems", "anyOf", "$defs", "$schema", "const"}
)
_NO_ITEM: Final = frozenset({"error", "role", "status", "type"})
_DEEP: Final = 8


def without_schemas(value: Loose, deep: int = 0) -> Loose:
    """Return a value without the JSON schemas in it.

    Models repeat the schema that they were shown, or fill the answer in under its 'properties'.
    """
    if deep > _DEEP:
        return value
    if isinstance(value, list):
        kept = [v for v in value if not _is_schema(v)] if deep else value
        return [without_schemas(v, deep + 1) for v in kept]
    if not isinstance(value, dict):
        return value
    if _is_schema(value):
        value = value.get("properties", {})
    return {
        k: without_schemas(v, deep + 1)
        for k, v in value.items()
        if not _is_schema(v) or "properties" in v
    }


def _is_schema(value: Loose) -> bool:
    if not isinstance(value, dict) or not set(value) <= _WORDS:
        return False
    kind = value.get("type")
    return (
        isinstance(kind, str) and kind in _TYPES and isinstance(value.get("properties", {}), dict)
    )


def by_place(items: list[Any], kind: type[BaseModel]) -> list[Any]:
    """Name the members of objects by what they hold, where their own names are all unknown.

    The first texts are the model's text fields in order, the first list is its first list; a text
    of several words goes before a single one.
    """
    known = field_names(kind)
    texts, lists = field_kinds(kind)
    named: list[Any] = []
    for item in items:
        keys = {fold_key(str(k)) for k in item} if isinstance(item, Mapping) else set()
        if not keys or keys & (set(known) | _NO_ITEM):
            return []
        said = [
            v for v in item.values() if isinstance(v, str) and v.lstrip()[:1] not in ("", "{", "[")
        ]
        said.sort(key=lambda v: v.isascii() and len(v.split()) == 1)
        held = [v for v in item.values() if isinstance(v, list | int) and not isinstance(v, bool)]
        named.append(dict(zip(texts, said, strict=False)) | dict(zip(lists, held, strict=False)))
    return named
