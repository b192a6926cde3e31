"""One run from question to report. A report always comes out, with a reason why it ended.

clarify ──► brief ──► tree ──► rounds ──► merge ──► write ──► check ──► report
└───────── budget of research ────────┘        └─ reserve of writing ─┘
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .budget import Budget
from .compose import Composer
from .consent import Consent
from .errors import AuthFailed, ConfigError, DeepResearchError
from .events import Event, Kind
from .merge import merge
from .model import Brief, Decision, Failure, Query, ResearchNode, Shape
from .outcome import failures, gaps, outcome
from .ports import Approver, Clarifier, Lead
from .report import Report, RunStatus
from .review import PlainCritic
from .rounds import Course, Rounds
from .seams import Critic, Emit, Planner, Scope
from .tree import Tree

_LOOKUP = "A short question: one search answered it, so research went no further."


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may take.

    Attributes:
        shape: Breadth and depth of the tree.
        budget: Money, tokens, calls, searches and pages; what is not named is unlimited. It is
            spent by the run.
        seconds: Wall time of the whole run, or None.
        writer_share: Part (0 to 1) of money, tokens, calls and time that is kept for writing.
        turns: Times that research may be delegated from the top; 1 grows one tree and reviews
            nothing.
    """

    shape: Shape
    budget: Budget
    seconds: float | None = None
    writer_share: float = 0.25
    turns: int = 1


@dataclass(frozen=True, slots=True)
class Researched:
    """What stands between research and report.

    Attributes:
        root: The tree.
        brief: What was researched.
        reserve: What writing may spend, with what research left over.
        late: Whether the time for research ran out.
        stopped: Why somebody stopped it ('cancelled', 'rejected'); '' if nobody did.
        began: When it began, and
        until: when the report has to be there (or None), on the event loop's clock.
        course: How the supervisor's rounds went.
    """

    root: ResearchNode
    brief: Brief
    reserve: Budget
    late: bool
    stopped: str
    began: float
    until: float | None
    course: Course = field(default_factory=Course)


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Leads one run.

    Attributes:
        tree: Grows the research.
        planner: Turns the question into a brief, and decides.
        composer: Turns evidence into a checked report.
        emit: The run's event stream.
        critic: Reviews what was found between the rounds.
        approver: Approves each round of retrieval, or nobody does.
        clarifier: Can say what an ambiguous request means, or nobody can.
    """

    tree: Tree
    planner: Planner
    composer: Composer
    emit: Emit
    critic: Critic = field(default_factory=PlainCritic)
    approver: Approver | None = None
    clarifier: Clarifier | None = None

    async def run(self, run: str, question: str, limits: Limits, stop: asyncio.Event) -> Report:
        """Research `question` and report, whatever happens on the way.

        Setting `stop` ends the research; the report is then written from what is there.
        """
        return await self.report(run, await self.research(question, limits, stop))

    async def research(
        self, question: str, limits: Limits, stop: asyncio.Event, leads: Sequence[Lead] = ()
    ) -> Researched:
        """Brief, grow the tree and lead the rounds, within the limits less the writer's reserve.

        Args:
            question: The person's words.
            limits: What the run may take.
            stop: Ends the research when it is set; a rejected run sets it.
            leads: What earlier runs established, to be verified.
        """
        began = asyncio.get_running_loop().time()
        until = None if limits.seconds is None else began + limits.seconds
        reserve = limits.budget.set_aside(
            limits.writer_share, of=("cost", "tokens", "calls"), at_least={"calls": 2}
        )
        consent = Consent(self.approver, stop)
        root, course = ResearchNode(Query(question, question)), Course()
        lead = _Lead(self, replace(self.tree, consent=consent), root, limits, course)
        late = await lead.until_done(stop, leads)
        reserve.reclaim([limits.budget])
        stopped = "" if not stop.is_set() else "rejected" if consent.rejected else "cancelled"
        return Researched(root, lead.brief, reserve, late, stopped, began, until, course)

    async def report(self, run: str, done: Researched) -> Report:
        """Merge what was learned, write, check. Needs no model: there is a plain writer.

        A run that was rejected spends nothing more: the plain writer writes it.
        """
        root, brief, course = done.root, done.brief, done.course
        bank = merge(root)
        report = Report(run, brief.question, RunStatus.COMPLETE, "", tree=root)
        report.status, report.stop_reason = outcome(
            root, bank, late=done.late, stopped=done.stopped, course=course.stop
        )
        desk = Scope((), done.reserve)
        composer = self.composer
        if done.stopped == "rejected":
            composer = replace(composer, writer=composer.plain)
        if bank.items:
            outline = course.outline if course.reviewed == len(bank.items) else ()
            await composer.compose(report, brief, bank, desk, until=done.until, outline=outline)
        if brief.lookup and root.decision.stop == "answered":
            report.notes = (*report.notes, _LOOKUP)
        report.learnings = bank.learnings
        report.conflicts = bank.conflicts
        report.gaps = gaps(root, brief, bank, course.gaps if course.rounds else None)
        report.failures = failures(root)
        report.rounds = course.rounds
        for usage in (*(node.usage for node in root.walk()), desk.usage):
            report.usage.add(usage)
        seconds = asyncio.get_running_loop().time() - done.began
        report.usage.seconds = round(seconds, 3)
        return report


@dataclass(slots=True)
class _Lead:
    """The research of one run: all that changes while it goes on."""

    chief: Supervisor
    tree: Tree
    root: ResearchNode
    limits: Limits
    course: Course
    brief: Brief = field(init=False)

    def __post_init__(self) -> None:
        self.brief = Brief(self.root.query.text)

    async def until_done(self, stop: asyncio.Event, leads: Sequence[Lead]) -> bool:
        """Research until it is done or `stop` is set; tell whether the time for it ran out."""
        limits = self.limits
        research = None if limits.seconds is None else limits.seconds * (1 - limits.writer_share)

        async def watch(task: asyncio.Task[None]) -> None:
            await stop.wait()
            task.cancel()

        try:
            async with asyncio.timeout(research), asyncio.TaskGroup() as group:
                task = group.create_task(self._work(leads))
                watcher = group.create_task(watch(task))
                task.add_done_callback(lambda _: watcher.cancel())
        except TimeoutError:
            return True
        return False

    async def _work(self, leads: Sequence[Lead]) -> None:
        root, shape, budget = self.root, self.limits.shape, self.limits.budget
        had = dict(budget.left)
        scope = Scope((), budget, root.usage)
        self.brief = await self._briefed(scope, leads)
        root.mishaps = (*root.mishaps, *scope.mishaps)
        if root.failure or not await self._agreed():
            return
        await self.tree.investigate(root, self.brief, shape, budget)
        answered = self.brief.lookup and root.decision.stop == "answered"
        # A rejected run is cancelled at the next await: the critic would have been asked by then.
        refused = self.tree.consent.rejected or root.decision.stop == "not_approved"
        over = root.failure or answered or refused
        if over or self.limits.turns == 1:
            return
        chief = self.chief
        rounds = Rounds(self.tree, chief.planner, chief.critic, chief.emit, self.limits.turns, had)
        await rounds.lead(root, self.brief, shape, budget, self.course)

    async def _agreed(self) -> bool:
        """Have the first look approved; tell whether there is anything left to look for."""
        root, question = self.root, self.root.query.text
        first, *rest = self.brief.queries or (question,)
        wanted = tuple(Query(text, question) for text in (first, *rest))
        agreed = await self.tree.consent.of((), wanted, "a first look")
        if not agreed:
            root.decision = Decision(stop=self.tree.consent.refusal)
            return False
        first, *rest = (text for query in agreed for text in query.texts)
        root.query = Query(first, question, tuple(rest))
        return True

    async def _briefed(self, scope: Scope, leads: Sequence[Lead]) -> Brief:
        """Ask for a brief; without one the bare question has to do, unless nothing works at all."""
        root, question, emit = self.root, self.root.query.text, self.chief.emit
        try:
            brief = await self.chief.planner.brief(question, scope, self._clarified, leads)
        except (AuthFailed, ConfigError) as error:
            self.tree.fail(root, error)
            return Brief(question)
        except DeepResearchError as error:
            told = {"message": f"no brief: {error}", "kind": error.kind}
            emit(Event(Kind.WARNING, data=told))
            root.mishaps = (Failure.of(error, root.path),)
            brief = Brief(question)
        data = {
            "language": brief.language,
            "outline": list(brief.outline),
            "queries": list(brief.queries),
            "acceptance": list(brief.acceptance),
            "lookup": brief.lookup,
            "leads": list(brief.leads),
        }
        emit(Event(Kind.BRIEF_READY, data=data))
        return brief

    async def _clarified(self, questions: Sequence[str]) -> Mapping[str, str]:
        """Ask the person, if there is one; only what was answered comes back."""
        if self.chief.clarifier is None or not questions:
            return {}
        answers = await self.chief.clarifier.clarify(questions)
        return {q: a.strip() for q, a in zip(questions, answers, strict=False) if a.strip()}
