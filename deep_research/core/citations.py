"""From drafted sentences to numbered references: code, not a model, decides what [3] means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from .evidence import missing, support
from .merge import Bank
from .model import Evidence, Learning
from .report import Citation, Claim, Conflict, Reference, Section, Support
from .seams import DraftSection, Sentence
from .text import numbers, shorten

_PER_ITEM: Final = 2
_PARAGRAPH: Final = 6
_TITLE: Final = 200
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_URL = re.compile(r"[(<]*\b(?:https?|ftp)://[^\s<>]*[^\s<>.,;:!?)\]][>)]*")
_MARKER = re.compile(r"\s*(?:\[\^?\d+(?:\s*[,;–-]\s*\d+)*\]|【[^】]*】)")
_LEADING = re.compile(r"^\s*(?:(?:#{1,6}|[-*+=_]+)(?=\s|$)\s*|[>|]\s*)+")
_BRACKETS = str.maketrans("[]［］", "()()")
_FENCE = re.compile(r"`{3,}|~{3,}")
_TAG = re.compile(r"<(?!(?:https?|ftp)://)(?=[a-zA-Z/!?])")
MARKS: Final = {
    Support.PARTIAL: " *(partly supported)*",
    Support.UNSUPPORTED: " *(not supported by the cited words)*",
}


@dataclass(slots=True)
class Rendered:
    """What the report is made of."""

    sections: list[Section] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)

    @property
    def body(self) -> str:
        """The whole text in Markdown, without the list of references."""
        return "\n\n".join(f"## {s.title}\n\n{s.text}" for s in self.sections)


def judge(sentence: Sentence, bank: Bank, question: str) -> tuple[Support, tuple[str, ...]]:
    """Check a sentence against the quotes of its evidence.

    What the question or the title of a cited page says needs no quote.
    """
    return _verdict(sentence.text, bank.quotes(sentence.evidence), question)


def _verdict(
    text: str, evidence: Sequence[Evidence], question: str
) -> tuple[Support, tuple[str, ...]]:
    return support(text, [e.quote for e in evidence], _context(question, evidence))


def _context(question: str, evidence: Sequence[Evidence]) -> str:
    return " ".join((question, *dict.fromkeys(e.source.title for e in evidence)))


def bare(text: str, quotes: Sequence[str] = ()) -> str:
    """Return `text` on one line, without markers and links that a model wrote by itself.

    '[7]', '【3†source】' and addresses would look like citations and are none; an address that a
    quote contains stays. Signs that would begin a heading, a quotation, a list, a table, a block of
    code or HTML go: the words of a page or a model never shape the report.
    """

    def unless_quoted(match: re.Match[str]) -> str:
        return match[0] if any(match[0].strip("<>()") in quote for quote in quotes) else ""

    text = _URL.sub(unless_quoted, _LINK.sub(r"\1", text))
    text = _LEADING.sub("", _FENCE.sub("", _MARKER.sub("", text)))
    # What still stands in brackets could be read as a citation or a link: only code makes those.
    text = _TAG.sub("‹", text).translate(_BRACKETS)
    return re.sub(r"\s+([.,;:!?])(?=\s|$)", r"\1", " ".join(text.split()))


def adopt(sentence: Sentence, bank: Bank, question: str) -> Sentence | None:
    """Give a sentence that cites nothing the evidence that carries it.

    A sentence that states no number may stand without (it only connects), if the question or the
    bank knows the names in it. Else what is carried by nothing in the bank is dropped: None.
    """
    if not numbers(sentence.text):
        evidence = bank.quotes(item.id for item in bank.items)
        context = _context(question, evidence)
        return None if missing(sentence.text, [e.quote for e in evidence], context) else sentence
    return rebound(sentence, bank, question)


def rebound(sentence: Sentence, bank: Bank, question: str) -> Sentence | None:
    """Return the sentence with the first finding that carries all of it; None if there is none."""
    for item in bank.items:
        verdict, _ = _verdict(sentence.text, item.learning.evidence, question)
        if verdict is Support.VERIFIED:
            return replace(sentence, evidence=(item.id,))
    return None


class Renderer:
    """Numbers references in order of first use; equal pages are one reference."""

    def __init__(self, bank: Bank, question: str) -> None:
        self._bank = bank
        self._question = question
        self._numbers: dict[str, int] = {}
        self.result = Rendered()

    def section(self, draft: DraftSection) -> None:
        """Add one section with its claims; a section without sentences is left out."""
        paragraphs: list[list[str]] = []
        last: int | None = None
        for sentence in draft.sentences:
            if sentence.paragraph != last or len(paragraphs[-1]) >= _PARAGRAPH:
                paragraphs.append([])
                last = sentence.paragraph
            paragraphs[-1].append(self._sentence(sentence, draft.title))
        if paragraphs:
            text = "\n\n".join(" ".join(p) for p in paragraphs)
            self.result.sections.append(Section(bare(draft.title), text))

    def _sentence(self, sentence: Sentence, section: str) -> str:
        by_id = {item.id: item.learning for item in self._bank.items}
        learnings = [by_id[i] for i in dict.fromkeys(sentence.evidence) if i in by_id]
        evidence = [e for x in learnings for e in x.evidence]
        sentence = replace(sentence, text=bare(sentence.text, [e.quote for e in evidence]))
        if not evidence:
            return sentence.text
        judged, gone = judge(sentence, self._bank, self._question)
        needed = self._needed(sentence.text, evidence)
        citations = tuple(c for x in learnings for c in self._cite(x.evidence, needed))
        self.result.claims.append(Claim(sentence.text, bare(section), judged, citations, gone))
        return sentence.text + self._markers(citations) + MARKS.get(judged, "")

    def _needed(self, text: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the evidence without which more of the sentence would lack a quote."""
        context = _context(self._question, evidence)
        needed: list[Evidence] = []
        gone = missing(text, [], context)
        for e in evidence:
            now = missing(text, [*(n.quote for n in needed), e.quote], context)
            if len(now) < len(gone):
                needed.append(e)
                gone = now
        return needed

    def conflicts(self, title: str, conflicts: Sequence[Conflict]) -> None:
        """Add a section that shows both sides of each conflict, the preferred one first."""
        lines: list[str] = []
        for conflict in conflicts:
            here, there = (
                {e.sha256 for e in x.evidence} for x in (conflict.preferred, conflict.other)
            )
            if there <= here:
                continue  # the page is at odds with itself, or a learning was misread
            first = self._cite(conflict.preferred.evidence)
            second = self._cite(conflict.other.evidence)
            text = bare(conflict.preferred.text)
            against = f"{_origin(conflict.other)} gives {_other_value(conflict)}."
            self.result.claims.append(Claim(text, title, Support.CONFLICTING, (*first, *second)))
            lines.append(f"- {text}{self._markers(first)} {against}{self._markers(second)}")
        if lines:
            self.result.sections.append(Section(title, "\n".join(lines)))

    def _cite(
        self, evidence: Sequence[Evidence], needed: Sequence[Evidence] = ()
    ) -> tuple[Citation, ...]:
        """Cite what is needed; fill up to two pages with the first quote of each."""
        cited: dict[tuple[str, int], Citation] = {}
        pages = {e.sha256 for e in evidence if e in needed}
        for e in evidence:
            if e not in needed and (e.sha256 in pages or len(pages) >= _PER_ITEM):
                continue
            pages.add(e.sha256)
            citation = Citation(self._reference(e), e.quote, e.start, e.end)
            cited.setdefault((e.sha256, e.start), citation)
        return tuple(cited.values())

    def _reference(self, evidence: Evidence) -> int:
        """Number the page: by its saved text, which the offsets of its quotes point into."""
        n = self._numbers.get(evidence.sha256)
        if n is None:
            n = len(self.result.references) + 1
            source = evidence.source
            self.result.references.append(
                Reference(
                    n,
                    source.url,
                    shorten(source.title, _TITLE) or source.url,
                    source.published,
                    evidence.fetched_at,
                    evidence.sha256,
                )
            )
            self._numbers[evidence.sha256] = n
        return n

    @staticmethod
    def _markers(citations: Sequence[Citation]) -> str:
        refs = dict.fromkeys(c.reference for c in citations)
        return " " + "".join(f"[{n}]" for n in refs) if refs else ""


def _origin(learning: Learning) -> str:
    dates = [e.source.published[:4] for e in learning.evidence if e.source.published]
    return f"A source of {max(dates)}" if dates else "Another source"


def _other_value(conflict: Conflict) -> str:
    ours = set(numbers(conflict.preferred.text))
    values = [n for n in dict.fromkeys(numbers(conflict.other.text)) if n not in ours]
    return " and ".join(values[-2:]) or "another value"
