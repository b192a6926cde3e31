"""What a setting's value may be written as: texts, lists, paths, languages, addresses, JSON."""

from __future__ import annotations

import json
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, JsonValue, StringConstraints

from deep_research.core.languages import LANGUAGES

from .masking import LOGIN_REFUSED, holds_login


def _json(value: object) -> object:
    """Read JSON where an environment variable or a flag can hold text only."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"holds broken JSON ({error})") from error
    return value


def as_texts(value: object) -> object:
    """Accept one text, texts with commas between, or JSON for a list of texts."""
    value = _json(value)
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, list | tuple):
        return [v.strip() if isinstance(v, str) else v for v in value if v != ""]
    return value


def _paths(value: object) -> object:
    """Accept one path or JSON for a list of paths; paths may hold commas."""
    value = _json(value)
    return [value] if isinstance(value, str) else value


def _language(value: object) -> object:
    if isinstance(value, str):
        name = value.strip().lower()
        return LANGUAGES.get(name, name)
    return value


def _without_login(value: str) -> str:
    """Refuse an address with a user name or password: addresses are written down."""
    if holds_login(value):
        raise ValueError(LOGIN_REFUSED)
    return value


URL_PATTERN: Final = r"^https?://[^\s/]+"
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Word = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True, to_lower=True)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(as_texts)]
Paths = Annotated[tuple[Text, ...], BeforeValidator(_paths)]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$"), BeforeValidator(_language)]
Url = Annotated[
    str,
    StringConstraints(pattern=URL_PATTERN, strip_whitespace=True),
    AfterValidator(_without_login),
]
Prices = Annotated[dict[str, tuple[float, float]], BeforeValidator(_json)]
Extra = Annotated[dict[str, JsonValue], BeforeValidator(_json)]
