"""One run as the command line leads it: shown, stopped by Ctrl-C, found again later."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TextIO

from deep_research import registry
from deep_research.app import Run
from deep_research.config import Config
from deep_research.core.errors import ConfigError, DeepResearchError
from deep_research.core.events import Event
from deep_research.core.report import Report, RunStatus
from deep_research.estimate import estimate
from deep_research.folder import EVENTS
from deep_research.plugins.exporters.json import parse
from deep_research.runtime.progress import as_line

from .asking import Asking
from .console import Lines, Say
from .live import Live
from .typed import Typed

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Cancelled(DeepResearchError):  # noqa: N818 - it is no error
    """Interrupted twice: there is no report."""

    kind = "cancelled"


class Session:
    """Leads one run from a terminal.

    Args:
        question: What to research.
        config: All settings.
        say: Writes a line for people.
        quiet: No progress and no notes, only errors.
        verbose: Progress with every call.
        emit_line: Gets each event as a line of JSON, or None.

    Raises:
        ConfigError: The run cannot be made from these settings.
    """

    def __init__(
        self,
        question: str,
        config: Config,
        *,
        say: Say,
        quiet: bool = False,
        verbose: bool = False,
        emit_line: Callable[[str], None] | None = None,
    ) -> None:
        self._say, self._quiet, self._emit_line = say, quiet, emit_line
        self._watch = None if quiet else _watch(say, config, verbose=verbose)
        silent = quiet or emit_line is not None
        asking = None if sys.stderr is None else self._asking(config, sys.stderr)
        self._run = Run(
            question,
            config,
            emit=self._emit,
            approver=asking if config.approval.ask == "rounds" else None,
            clarifier=asking if asking and asking.person and not silent else None,
        )
        self._interrupts = 0

    def bound(self) -> str:
        """Say what the run can use at most, in one line, after a look at whether it could begin.

        Raises:
            ConfigError: A key, an option or a folder cannot be used.
        """
        asyncio.run(self._run.check())
        config = self._run.config
        most = estimate(config, self._run.shape, self._run.models, self._run.question)
        parts = [f"{most.nodes} queries", f"{most.searches} searches", f"{most.pages} pages"]
        if self._run.models:
            cost = "cost unknown (set models.prices)" if most.cost is None else f"${most.cost:.4f}"
            parts += [f"{most.calls:,} model calls", f"{most.tokens:,} tokens", cost]
        limited = f" (limited by: {', '.join(most.limited)})" if most.limited else ""
        return f"at most {', '.join(parts)}{limited}"

    def run(self) -> Report:
        """Do it, and tell where the files are.

        Raises:
            ConfigError: A key, an option or a folder cannot be used.
            Cancelled: Interrupted twice.
        """
        if not self._quiet:
            for warning in self._run.config.warnings:
                self._say(f"warning: {warning}")
            if not self._run.models:
                self._say("note: no language model is set; researching without one (see --llm)")
        try:
            with self._watch or nullcontext():
                report = asyncio.run(self._research())
        except asyncio.CancelledError:
            raise Cancelled(f"interrupted; events are in {self._run.folder}") from None
        if not self._quiet:
            self._say(f"files: {self._run.folder}")
        return report

    def _asking(self, config: Config, out: TextIO) -> Asking:
        def held() -> AbstractContextManager[None]:
            return self._watch.held() if self._watch else nullcontext()

        approval = config.approval
        return Asking(
            Typed(sys.stdin), out, held, seconds=approval.seconds, unanswered=approval.unanswered
        )

    def _emit(self, event: Event) -> None:
        if self._emit_line is not None:
            self._emit_line(as_line(event))
        if self._watch is not None:
            self._watch.emit(event)

    async def _research(self) -> Report:
        task = asyncio.current_task()

        def interrupt() -> None:
            self._interrupts += 1
            if self._interrupts == 1:
                say = self._watch.line if self._watch else self._say
                say("stopping: the report is written from what is there (again to give up)")
                self._run.stop()
            elif task is not None:
                task.cancel()

        with _interrupts(interrupt):
            return await self._run.execute()


@contextmanager
def _interrupts(call: Callable[[], None]) -> Iterator[None]:
    """Have `call` called in the event loop when the process is asked to end."""
    loop = asyncio.get_running_loop()
    try:
        for number in _SIGNALS:
            loop.add_signal_handler(number, call)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        yield
        return
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _watch(say: Say, config: Config, *, verbose: bool) -> Lines | Live:
    """Choose the live tree on a terminal that can show it, else lines."""
    out = sys.stderr
    able = os.name == "posix" and config.secret("TERM") not in {None, "dumb"}
    if able and not verbose and out is not None and out.isatty() and _shows_trees(out):
        return Live(out, colour=config.secret("NO_COLOR") is None)  # https://no-color.org
    return Lines(say, verbose=verbose)


def _shows_trees(out: TextIO) -> bool:
    try:
        "├─✓…".encode(out.encoding or "ascii")
    except UnicodeError:
        return False
    return True


def find_run(name: str) -> Path:
    """Return the folder of a run: a folder, or an id below ./runs.

    Raises:
        ConfigError: There is no such run, or it has no report.
    """
    given = Path(name)
    given = given.parent if given.name == "report.json" else given
    for folder in (given, Path("runs") / name):
        if (folder / "report.json").is_file():
            return folder
    for folder in (given, Path("runs") / name):
        if folder.is_dir():
            raise ConfigError(f"run {name!r} has no report: {_fate(folder)}; see {folder}/{EVENTS}")
    raise ConfigError(f"there is no run {name!r}; `deep-research runs` lists those below ./runs")


def read_report(name: str) -> tuple[Path, Report]:
    """Return a run's folder and report.

    Raises:
        ConfigError: There is no such run, or its report cannot be read.
    """
    folder = find_run(name)
    file = folder / "report.json"
    try:
        return folder, parse(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from error
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def export_report(name: str, formats: Sequence[str], folder: str | None) -> list[Path]:
    """Write a run's report in other formats; return the files.

    Raises:
        ConfigError: A format is unknown, the run is, or nothing can be written there.
    """
    exporters = [
        registry.build("exporters", one.strip(), {}) for text in formats for one in text.split(",")
    ]
    home, report = read_report(name)
    target = Path(folder) if folder else home
    files = []
    for exporter in exporters:
        file = target / f"report.{exporter.suffix}"
        try:
            target.mkdir(parents=True, exist_ok=True)
            file.write_bytes(exporter.export(report))
        except OSError as error:
            raise ConfigError(f"{file}: cannot be written ({error.strerror})") from error
        files.append(file)
    return files


def list_runs(root: Path) -> Iterator[str]:
    """Yield a line for each run below `root`, the newest id first: id, status, question."""
    folders = [f for f in root.iterdir() if f.is_dir()] if root.is_dir() else []
    for folder in sorted(folders, key=lambda f: f.name, reverse=True):
        if (folder / "report.json").is_file():
            try:
                report = read_report(str(folder))[1]
            except ConfigError as error:
                yield f"{folder.name}  unreadable  {error}"
                continue
            yield f"{folder.name}  {report.status:13}  {report.question}"
        elif (folder / "events.jsonl").is_file():
            yield f"{folder.name}  no report      ({_fate(folder)})"


def _fate(folder: Path) -> str:
    """Say what became of a run that has no report; its last event tells."""
    try:
        last = (folder / EVENTS).read_bytes().rstrip().rpartition(b"\n")[2]
        interrupted = json.loads(last)["data"]["status"] == RunStatus.CANCELLED
    except (OSError, ValueError, KeyError, TypeError):
        interrupted = False
    return "interrupted twice" if interrupted else "it is running, or was cut off"
