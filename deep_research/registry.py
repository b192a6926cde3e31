"""Names of plugins become objects: by entry point, or by 'module:attribute' where there is none.

Only the group that is asked for is looked up, and only the plugin that is asked for is imported.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_origin, get_type_hints

from .core.errors import ConfigError

DISTRIBUTION: Final = "deep-research"
KINDS: Final = MappingProxyType(
    {
        "llms": "language model",
        "search": "search engine",
        "readers": "page reader",
        "researchers": "researcher",
        "exporters": "report format",
    }
)
"""Kinds of plugins and what people call one; the entry points' group is 'deep_research.<kind>'."""


@cache
def _declared(kind: str) -> Mapping[str, str]:
    """Return 'module:attribute' by name, sorted; of equal names the first on the path counts."""
    group = f"deep_research.{kind}"
    found = {point.name: point.value for point in reversed(metadata.entry_points(group=group))}
    if not found:
        found = dict(_of_checkout(group))
    return dict(sorted(found.items()))


def _of_checkout(group: str) -> Mapping[str, str]:
    """Read the built-in plugins where the package runs from a checkout that is not installed."""
    points: Mapping[str, str] = _project().get("entry-points", {}).get(group, {})
    return points


def _project() -> Mapping[str, Any]:
    """Return the `project` table of our checkout; {} where there is none."""
    file = Path(__file__).parents[1] / "pyproject.toml"
    try:
        project: Mapping[str, Any] = tomllib.loads(file.read_text("utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return {}
    return project if project.get("name") == DISTRIBUTION else {}


def names(kind: str) -> tuple[str, ...]:
    """Return the names of all plugins of a kind, sorted."""
    return tuple(_declared(kind))


def address(kind: str, name: str) -> str:
    """Return where a plugin comes from, as 'module:attribute'.

    Raises:
        ConfigError: Nothing is called so; the message has the nearest name and the list.
    """
    declared = _declared(kind)
    if name in declared:
        return declared[name]
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", name):
        return name
    near = difflib.get_close_matches(name, declared, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    there = ", ".join(declared) or "none"
    raise ConfigError(f"unknown {KINDS[kind]} {name!r}; there are: {there}{hint}")


def plugin(kind: str, name: str) -> Callable[..., Any]:
    """Import a plugin and return its class (or whatever makes one).

    A module that is named as 'module:attribute' may lie in the working folder, too.

    Raises:
        ConfigError: Nothing is called so, or a package that it needs is not installed.
    """
    module, _, attribute = address(kind, name).partition(":")
    what = f"{KINDS[kind]} {name!r}"
    try:
        with _working_folder():
            found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if module == missing or module.startswith(missing + "."):
            raise ConfigError(
                f"{what}: there is no module {missing!r} in {Path.cwd()} or on Python's path"
            ) from error
        raise ConfigError(
            f"{what} needs the package {missing!r}: pip install {_requirement(missing)}"
        ) from error
    except AttributeError as error:
        raise ConfigError(f"{what}: {module} has no {attribute!r}") from error
    if not callable(found):
        raise ConfigError(f"{what}: {module}:{attribute} cannot be called")
    made: Callable[..., Any] = found
    return made


@contextmanager
def _working_folder() -> Iterator[None]:
    """Import from the working folder as well: the path of a console script lacks it."""
    folder = str(Path.cwd())
    if folder in sys.path or "" in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def usable(kind: str, name: str) -> str:
    """Import a plugin and return its address.

    An extra that is called like a plugin holds the packages that it imports only when it is made.

    Raises:
        ConfigError: As `plugin`, or a package of the plugin's extra is not installed.
    """
    plugin(kind, name)
    for package, extra in _of_extras():
        if extra == name and find_spec(package) is None:
            raise ConfigError(
                f"{KINDS[kind]} {name!r} needs the package {package!r}:"
                f" pip install {_requirement(package)}"
            )
    return address(kind, name)


def _requirement(package: str) -> str:
    """Return what to hand to pip: our extra that holds `package`, else the package itself."""
    package = package.partition(".")[0]
    for required, extra in _of_extras():
        if required == package.lower():
            return f"'{DISTRIBUTION}[{extra}]'"
    return package


def _of_extras() -> Iterator[tuple[str, str]]:
    """Yield (package as it is imported, name of the extra) of our optional requirements."""
    try:
        requires = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        extras = _project().get("optional-dependencies", {})
        requires = [f"{line}; extra == '{extra}'" for extra in extras for line in extras[extra]]
    for line in requires:
        match = re.match(r"([\w.-]+).*extra\s*==\s*['\"]([\w-]+)['\"]", line)
        if match:
            yield match[1].replace("-", "_").lower(), match[2]


def options_of(made: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the options of a plugin by name: what its constructor takes by keyword.

    Keyword-only parameters are options; if there are none, all parameters are (dataclasses).
    """
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(made).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    only = {n: p for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    return only or parameters


def check(
    kind: str,
    name: str,
    options: Mapping[str, Any],
    where: Callable[[str], str] | None = None,
) -> dict[str, Any]:
    """Return `options` fitted to the plugin's constructor, with texts turned into its types.

    Args:
        kind: One of `KINDS`.
        name: The plugin.
        options: By name, as written.
        where: Says for an option where it stands, for messages; default '<kind>.<name>.<option>'.

    Raises:
        ConfigError: An option is unknown or does not fit; the message says which and what would.
    """
    if not options:
        return {}
    made = plugin(kind, name)
    known = options_of(made)
    hints = get_type_hints(made.__init__ if inspect.isclass(made) else made, include_extras=True)
    fitted = {}
    for option, value in options.items():
        at = where(option) if where else f"{kind}.{name}.{option}"
        if option not in known:
            near = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            there = ", ".join(known) or "none"
            raise ConfigError(
                f"{at}: {KINDS[kind]} {name!r} has no option {option!r}; there are: {there}{hint}"
            )
        fitted[option] = _fit(value, hints.get(option, Any), at)
    return fitted


def check_engine(
    engine: str, options: Mapping[str, Any], where: Callable[[str], str]
) -> dict[str, Any]:
    """Check the options of a search engine; what `config.load` wants."""
    if options:
        try:
            address("search", engine)
        except ConfigError as error:
            raise ConfigError(f"{where(next(iter(options)))}: {error}") from error
    return check("search", engine, options, where)


def _fit(value: object, annotation: Any, at: str) -> object:  # noqa: ANN401 - any type there is
    from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError

    try:
        adapter = TypeAdapter(annotation)
    except PydanticSchemaGenerationError:  # an object of ours or of the plugin: nothing to check
        adapter = TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True))
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        if isinstance(value, str):
            with_parts = _parts(value, annotation)
            if with_parts != value:
                return _fit(with_parts, annotation, at)
        first = error.errors(include_url=False, include_input=False)[0]
        reason = first["msg"].removeprefix("Value error, ")
        shown = "" if at.endswith("key") else f" = {value!r}"
        raise ConfigError(f"{at}{shown}: {reason}") from error


def _parts(text: str, annotation: Any) -> object:  # noqa: ANN401 - any type there is
    """Read a text as JSON or a number, or as values with commas between for a sequence."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    origin = get_origin(annotation)
    if inspect.isclass(origin) and issubclass(origin, Sequence | set | frozenset):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def build(kind: str, name: str, options: Mapping[str, Any], **given: object) -> Any:  # noqa: ANN401 - a plugin is anything
    """Make a plugin.

    Args:
        kind: One of `KINDS`.
        name: The plugin, by entry point or as 'module:attribute'.
        options: What a person set; checked against the constructor.
        **given: What the program hands over; left out where the constructor has no use for it.

    Raises:
        ConfigError: The plugin is unknown or lacks a package; an option is unknown, missing or does
            not fit.
    """
    made = plugin(kind, name)
    fitted = check(kind, name, options)
    parameters = inspect.signature(made).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    handed = {n: v for n, v in given.items() if n in parameters or takes_all}
    needed = [
        n
        for n, p in parameters.items()
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    missing = [n for n in needed if n not in handed and n not in fitted]
    if missing:
        raise ConfigError(f"{kind}.{name}.{missing[0]} must be set for {KINDS[kind]} {name!r}")
    return made(**{**handed, **fitted})
