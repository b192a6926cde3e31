"""Asking a language model for a typed answer, and asking once more if it cannot be understood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr

from deep_research.core.errors import BadAnswer, BudgetExceeded, ProviderError
from deep_research.core.ports import Completion, Prompt
from deep_research.core.seams import Outside, Scope
from deep_research.core.text import shorten

from ._clean import repeated_tail
from ._parse import Unparsable, parse
from ._shape import list_field

_KEPT: Final = frozenset(
    {"type", "properties", "items", "enum", "const", "anyOf", "description", "maxItems", "minItems"}
)
"""What every provider's strict mode bears;
https://platform.openai.com/docs/guides/structured-outputs.
"""
_SHOWN: Final = 300
_FULL: Final = "length"


class Answer(BaseModel):
    """Base of what a model is asked to fill in.

    Fields have their own name and, as `validation_alias`, others that models use; case and
    punctuation of a name do not matter. A bare string stands for the first text field, a bare list
    for the first list.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore", populate_by_name=True)
    _cut: bool = PrivateAttr(default=False)

    @property
    def cut(self) -> bool:
        """Whether the words broke off or ran in circles: there may have been more to say."""
        return self._cut


T = TypeVar("T", bound=BaseModel)


async def ask(
    outside: Outside,
    prompt: Prompt,
    answer: type[T],
    scope: Scope,
    step: str,
    *,
    most: int | None = None,
) -> T:
    """Ask for an `answer`; one that cannot be understood or broke off is asked for once more.

    An answer that reached its longest length counts as broken off only if a whole field is missing;
    the end of its last list was then cut, and `Answer.cut` says so.

    Args:
        outside: Where the model is asked.
        prompt: The question; its schema is set here.
        answer: Pydantic model of what is wanted.
        scope: On whose account.
        step: Name of the step, for events and errors.
        most: Longest first list of the answer; what is beyond is dropped.

    Raises:
        BadAnswer: Neither answer can be understood.
        DeepResearchError: What `outside.complete` raises, if there is no answer yet.
    """
    asked = replace(prompt, schema=schema_of(answer, most))
    completion = await outside.complete(asked, scope, step)
    first, complaint = _read(completion, answer, most)
    if first is not None and not complaint:
        return first
    try:
        completion = await outside.complete(_again(asked, completion, complaint), scope, step)
    except (BudgetExceeded, ProviderError):
        if first is None:
            raise
        return first
    second, complaint = _read(completion, answer, most)
    if second is None or (complaint and first is not None and _size(first) > _size(second)):
        second = first
    if second is None:
        shown = shorten(completion.text, _SHOWN)
        raise BadAnswer(f"{step}: {complaint}, also after asking again: {shown!r}")
    return second


def _read(completion: Completion, answer: type[T], most: int | None) -> tuple[T | None, str]:
    """Return the answer, if any, and what is wrong with it that asking again may mend."""
    text, circled = repeated_tail(completion.text)
    try:
        parsed = parse(text, answer)
    except Unparsable as error:
        return None, str(error)
    value, name = parsed.value, list_field(answer)
    if most is not None and name:
        setattr(value, name, getattr(value, name)[:most])
    full = completion.finish == _FULL
    if isinstance(value, Answer):
        value._cut = parsed.cut or circled or full  # noqa: SLF001 - its own module
    missing = [n for n in answer.model_fields if n not in value.model_fields_set]
    if not parsed.cut or circled or (full and not missing):
        return value, ""
    return value, f"it broke off{' before ' + ', '.join(missing) if missing else ''}"


def _size(value: BaseModel) -> int:
    name = list_field(type(value))
    return len(getattr(value, name)) if name else 1


def _again(prompt: Prompt, completion: Completion, complaint: str) -> Prompt:
    """Repeat the prompt, so that its beginning is cached, and say what was wrong."""
    told = (
        f"\n\nYour previous answer could not be used: {complaint}. It began: "
        f"{json.dumps(shorten(completion.text, _SHOWN), ensure_ascii=False)}\n"
        "Answer again, with the JSON object alone."
    )
    room = prompt.max_tokens * (2 if completion.finish == _FULL else 1)
    return replace(prompt, user=prompt.user + told, max_tokens=room)


@lru_cache(maxsize=256)
def schema_of(answer: type[BaseModel], most: int | None = None) -> Mapping[str, Any]:
    """Return the JSON schema to ask with: inlined, closed, everything required, nothing exotic.

    Args:
        answer: Pydantic model, not recursive.
        most: `maxItems` of its first list.
    """
    raw = answer.model_json_schema(by_alias=False)
    schema = _strict(raw, raw.get("$defs", {}))
    name = list_field(answer)
    if most is not None and name:
        schema["properties"][name]["maxItems"] = most
    return schema


def _strict(node: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return _strict(defs[node["$ref"].rpartition("/")[2]], defs)
    kept = {k: v for k, v in node.items() if k in _KEPT}
    if "properties" in kept:
        kept["properties"] = {k: _strict(v, defs) for k, v in kept["properties"].items()}
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    if "items" in kept:
        kept["items"] = _strict(kept["items"], defs)
    if "anyOf" in kept:
        kept["anyOf"] = [_strict(v, defs) for v in kept["anyOf"]]
    return kept
