"""Layers flag > argument > environment > file > preset, and keeps where each value comes from."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from deep_research.core.errors import ConfigError

from .catalogue import PREFIX, catalogue, sections
from .files import parse, read_file
from .kinds import as_texts
from .masking import LOGIN_REFUSED, holds_login, without_login
from .names import (
    DOC_PATH,
    ENGINES,
    FOREIGN,
    SOURCE,
    engine_option,
    is_option,
    is_secret,
    keys_of,
    normal,
    parts_of,
    unknown,
    variables,
)
from .settings import Config

Check = Callable[[str, Mapping[str, Any], Callable[[str], str]], Mapping[str, Any]]
"""Validates an engine's options: (engine, options, where(option)) -> options.

`registry.check_engine` is one."""

_META = frozenset({PREFIX + "CONFIG", PREFIX + "PRESET"})
_RETRIEVER_ARG = "RETRIEVER_ARG_"
_SEPARATORS = frozenset(":_.")


class _Layer(dict[str, tuple[Any, str]]):
    """Values of one source by dotted key, each with its origin; `ignored` holds warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.ignored: list[str] = []


def load(
    *,
    flags: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: str | Path | None = None,
    preset: str | None = None,
    check: Check | None = None,
) -> Config:
    """Return the settings that hold for one run.

    Args:
        flags: From the command line, by dotted name.
        arguments: From a Python call; dotted, nested or short names ('breadth').
        environ: The environment; None for the process's own.
        file: A YAML, TOML or JSON file; None for what CONFIG_PATH or DEEP_RESEARCH_CONFIG names,
            if they do.
        preset: One of `presets()`; None for what DEEP_RESEARCH_PRESET names, if it does.
        check: Validates the options of each search engine that has a section.

    Raises:
        ConfigError: A file cannot be read, a name is unknown, a value does not fit; the message
            says where.
    """
    environ = dict(os.environ if environ is None else environ)  # noqa: TID251 - the one place that reads it
    if file is not None and not str(file).strip():
        raise ConfigError("the name of the configuration file is empty")
    file = file or environ.get(PREFIX + "CONFIG") or environ.get("CONFIG_PATH")
    preset = preset or environ.get(PREFIX + "PRESET")
    layers = []
    if preset:
        layers.append(_from_mapping(_preset(preset), f"preset {preset}"))
    if file:
        layers.append(_from_mapping(read_file(file), str(file)))
    layers.append(_from_environment(environ))
    layers.append(_from_mapping(arguments or {}, "argument"))
    layers.append(_from_mapping(flags or {}, "command line"))
    merged = {key: entry for layer in layers for key, entry in layer.items()}
    _fold_source(merged)
    config = _validated(_checked(merged, check), {key: where for key, (_, where) in merged.items()})
    config._environ = environ  # noqa: SLF001 - the module that makes a Config
    config._warnings = tuple(text for layer in layers for text in layer.ignored)  # noqa: SLF001
    return config


def presets() -> tuple[str, ...]:
    """Return the names of the presets that come with the package."""
    folder = resources.files("deep_research") / "presets"
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".yaml")))


def _preset(name: str) -> Mapping[str, Any]:
    if name not in presets():
        near = difflib.get_close_matches(name, presets(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown preset {name!r}; there are {', '.join(presets())}{hint}")
    path = resources.files("deep_research") / "presets" / f"{name}.yaml"
    return parse(path.read_text("utf-8"), ".yaml", f"preset {name}")


def _from_mapping(data: Mapping[str, Any], where: str) -> _Layer:
    """Read a file's, a call's or the command line's settings, in any accepted spelling."""
    layer = _Layer()
    for raw, key, value in _pairs(data, where):
        if is_secret(key):  # the value is not shown
            raise ConfigError(
                f"{where}: {raw!r} is a secret; secrets come from environment variables only"
            )
        try:
            keys = keys_of(key)
        except KeyError:
            raise unknown(raw, value, where) from None
        if not keys:
            layer.ignored.append(f"{where}: {raw} has no meaning here and is ignored")
        for name in keys:
            if name in layer and layer[name][0] != value:
                raise ConfigError(f"{where}: {name} is set twice, the second time as {raw!r}")
            layer[name] = (_native(key, value), where)
    return layer


def _pairs(
    data: Mapping[str, Any], where: str, prefix: str = "", shown: str = ""
) -> Iterator[tuple[str, str, Any]]:
    """Yield (name as written, dotted normalised key, value) of every leaf."""
    for raw, value in data.items():
        key, name = prefix + normal(raw), f"{shown}{raw}"
        is_section = not prefix and key in sections()
        if isinstance(value, Mapping) and (is_section or (prefix == "search." and value)):
            yield from _pairs(value, where, key + ".", name + ".")
        elif is_section and value is not None:
            hint = "; engines are named by search.engines" if key == "search" else ""
            if hint and where == "argument":
                hint = f"; engines are named by engines={value!r}"
            raise ConfigError(
                f"{where}: {name} is a section of settings, not a value ({value!r}){hint}"
            )
        elif not is_section:
            yield name, key, value


def _native(key: str, value: object) -> object:
    """Translate a value that was written under one of GPT Researcher's names."""
    if key != "retriever":
        return value
    with suppress(ValueError):  # what is broken is named when the settings are validated
        names = as_texts(value)
        if isinstance(names, list):
            return [ENGINES.get(name, name) if isinstance(name, str) else name for name in names]
    return value


def _from_environment(environ: Mapping[str, str]) -> _Layer:
    """Read our variables, which must be known, and GPT Researcher's, where blank means unset."""
    layer = _Layer()
    known = variables()
    for name, keys in known.items():
        value = environ.get(name)
        foreign = name.lower() in FOREIGN
        if value is None or (foreign and not value.strip()):
            continue
        # Desktops set LANGUAGE to a list of locales; only a language's name can be meant for us.
        if name == "LANGUAGE" and (len(value) < 4 or _SEPARATORS & set(value)):  # noqa: PLR2004
            continue
        layer |= dict.fromkeys(
            keys, (_native(normal(name) if foreign else "", value), f"environment {name}")
        )
    arguments = {
        name.removeprefix(_RETRIEVER_ARG).lower(): value
        for name, value in environ.items()
        if name.startswith(_RETRIEVER_ARG)
    }
    if arguments:
        layer["search.http.args"] = (arguments, f"environment {_RETRIEVER_ARG}*")
    for name, value in environ.items():
        if name in known or name in _META or is_secret(normal(name)):
            continue
        if name.startswith(PREFIX):
            try:
                keys = engine_option(normal(name).removeprefix(normal(PREFIX)))
            except KeyError:
                raise unknown(name, value, "environment") from None
            layer |= dict.fromkeys(keys, (value, f"environment {name}"))
        elif name.startswith("DEEP") and difflib.get_close_matches(name, known, n=1, cutoff=0.9):
            raise unknown(name, value, "environment")
    return layer


def _fold_source(merged: dict[str, tuple[Any, str]]) -> None:
    """Turn GPT Researcher's pair of report source and document path into `docs` and `web`."""
    source, where = merged.pop(SOURCE, ("", ""))
    path, path_from = merged.pop(DOC_PATH, ("./my-docs", where))
    kind = str(source).strip().lower()
    if kind not in ("", "web", "local", "hybrid"):
        raise ConfigError(f"{where}: report_source = {source!r}: must be web, local or hybrid")
    if kind in ("local", "hybrid"):
        merged.setdefault("docs", (path, path_from))
    if kind:
        merged.setdefault("web", (kind != "local", where))


def _checked(merged: dict[str, tuple[Any, str]], check: Check | None) -> dict[str, Any]:
    """Return the values alone, with engines' options validated."""
    values = {
        key: None if value == "null" and _may_be_null(key) else value
        for key, (value, _) in merged.items()
    }
    for key, (value, origin) in merged.items():
        if is_option(key) and isinstance(value, str) and holds_login(value):
            raise ConfigError(f"{origin}: {key} = {without_login(value)!r}: {LOGIN_REFUSED}")
    if check is None:
        return values
    engines = dict.fromkeys(parts_of(key)[1] for key in values if is_option(key))
    for engine in engines:
        prefix = f"search.{engine}."
        options = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}

        def where(option: str, prefix: str = prefix) -> str:
            return f"{merged[prefix + option][1]}: {prefix}{option}"

        fitted = check(engine, options, where)
        values |= {prefix + name: value for name, value in fitted.items()}
    return values


def _may_be_null(key: str) -> bool:
    """Flags and variables hold text only: there, 'null' unsets what can be unset."""
    return key in catalogue() and catalogue()[key].expects.endswith("null")


def _validated(values: Mapping[str, Any], origins: Mapping[str, str]) -> Config:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *parents, leaf = parts_of(key)
        into = nested
        for name in parents:
            into = into.setdefault(name, {})
        into[leaf] = value
    try:
        config = Config.model_validate(nested)
    except ValidationError as error:
        raise ConfigError("; ".join(_sentences(error, values, origins))) from error
    config._origins = dict(origins)  # noqa: SLF001 - the module that makes a Config
    return config


def _sentences(
    error: ValidationError, values: Mapping[str, Any], origins: Mapping[str, str]
) -> Iterable[str]:
    """Say for each setting that does not fit: where it stands, what it is, what it must be."""
    said: set[object] = set()
    for problem in error.errors(include_url=False):
        parts = [str(part) for part in problem["loc"]]
        key = next(k for k in (".".join(parts[:2]), parts[0], ".".join(parts[:3])) if k in values)
        # one value may have been given to several settings at once (--llm)
        same = (origins[key], repr(values[key]), problem["msg"])
        if key not in said and same not in said:
            said |= {key, same}
            reason = problem["msg"].removeprefix("Value error, ")
            if not reason.startswith(("holds broken JSON", LOGIN_REFUSED)):
                reason = _expected(catalogue()[key].expects, values[key])
            yield f"{origins[key]}: {key} = {without_login(repr(values[key]))}: {reason}"


def _expected(expects: str, value: object) -> str:
    """Say what a value must be, and which of the words that it may be it was meant to be."""
    near = difflib.get_close_matches(str(value).lower(), re.findall(r"'([^']+)'", expects), n=1)
    return f"must be {expects}" + (f"; did you mean {near[0]!r}?" if near else "")
