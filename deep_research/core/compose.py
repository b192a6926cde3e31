"""Turn the evidence bank into a checked report: write, bind, check, rewrite once, render."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from .citations import Renderer, adopt, judge, rebound
from .errors import BadAnswer, DeepResearchError
from .events import Event, Kind
from .merge import Bank
from .model import Brief
from .report import Report, RunStatus, Support
from .seams import DraftSection, Emit, Outline, Scope, Sentence, Writer
from .text import words

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
        self,
        report: Report,
        brief: Brief,
        bank: Bank,
        scope: Scope,
        *,
        until: float | None,
        outline: Outline = (),
    ) -> None:
        """Fill in body, sections, claims and references.

        Args:
            report: What is filled in; its status becomes 'partial' if the writer fails.
            brief: What was asked for.
            bank: What may be cited.
            scope: On whose account the writer works.
            until: Time of the event loop's clock at which writing has to end, or None.
            outline: Sections that the critic has proposed for this bank.
        """
        self.emit(Event(Kind.WRITING, data={"learnings": len(bank.items)}))
        try:
            async with asyncio.timeout_at(until):
                written = await self.writer.write(brief, bank, scope, outline)
            drafts = self._bound(written, bank, brief)
            with suppress(TimeoutError):  # then what failed the check is marked, not said again
                async with asyncio.timeout_at(until):
                    drafts = await self._mended(drafts, brief, bank, scope)
            drafts = _unspoilt(drafts, bank, brief.question)
        except (DeepResearchError, TimeoutError) as error:
            reason = str(error).rstrip(".") or "no time left"
            self.emit(Event(Kind.WARNING, data={"message": f"written without a model: {reason}"}))
            report.notes = (*report.notes, f"Written without a language model: {reason}.")
            if report.status is RunStatus.COMPLETE:
                report.status, report.stop_reason = RunStatus.PARTIAL, f"writer: {reason}"
            drafts = list(await self.plain.write(brief, bank, scope))
        renderer = Renderer(bank, brief.question)
        for draft in drafts:
            renderer.section(draft)
        renderer.conflicts(self.conflict_title, bank.conflicts)
        rendered = renderer.result
        report.body = rendered.body
        report.sections = tuple(rendered.sections)
        report.claims = tuple(rendered.claims)
        report.references = tuple(rendered.references)

    @staticmethod
    def _bound(drafts: Sequence[DraftSection], bank: Bank, brief: Brief) -> list[DraftSection]:
        """Bind loose and wrongly bound sentences; drop what nothing carries, titles, repetitions.

        Raises:
            BadAnswer: Not one sentence is left that can be cited.
        """
        said: set[str] = set()

        def one(sentence: Sentence, title: str) -> Sentence | None:
            key = " ".join(words(sentence.text))
            if not key or key in said or key == " ".join(words(title)):
                return None
            said.add(key)
            if not bank.quotes(sentence.evidence):
                return adopt(replace(sentence, evidence=()), bank, brief.question)
            if judge(sentence, bank, brief.question)[0] is Support.VERIFIED:
                return sentence
            return rebound(sentence, bank, brief.question) or sentence

        bound = [
            replace(d, sentences=tuple(b for s in d.sentences if (b := one(s, d.title))))
            for d in drafts
        ]
        if not any(s.evidence for d in bound for s in d.sentences):
            raise BadAnswer("the writer cited nothing of what was found")
        return bound

    async def _mended(
        self, bound: list[DraftSection], brief: Brief, bank: Bank, scope: Scope
    ) -> list[DraftSection]:
        """Have sentences that fail the check said again, once, all at the same time."""
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

    async def _again(
        self, sentence: Sentence, gone: Sequence[str], bank: Bank, brief: Brief, scope: Scope
    ) -> Sentence:
        """Return the better of both wordings; a failed rewrite leaves the old one, marked later."""
        try:
            new = await self.writer.rewrite(sentence, gone, bank, brief, scope)
        except DeepResearchError:
            return sentence
        if not bank.quotes(new.evidence) or not new.text.strip():
            return sentence
        order = (Support.VERIFIED, Support.PARTIAL, Support.UNSUPPORTED)
        old_rank = order.index(judge(sentence, bank, brief.question)[0])
        new_rank = order.index(judge(new, bank, brief.question)[0])
        return replace(new, paragraph=sentence.paragraph) if new_rank < old_rank else sentence


def _unspoilt(drafts: Sequence[DraftSection], bank: Bank, question: str) -> list[DraftSection]:
    """Put the findings of which only wrong sentences tell behind these, in their own words."""
    told: set[int] = set()
    wrong: set[Sentence] = set()
    for draft in drafts:
        for sentence in draft.sentences:
            bad = sentence.evidence and judge(sentence, bank, question)[0] is not Support.VERIFIED
            (wrong.add(sentence) if bad else told.update(sentence.evidence))
    by_id = {item.id: item.learning.text for item in bank.items}
    kept: list[DraftSection] = []
    for draft in drafts:
        sentences: list[Sentence] = []
        for sentence in draft.sentences:
            sentences.append(sentence)
            for i in sentence.evidence if sentence in wrong else ():
                own = Sentence(by_id.get(i, ""), (i,), sentence.paragraph)
                if i not in told and judge(own, bank, question)[0] is Support.VERIFIED:
                    told.add(i)
                    sentences.append(own)
        kept.append(replace(draft, sentences=tuple(sentences)))
    return kept
