"""Reads configuration files: YAML, TOML or JSON."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from deep_research.core.errors import ConfigError

_PARSERS: Mapping[str, Callable[[str], Any]] = {
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
    ".toml": tomllib.loads,
    ".json": json.loads,
}


def read_file(path: str | Path) -> Mapping[str, Any]:
    """Return what a configuration file says.

    Raises:
        ConfigError: It is missing, a directory, unreadable, of an unknown kind or broken; the
            message names it.
    """
    path = Path(path)
    if path.suffix.lower() not in _PARSERS and not path.is_dir():
        kinds = ", ".join(_PARSERS)
        raise ConfigError(f"{path}: a configuration file ends in one of {kinds}")
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such configuration file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a directory, not a configuration file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from error
    return parse(text, path.suffix.lower(), str(path))


def parse(text: str, suffix: str, where: str) -> Mapping[str, Any]:
    """Parse the text of a configuration file; an empty one says nothing.

    Raises:
        ConfigError: It is broken, or does not hold a mapping.
    """
    try:
        data = _PARSERS[suffix](text) if text.strip() else None
    except (ValueError, RecursionError, yaml.YAMLError) as error:  # TOML and JSON raise ValueErrors
        reason = " ".join(str(error).split())
        raise ConfigError(f"{where}: is not valid {suffix[1:].upper()} ({reason})") from error
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where}: must hold settings by name, not {type(data).__name__}")
    return data
