"""Secrets that stand where they should not: hidden wherever settings are shown or digested."""

from __future__ import annotations

import re
from typing import Any, Final

_PASSWORD: Final = re.compile(r"(://[^/\s:@]*):[^/\s@]+@")
_LOGIN: Final = re.compile(r"(?<=://)[^/?#\s]+@")
_ARGUMENT: Final = re.compile(
    r"([?&][^=&\s]*(?:key|token|secret|password)[^=&\s]*=)[^&\s]+", re.IGNORECASE
)
_SECRET: Final = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|authorization|cookie)$", re.IGNORECASE
)


LOGIN_REFUSED: Final = (
    "must not hold a user name or password, which would reach the files of the run: take it out of"
    " the address; keys come from environment variables such as OPENAI_API_KEY"
)


def holds_login(url: str) -> bool:
    """Tell whether an address holds a user name or a password."""
    return _LOGIN.search(url) is not None


def without_login(text: str) -> str:
    """Hide user names and passwords of all addresses in `text`, for messages."""
    return _LOGIN.sub("***@", text)


def masked(value: Any) -> Any:  # noqa: ANN401 - settings are anything
    """Hide what belongs in the environment but stands in headers, arguments or addresses."""
    if isinstance(value, dict):
        hide = [key for key, inner in value.items() if inner and _SECRET.search(str(key))]
        return {**{k: masked(v) for k, v in value.items()}, **dict.fromkeys(hide, "***")}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str):
        return _ARGUMENT.sub(r"\1***", _PASSWORD.sub(r"\1:***@", value))
    return value
