"""Which sentences of which pages are worth reading: chosen by relevance, not cut at character N."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .model import Evidence, Page
from .rank import Ranker
from .text import fold, numbers, sentences, words

_NEIGHBOUR: Final = 0.25
_NUMBER_BONUS: Final = 1.25
_TITLE: Final = 0.3
_MIN_WORDS: Final = 3


@dataclass(slots=True)
class Excerpt:
    """One sentence of a page, and the same words on other pages.

    Attributes:
        page: The page it stands on.
        start: Offset of its first character in `page.text`.
        end: Offset behind its last character.
        score: Relevance; only its order means something.
        copies: (page, start, end) of the same sentence elsewhere.
    """

    page: Page
    start: int
    end: int
    score: float = 0.0
    copies: tuple[tuple[Page, int, int], ...] = ()

    @property
    def text(self) -> str:
        """The sentence, with white space folded; for showing, not for quoting."""
        return " ".join(self.page.text[self.start : self.end].split())

    def evidence(self) -> tuple[Evidence, ...]:
        """The exact words, on this page and wherever else they stand."""
        places = ((self.page, self.start, self.end), *self.copies)
        return tuple(quote_at(page, start, end) for page, start, end in places)


def quote_at(page: Page, start: int, end: int) -> Evidence:
    """Return the words of `page` from `start` to `end` as evidence."""
    mark = ""
    for offset, label in page.marks:
        if offset > start:
            break
        mark = label
    return Evidence(
        page.source, page.sha256, page.text[start:end], start, end, page.fetched_at, mark
    )


def split(pages: Iterable[Page]) -> list[Excerpt]:
    """Return all sentences of all pages, each text once; copies are kept with the first."""
    seen: dict[str, Excerpt] = {}
    found: list[Excerpt] = []
    for page in pages:
        for start, end in sentences(page.text):
            if not _says_something(page.text[start:end]):
                continue
            key = _key(page.text[start:end])
            first = seen.get(key)
            if first is None:
                seen[key] = excerpt = Excerpt(page, start, end)
                found.append(excerpt)
            elif all(page.sha256 != p.sha256 for p in (first.page, *(c[0] for c in first.copies))):
                first.copies = (*first.copies, (page, start, end))
    return found


def _says_something(text: str) -> bool:
    """Tell a sentence, which has three words, from a heading, a label, a date, a row of marks."""
    if text.startswith("#"):
        return False
    if not text.isascii():
        return bool(text.strip())
    return sum(word.isalpha() for word in words(text)) >= _MIN_WORDS


def _key(text: str) -> str:
    return " ".join(fold(text).split())


def select(
    pages: Sequence[Page],
    wanted: Mapping[str, float],
    *,
    limit: int,
    count: Callable[[str], int],
    skip: frozenset[str] = frozenset(),
) -> list[Excerpt]:
    """Return the sentences that fit `wanted` best, in page order.

    Args:
        pages: Pages in order of rank.
        wanted: Query text → weight: the node's queries, its goal, the root question.
        limit: Tokens that all sentences together may take.
        count: Counts the tokens of a text.
        skip: Quotes that are known already and need not be shown again.

    A sentence counts by its own words, a little by its neighbours' and its page's title, and more
    if it bears a number. Sentences that share nothing with what is wanted are left out, unless
    nothing does: then pages are read from the top.
    """
    known = {_key(quote) for quote in skip}
    excerpts = [e for e in split(pages) if _key(e.text) not in known]
    if not excerpts:
        return []
    own = Ranker([e.text for e in excerpts]).scores(wanted)
    titles = Ranker([p.source.title for p in pages]).scores(wanted)
    title_of = {p.sha256: t for p, t in zip(pages, titles, strict=True)}
    for i, excerpt in enumerate(excerpts):
        near = max(
            (
                own[j]
                for j in (i - 1, i + 1)
                if 0 <= j < len(own) and excerpts[j].page is excerpt.page
            ),
            default=0.0,
        )
        bonus = _NUMBER_BONUS if numbers(excerpt.text) else 1.0
        excerpt.score = own[i] * bonus + _NEIGHBOUR * near
        if excerpt.score:
            excerpt.score += _TITLE * title_of[excerpt.page.sha256]
    order = sorted(range(len(excerpts)), key=lambda i: (-excerpts[i].score, i))
    relevant = excerpts[order[0]].score > 0
    if not relevant:
        order.sort()
    chosen: list[int] = []
    left = limit
    for i in order:
        if relevant and not excerpts[i].score:
            break
        cost = count(excerpts[i].text) + 4
        if cost <= left:
            chosen.append(i)
            left -= cost
    return [excerpts[i] for i in sorted(chosen)]
