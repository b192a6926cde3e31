"""The command line. Report to standard output, everything else to standard error.

Nothing heavy is imported until a command needs it: `--help` answers at once.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from deep_research.core.errors import ConfigError, DeepResearchError
from deep_research.version import __version__

from .flags import BUDGET, RESEARCH, SOURCES, flag, settings_of
from .remember import memory_group
from .usage import Commands, usage

if TYPE_CHECKING:
    from deep_research.core.report import Report

EXIT_CODES: Final = {
    "complete": 0,
    "failed": 1,
    "partial": 3,
    "nothing_found": 4,
    "cancelled": 130,
}
USAGE: Final = 2
INTERRUPTED: Final = 130


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="deep-research")
def cli() -> None:
    """Research a question; every cited sentence of the report can be traced to words on a page.

    Exit codes: 0 complete, 1 failed, 2 usage or configuration, 3 partial (a limit ended research,
    the report is written), 4 nothing found (also where a limit came first), 130 interrupted or
    rejected.
    """


@cli.command()
@click.argument("question", required=False)
@RESEARCH
@SOURCES
@BUDGET
@flag(
    "--approve",
    "approval.ask",
    flag_value="rounds",
    help="Show the upper bound, then ask before each round of searching.",
)
@click.option("--dry-run", is_flag=True, help="Show the upper bound and stop.")
@flag("-o", "report.folder", metavar="DIR")
@flag("--format", "report.formats", metavar="md|json|html", multiple=True)
@click.option("--json", "as_json", is_flag=True, help="Write events to stdout, one a line.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="Progress with every call and page.")
def run(
    question: str | None,
    *,
    approve: str | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **flags: Any,  # noqa: ANN401 - the settings' flags, as text
) -> int:
    """Research QUESTION and write the report.

    '-' reads QUESTION from standard input. The report goes to standard output, progress to standard
    error, all files to runs/<id> or -o DIR. Without --docs the web is searched; without a language
    model (--llm, OPENAI_API_KEY) research goes without one.
    """
    from .session import Session

    logging.basicConfig(level=logging.WARNING if verbose else logging.CRITICAL)
    config = settings_of(click.get_current_context().command, {"approve": approve, **flags})
    session = Session(
        _question(question),
        config,
        say=_say,
        quiet=quiet,
        verbose=verbose,
        emit_line=_out if as_json else None,
    )
    if dry_run:
        _out(session.bound())
        return 0
    if approve:
        _say(session.bound())
    report = session.run()
    if not as_json:
        _out(_markdown(report))
    if report.status == "failed":
        _say(f"error: {report.stop_reason}")
    return EXIT_CODES[report.status]


def _question(given: str | None) -> str:
    if given is None and sys.stdin.isatty():
        raise ConfigError("no question: give one in quotes, or '-' to read it from stdin")
    if given in (None, "-"):
        given = sys.stdin.buffer.read().decode("utf-8", "replace")
    # What cannot be seen cannot be meant, and would command the terminal that shows the report.
    return "".join(c if c.isprintable() or c.isspace() else " " for c in given or "")


def _markdown(report: Report) -> str:
    from deep_research import registry

    text: bytes = registry.build("exporters", "md", {}).export(report)
    return text.decode()


@cli.command()
@SOURCES
@RESEARCH
def doctor(**flags: Any) -> int:  # noqa: ANN401 - the settings' flags, as text
    """Check what a run needs, and say how to mend what is missing."""
    import asyncio

    from .doctor import examine

    checks = asyncio.run(examine(settings_of(click.get_current_context().command, flags)))
    for check in checks:
        _out(f"{check.level:4} {check.text}")
    return 1 if any(check.level == "fail" for check in checks) else 0


@cli.group("config")
def config_group() -> None:
    """Show the settings that hold, or what can be set."""


@config_group.command("show")
@SOURCES
@RESEARCH
def config_show(**flags: Any) -> int:  # noqa: ANN401 - the settings' flags, as text
    """Show each setting with its value and where that comes from."""
    from deep_research.config import shown

    config = settings_of(click.get_current_context().command, flags)
    for line in shown(config):
        _out(line)
    for warning in config.warnings:
        _say(f"warning: {warning}")
    return 0


@config_group.command("schema")
def config_schema() -> int:
    """Print the JSON schema of configuration files."""
    import json

    from deep_research.config import schema

    _out(json.dumps(schema(), indent=2))
    return 0


@cli.command()
def plugins() -> int:
    """List the plugins, and what those that cannot be used would need."""
    from deep_research import registry

    for kind, noun in registry.KINDS.items():
        for name in registry.names(kind):
            try:
                state = registry.usable(kind, name)
            except ConfigError as error:
                state = str(error)
            _out(f"{noun:15} {name:12} {state}")
    return 0


@cli.command()
def runs() -> int:
    """List the runs below ./runs, the newest first."""
    from .session import list_runs

    for line in list_runs(Path("runs")):
        _out(line)
    return 0


@cli.command()
@click.argument("run_id", metavar="RUN")
def show(run_id: str) -> int:
    """Print the report of RUN: an id below ./runs, or a run's folder."""
    from .session import read_report

    _out(_markdown(read_report(run_id)[1]))
    return 0


@cli.command()
@click.argument("run_id", metavar="RUN")
@click.option("--format", "formats", multiple=True, required=True, metavar="NAME")
@click.option("-o", "folder", metavar="DIR", help="Where to write; default the run's folder.")
def export(run_id: str, formats: Sequence[str], folder: str | None) -> int:
    """Write the report of RUN in other formats."""
    from .session import export_report

    for path in export_report(run_id, formats, folder):
        _out(str(path))
    return 0


def _say(text: str) -> None:
    """Write a line for people to standard error, whatever that can show."""
    from .console import printable

    click.echo(printable(text), err=True)


def _out(text: str) -> None:
    """Write to standard output. A reader that has gone away is no error."""
    try:
        click.echo(text.rstrip("\n"))
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


cli.add_command(memory_group(_out, _say))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a character that a code page lacks is no crash
    sys.exit(_main(arguments))


def _main(arguments: Sequence[str] | None) -> int:
    try:
        result = cli.main(arguments, prog_name="deep-research", standalone_mode=False)
    except click.UsageError as error:
        _say(usage(error))
        return USAGE
    except ConfigError as error:
        _say(f"error: {error}")
        return USAGE
    except (DeepResearchError, OSError) as error:
        _say(f"error: {_words(error)}")
        return EXIT_CODES.get(getattr(error, "kind", ""), EXIT_CODES["failed"])
    except (click.Abort, KeyboardInterrupt):
        _say("error: interrupted")
        return INTERRUPTED
    return int(result or 0)


def _words(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    at = f"{error.filename}: " if error.filename else ""
    return f"{at}{error.strerror or error}"
