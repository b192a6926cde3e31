"""Names of a Python call's arguments: what a misspelt one was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

from deep_research.core.errors import ConfigError

from .names import keys_of, normal

_LATE: Final = "on_progress"


def check_names(given: Iterable[str], own: Sequence[str]) -> None:
    """Refuse a name that is nearly an argument's; settings are looked at when they are loaded.

    Args:
        given: Names that are no argument.
        own: The call's own arguments.

    Raises:
        ConfigError: The message has the argument that was meant.
    """
    mine = [*own, "preset"]
    for name in given:
        if name == _LATE:
            raise ConfigError(f"{_LATE} is an argument of conduct_research(), research() and run()")
        near = difflib.get_close_matches(name, [*mine, _LATE], n=1, cutoff=0.8)
        if near and name not in mine and not _is_setting(name):
            raise ConfigError(f"argument: unknown setting {name!r}; did you mean {near[0]!r}?")


def _is_setting(name: str) -> bool:
    try:
        keys_of(normal(name))
    except KeyError:
        return False
    return True
