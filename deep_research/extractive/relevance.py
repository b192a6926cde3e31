"""Does what was found speak of what was asked at all? A search always brings something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from deep_research.core.model import Page
from deep_research.core.text import stem, words

from . import names
from .question import Question
from .relations import kin

_GENERIC: Final = frozenset(
    stem(w)
    for w in (  # noqa: SIM905 - a word a line would fill two screens
        "happen happened occur per much many way ways thing things best better good top get take "
        "took come came go went make made use used work works long often person people someone "
        "one two three year years type kind name named call called mean means tell explain "
        "describe compare difference vs versus need want new great big main important list latest "
        "today number well like help say said give world still ever never"
    ).split()
)
"""Words that stand on pages about anything."""
_UNSEEN: Final = re.compile("[\u00ad\u200b\u2060]|[-\u2010]\n")
"""What may stand inside a word."""
_WINDOW: Final = 3000  # characters: a book holds any word, a passage does not
_TRUNK: Final = 5  # letters that two forms of one word share at least
_LONG_WORD: Final = 9  # letters from which an ending may have three letters, not one
_PART: Final = 1.5  # words of the question, by weight, that one passage has to show
_NAMED: Final = 1.25  # the same beside a name that is shown
_UNNAMED: Final = 4.0  # the same where none of the question's names is shown
_MOST: Final = {_PART: 0.6, _NAMED: 0.5, _UNNAMED: 0.8}  # the same of few words, as a share
_LEAST: Final = 0.2  # the same of many
_TELLING: Final = 3  # passages; in fewer, how many have a word says nothing about it
_FLOOR: Final = 0.5  # weight of a word that all passages have; one that none has weighs 1


@dataclass(frozen=True, slots=True)
class _Passage:
    """Part of a page: its stems, and its text as names are looked up in it."""

    said: frozenset[str]
    key: str


def fits(question: Question, pages: Sequence[Page]) -> bool:
    """Tell whether a page is about something the question names, or shows enough of its words.

    Words count by how rare they are among what was found: one that no page has weighs most. A name
    that is only mentioned has to come with the question's other words.
    """
    named = _names(question)
    titles = [names.key(page.source.title) for page in pages]
    if any(names.within(k, title) for k in named for title in titles):
        return True
    passages = [p for page in pages for p in _passages(page)]
    asked = _asked(question)
    full = [k for k in named if " " in k]
    for known in (full, named):
        shown = [p for p in passages if any(names.within(k, p.key) for k in known)]
        # 'London' stands on many pages; 'Larcum Kendall' says by itself what they are about.
        rest = asked if known is full else [t for t in asked if t not in map(stem, named)]
        if shown and _share(rest, passages, shown) >= _needed(len(rest), _NAMED):
            return True
    return _share(asked, passages, passages) >= _needed(len(asked), _UNNAMED if named else _PART)


def _names(question: Question) -> list[str]:
    """Return the keys of the names; a question's first word has its capital anyway."""
    first = question.words[0] if question.words else ""
    return [k for k in map(names.key, question.names) if k != first]


def _asked(question: Question) -> list[str]:
    """Return the stems to look for, without years and what stands anywhere, if more is left."""
    stems = list(dict.fromkeys(stem(word) for word in question.content))
    return [s for s in stems if s not in _GENERIC and not s.isdigit()] or stems


def _passages(page: Page) -> Iterator[_Passage]:
    for at in range(0, max(1, len(page.text)), _WINDOW):
        text = _UNSEEN.sub("", f"{page.source.title}\n{page.text[at : at + _WINDOW]}")
        yield _Passage(frozenset(map(stem, words(text))), names.key(text))


def _needed(count: int, part: float) -> float:
    """Return the share of `count` words that one passage has to show, 0 to 1."""
    return max(_LEAST, min(_MOST[part], part / (count or 1)))


def _share(asked: Sequence[str], passages: Sequence[_Passage], among: Sequence[_Passage]) -> float:
    """Return the largest share of the weight of `asked` that one of `among` shows, 0 to 1."""
    shows = {id(p): [_shown(term, p.said) for term in asked] for p in passages}
    weights = [_weight(sum(each), len(passages)) for each in zip(*shows.values(), strict=True)]
    best = max(
        (sum(w for w, s in zip(weights, shows[id(p)], strict=True) if s) for p in among),
        default=0.0,
    )
    return best / (sum(weights) or 1.0)


def _weight(having: int, count: int) -> float:
    """BM25's weight of a word that `having` of `count` passages have, brought between 0.5 and 1."""
    if count < _TELLING:
        return 1.0
    rarity = log(1 + (count - having + 0.5) / (having + 0.5)) / log(1 + (count + 0.5) / 0.5)
    return _FLOOR + (1 - _FLOOR) * rarity


def _shown(term: str, said: frozenset[str]) -> bool:
    """Tell whether a text says a stem, a word of the same relation or another form of the word."""
    if term in said or kin(term) & said:
        return True
    trunk = term[: max(_TRUNK, len(term) - (3 if len(term) >= _LONG_WORD else 1))]
    return len(term) >= _TRUNK and any(word.startswith(trunk) for word in said)
