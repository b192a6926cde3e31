"""Reads configuration files: YAML, TOML or JSON."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from deep_research.core.errors import ConfigError


class _Loader(yaml.SafeLoader):
    """YAML by the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema).

    So `no` is Norway's language and not a truth value, 010 is ten, and a date is text.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that stands twice: one of the two would get lost."""
        seen = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                name = str(key.value)
                if name in seen:
                    raise yaml.MarkedYAMLError(None, None, f"{name!r} is set twice", key.start_mark)
                seen.add(name)
        made: dict[Any, Any] = super().construct_mapping(node, deep)
        return made


_Loader.yaml_implicit_resolvers = {}
for _kind, _form, _first in (
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", r"<<", "<"),
):
    _tag = f"tag:yaml.org,2002:{_kind}"
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_form})\Z"), list(_first))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"\Z"), [""])
_Loader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value))


def _yaml(text: str) -> Any:  # noqa: ANN401 - YAML is anything
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        reason = ", ".join(filter(None, (error.context, error.problem)))
        raise ValueError(f"{line}{reason}") from error


def _json(text: str) -> Any:  # noqa: ANN401 - JSON is anything
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{twice!r} is set twice")
        return made

    return json.loads(text, object_pairs_hook=once)


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".toml": tomllib.loads,
    ".json": _json,
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
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise ConfigError(f"{path}: cannot be read ({error})") from error
    return parse(text, path.suffix.lower(), str(path))


def parse(text: str, suffix: str, where: str) -> Mapping[str, Any]:
    """Parse the text of a configuration file; an empty one says nothing.

    Raises:
        ConfigError: It is broken, says something twice, or does not hold a mapping.
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
