"""Learning by rule: the pages worth reading, the sentences that fit, the names that lead on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from deep_research.core.model import Brief, Learning, Page, Query, ResearchNode, Source
from deep_research.core.passages import Excerpt, split
from deep_research.core.pipeline import Lesson
from deep_research.core.rank import Ranker
from deep_research.core.seams import Scope
from deep_research.core.text import likeness, numbers
from deep_research.core.urls import same_page

from . import names
from .bridges import Passage, bridges
from .focus import anchors, focus_of, follow_up, name_in, settled, titles_of
from .question import analyse
from .relevance import fits

_PER_ANCHOR: Final = 2  # pages that carry the very name; more are namesakes
_STRANGERS: Final = 2  # pages read although they do not show the name
_FOLLOW_UPS: Final = 12
_CLOSE_SENTENCES: Final = 40  # per page, looked through for bridging names
_OPENING: Final = 3
_SAME: Final = 0.75
_LEAST: Final = 0.25  # of the best score: below this a sentence does not answer
_SHORTEST, _SHORTEST_CJK, _LONGEST = 25, 8, 420
_NAMED, _DATED, _POINTING = 1.3, 1.15, 0.6
_INTRODUCES: Final = 0.5
_ON_TOPIC: Final = (
    0.34  # share of the question's words that lets a sentence count without the name asked about
)
_POINTER = re.compile(
    r"(?:it|he|she|they|this|that|these|those|its|his|her|their|such|there)\b", re.IGNORECASE
)
_LEAD = re.compile(
    r"(?:[-*•>+]|\d{1,3}[.)])\s+"  # a bullet
    r"|\|\s+(?:[^|]*\|\s+)*(?=[^|]+[.!?…。！？]$)"  # the cells before a sentence
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MARKUP = re.compile(r"\*\*|__|`|!?\[([^\]]*)\]\([^)\s]*\)")
_CLOSED = re.compile(r"[.!?…。！？।۔][\"'”’」』)\]]*$")
_NOT_PROSE = re.compile(r"^(?:#|\||```|!\[|<)|\|.*\||\{|https?://\S+$|\?[\"'”’]?$")


@dataclass(frozen=True, slots=True)
class ExtractiveLearner:
    """A `Learner` without a language model.

    Attributes:
        most: Learnings of one node.
        per_page: Learnings from one page.
    """

    most: int = 8
    per_page: int = 4

    def choose(
        self, node: ResearchNode, brief: Brief, hits: Sequence[Sequence[Source]]
    ) -> Sequence[Source]:
        """Order the hits worth reading: those about the names asked for, then those that show them.

        Below the root, hits that do not even show the name in title or snippet are mostly left.
        """
        lists = [[s for s in each if same_page(s.url) not in node.read] for each in hits]
        ordered = self._below(node, brief, lists) if node.path else self._at_root(brief, lists)
        return list(_once(ordered).values())

    @staticmethod
    def _at_root(brief: Brief, lists: Sequence[list[Source]]) -> list[Source]:
        """Pages about what the question names, the best hit of each further text, then all hits."""
        question = analyse(brief.question)
        pool = [s for each in lists for s in each]
        subjects = anchors(question, titles_of(pool))
        chosen: list[Source] = []
        for subject in subjects:
            named = _once(s for s in pool if subject in names.title_keys(s.title))
            chosen.extend(list(named.values())[:_PER_ANCHOR])
        for each in lists[1:]:
            chosen.extend(each[:1])
        return [*chosen, *(s for each in lists for s in each)]

    @staticmethod
    def _below(node: ResearchNode, brief: Brief, lists: Sequence[list[Source]]) -> list[Source]:
        question = analyse(brief.question)
        wanted = {name_in(text, question) for text in node.query.texts}
        turns: list[list[Source]] = []
        for each in lists:
            exact = [s for s in each if wanted & set(names.title_keys(s.title))][:_PER_ANCHOR]
            shown = [s for s in each if _shows(s, wanted)]
            rest = [s for s in each if s not in shown][:_STRANGERS]
            turns.append([*exact, *(s for s in shown if s not in exact), *rest])
        longest = max((len(t) for t in turns), default=0)
        return [t[i] for i in range(longest) for t in turns if i < len(t)]

    async def learn(
        self, node: ResearchNode, brief: Brief, pages: Sequence[Page], scope: Scope
    ) -> Lesson:
        """Quote the sentences that fit query and question best; follow the names they lead to.

        As long as nothing is known, pages that are about something else teach nothing.
        """
        del scope
        asked = node.query.texts if node.path else (brief.question,)
        if not (node.known or any(fits(analyse(text), pages) for text in asked)):
            return Lesson()
        focus = focus_of(node, brief, titles_of(pages))
        excerpts = _ranked(pages, node, brief, focus)
        learnings = tuple(
            Learning(_plain(e), e.evidence(), node.path)
            for e in self._best(excerpts, {q for x in node.known for q in _quotes(x)})
        )
        return Lesson(learnings, _follow_ups(node, brief, pages, excerpts, focus))

    def _best(self, excerpts: Sequence[Excerpt], known: set[str]) -> list[Excerpt]:
        """The best sentences that are prose, not known, and do not say the same as a better one."""
        fitting = [e for e in excerpts if e.score > 0 and _may_tell(e.text)]
        usable = [e for e in fitting if _is_prose(e.text)] or fitting
        order = sorted(range(len(usable)), key=lambda i: (-usable[i].score, i))
        chosen: list[int] = []
        taken: dict[str, int] = {}
        for i in order:
            excerpt = usable[i]
            if len(chosen) == self.most or excerpt.score < _LEAST * usable[order[0]].score:
                break
            sha = excerpt.page.sha256
            if excerpt.text in known or taken.get(sha, 0) == self.per_page:
                continue
            if any(_says_the_same(excerpt.text, usable[j].text) for j in chosen):
                continue
            taken[sha] = taken.get(sha, 0) + 1
            chosen.append(i)
        return [usable[i] for i in sorted(chosen)]


def _says_the_same(a: str, b: str) -> bool:
    """Tell whether two sentences are alike; with other numbers they may be at odds: both count."""
    return likeness(a, b) >= _SAME and set(numbers(a)) == set(numbers(b))


def _shows(source: Source, wanted: Iterable[str]) -> bool:
    shown = names.key(f"{source.title} {source.snippet}")
    return any(names.within(name, shown) for name in wanted)


def _once(sources: Iterable[Source]) -> dict[str, Source]:
    """Each page once, where it stands first."""
    first: dict[str, Source] = {}
    for source in sources:
        first.setdefault(same_page(source.url), source)
    return first


def _ranked(
    pages: Sequence[Page], node: ResearchNode, brief: Brief, focus: Sequence[str]
) -> list[Excerpt]:
    """All sentences in their order, scored against the question and the node's own texts.

    Below the root a sentence that neither names what the node asks about nor shares a third of the
    question's words is beside the point, however well single words of it match.
    """
    excerpts = [_without_bullet(e) for e in split(pages)]
    own = 1.0 / len(node.query.texts)
    wanted = {**dict.fromkeys(node.query.texts, own), brief.question: 1.0}
    shown = [f"{e.page.source.title} {e.text}" for e in excerpts]
    question = analyse(brief.question)
    for excerpt, score in zip(excerpts, Ranker(shown).scores(wanted), strict=True):
        text = names.key(excerpt.text)
        named = any(names.within(f, text) for f in focus)
        subject = any(f in names.title_keys(excerpt.page.source.title) for f in focus)
        strays = node.path and not (named or subject) and question.share(text) < _ON_TOPIC
        excerpt.score = 0.0 if strays else score * (_NAMED if named or subject else 1.0)
        excerpt.score *= _DATED if numbers(excerpt.text) else 1.0
        excerpt.score *= _POINTING if _POINTER.match(excerpt.text) else 1.0
    for page in pages:
        _introduce([e for e in excerpts if e.page is page and _is_prose(e.text)])
    return excerpts


def _introduce(sentences: Sequence[Excerpt]) -> None:
    """A page's first sentence says what the others speak of: if one of them counts, so does it."""
    best = max((e.score for e in sentences), default=0.0)
    if best > 0 and not _POINTER.match(sentences[0].text):
        sentences[0].score = max(sentences[0].score, _INTRODUCES * best)


def _without_bullet(excerpt: Excerpt) -> Excerpt:
    lead = _LEAD.match(excerpt.page.text, excerpt.start, excerpt.end)
    if lead and lead.end() < excerpt.end:
        excerpt.start = lead.end()
    return excerpt


def _is_prose(text: str) -> bool:
    """A whole sentence: no heading, table row, question, menu or scrap."""
    shortest = _SHORTEST_CJK if _CJK.search(text) else _SHORTEST
    whole = shortest <= len(text) <= _LONGEST and bool(_CLOSED.search(text))
    return whole and not text[0].islower() and _may_tell(text)


def _may_tell(text: str) -> bool:
    """No heading, table row, question or menu; what shouts is a heading if it gives no value."""
    return not _NOT_PROSE.search(text) and (not text.isupper() or ":" in text)


def _plain(excerpt: Excerpt) -> str:
    """The sentence without Markdown's emphasis and links; the quote keeps them."""
    return _MARKUP.sub(r"\1", excerpt.text)


def _quotes(learning: Learning) -> Iterable[str]:
    return (" ".join(e.quote.split()) for e in learning.evidence)


def _follow_ups(
    node: ResearchNode,
    brief: Brief,
    pages: Sequence[Page],
    excerpts: Sequence[Excerpt],
    focus: Sequence[str],
) -> tuple[Query, ...]:
    """Ask about the names that lead on, in the sentences which fit and at the top of each page."""
    question = analyse(brief.question)
    passages = [Passage(p.source.title, _close(p, excerpts)) for p in pages]
    found = bridges(question, focus, passages, settled(node, brief))
    return tuple(
        follow_up(b.name, passages[b.passage].title, question) for b in found[:_FOLLOW_UPS]
    )


def _close(page: Page, excerpts: Sequence[Excerpt]) -> list[tuple[int, str]]:
    """The (place, text) of a page's opening and of its sentences that fit best, in page order."""
    own = [(i, e) for i, e in enumerate(e for e in excerpts if e.page is page)]
    best = sorted(own, key=lambda pair: (pair[0] >= _OPENING, -pair[1].score, pair[0]))
    return [(i, e.text) for i, e in sorted(best[:_CLOSE_SENTENCES], key=lambda pair: pair[0])]
