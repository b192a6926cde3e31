"""One run, from settings to a folder with the report: the composition root.

Nothing below this module and its helpers (`wiring`, `folder`) reads settings or the environment.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from . import registry
from .config import Config, resolve_engines, resolve_llm
from .core.budget import Budget
from .core.errors import ConfigError
from .core.events import Event, Kind
from .core.ports import Exporter
from .core.report import Report, RunStatus
from .core.supervisor import Limits, Researched, Supervisor
from .estimate import most_nodes
from .folder import Folder
from .runtime.approval.patient import hook_of
from .runtime.memory.leads import Leads
from .runtime.progress import JsonlSink, Sink, Stream
from .runtime.tally import Tally
from .version import __version__
from .wiring import Parts, memory_of, shape_of

_PLAIN: Final = (
    "Researched without a language model: sentences are quoted from the sources as they stand."
)
_MOST_PROBLEMS: Final = 10


class Run:
    """One question, from settings to a folder with the report.

    Args:
        question: What to research; must not be blank.
        config: All settings.
        emit: Told of every event, sync or async; whatever it does cannot harm the run. Several may
            be given.
        approver: An `Approver`, or a function of a `Proposal`, plain or async: asked before each
            round of searching, unless somebody set `approval.ask` to 'never'.
        clarifier: A `Clarifier`, or a function of a list of questions, plain or async.
        folder: Where the files go; default `report.folder`, else 'runs/<id>'.
        run: The run's id; default the time and eight random letters.

    Attributes:
        models: Who plays which role; empty without a language model.
        shape: Breadth and depth of the tree, at most.
        engines: Names of the search engines.
        tally: Where the run stands.

    Raises:
        ConfigError: The question is blank, the settings contradict each other, or a hook cannot be
            called.
    """

    def __init__(
        self,
        question: str,
        config: Config,
        *,
        emit: Sink | Iterable[Sink] = (),
        approver: object = None,
        clarifier: object = None,
        folder: Path | None = None,
        run: str | None = None,
    ) -> None:
        self.question = _one_line(question)
        self.config = config
        self.id = run or f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        self.models = resolve_llm(config, registry.names("llms"))
        self.shape = shape_of(config, self.models)
        self.engines = resolve_engines(config)
        self._approver = hook_of(approver, "approve")
        self._clarifier = hook_of(clarifier, "clarify")
        # A name that nobody has is told before anything is spent.
        registry.address("researchers", config.researcher)
        for name in self.engines:
            registry.address("search", name)
        # The report for people and the one for programs are what other commands read.
        formats = dict.fromkeys(("md", "json", *config.report.formats))
        self.exporters: list[Exporter] = [registry.build("exporters", f, {}) for f in formats]
        self.tally = Tally()
        self._folder = Folder(folder or Path(config.report.folder or Path("runs") / self.id))
        sinks = emit if isinstance(emit, Iterable) else [emit]
        self.stream = Stream(self.id, [JsonlSink(self._folder.events), self.tally.add, *sinks])
        self._leads = Leads(memory_of(config), self.stream.emit)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._stopped = False
        self._paused: float | None = None

    @property
    def folder(self) -> Path:
        """Folder of the run's files."""
        return self._folder.path

    def stop(self) -> None:
        """End the research; the report is written from what is there. Any thread may call it."""
        self._stopped = True
        if self._loop and self._stop:
            with suppress(RuntimeError):  # the loop is closed: there is nothing left to stop
                self._loop.call_soon_threadsafe(self._stop.set)

    async def check(self) -> None:
        """Open and close everything that a run needs; nothing is spent, nothing is left.

        Documents are indexed.

        Raises:
            ConfigError: As `execute`.
        """
        async with self._opened(self._parts(self.engines)):
            pass

    async def execute(self) -> Report:
        """Do the research and write the folder. Whatever happens on the way, a report comes out.

        Raises:
            ConfigError: A plugin's options, a key, the folder or a folder of documents cannot be
                used; nothing was spent.
        """
        parts = self._parts(self.engines)
        async with self._opened(parts) as supervisor:
            return await self._report(supervisor, await self._research(supervisor, parts))

    async def research(self) -> Researched:
        """Do the research only; hand what comes back to `report`. Raises as `execute`."""
        parts = self._parts(self.engines)
        async with self._opened(parts) as supervisor:
            done = await self._research(supervisor, parts)
            self._paused = asyncio.get_running_loop().time()
            return done

    async def report(self, done: Researched) -> Report:
        """Write the report of what `research` brought; time that passed in between is free."""
        now = asyncio.get_running_loop().time()
        pause = now - (self._paused or now)
        until = None if done.until is None else done.until + pause
        done = replace(done, began=done.began + pause, until=until)
        async with self._opened(self._parts(())) as supervisor:
            return await self._report(supervisor, done)

    def _parts(self, engines: Iterable[str]) -> Parts:
        return Parts(
            self.config,
            self.models,
            tuple(engines),
            self.stream.emit,
            self._folder.save,
            self._approver,
            self._clarifier,
        )

    @asynccontextmanager
    async def _opened(self, parts: Parts) -> AsyncIterator[Supervisor]:
        """Open folder, stream and parts. A run that is cut off says so in its stream."""
        self._folder.claim()
        try:
            async with self.stream, parts.opened() as supervisor:
                try:
                    yield supervisor
                except asyncio.CancelledError:
                    self._finished(RunStatus.CANCELLED, "interrupted")
                    raise
        finally:
            self._folder.release()

    async def _research(self, supervisor: Supervisor, parts: Parts) -> Researched:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        if self._stopped:
            self._stop.set()
        self.stream.emit(Event(Kind.RUN_STARTED, data=self._facts()))
        self._warn(_few(parts.problems))
        leads = await self._leads.recall(self.question)
        return await supervisor.research(self.question, self._limits(), self._stop, leads)

    async def _report(self, supervisor: Supervisor, done: Researched) -> Report:
        report = await supervisor.report(self.id, done)
        report.config_digest, report.version = self.config.digest(), __version__
        report.spent = self.tally.spent
        if not self.models:
            report.notes = (_PLAIN, *report.notes)
        await self._leads.remember(report)
        self._warn(self._folder.write(report, self.exporters))
        counts = {"references": len(report.references), "claims": len(report.claims)}
        self.stream.emit(Event(Kind.REPORT_READY, data={"status": str(report.status), **counts}))
        usage = asdict(report.usage)
        self._finished(report.status, report.stop_reason, usage)
        return report

    def _finished(
        self, status: RunStatus, reason: str, usage: Mapping[str, Any] | None = None
    ) -> None:
        spent = asdict(self.tally.progress.usage) if usage is None else usage
        data = {"status": str(status), "stop_reason": reason, "usage": spent}
        self.stream.emit(Event(Kind.RUN_FINISHED, data=data))

    def _warn(self, messages: Iterable[str]) -> None:
        for message in messages:
            self.stream.emit(Event(Kind.WARNING, data={"message": message}))

    def _limits(self) -> Limits:
        budget = self.config.budget
        return Limits(
            self.shape,
            Budget(budget.amounts()),
            budget.seconds,
            budget.writer_share,
            self.config.turns,
        )

    def _facts(self) -> Mapping[str, Any]:
        shape = self.shape
        return {
            "question": self.question,
            "breadth": shape.breadth,
            "depth": shape.depth,
            "nodes": most_nodes(self.config, shape),
            "llm": {role: choice.label for role, choice in self.models.items()},
            "engines": list(self.engines),
            "version": __version__,
        }


def _one_line(question: object) -> str:
    if not isinstance(question, str):
        raise ConfigError(f"the question must be text, not {type(question).__name__}")
    text = " ".join("".join(c if c.isprintable() else " " for c in question).split())
    if not text:
        raise ConfigError("the question is empty: say what is to be researched")
    return text


def _few(problems: list[str]) -> list[str]:
    """Name the first problems and count the others."""
    more = len(problems) - _MOST_PROBLEMS
    rest = [f"{more} further documents cannot be used"] if more > 0 else []
    return [*problems[:_MOST_PROBLEMS], *rest]


__all__ = ["Run", "shape_of"]
