"""Settings become parts: engines, readers, models and steps, ready for one run.

Used by `app`, and by `doctor` part for part. Plugins get everything by constructor arguments,
secrets included.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from . import registry
from .config import Config, ModelChoice
from .core.compose import Composer
from .core.model import Page, Shape, Source
from .core.pipeline import Learner
from .core.ports import LLM, Memory, PageReader, SearchEngine
from .core.review import PlainCritic
from .core.seams import Critic, Emit, Outside, Planner, Researcher, Writer
from .core.supervisor import Supervisor
from .core.tree import Tree
from .core.urls import in_domains
from .runtime.approval.aside import Hook
from .runtime.approval.patient import Patient
from .runtime.guard import Gate, Limits, Timeouts
from .runtime.http import Http
from .runtime.tokens import count

_FLOOR: Final = {"searches": 1, "pages": 1}
_MODEL_FLOOR: Final = {"calls": 1, "tokens": 2000}
"""What one node needs at least; a branch that cannot have it is not begun."""


@dataclass(frozen=True, slots=True)
class Steps:
    """How the steps of a run are done: with a language model or without."""

    planner: Planner
    critic: Critic
    learner: Learner
    writer: Writer


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is made of.

    Attributes:
        models: Who plays which role; empty without a language model.
        engines: Names of the search engines; empty where only writing is left to do.
        emit: The run's event stream.
        save: Stores a page's text.
        approver: Is asked before each round of searching, and
        clarifier: what an ambiguous question means: see `runtime.approval`; None asks nobody.
        problems: What an engine could not use, one sentence each; filled when it is opened.
    """

    config: Config
    models: Mapping[str, ModelChoice]
    engines: Sequence[str]
    emit: Emit
    save: Callable[[Page], None]
    approver: Hook | None = None
    clarifier: Hook | None = None
    problems: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Supervisor]:
        """Open everything, hand over who leads the run, and close everything again.

        Raises:
            ConfigError: A plugin's options, a key or a folder of documents cannot be used.
        """
        async with AsyncExitStack() as stack:  # closes everything, whatever fails to close
            http = await stack.enter_async_context(self._http())
            # Roles that share a model share its connections, and what it learned by refusals.
            shared = {}
            for choice in dict.fromkeys(self.models.values()):
                shared[choice] = make_model(choice, self.config)
                stack.push_async_callback(close_plugin, shared[choice])
            llms = {role: shared[choice] for role, choice in self.models.items()}
            engines = []
            for name in self.engines:
                engines.append(make_engine(name, self.config, http))
                stack.push_async_callback(close_plugin, engines[-1])
            for engine in engines:
                await self._prepared(engine)
            web = registry.build("readers", "web", {}, http=http)
            yield self._supervisor(self._gate(llms, engines, web))

    async def _prepared(self, engine: SearchEngine) -> None:
        if prepare := getattr(engine, "prepare", None):
            await prepare()
        self.problems.extend(f"{at}: {why}" for at, why in getattr(engine, "problems", ()))

    def _patient(self) -> tuple[Patient | None, Patient | None]:
        """Return whom to ask for approval and for clarification, if anybody."""
        approval = self.config.approval
        patient = Patient(
            self.emit,
            approve=self.approver,
            clarify=self.clarifier,
            seconds=approval.seconds,
            unanswered=approval.unanswered,
        )
        # A hook is there to be asked; a setting that somebody wrote down wins.
        hooked = self.approver is not None and self.config.origin("approval.ask") == "default"
        asks = hooked or approval.ask == "rounds"
        return (patient if asks else None), (patient if self.clarifier else None)

    def _http(self) -> Http:
        network, reading = self.config.network, self.config.reading
        return Http(
            allow_hosts=network.allow_hosts,
            user_agent=network.user_agent,
            per_host=network.per_host,
            timeout=reading.timeout,
            idle=reading.stall,
            max_bytes=reading.max_bytes,
        )

    def _gate(
        self, llms: Mapping[str, LLM], engines: list[SearchEngine], web: PageReader
    ) -> Outside:
        config = self.config
        return Gate(
            llms=llms,
            engines=engines,
            reader=Readers(engines, web),
            emit=self.emit,
            limits=Limits(config.llm_permits, config.limits.search, config.limits.fetch),
            results=config.search.results,
            accept=self._accept,
            save=self.save,
            timeouts=Timeouts(llm=config.models.timeout),
        )

    def _accept(self, source: Source) -> bool:
        search = self.config.search
        if source.url.startswith("file:"):
            return True
        return in_domains(source.url, search.include_domains, search.exclude_domains)

    def _supervisor(self, gate: Outside) -> Supervisor:
        config, emit = self.config, self.emit
        plain = extractive_steps(config)
        steps = model_steps(gate, emit, config, plain.learner) if self.models else plain
        researcher: Researcher = registry.build(
            "researchers",
            # Tools need somebody who calls them.
            "pipeline" if config.researcher == "react" and not self.models else config.researcher,
            {},
            outside=gate,
            learner=steps.learner,
            emit=emit,
            pages_per_query=config.reading.pages_per_query,
            count=count,
            tool_calls=config.supervisor.tool_calls,
            save=self.save,
        )
        floor = {**_FLOOR, **(_MODEL_FLOOR if self.models else {})}
        permits = asyncio.Semaphore(config.tree.concurrency)
        # What a leaf would ask next is of use only where a later turn may ask it.
        spare = config.tree.breadth if config.turns > 1 else 0
        tree = Tree(researcher, steps.planner, emit, permits, floor, spare)
        composer = Composer(steps.writer, plain.writer, emit)
        approver, clarifier = self._patient()
        return Supervisor(tree, steps.planner, composer, emit, steps.critic, approver, clarifier)


def shape_of(config: Config, models: Mapping[str, ModelChoice]) -> Shape:
    """Return the shape of the tree that the settings ask for.

    Supervisors with a model pack their branches; others spread them.
    """
    tree, packs = config.tree, bool(models) and config.planner == "supervisor"
    texts = tree.queries_per_branch or (4 if packs else 2)
    return Shape(tree.breadth, tree.depth, tree.min_breadth, texts)


def model_steps(gate: Outside, emit: Emit, config: Config, plain: Learner) -> Steps:
    """Return the steps that ask a language model; `plain` learns where it makes nothing of it."""
    from .steps.brief import Briefer
    from .steps.learn import ModelLearner
    from .steps.plan import TreePlanner
    from .steps.review import ModelCritic
    from .steps.supervise import SupervisorPlanner
    from .steps.write import ModelWriter

    report = config.report
    briefer = Briefer(gate, report.language, config.supervisor.clarify)
    planner = TreePlanner if config.planner == "tree" else SupervisorPlanner
    return Steps(
        planner(gate, emit, count, briefer),
        ModelCritic(gate, count),
        ModelLearner(gate, count, config.reading.tokens, plain),
        ModelWriter(gate, emit, count, report.tone, report.words),
    )


def extractive_steps(config: Config) -> Steps:
    """Return the steps that need no language model."""
    from .extractive.learn import ExtractiveLearner
    from .extractive.plan import ExtractivePlanner
    from .extractive.write import ExtractiveWriter

    planner = ExtractivePlanner(language=config.report.language)
    return Steps(planner, PlainCritic(), ExtractiveLearner(), ExtractiveWriter())


def make_engine(name: str, config: Config, http: Http) -> SearchEngine:
    """Make a search engine; key, connections and documents are for those that take them."""
    given: dict[str, Any] = {"paths": config.docs} if name == "folder" else {"http": http}
    key = config.secret(f"{name.upper()}_API_KEY")
    if key:
        given["api_key"] = key
    engine: SearchEngine = registry.build("search", name, config.search.options(name), **given)
    return engine


def make_model(choice: ModelChoice, config: Config) -> LLM:
    """Make a language model. What a person set must be known to it; the rest is on offer."""
    models = config.models
    wanted = {
        "temperature": models.temperature,
        "reasoning_effort": models.reasoning_effort,
        "context": models.context,
        "extra": dict(models.extra) or None,
    }
    options = {name: value for name, value in wanted.items() if value is not None}
    llm: LLM = registry.build(
        "llms",
        choice.plugin,
        options,
        model=choice.model,
        base_url=choice.base_url,
        api_key=choice.api_key,
        key_name=choice.key_name,
        prices=choice.prices,
        timeout=models.timeout,
    )
    return llm


def memory_of(config: Config) -> Memory | None:
    """Return what remembers across runs; None unless a file for it is set."""
    if config.memory.file is None:
        return None
    from .runtime.memory.store import SqliteMemory

    return SqliteMemory(config.memory.file)


async def close_plugin(plugin: object) -> None:
    """Close a plugin that can be closed, in whichever way."""
    close = getattr(plugin, "close", None)
    if close is None:
        return
    result = close()
    if asyncio.iscoroutine(result):
        await result


class Readers:
    """A `PageReader` that asks whoever can read a source: the engine that holds it, or the web."""

    def __init__(self, engines: Sequence[SearchEngine], web: PageReader) -> None:
        self._own = [engine for engine in engines if hasattr(engine, "read")]
        self._web = web

    async def read(self, source: Source) -> Page:
        """Read `source`."""
        for engine in self._own:
            holds = getattr(engine, "holds", None)
            if holds(source) if holds else source.url.startswith("file:"):
                page: Page = await engine.read(source)
                return page
        return await self._web.read(source)
