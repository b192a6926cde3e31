"""A nested researcher that lets the model use tools: search, read, think, finish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    BudgetExceeded,
    ConfigError,
    ProviderError,
)
from deep_research.core.events import Event, Kind
from deep_research.core.model import Brief, Failure, Findings, Page, ResearchNode
from deep_research.core.pipeline import Learner, Pipeline, read_best, teach
from deep_research.core.ports import Completion, Turn
from deep_research.core.seams import Emit, Outside, Scope
from deep_research.core.text import unique
from deep_research.steps._shape import fold_key
from deep_research.steps._toolbox import Arguments, ToolSpec, Wish, read_calls

from .extra import ExtraTool
from .legwork import Job, Legwork
from .talk import Talk
from .tools import (
    TOOLS,
    CompleteArguments,
    ReadArguments,
    SearchArguments,
    ThinkArguments,
    opening,
)

_PAGES_SHOWN: Final = 24
"""How many pages fill the conversation."""
_ALSO: Final = 3
"""Queries of the model by which pages are learned from, beside the node's own."""
_RESERVE: Final = 0.25
_LEARNING: Final = {"calls": 1, "tokens": 9000}
"""What learning from the pages in the end may take at least."""


class Ending(NamedTuple):
    """Why a loop ended: in one word, in a sentence where something was amiss, as a failure."""

    kind: str
    message: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ReactResearcher:
    """A `Researcher` in which the model decides what to search for and what to read.

    What it read is learned from in the end as in the standard researcher: with quotes. Where the
    model cannot work like this, the standard researcher does the work and a failure says so.

    Attributes:
        outside: Models, search and reading.
        learner: Learns from the pages; chooses hits if the model read none.
        emit: The run's event stream.
        count: Counts the tokens of a text.
        pages_per_query: Pages to read where the model searched and read nothing.
        tool_calls: Searches, pages and calls of extra tools, at most; each query and each page
            counts as one.
        tokens: Length of the conversation from which on its oldest results are left out.
        tools: Further tools.
        save: Stores the text of what a further tool said.
    """

    outside: Outside
    learner: Learner
    emit: Emit
    count: Callable[[str], int]
    pages_per_query: int = 6
    tool_calls: int = 10
    tokens: int = 24_000
    tools: Sequence[ExtraTool] = ()
    save: Callable[[Page], None] = lambda _: None

    def __post_init__(self) -> None:
        """Refuse tools that cannot be told apart.

        Raises:
            ConfigError: Two tools have the same name, but for case and punctuation.
        """
        names = [spec.name for spec in TOOLS]
        for tool in self.tools:
            if fold_key(tool.name) in map(fold_key, names):
                raise ConfigError(f"two tools are called {tool.name!r}: rename one of them")
            names.append(tool.name)

    async def investigate(self, node: ResearchNode, brief: Brief, scope: Scope) -> Findings:
        """Return what the query brought; what went wrong on the way is among its failures.

        Raises:
            AuthFailed, ConfigError: The model cannot be asked at all.
            DeepResearchError: The standard researcher had to do the work and failed, or learning
                did.
        """
        legwork = self._legwork(node, brief, scope)
        reserve = scope.budget.set_aside(
            _RESERVE, of=("calls", "tokens", "cost"), at_least=_LEARNING
        )
        try:
            ending = await self._loop(node, brief, scope, legwork)
        finally:
            scope.budget.reclaim([reserve])
        if ending.message:
            told = {"message": ending.message, "kind": ending.kind}
            self.emit(Event(Kind.WARNING, node.path, told))
        failures, pages = legwork.failures, legwork.pages
        wanted = [] if pages else legwork.untried(self.learner.choose(node, brief, legwork.found))
        if not pages and not wanted:
            return await self._plainly(node, brief, scope, ending, failures)
        if ending.failed:
            failures.append(Failure(ending.kind, ending.message, node.path))
        if wanted:  # it searched and read nothing: then the best hits are read for it
            pages = await read_best(self.outside, wanted, self.pages_per_query, scope, failures)
        failures.extend(scope.mishaps)
        return await teach(
            self.learner,
            node,
            brief,
            pages,
            scope=scope,
            failures=failures,
            emit=self.emit,
            also=unique(legwork.asked, node.query.texts)[:_ALSO],
        )

    def _legwork(self, node: ResearchNode, brief: Brief, scope: Scope) -> Legwork:
        return Legwork(
            self.outside,
            self.emit,
            node,
            brief,
            scope,
            self.count,
            self.tokens // _PAGES_SHOWN,
            self.save,
            self.tool_calls,
        )

    async def _plainly(
        self,
        node: ResearchNode,
        brief: Brief,
        scope: Scope,
        ending: Ending,
        failures: Sequence[Failure],
    ) -> Findings:
        """Have the standard researcher do the work: the model brought nothing to learn from."""
        said = ending.message or "the model finished without having found anything"
        kind = ending.kind if ending.failed else BadAnswer.kind
        why = Failure(kind, f"researched without tools: {said}", node.path)
        self.emit(Event(Kind.WARNING, node.path, {"message": why.message, "kind": kind}))
        node.findings = Findings(failures=(why, *failures))  # kept if this fails, too
        pipeline = Pipeline(self.outside, self.learner, self.emit, self.pages_per_query)
        found = await pipeline.investigate(node, brief, scope)
        return replace(found, failures=(why, *failures, *found.failures))

    async def _loop(
        self, node: ResearchNode, brief: Brief, scope: Scope, legwork: Legwork
    ) -> Ending:
        """Ask and do, turn by turn; return why it ended.

        A turn makes a call that was not made before, or is one of the few that need not: so there
        is an end.
        """
        own = [ToolSpec(t.name, t.description, parameters=t.parameters) for t in self.tools]
        specs = (*TOOLS, *own)
        prompt = opening(node, brief, specs, self.tool_calls, self.count)
        talk = Talk(prompt, self.count, self.tokens)
        while True:
            try:
                completion = await talk.ask(self.outside, scope, "react")
            except AuthFailed:
                raise
            except (BudgetExceeded, ProviderError) as error:
                return Ending(error.kind, f"tool loop ended: {error}", failed=True)
            wishes = read_calls(completion, specs)
            jobs = [self._jobs(wish, legwork) for wish in wishes]
            left = legwork.left
            results = await self._results(wishes, jobs, completion, node, legwork)
            ending = self._ending(wishes, completion, legwork)
            calls = [tuple(sorted(job.key for job in group)) for group in jobs if group]
            alone = bool(wishes) and all(isinstance(w.value, ThinkArguments) for w in wishes)
            stuck = talk.stuck(calls, thinking=alone, idle=not alone and legwork.left == left)
            if ending is not None:
                return ending
            if stuck is not None:
                return Ending(*stuck)
            said = completion.text if completion.calls else ""
            turn = Turn(said, tuple(w.call for w in wishes), results)
            talk.turns = (*talk.turns, turn)

    def _ending(
        self, wishes: Sequence[Wish], completion: Completion, legwork: Legwork
    ) -> Ending | None:
        """Tell whether the model is done, or may not do more."""
        if any(isinstance(wish.value, CompleteArguments) for wish in wishes):
            return Ending("complete")
        if not wishes and (completion.text.strip() or completion.cited):
            return Ending("answered")
        if legwork.left:
            return None
        cut = f"{self.tool_calls} tool calls made, {legwork.refused} more were wanted"
        return Ending("limit", cut if legwork.refused else "")

    def _jobs(self, wish: Wish, legwork: Legwork) -> list[Job]:
        """Return what a wish comes to; nothing for thinking, finishing and what makes no sense."""
        match wish.value:
            case SearchArguments(queries=queries):
                return legwork.searches(queries)
            case ReadArguments(urls=urls):
                return legwork.reads(urls)
            case Arguments(values=values):
                called = wish.call.name
                return legwork.uses(next(t for t in self.tools if t.name == called), values)
        return []

    async def _results(
        self,
        wishes: Sequence[Wish],
        jobs: Sequence[Sequence[Job]],
        completion: Completion,
        node: ResearchNode,
        legwork: Legwork,
    ) -> tuple[str, ...]:
        """Do all jobs of a turn, and read what the provider's own search cited."""
        cited = legwork.cite(completion.cited)
        told = await legwork.do([*cited, *(job for group in jobs for job in group)])
        results: list[str] = []
        for wish, group in zip(wishes, jobs, strict=True):
            if isinstance(wish.value, ThinkArguments):
                thought = {"text": wish.value.reflection}
                self.emit(Event(Kind.THOUGHT, node.path, thought))
            done = "\n".join(told[job.key] for job in group)
            results.append(wish.problem or done or "noted")
        return tuple(results) or ("Call a tool; ResearchComplete if nothing is left to do.",)
