"""Writing by rule: the best sentences in brief, the others by sub-question or by subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from deep_research.core.merge import Bank, Item
from deep_research.core.model import Brief, Source
from deep_research.core.rank import Ranker
from deep_research.core.seams import DraftSection, Outline, Scope, Sentence
from deep_research.core.text import likeness, shorten, terms

_WORDS: Final = {
    "en": ("In brief", "Further findings"),
    "de": ("Kurz gesagt", "Weitere Funde"),
    "fr": ("En bref", "Autres éléments"),
    "es": ("En breve", "Otros hallazgos"),
    "it": ("In breve", "Altri risultati"),
    "pt": ("Em resumo", "Outros resultados"),
    "nl": ("Kort samengevat", "Verdere bevindingen"),
    "pl": ("W skrócie", "Dalsze ustalenia"),
    "sv": ("I korthet", "Fler fynd"),
    "ru": ("Коротко", "Другие находки"),
    "uk": ("Коротко", "Інші знахідки"),
    "zh": ("概要", "其他发现"),
    "ja": ("要点", "その他の情報"),
    "ko": ("요약", "기타 정보"),
}
_IN_BRIEF: Final = 4
_SECTION: Final = 7
_SECTIONS: Final = 8
_FURTHER: Final = 8
_FEWEST: Final = 2
_LEAST: Final = 0.12  # of the best score: below this a sentence is beside the question
_TELLING: Final = (
    0.4  # of the best score: what opens the report has to be about the question itself
)
_SAME: Final = 0.6
_TITLE_LENGTH: Final = 70
_SITE = re.compile(r"\s+[-|–—·]\s+.*$")
_SUFFIX = re.compile(r"\.(?:md|markdown|txt|html?|pdf|docx?|csv)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """An item and how well it answers the question."""

    item: Item
    score: float
    order: int

    @property
    def text(self) -> str:
        return self.item.learning.text

    @property
    def source(self) -> Source:
        return self.item.learning.evidence[0].source

    @property
    def place(self) -> tuple[str, int]:
        first = self.item.learning.evidence[0]
        return first.sha256, first.start


@dataclass(frozen=True, slots=True)
class ExtractiveWriter:
    """A `Writer` without a language model: it orders, groups and cites; it changes no word."""

    async def write(
        self, brief: Brief, bank: Bank, scope: Scope, outline: Outline = ()
    ) -> tuple[DraftSection, ...]:
        """Write an opening with the best sentences, a section for each part, and what is left.

        Each sentence appears once.
        """
        del scope, outline
        opening, further = _WORDS.get(brief.language, _WORDS["en"])
        ranked = _rank(brief, bank.items)
        first = _opening(brief, ranked)
        rest = [r for r in ranked if r not in first]
        groups = _by_part(brief.outline, rest) if brief.outline else _by_subject(rest)
        parts = {_heading(part) for part in brief.outline}
        kept = {t: g for t, g in groups.items() if len(g) >= (1 if t in parts else _FEWEST)}
        kept = dict(list(kept.items())[:_SECTIONS])
        sections = [_section(opening, first, together=False)]
        sections += [_section(title, _best(group, _SECTION)) for title, group in kept.items()]
        told = {r.order for group in (first, *kept.values()) for r in group}
        sections.append(_section(further, _one_each([r for r in rest if r.order not in told])))
        return tuple(s for s in sections if s.sentences)

    async def rewrite(
        self, sentence: Sentence, missing: Sequence[str], bank: Bank, brief: Brief, scope: Scope
    ) -> Sentence:
        """Say a sentence in the very words of its quotes."""
        del missing, brief, scope
        quotes = [" ".join(e.quote.split()) for e in bank.quotes(sentence.evidence)[:1]]
        return replace(sentence, text=quotes[0]) if quotes else sentence


def _rank(brief: Brief, items: Iterable[Item]) -> list[_Ranked]:
    """Score all items against the question; drop what is beside it and what is said already."""
    usable = [item for item in items if item.learning.evidence]
    shown = [f"{x.learning.evidence[0].source.title} {x.learning.text}" for x in usable]
    wanted = {brief.question: 1.0, **dict.fromkeys(brief.outline, 0.5)}
    scores = Ranker(shown).scores(wanted)
    depth_pays = [1 + 0.1 * (len(x.learning.evidence) - 1) for x in usable]
    ranked = [
        _Ranked(item, score * more, i)
        for i, (item, score, more) in enumerate(zip(usable, scores, depth_pays, strict=True))
    ]
    least = _LEAST * max((r.score for r in ranked), default=0.0)
    kept: list[_Ranked] = []
    for r in sorted(ranked, key=lambda r: (-r.score, r.order)):
        deep = bool(r.item.learning.path)
        if (r.score >= least or deep) and not any(likeness(r.text, k.text) >= _SAME for k in kept):
            kept.append(r)
    return sorted(kept, key=lambda r: r.order)


def _opening(brief: Brief, ranked: Sequence[_Ranked]) -> list[_Ranked]:
    """The best sentences, each from another page; each part of the outline once if it can be."""
    order = sorted(ranked, key=lambda r: (-r.score, r.order))
    order = [r for r in order if r.score >= _TELLING * order[0].score]
    chosen: list[_Ranked] = []
    pages: set[str] = set()
    for part in (*brief.outline, ""):
        wanted = set(terms(part))
        for r in order:
            full = len(chosen) >= (len(brief.outline) or _IN_BRIEF)
            if full or (part and wanted & {t for c in chosen for t in terms(c.text)} == wanted):
                break
            if r.place[0] in pages or (wanted and not wanted & set(terms(r.text))):
                continue
            chosen.append(r)
            pages.add(r.place[0])
            if part:
                break
    return chosen


def _by_part(outline: Sequence[str], ranked: Sequence[_Ranked]) -> dict[str, list[_Ranked]]:
    """Give each sentence to the part it shares most with; the others stand by their subject."""
    texts = [f"{r.source.title} {r.text}" for r in ranked]
    ranker = Ranker(texts)
    scores = [ranker.scores({part: 1.0}) for part in outline]
    groups: dict[str, list[_Ranked]] = {_heading(part): [] for part in outline}
    loose: list[_Ranked] = []
    for i, r in enumerate(ranked):
        best = max(range(len(outline)), key=lambda p: scores[p][i])
        if scores[best][i] > 0:
            groups[_heading(outline[best])].append(r)
        else:
            loose.append(r)
    return {**groups, **{t: g for t, g in _by_subject(loose).items() if t not in groups}}


def _by_subject(ranked: Sequence[_Ranked]) -> dict[str, list[_Ranked]]:
    """Group by what the pages are about, in the order in which the tree met them."""
    groups: dict[str, list[_Ranked]] = {}
    for r in ranked:
        groups.setdefault(subject(r.source), []).append(r)
    return groups


def subject(source: Source) -> str:
    """Return a page's title as a heading, without the site's name or a file's ending."""
    title = _SITE.sub("", source.title).strip()
    title = title or unquote(source.url.rstrip("/").rpartition("/")[2]) or source.url
    if _SUFFIX.search(title):
        title = re.sub(r"[_-]+", " ", _SUFFIX.sub("", title))
    return _heading(title)


def _heading(text: str) -> str:
    text = shorten(text.strip(" #*_?"), _TITLE_LENGTH)
    return text[:1].upper() + text[1:]


def _best(group: Sequence[_Ranked], most: int) -> list[_Ranked]:
    return sorted(sorted(group, key=lambda r: (-r.score, r.order))[:most], key=lambda r: r.order)


def _one_each(ranked: Sequence[_Ranked]) -> list[_Ranked]:
    """The best sentence of each page that is left."""
    best: dict[str, _Ranked] = {}
    for r in sorted(ranked, key=lambda r: (-r.score, r.order)):
        best.setdefault(r.place[0], r)
    return _best(list(best.values()), _FURTHER)


def _section(title: str, ranked: Sequence[_Ranked], *, together: bool = True) -> DraftSection:
    """One paragraph per page in the page's order; if not `together`, one as ranked."""
    pages = list(dict.fromkeys(r.place[0] for r in ranked))
    order = list(ranked)
    if together:
        order.sort(key=lambda r: (pages.index(r.place[0]), r.place[1]))
    return DraftSection(
        title,
        tuple(
            Sentence(r.text, (r.item.id,), pages.index(r.place[0]) if together else 0)
            for r in order
        ),
    )
