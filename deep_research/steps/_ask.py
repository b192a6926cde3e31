"""Asking a language model for a typed answer, and asking once more if it cannot be understood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr

from deep_research.core.errors import BadAnswer
from deep_research.core.ports import Outside, Prompt, Scope
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
    """Ask for an `answer`; one that cannot be understood is asked for once more, with the reason.

    Args:
        outside: Where the model is asked.
        prompt: The question; its schema is set here.
        answer: Pydantic model of what is wanted.
        scope: On whose account.
        step: Name of the step, for events and errors.
        most: Longest first list of the answer; what is beyond is dropped.

    Raises:
        BadAnswer: The second answer was no better.
        DeepResearchError: What `outside.complete` raises.
    """
    asked = replace(prompt, schema=schema_of(answer, most))
    completion = await outside.complete(asked, scope, step)
    try:
        return _read(completion.text, completion.finish, answer, most)
    except Unparsable as error:
        asked = _again(asked, completion.text, completion.finish, str(error))
    completion = await outside.complete(asked, scope, step)
    try:
        return _read(completion.text, completion.finish, answer, most)
    except Unparsable as error:
        raise BadAnswer(
            f"{step}: {error}, also after asking again: {shorten(completion.text, _SHOWN)!r}"
        ) from error


def _read(text: str, finish: str, answer: type[T], most: int | None) -> T:
    text, circled = repeated_tail(text)
    parsed = parse(text, answer)
    value, name = parsed.value, list_field(answer)
    if most is not None and name:
        setattr(value, name, getattr(value, name)[:most])
    if isinstance(value, Answer):
        value._cut = parsed.cut or circled or finish == "length"  # noqa: SLF001 - its own module
    return value


def _again(prompt: Prompt, text: str, finish: str, complaint: str) -> Prompt:
    """Repeat the prompt, so that its beginning is cached, and say what was wrong."""
    told = (
        f"\n\nYour previous answer could not be used: {complaint}. It began: "
        f"{json.dumps(shorten(text, _SHOWN), ensure_ascii=False)}\n"
        "Answer again, with the JSON object alone."
    )
    room = prompt.max_tokens * 2 if finish == "length" else prompt.max_tokens
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
