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
from deep_research.core.seams import DraftSection, Emit, Outside, Scope, Sentence
from deep_research.core.text import fold, likeness, sentences, shorten

from ._ask import Answer, ask
from ._prompt import DATA_RULE, assignment, block, bullets, data, numbered
from ._shape import pointed

OUTLINE: Final = f"""You arrange the findings of a research run into a report.
- sections: at most 9, in reading order, each with a short title and the numbers of the findings
  that belong in it.
- Put every finding that helps to answer the assignment into exactly one section.
{DATA_RULE}"""
SECTION: Final = f"""You write one section of a report from numbered findings, and nothing else.
- sentences: plain, precise prose in reading order; each with the numbers of the findings it
  states as evidence.
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
_EVIDENCE: Final = AliasChoices(
    "evidence", "findings", "ids", "finding_ids", "sources", "citations"
)
_NO_TITLES: Final = frozenset(
    {"references", "sources", "bibliography", "works cited", "citations", "quellen", "参考文献"}
)
"""The list of references is code's; findings under such a title go elsewhere."""
_HALVINGS: Final = 3
_LONGEST_TITLE: Final = 120
_OUTLINE_TOKENS: Final = 12_000


class OutlineSection(Answer):
    """A heading and what belongs under it."""

    title: str = Field(validation_alias=AliasChoices("title", "heading", "name"))
    evidence: list[int] = Field(default_factory=list, max_length=80, validation_alias=_EVIDENCE)


class OutlineAnswer(Answer):
    """What the model is asked for first."""

    sections: list[OutlineSection] = Field(default_factory=list, max_length=9)


class SentenceAnswer(Answer):
    """One sentence and what it stands on."""

    text: str = Field(validation_alias=AliasChoices("text", "sentence", "content"))
    evidence: list[int] = Field(default_factory=list, max_length=8, validation_alias=_EVIDENCE)
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
    """

    outside: Outside
    emit: Emit
    count: Callable[[str], int]
    tone: str = ""
    words: int | None = None
    further: str = "Further findings"

    async def write(self, brief: Brief, bank: Bank, scope: Scope) -> tuple[DraftSection, ...]:
        """Write all sections at once; one that fails is written from its findings word for word."""
        plan = await self._outline(brief, bank, scope)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._section(title, items, len(plan), brief, scope))
                for title, items in plan
            ]
        return tuple(task.result() for task in tasks)

    async def _outline(
        self, brief: Brief, bank: Bank, scope: Scope
    ) -> list[tuple[str, list[Item]]]:
        """Return sections with their items; every item of the bank stands in exactly one."""
        shown: list[Item] = []
        left = _OUTLINE_TOKENS
        for item in bank.items:
            left -= self.count(item.learning.text) + 4
            if left < 0:
                break
            shown.append(item)
        user = (
            assignment(brief)
            + bullets("headings", brief.outline)
            + numbered("findings", ((i.id, i.learning.text) for i in shown))
        )
        prompt = Prompt("writer", OUTLINE, user, name="outline", max_tokens=4000)
        try:
            answer = await ask(self.outside, prompt, OutlineAnswer, scope, "outline")
        except (AuthFailed, BudgetExceeded):
            raise
        except DeepResearchError as error:
            self.emit(Event(Kind.WARNING, data={"message": f"no outline: {error}"}))
            answer = OutlineAnswer()
        by_id = {item.id: item for item in bank.items}
        plan: list[tuple[str, list[Item]]] = []
        for section in answer.sections:
            items = [by_id.pop(i) for i in dict.fromkeys(section.evidence) if i in by_id]
            title = shorten(data(section.title), _LONGEST_TITLE)
            if items and title and fold(title).strip("#*: ") not in _NO_TITLES:
                plan.append((title, items))
            else:
                by_id.update((item.id, item) for item in items)
        return self._placed(plan, sorted(by_id.values(), key=lambda item: item.id))

    def _placed(
        self, plan: list[tuple[str, list[Item]]], loose: Sequence[Item]
    ) -> list[tuple[str, list[Item]]]:
        """Put what the outline left out beside its neighbours, or into a last section."""
        rest: list[Item] = []
        for item in loose:
            best, score = None, 0.3
            for _, items in plan:
                near = max(likeness(item.learning.text, other.learning.text) for other in items)
                same_node = any(other.learning.path == item.learning.path for other in items)
                if (value := near + 0.2 * same_node) > score:
                    best, score = items, value
            (rest if best is None else best).append(item)
        return [*plan, *([(self.further, rest)] if rest else [])]

    async def _section(
        self, title: str, items: Sequence[Item], sections: int, brief: Brief, scope: Scope
    ) -> DraftSection:
        """Write one section; what the model left out is added in the finding's own words."""
        answer = await self._sentences(title, items, sections, brief, scope)
        allowed = {item.id for item in items}
        written = [
            Sentence(text, ids, s.paragraph)
            for s in answer.sentences
            for text, ids in _bound(data(s.text), s.evidence, allowed)
        ]
        written += _left_out(items, written)
        self.emit(Event(Kind.SECTION_WRITTEN, data={"title": title, "sentences": len(written)}))
        return DraftSection(title, tuple(written))

    async def _sentences(
        self,
        title: str,
        items: Sequence[Item],
        sections: int,
        brief: Brief,
        scope: Scope,
        *,
        halvings: int = _HALVINGS,
    ) -> SectionAnswer:
        """Ask for the sentences of one section; findings that do not fit are halved."""
        wishes = [f"Language: {brief.language}."]
        if self.tone:
            wishes.append(f"Tone: {data(self.tone)}.")
        if self.words:
            wishes.append(f"About {max(60, self.words // sections)} words.")
        user = (
            assignment(brief)
            + block("section", data(title))
            + numbered("findings", ((i.id, _told(i)) for i in items))
            + "\n"
            + " ".join(wishes)
        )
        prompt = Prompt("writer", SECTION, user, name="section", max_tokens=4000)
        try:
            most = 2 * len(items) + 2
            return await ask(self.outside, prompt, SectionAnswer, scope, "section", most=most)
        except ContextTooLong:
            half = len(items) // 2
            if half and halvings:
                written: list[SentenceAnswer] = []
                for part in (items[:half], items[half:]):
                    answer = await self._sentences(
                        title, part, sections * 2, brief, scope, halvings=halvings - 1
                    )
                    written += answer.sentences
                return SectionAnswer(sentences=written)
            return SectionAnswer()
        except DeepResearchError as error:
            self.emit(Event(Kind.WARNING, data={"message": f"section {title!r}: {error}"}))
            return SectionAnswer()

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
