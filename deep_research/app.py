"""The only file that knows everything: settings become a wired run, a run becomes a folder.

Nothing below this module reads settings or the environment.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import registry
from .config import Config, ModelChoice, resolve_engines, resolve_llm
from .core.budget import Budget
from .core.compose import Composer
from .core.errors import ConfigError
from .core.events import Event, Kind
from .core.model import Page, Shape, Source
from .core.pipeline import Learner, Pipeline
from .core.ports import (
    LLM,
    Emit,
    Exporter,
    Outside,
    PageReader,
    Planner,
    SearchEngine,
    Writer,
)
from .core.report import Report
from .core.supervisor import Limits, Researched, Supervisor
from .core.tree import Tree
from .core.urls import in_domains
from .runtime.guard import Gate, Timeouts
from .runtime.guard import Limits as Permits
from .runtime.http import Http
from .runtime.progress import JsonlSink, Sink, Stream
from .runtime.tokens import count
from .version import __version__

_PLAIN = (
    "Researched without a language model: sentences are quoted from the sources as they stand."
)


@dataclass(frozen=True, slots=True)
class Steps:
    """How the steps of a run are done: with a language model or without."""

    planner: Planner
    learner: Learner
    writer: Writer


class Run:
    """One question, from settings to a folder with the report.

    Args:
        question: What to research; must not be blank.
        config: All settings.
        emit: Told of every event, sync or async; whatever it does cannot harm the run.
        folder: Where the files go; default `report.folder`, else 'runs/<id>'.
        run: The run's id; default the time and four random letters.

    Raises:
        ConfigError: The question is blank, or the settings contradict each other.
    """

    def __init__(
        self,
        question: str,
        config: Config,
        *,
        emit: Sink | Callable[[Event], object] | None = None,
        folder: Path | None = None,
        run: str | None = None,
    ) -> None:
        self.question = " ".join(question.split())
        if not self.question:
            raise ConfigError("the question is empty: say what is to be researched")
        self.config = config
        self.id = run or f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        self.folder = folder or Path(config.report.folder or Path("runs") / self.id)
        self.models = resolve_llm(config, registry.names("llms"))
        self.engines = resolve_engines(config)
        self.exporters: list[Exporter] = [
            registry.build("exporters", name, {}) for name in config.report.formats
        ]
        listeners = [emit] if emit else []
        self.stream = Stream(self.id, [JsonlSink(self.folder / "events.jsonl"), *listeners])
        self._stop: asyncio.Event | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the research; the report is written from what is there."""
        self._stopped = True
        if self._stop:
            self._stop.set()

    async def execute(self) -> Report:
        """Do the research and write the folder. Whatever happens on the way, a report comes out.

        Raises:
            ConfigError: A plugin's options, a key or a folder of documents cannot be used; nothing was spent.
        """
        async with self._supervisor() as supervisor:
            return await self._report(supervisor, await self._research(supervisor))

    async def research(self) -> Researched:
        """Do the research only; hand what comes back to `report`. Raises as `execute`."""
        async with self._supervisor() as supervisor:
            return await self._research(supervisor)

    async def report(self, done: Researched) -> Report:
        """Write the report of what `research` brought."""
        async with self._supervisor() as supervisor:
            return await self._report(supervisor, done)

    async def _research(self, supervisor: Supervisor) -> Researched:
        self._stop = asyncio.Event()
        if self._stopped:
            self._stop.set()
        self.stream.emit(Event(Kind.RUN_STARTED, data=self._facts()))
        return await supervisor.research(self.question, self._limits(), self._stop)

    async def _report(self, supervisor: Supervisor, done: Researched) -> Report:
        report = await supervisor.report(self.id, done)
        report.config_digest, report.version = self.config.digest(), __version__
        if not self.models:
            report.notes = (_PLAIN, *report.notes)
        for exporter in self.exporters:
            (self.folder / f"report.{exporter.suffix}").write_bytes(exporter.export(report))
        counts = {"references": len(report.references), "claims": len(report.claims)}
        self.stream.emit(Event(Kind.REPORT_READY, data={"status": report.status, **counts}))
        ended = {"status": report.status, "stop_reason": report.stop_reason}
        usage = asdict(report.usage)
        self.stream.emit(Event(Kind.RUN_FINISHED, data={**ended, "usage": usage}))
        return report

    # --- wiring ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _supervisor(self) -> AsyncIterator[Supervisor]:
        """Open everything that a run needs, and close it again."""
        config, emit = self.config, self.stream.emit
        network, reading = config.network, config.reading
        _make(self.folder)
        async with self.stream, Http(
            allow_hosts=network.allow_hosts,
            user_agent=network.user_agent,
            per_host=network.per_host,
            timeout=reading.timeout,
            idle=reading.stall,
            max_bytes=reading.max_bytes,
        ) as http:
            engines = [_engine(name, config, http) for name in self.engines]
            for engine in engines:
                if prepare := getattr(engine, "prepare", None):
                    await prepare()
            gate = Gate(
                llms={role: _model(choice, config) for role, choice in self.models.items()},
                engines=engines,
                reader=_Readers(engines, registry.build("readers", "web", {}, http=http)),
                emit=emit,
                limits=Permits(config.llm_permits, config.limits.search, config.limits.fetch),
                results=config.search.results,
                accept=self._accept,
                save=_Saver(self.folder / "sources"),
                timeouts=Timeouts(llm=config.models.timeout),
            )
            yield self._wired(gate, emit)

    def _wired(self, gate: Outside, emit: Emit) -> Supervisor:
        config = self.config
        plain = extractive_steps(gate, emit, config)
        steps = model_steps(gate, emit, config) if self.models else plain
        researcher = Pipeline(gate, steps.learner, emit, config.reading.pages_per_query)
        floor = {"searches": 1, "pages": 1, **({"calls": 1, "tokens": 2000} if self.models else {})}
        permits = asyncio.Semaphore(config.tree.concurrency)
        tree = Tree(researcher, steps.planner, emit, permits, floor)
        return Supervisor(tree, steps.planner, Composer(steps.writer, plain.writer, emit), emit)

    def _limits(self) -> Limits:
        config = self.config
        return Limits(
            shape_of(config),
            Budget(config.budget.amounts()),
            config.budget.seconds,
            config.budget.writer_share,
        )

    def _accept(self, source: Source) -> bool:
        search = self.config.search
        if source.url.startswith("file:"):
            return True
        return in_domains(source.url, search.include_domains, search.exclude_domains)

    def _facts(self) -> Mapping[str, Any]:
        shape = shape_of(self.config)
        return {
            "question": self.question,
            "breadth": shape.breadth,
            "depth": shape.depth,
            "nodes": shape.size() + 1,
            "llm": {role: choice.label for role, choice in self.models.items()},
            "engines": list(self.engines),
            "version": __version__,
        }


def shape_of(config: Config) -> Shape:
    """Return the shape of the tree that the settings ask for."""
    tree = config.tree
    return Shape(tree.breadth, tree.depth, tree.min_breadth, tree.queries_per_branch)


def model_steps(gate: Outside, emit: Emit, config: Config) -> Steps:
    """Return the steps that ask a language model."""
    from .steps.learn import ModelLearner
    from .steps.plan import TreePlanner
    from .steps.write import ModelWriter

    report = config.report
    return Steps(
        TreePlanner(gate, emit, count, report.language),
        ModelLearner(gate, count, config.reading.tokens),
        ModelWriter(gate, emit, count, report.tone, report.words),
    )


def extractive_steps(gate: Outside, emit: Emit, config: Config) -> Steps:
    """Return the steps that need no language model."""
    from .extractive.learn import ExtractiveLearner
    from .extractive.plan import ExtractivePlanner
    from .extractive.write import ExtractiveWriter

    del gate, emit
    return Steps(
        ExtractivePlanner(language=config.report.language), ExtractiveLearner(), ExtractiveWriter()
    )


def _engine(name: str, config: Config, http: Http) -> SearchEngine:
    options = dict(config.search.options(name))
    given: dict[str, Any] = {"paths": config.docs} if name == "folder" else {"http": http}
    key = f"{name.upper()}_API_KEY"
    if config.secret(key):
        options.setdefault("api_key", config.secret(key))
    engine: SearchEngine = registry.build("search", name, options, **given)
    return engine


def _model(choice: ModelChoice, config: Config) -> LLM:
    models = config.models
    options = {
        "base_url": choice.base_url,
        "api_key": choice.api_key,
        "key_name": choice.key_name,
        "prices": choice.prices,
        "timeout": models.timeout,
        "temperature": models.temperature,
        "reasoning_effort": models.reasoning_effort,
        "context": models.context,
        "extra": models.extra,
    }
    llm: LLM = registry.build("llms", choice.plugin, options, model=choice.model)
    return llm


class _Readers:
    """Sends a source to whoever can read it: the engine that holds it, or the web."""

    def __init__(self, engines: list[SearchEngine], web: PageReader) -> None:
        self._own = [engine for engine in engines if hasattr(engine, "read")]
        self._web = web

    async def read(self, source: Source) -> Page:
        for engine in self._own:
            holds = getattr(engine, "holds", None)
            if holds(source) if holds else source.url.startswith("file:"):
                page: Page = await engine.read(source)  # type: ignore[attr-defined]
                return page
        return await self._web.read(source)


class _Saver:
    """Stores each page's text once, under its digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, page: Page) -> None:
        path = self._folder / f"{page.sha256}.txt"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(page.text.encode())


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.jsonl").touch()
    except OSError as error:
        raise ConfigError(f"cannot write to {folder}: {error.strerror or error}") from error
