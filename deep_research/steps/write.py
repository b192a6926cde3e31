"""Write: an outline over the evidence, then all sections at once, each from what is bound to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import AliasChoices, Field

from deep_research.core.errors import AuthFailed, BudgetExceeded, ContextTooLong, DeepResearchError
from deep_research.core.events import Event, Kind
from deep_research.core.evidence import missing
from deep_research.core.merge import Bank, Item
from deep_research.core.model import Brief
from deep_research.core.ports import Prompt
from deep_research.core.seams import DraftSection, Emit, Outline, Outside, Scope, Sentence
from deep_research.core.text import sentences

from ._ask import Answer, ask
from ._prompt import DATA_RULE, assignment, block, bullets, data, numbered
from ._shape import pointed
from .outline import EVIDENCE, make_outline, placed

SECTION: Final = f"""You write sections of a report from numbered findings, and nothing else.
- sentences: plain, precise prose, all sections one after the other; each sentence with the numbers
  of the findings it states as evidence.
- State every finding, with its exact figures, dates and names; join those that belong together;
  repeat nothing.
- Add no fact, no opinion and no number of your own. Say of when a figure is, where the finding
  says so.
- paragraph: counts from 1; a new one where the subject changes.
{DATA_RULE}"""
REWRITE: Final = f"""You correct one sentence of a report, so that its findings carry every word.
- text: the sentence again, without what the findings do not state.
- evidence: the numbers of the findings it states.
{DATA_RULE}"""
_HALVINGS: Final = 3
_TOGETHER: Final = 16
"""Findings that one call may turn into sentences of several small sections."""
_FEW: Final = 8
"""So few findings need no outline: they are one section."""


Section = tuple[str, Sequence[Item]]
"""A title and what stands under it."""


class SentenceAnswer(Answer):
    """One sentence and what it stands on."""

    text: str = Field(validation_alias=AliasChoices("text", "sentence", "content"))
    evidence: list[int] = Field(default_factory=list, max_length=8, validation_alias=EVIDENCE)
    paragraph: int = 1


class SectionAnswer(Answer):
    """What the model is asked for in each section."""

    sentences: list[SentenceAnswer] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """A `Writer` that asks the writer model.

    Attributes:
        outside: Where the model is asked.
        emit: The run's event stream.
        count: Counts the tokens of a text.
        tone: How to write ('plain' if empty).
        words: Length of the whole report to aim at, or None.
        further: Title of the section for findings that the outline has no place for.
        answer: Title of the one section of a report with few findings, if the brief names none.
    """

    outside: Outside
    emit: Emit
    count: Callable[[str], int]
    tone: str = ""
    words: int | None = None
    further: str = "Further findings"
    answer: str = "Answer"

    async def write(
        self, brief: Brief, bank: Bank, scope: Scope, outline: Outline = ()
    ) -> tuple[DraftSection, ...]:
        """Write all sections at once; one that fails is written from its findings word for word."""
        plan = await self._planned(brief, bank, scope, outline)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._written(part, len(plan), brief, scope))
                for part in _together(plan)
            ]
        return tuple(section for task in tasks for section in task.result())

    async def _planned(
        self, brief: Brief, bank: Bank, scope: Scope, outline: Outline
    ) -> list[tuple[str, list[Item]]]:
        """Return sections with their items; every item of the bank stands in exactly one."""
        if not outline and len(bank.items) <= _FEW:
            outline = ((next(iter(brief.outline), self.answer), tuple(i.id for i in bank.items)),)
        if not outline:
            try:
                outline = await make_outline(self.outside, self.count, brief, bank, scope)
            except (AuthFailed, BudgetExceeded):
                raise
            except DeepResearchError as error:
                self.emit(Event(Kind.WARNING, data={"message": f"no outline: {error}"}))
        return placed(outline, bank, self.further)

    async def _written(
        self, part: Sequence[Section], sections: int, brief: Brief, scope: Scope
    ) -> list[DraftSection]:
        """Write sections in one go; what the model left out is added in the finding's own words.

        A sentence stands in the section of the first finding that it cites, one that cites nothing
        with the one before it.
        """
        answer = await self._sentences(part, sections, brief, scope)
        home = {item.id: n for n, (_, items) in enumerate(part) for item in items}
        written: list[list[Sentence]] = [[] for _ in part]
        at = 0
        for s in answer.sentences:
            for text, ids in _bound(data(s.text), s.evidence, set(home)):
                at = home[ids[0]] if ids else at
                written[at].append(Sentence(text, ids, s.paragraph))
        # A finding may be told in a neighbour's section, too.
        told = [sentence for section in written for sentence in section]
        drafts = []
        for (title, items), own in zip(part, written, strict=True):
            done = (*own, *_left_out(items, told))
            self.emit(Event(Kind.SECTION_WRITTEN, data={"title": title, "sentences": len(done)}))
            drafts.append(DraftSection(title, done))
        return [draft for draft in drafts if draft.sentences]

    async def _sentences(
        self,
        part: Sequence[Section],
        sections: int,
        brief: Brief,
        scope: Scope,
        *,
        halvings: int = _HALVINGS,
    ) -> SectionAnswer:
        """Ask for the sentences of some sections; findings that do not fit are halved."""
        wishes = [f"Language: {brief.language}."]
        if self.tone:
            wishes.append(f"Tone: {data(self.tone)}.")
        if self.words:
            wishes.append(f"About {max(60, len(part) * self.words // sections)} words.")
        shown = [
            block("section", data(title)) + numbered("findings", ((i.id, _told(i)) for i in items))
            for title, items in part
        ]
        user = assignment(brief) + "".join(shown) + "\n" + " ".join(wishes)
        prompt = Prompt("writer", SECTION, user, name="section", max_tokens=4000)
        try:
            most = 2 * sum(len(items) for _, items in part) + 2
            return await ask(self.outside, prompt, SectionAnswer, scope, "section", most=most)
        except ContextTooLong:
            halves = _halves(part) if halvings else []
            written = SectionAnswer()
            for half in halves:
                answer = await self._sentences(
                    half, sections * 2, brief, scope, halvings=halvings - 1
                )
                written.sentences += answer.sentences
        except DeepResearchError as error:
            titles = ", ".join(repr(title) for title, _ in part)
            self.emit(Event(Kind.WARNING, data={"message": f"section {titles}: {error}"}))
            return SectionAnswer()
        return written

    async def rewrite(
        self, sentence: Sentence, missing: Sequence[str], bank: Bank, brief: Brief, scope: Scope
    ) -> Sentence:
        """Have a sentence said again so that its quotes carry it."""
        items = [item for item in bank.items if item.id in sentence.evidence]
        user = (
            assignment(brief)
            + numbered("findings", ((i.id, _told(i)) for i in items))
            + block("sentence", data(sentence.text))
            + bullets("not_in_the_findings", missing)
            + f"\nLanguage: {brief.language}."
        )
        prompt = Prompt("writer", REWRITE, user, name="rewrite", max_tokens=600)
        answer = await ask(self.outside, prompt, SentenceAnswer, scope, "rewrite")
        offered = {item.id for item in items}
        ids = tuple(i for i in dict.fromkeys(pointed(answer.text, answer.evidence)) if i in offered)
        return Sentence(data(answer.text), ids or sentence.evidence, sentence.paragraph)


def _together(plan: Sequence[Section]) -> list[list[Section]]:
    """Put neighbours into one call as long as few findings make them up."""
    parts: list[list[Section]] = []
    size = _TOGETHER
    for title, items in plan:
        if size + len(items) > _TOGETHER:
            parts.append([])
            size = 0
        parts[-1].append((title, items))
        size += len(items)
    return parts


def _halves(part: Sequence[Section]) -> list[Sequence[Section]]:
    """Cut in two: between sections, or through the only one."""
    if len(part) > 1:
        return [part[: len(part) // 2], part[len(part) // 2 :]]
    title, items = part[0]
    half = len(items) // 2
    return [[(title, items[:half])], [(title, items[half:])]] if half else []


def _bound(
    text: str, evidence: Sequence[int], allowed: set[int]
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the text with what it cites; one that cites nothing sentence by sentence."""
    ids = tuple(i for i in dict.fromkeys(pointed(text, evidence)) if i in allowed)
    if ids:
        return [(text, ids)]
    return [(text[start:end], ()) for start, end in sentences(text)]


def _told(item: Item) -> str:
    """The finding, and its source's own words where they differ."""
    learning = item.learning
    quote = " ".join(learning.evidence[0].quote.split())
    return learning.text if quote == learning.text else f"{learning.text} (The source: {quote})"


def _left_out(items: Sequence[Item], written: Sequence[Sentence]) -> list[Sentence]:
    """Return, word for word, the findings whose figures or names no sentence states."""
    said = [s.text for s in written]
    cited = {i for s in written for i in s.evidence}
    last = max((s.paragraph for s in written), default=0) + 1
    return [
        Sentence(item.learning.text, (item.id,), last)
        for item in items
        if item.id not in cited and (not said or missing(item.learning.text, said))
    ]
