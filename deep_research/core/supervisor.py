"""One run from question to report. A report always comes out, with a reason why it ended.

brief ──► tree ──► merge ──► write ──► check ──► report
└─ budget of research ─┘    └─ reserve of writing ─┘
"""

import asyncio
from dataclasses import dataclass

from .budget import Budget
from .compose import Composer
from .errors import AuthFailed, ConfigError, DeepResearchError
from .events import Event, Kind
from .merge import merge
from .model import Brief, Failure, Query, ResearchNode, Shape
from .outcome import failures, gaps, outcome
from .report import Report, RunStatus
from .seams import Emit, Planner, Scope
from .tree import Tree


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may take.

    Attributes:
        shape: Breadth and depth of the tree.
        budget: Money, tokens, calls, searches and pages; what is not named is unlimited. It is
            spent by the run.
        seconds: Wall time of the whole run, or None.
        writer_share: Part (0 to 1) of money, tokens, calls and time that is kept for writing.
    """

    shape: Shape
    budget: Budget
    seconds: float | None = None
    writer_share: float = 0.25


@dataclass(frozen=True, slots=True)
class Researched:
    """What stands between research and report.

    Attributes:
        root: The tree.
        brief: What was researched.
        reserve: What writing may spend, with what research left over.
        late: Whether the time for research ran out.
        stopped: Whether somebody stopped it.
        began: When it began, and
        until: when the report has to be there (or None), on the event loop's clock.
    """

    root: ResearchNode
    brief: Brief
    reserve: Budget
    late: bool
    stopped: bool
    began: float
    until: float | None


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Leads one run.

    Attributes:
        tree: Grows the research.
        planner: Turns the question into a brief.
        composer: Turns evidence into a checked report.
        emit: The run's event stream.
    """

    tree: Tree
    planner: Planner
    composer: Composer
    emit: Emit

    async def run(self, run: str, question: str, limits: Limits, stop: asyncio.Event) -> Report:
        """Research `question` and report, whatever happens on the way.

        Setting `stop` ends the research; the report is then written from what is there.
        """
        return await self.report(run, await self.research(question, limits, stop))

    async def research(self, question: str, limits: Limits, stop: asyncio.Event) -> Researched:
        """Brief and grow the tree, within the limits less what is kept for writing."""
        began = asyncio.get_running_loop().time()
        until = None if limits.seconds is None else began + limits.seconds
        reserve = limits.budget.set_aside(
            limits.writer_share, of=("cost", "tokens", "calls"), at_least={"calls": 2}
        )
        root = ResearchNode(Query(question, question))
        brief, late = await self._research(root, limits, stop)
        reserve.reclaim([limits.budget])
        return Researched(root, brief, reserve, late, stop.is_set(), began, until)

    async def report(self, run: str, done: Researched) -> Report:
        """Merge what was learned, write, check. Needs no model: there is a plain writer."""
        root, brief = done.root, done.brief
        bank = merge(root)
        report = Report(run, brief.question, RunStatus.COMPLETE, "", tree=root)
        report.status, report.stop_reason = outcome(
            root, bank, late=done.late, stopped=done.stopped
        )
        desk = Scope((), done.reserve)
        if bank.items:
            await self.composer.compose(report, brief, bank, desk, done.until)
        report.learnings = bank.learnings
        report.conflicts = bank.conflicts
        report.gaps = gaps(root, brief, bank)
        report.failures = failures(root)
        for usage in (*(node.usage for node in root.walk()), desk.usage):
            report.usage.add(usage)
        seconds = asyncio.get_running_loop().time() - done.began
        report.usage.seconds = round(seconds, 3)
        return report

    async def _research(
        self, root: ResearchNode, limits: Limits, stop: asyncio.Event
    ) -> tuple[Brief, bool]:
        """Grow the tree until it is done, the time for research is over, or `stop` is set."""
        question = root.query.text
        found = [Brief(question)]

        async def work() -> None:
            found[0] = await self._brief(root, Scope((), limits.budget, root.usage))
            if root.failure:
                return
            first, *rest = found[0].queries or (question,)
            root.query = Query(first, question, tuple(rest))
            await self.tree.investigate(root, found[0], limits.shape, limits.budget)

        async def watch(task: asyncio.Task[None]) -> None:
            await stop.wait()
            task.cancel()

        research = None if limits.seconds is None else limits.seconds * (1 - limits.writer_share)
        try:
            async with asyncio.timeout(research), asyncio.TaskGroup() as group:
                task = group.create_task(work())
                watcher = group.create_task(watch(task))
                task.add_done_callback(lambda _: watcher.cancel())
        except TimeoutError:
            return found[0], True
        return found[0], False

    async def _brief(self, root: ResearchNode, scope: Scope) -> Brief:
        """Ask for a brief; without one the bare question has to do, unless nothing works at all."""
        question = root.query.text
        try:
            brief = await self.planner.brief(question, scope)
        except (AuthFailed, ConfigError) as error:
            self.tree.fail(root, error)
            return Brief(question)
        except DeepResearchError as error:
            told = {"message": f"no brief: {error}", "kind": error.kind}
            self.emit(Event(Kind.WARNING, data=told))
            root.mishaps = (Failure.of(error, root.path),)
            brief = Brief(question)
        data = {
            "language": brief.language,
            "outline": list(brief.outline),
            "queries": list(brief.queries),
        }
        self.emit(Event(Kind.BRIEF_READY, data=data))
        return brief
