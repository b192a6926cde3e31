# ruff: noqa: INP001 - a script, not a package
"""Write what is generated: `config/` and the marked parts of `docs/reference/` and the README.

    python docs/generate.py

A test compares the files with what this makes, so they cannot drift.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from deep_research import run
from deep_research.cli.commands import cli
from deep_research.config import PROVIDERS, default_yaml, presets, table
from deep_research.config.names import FOREIGN, IGNORED
from deep_research.core.events import Kind

ROOT = Path(__file__).parents[1]


def files() -> Mapping[Path, str]:
    """Return the text of every generated file, by path below the project."""
    made = {Path("config/default.yaml"): default_yaml()}
    for name in presets():
        text = (ROOT / "deep_research" / "presets" / f"{name}.yaml").read_text("utf-8")
        made[Path("config") / f"{name}.yaml"] = text
    blocks = {"settings": table(), "names": _names(), "providers": _providers(), "help": _help()}
    blocks["demo"] = _demo()
    for name in ("docs/reference/configuration.md", "docs/reference/cli.md", "README.md"):
        path = Path(name)
        made[path] = _filled((ROOT / path).read_text("utf-8"), blocks)
    return made


def _filled(text: str, blocks: Mapping[str, str]) -> str:
    """Put each block between its two markers."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}\n{blocks[match[2]]}\n{match[3]}"

    return re.sub(r"(<!-- generated: (\w+) -->)\n.*?(<!-- end -->)", block, text, flags=re.DOTALL)


def _names() -> str:
    rows = ["| GPT Researcher's name | Setting here |", "|---|---|"]
    rows += [
        f"| `{name.upper()}` | {f'`{key}`' if key[0] != '.' else '`docs` and `web`'} |"
        for name, key in FOREIGN.items()
    ]
    ignored = ", ".join(f"`{name.upper()}`" for name in sorted(IGNORED))
    return "\n".join(rows) + f"\n\nAccepted in files, without effect and with a warning: {ignored}."


def _providers() -> str:
    rows = ["| Provider | Address | Key | Other address |", "|---|---|---|---|"]
    rows += [
        f"| `{name}` | {p.base_url or 'the SDK’s own'} | `{p.key}` | `{p.address}` |"
        for name, p in PROVIDERS.items()
    ]
    return "\n".join(rows)


def _help() -> str:
    return "\n\n".join(f"```text\n{text}\n```" for text in _helps(cli, None, "deep-research"))


def _helps(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    with click.Context(command, parent, info_name=name, terminal_width=96) as context:
        yield command.get_help(context).rstrip()
        for sub in command.list_commands(context) if isinstance(command, click.Group) else ():
            found = command.get_command(context, sub)  # type: ignore[attr-defined]
            yield from _helps(found, context, sub)


def _demo() -> str:
    """Return parts of the report on the example corpus: beginning, conflicts, references."""
    question = "How was the longitude problem solved?"
    corpus = ROOT / "examples" / "corpus"
    options = {"llm": "none", "search.folder.index": ":memory:"}
    with tempfile.TemporaryDirectory() as folder:
        found = run(question, docs=corpus, folder=Path(folder) / "run", **options)
    first, second, *_, last = found.sections
    cited = dict.fromkeys(c.reference for claim in found.claims[:6] for c in claim.citations)
    lines = [
        f"# {question}",
        f"## {first.title}",
        first.text,
        f"## {second.title}",
        second.text,
        "…",
    ]
    lines += [f"## {last.title}", last.text, "## References"]
    shown = [r for r in found.references if r.n in cited or f"[{r.n}]" in last.text]
    links = [f"{r.n}. {r.title}. <{r.url.rpartition('/')[2]}> ({r.published})" for r in shown]
    text = "\n\n".join((*lines, "\n".join((*links, "…"))))
    wrapped = [textwrap.fill(line, 110) for line in text.split("\n")]
    return "```text\n" + "\n".join(wrapped) + "\n```"


def undocumented_events() -> list[str]:
    """Return the kinds of events that `docs/reference/events.md` does not list."""
    text = (ROOT / "docs/reference/events.md").read_text("utf-8")
    return [kind for kind in Kind if f"| `{kind}` |" not in text]


if __name__ == "__main__":
    for path, text in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, "utf-8")
