"""Flags that are settings: what one accepts and means is read from the setting, on use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deep_research.core.errors import ConfigError

if TYPE_CHECKING:
    from deep_research.config import Config

F = TypeVar("F", bound=Callable[..., Any])


class Setting(click.Option):
    """A flag for a setting: what it accepts and means is read from the setting, on use."""

    def __init__(self, names: Sequence[str], *, key: str, **attributes: Any) -> None:  # noqa: ANN401 - as Option
        super().__init__(names, **attributes)
        self.key = key

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from deep_research.config import catalogue

        setting = catalogue()[self.key]
        default = "" if setting.default in (None, (), {}) else f"; default {_text(setting.default)}"
        accepts = "" if self.is_flag else f"  [{setting.expects}{default}]"
        self.help = self.help or f"{setting.sentence}{accepts}"
        return super().get_help_record(ctx)


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def flag(name: str, key: str, **attributes: Any) -> Callable[[F], F]:  # noqa: ANN401 - as Option
    """Make the flag `name` for the setting `key`."""
    return click.option(name, cls=Setting, key=key, **attributes)


def several(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Put several flags under one name, in this order."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


SOURCES = several(
    click.option(
        "--config", "file", metavar="FILE", help="Settings from a YAML, TOML or JSON file."
    ),
    click.option(
        "--preset", metavar="NAME", help="Settings that come along: quick, thorough, offline."
    ),
    click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        help="Any setting; see `config show`.",
    ),
)
MEMORY = flag("--memory", "memory.file", metavar="FILE")
RESEARCH = several(
    flag("--docs", "docs", metavar="PATH", multiple=True),
    flag("--web/--no-web", "web", default=None),
    flag("--breadth", "tree.breadth", metavar="N"),
    flag("--depth", "tree.depth", metavar="N"),
    flag("--concurrency", "tree.concurrency", metavar="N"),
    flag("--planner", "planner", metavar="NAME"),
    flag("--researcher", "researcher", metavar="NAME"),
    click.option(
        "--llm",
        metavar="MODEL",
        help="Language model for all roles, as provider:model; 'none' for research without one.",
    ),
    flag("--search", "search.engines", metavar="NAME", multiple=True),
    MEMORY,
)
BUDGET = several(
    flag("--max-cost", "budget.cost", metavar="USD"),
    flag("--max-tokens", "budget.tokens", metavar="N"),
    flag("--max-calls", "budget.calls", metavar="N"),
    flag("--max-seconds", "budget.seconds", metavar="S"),
)


def settings_of(command: click.Command, flags: Mapping[str, Any]) -> Config:
    """Load the settings: flags that were given and --set, over the other sources.

    Args:
        command: The command that was called; its options know their settings.
        flags: What click read, by parameter.

    Raises:
        ConfigError: A setting is unknown, does not fit or is given twice.
    """
    from deep_research import config, registry

    keys = {p.name: p.key for p in command.params if isinstance(p, Setting)} | {"llm": "llm"}
    llm = flags.get("llm")
    if llm is not None and not llm.strip():
        raise ConfigError(f"--llm {llm!r}: name a model as provider:model, or 'none'")
    given: dict[str, Any] = {}
    for parameter, key in keys.items():
        value = flags.get(str(parameter))
        if value not in (None, ()):
            # Each of several may hold several: --search a,b --search c. A path may hold a comma.
            joined = isinstance(value, tuple) and key != "docs"
            given[key] = ",".join(value) if joined else value
    for text in flags["settings"]:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {text!r}: write it as KEY=VALUE, for instance tree.depth=3")
        if key in given:
            raise ConfigError(f"--set {text!r}: {key} is set twice on the command line")
        given[key.strip()] = value
    return config.load(
        flags=given, file=flags["file"], preset=flags["preset"], check=registry.check_engine
    )
