"""Secrets that stand where they should not: hidden wherever settings are shown or digested."""

from __future__ import annotations

import re
from typing import Any, Final

_PASSWORD: Final = re.compile(r"(://[^/\s:@]*):[^/\s@]+@")
_ARGUMENT: Final = re.compile(
    r"([?&][^=&\s]*(?:key|token|secret|password)[^=&\s]*=)[^&\s]+", re.IGNORECASE
)
_SECRET: Final = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|authorization|cookie)$", re.IGNORECASE
)


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
