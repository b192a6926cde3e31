"""Turn the evidence bank into a checked report: write, bind, check, rewrite once, number, render."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from .citations import Renderer, adopt, judge
from .errors import DeepResearchError
from .events import Event, Kind
from .merge import Bank
from .model import Brief
from .ports import DraftSection, Emit, Scope, Sentence, Writer
from .report import Report, RunStatus, Support

_REWRITES: Final = 24


@dataclass(frozen=True, slots=True)
class Composer:
    """Writes the report of a run.

    Attributes:
        writer: Writes the sections and says a failed sentence again.
        plain: Writes without a model when `writer` cannot, or when the time is over.
        emit: The run's event stream.
        conflict_title: Heading of the section that shows disagreeing sources.
    """

    writer: Writer
    plain: Writer
    emit: Emit
    conflict_title: str = "Where sources disagree"

    async def compose(
        self, report: Report, brief: Brief, bank: Bank, scope: Scope, until: float | None
    ) -> None:
        """Fill in body, sections, claims and references; `until` is a time of the event loop's clock, or None."""
        self.emit(Event(Kind.WRITING, data={"learnings": len(bank.items)}))
        try:
            async with asyncio.timeout_at(until):
                drafts = await self.writer.write(brief, bank, scope)
                drafts = await self._checked(drafts, brief, bank, scope)
        except (DeepResearchError, TimeoutError) as error:
            reason = str(error) or "no time left"
            self.emit(Event(Kind.WARNING, data={"message": f"written without a model: {reason}"}))
            report.notes = (*report.notes, f"Written without a language model: {reason}.")
            if report.status is RunStatus.COMPLETE:
                report.status, report.stop_reason = RunStatus.PARTIAL, f"writer: {reason}"
            drafts = await self.plain.write(brief, bank, scope)
        renderer = Renderer(bank, brief.question)
        for draft in drafts:
            renderer.section(draft)
        renderer.conflicts(self.conflict_title, bank.conflicts)
        rendered = renderer.result
        report.body = rendered.body
        report.sections = tuple(rendered.sections)
        report.claims = tuple(rendered.claims)
        report.references = tuple(rendered.references)

    async def _checked(
        self, drafts: Sequence[DraftSection], brief: Brief, bank: Bank, scope: Scope
    ) -> list[DraftSection]:
        """Bind loose sentences, drop what nothing carries, have failed ones said again once."""
        bound = [
            replace(d, sentences=tuple(b for s in d.sentences if (b := self._bound(s, bank, brief))))
            for d in drafts
        ]
        failed: dict[tuple[int, int], tuple[Sentence, tuple[str, ...]]] = {}
        for i, draft in enumerate(bound):
            for j, sentence in enumerate(draft.sentences):
                if sentence.evidence and len(failed) < _REWRITES:
                    judged, gone = judge(sentence, bank, brief.question)
                    if judged is not Support.VERIFIED:
                        failed[i, j] = sentence, gone
        async with asyncio.TaskGroup() as group:
            tasks = {
                at: group.create_task(self._again(sentence, gone, bank, brief, scope))
                for at, (sentence, gone) in failed.items()
            }
        again = {at: task.result() for at, task in tasks.items()}
        return [
            replace(
                draft,
                sentences=tuple(again.get((i, j), s) for j, s in enumerate(draft.sentences)),
            )
            for i, draft in enumerate(bound)
        ]

    @staticmethod
    def _bound(sentence: Sentence, bank: Bank, brief: Brief) -> Sentence | None:
        if not sentence.text.strip():
            return None
        if bank.quotes(sentence.evidence):
            return sentence
        return adopt(replace(sentence, evidence=()), bank, brief.question)

    async def _again(
        self, sentence: Sentence, gone: Sequence[str], bank: Bank, brief: Brief, scope: Scope
    ) -> Sentence:
        """Return the better of the old and the new wording; a failed rewrite leaves the old one, marked later."""
        try:
            new = await self.writer.rewrite(sentence, gone, bank, brief, scope)
        except DeepResearchError:
            return sentence
        if not bank.quotes(new.evidence) or not new.text.strip():
            return sentence
        order = (Support.VERIFIED, Support.PARTIAL, Support.UNSUPPORTED)
        old_rank = order.index(judge(sentence, bank, brief.question)[0])
        new_rank = order.index(judge(new, bank, brief.question)[0])
        return new if new_rank < old_rank else sentence
