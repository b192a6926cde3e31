"""The settings as people read them: effective values, a default file, a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .catalogue import catalogue, sections
from .settings import Config


def shown(config: Config) -> Iterator[str]:
    """Yield a line for each setting that holds: key, value, where it comes from."""
    data = config.dump()
    values: dict[str, Any] = {}
    for name, value in data.items():
        values |= (
            {f"{name}.{k}": v for k, v in value.items()} if name in sections() else {name: value}
        )
    engines = [key for key in values if key not in catalogue()]
    for key in engines:
        values |= {f"{key}.{option}": value for option, value in values.pop(key).items()}
    for key, value in values.items():
        yield f"{key} = {_json(value)}  ({config.origin(key)})"


def default_yaml() -> str:
    """Return a configuration file that says all defaults, with a comment for each."""
    lines = [
        "# Every setting with its default. Generated: python docs/generate.py",
        "# Copy what you change. Environment: DEEP_RESEARCH_<SECTION>_<KEY>; command line: --set.",
    ]
    section = ""
    for key, setting in catalogue().items():
        name, _, leaf = key.rpartition(".")
        if name != section:
            lines += ["", f"# {sections()[name]}", f"{name}:"]
            section = name
        elif not name:
            lines.append("")
        indent = "  " if name else ""
        default = _json(setting.default)
        lines += [
            f"{indent}# {setting.sentence} ({setting.expects})",
            f"{indent}{leaf}: {default}",
        ]
    return "\n".join(lines) + "\n"


def table() -> str:
    """Return all settings as a Markdown table."""
    rows = ["| Setting | Accepts | Default | Meaning |", "|---|---|---|---|"]
    rows += [
        f"| `{s.key}` | {s.expects} | `{_json(s.default)}` | {s.sentence} |"
        for s in catalogue().values()
    ]
    return "\n".join(rows)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
