"""Which name on a page leads on: the bridge from what was asked to what has to be asked next.

'Where was the director of X born?' On the page about X stands 'directed by Y': Y is named near a
word that the question still waits for, on a page about a thing that the question names. These two,
nearness and subject, make the score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from deep_research.core.text import fold, stem

from . import names
from .question import Question
from .relations import akin

_WORD = re.compile(r"[^\W_]+")
_GENTILIC = re.compile(
    r"\w+(?:ican|ian|ean|ish|ese|ench|erman|utch|reek|wiss|zech|elsh)", re.IGNORECASE
)

# How much each sign is worth. The optimum is flat: none of them matters to a tenth.
_ABOUT: Final = 2.0  # the page is about what is asked for
_PARTLY: Final = 1.0  # its title holds the name, or the other way round
_MENTIONS: Final = 1.2  # the sentence names what is asked for
_TITLE: Final = 0.7  # the name stands in the page's title, as in 'Baure, Nigeria'
_MORE: Final = 0.3  # share of the second and third open word near the name
_KIN: Final = 0.8  # a word of the same relation instead of the word itself
_REACH: Final = 3.0  # words after which nearness has halved
_FREE: Final = 2  # words of distance that cost nothing
_TOPIC: Final = 0.4  # all of the question's words stand in the sentence or its page's title
_EARLY: Final = 0.3
_RANK: Final = 0.2
_SINGLE: Final = 0.9  # a name of one word is less telling
_PEOPLE: Final = 0.6  # 'Italian' rarely has a page that helps
_AGAIN: Final = (
    0.9  # each further bridge from the same subject counts less: all subjects get their turn
)
_OWN: Final = 0.5  # what opens a page is mostly its subject's full name
_WEAK: Final = 0.3


@dataclass(frozen=True, slots=True)
class Passage:
    """Some sentences of one page.

    Attributes:
        title: The page's title.
        sentences: (place, text) in order; place counts the page's sentences from 0.
    """

    title: str
    sentences: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Bridge:
    """A name to ask about next; `passage` is the index of the page that named it."""

    name: str
    score: float
    passage: int
    subject: str

    @property
    def key(self) -> str:
        """The name as it is compared."""
        return names.key(self.name)


class _Cue(NamedTuple):
    """A word of the sentence that speaks of an open word of the question."""

    place: int
    weight: float
    term: str


def bridges(
    question: Question, focus: Sequence[str], passages: Sequence[Passage], asked: Iterable[str]
) -> list[Bridge]:
    """Return the names worth following, best first.

    Args:
        question: The root question.
        focus: Keys of the names that this node asks about.
        passages: What was read, in order of rank.
        asked: Keys of the names that are settled or asked about elsewhere.
    """
    known = {*asked, *focus}
    found: list[Bridge] = []
    for rank, passage in enumerate(passages):
        found.extend(_of_passage(question, focus, passage, rank, known).values())
    found.sort(key=lambda b: -b.score)
    return _in_turn(_distinct(found))


def _distinct(found: Iterable[Bridge]) -> Iterator[Bridge]:
    """Drop weak ones, and those whose name holds or is held by a better one's."""
    kept: list[str] = []
    for bridge in found:
        k = bridge.key
        if bridge.score >= _WEAK and not any(
            names.within(k, x) or names.within(x, k) for x in kept
        ):
            kept.append(k)
            yield bridge


def _in_turn(found: Iterable[Bridge]) -> list[Bridge]:
    """Order by score, where each further bridge from one subject counts a little less."""
    seen: dict[str, int] = {}
    ranked: list[tuple[float, Bridge]] = []
    for bridge in found:
        n = seen[bridge.subject] = seen.get(bridge.subject, -1) + 1
        ranked.append((bridge.score * _AGAIN**n, bridge))
    return [bridge for _, bridge in sorted(ranked, key=lambda pair: -pair[0])]


def _of_passage(
    question: Question, focus: Sequence[str], passage: Passage, rank: int, known: set[str]
) -> dict[str, Bridge]:
    titles = names.title_keys(passage.title)
    subject = next((f for f in focus if f in titles), "")
    base = _ABOUT if subject else 0.0
    if not subject and titles:
        near = (f for f in focus if names.within(titles[0], f) or names.within(f, titles[0]))
        subject = next(near, "")
        base = _PARTLY if subject else 0.0
    weights = question.weights(subject if base == _ABOUT else "", passage.title)
    best: dict[str, Bridge] = {}
    inner = _inner_names(passage)
    for place, text in _with_title(passage):
        mentioned = "" if base == _ABOUT else _mentioned(focus, names.key(text))
        worth = max(base, _MENTIONS if mentioned else 0.0)
        worth += (_TITLE + _EARLY) if place < 0 else _EARLY / (1 + place)
        worth += _RANK / (1 + rank) + _TOPIC * question.share(f"{passage.title} {text}")
        for name, nearness in _near(text, weights):
            k = names.key(name.text)
            inside = place >= 0 and any(names.within(k, t) for t in titles)
            opener = name.start <= 1 and (place < 0 or (" " not in k and k not in inner))
            if k in known or inside or opener or names.within(k, question.key):
                continue
            score = (worth + nearness) * _likely(name.text)
            score *= _OWN if place == 0 and name.start <= 1 else 1.0
            if k not in best or score > best[k].score:
                best[k] = Bridge(name.text, score, rank, subject or mentioned)
    return best


def _inner_names(passage: Passage) -> set[str]:
    """Keys of the names that stand inside sentences: there a capital is no accident."""
    return {
        names.key(name.text)
        for _, text in passage.sentences
        for name in names.find(text)
        if name.start > 1
    }


def _with_title(passage: Passage) -> Iterator[tuple[int, str]]:
    if "," in passage.title or "(" in passage.title:
        yield -1, passage.title
    yield from passage.sentences


def _mentioned(focus: Sequence[str], sentence: str) -> str:
    return next((f for f in focus if names.within(f, sentence)), "")


def _likely(name: str) -> float:
    likely = _SINGLE if " " not in name and name.isascii() else 1.0
    return likely * _PEOPLE if _GENTILIC.fullmatch(name) else likely


def _near(text: str, weights: Mapping[str, float]) -> Iterator[tuple[names.Name, float]]:
    """Yield each name of a sentence and how near it stands to words that are still open."""
    found = names.find(text)
    if not found:
        return
    tokens = [(m.start(), m.end(), stem(fold(m.group()))) for m in _WORD.finditer(text)]
    cues = list(_cues([said for _, _, said in tokens], weights))
    for name in found:
        places = [i for i, (a, b, _) in enumerate(tokens) if a < name.end and b > name.start]
        if places:
            yield name, _nearness(cues, places[0], places[-1])


def _cues(said: Sequence[str], weights: Mapping[str, float]) -> Iterator[_Cue]:
    for place, word in enumerate(said):
        for term, weight in weights.items():
            if word == term:
                yield _Cue(place, weight, term)
            elif akin(term, word):
                yield _Cue(place, _KIN * weight, term)


def _nearness(cues: Iterable[_Cue], first: int, last: int) -> float:
    best: dict[str, float] = {}
    for cue in cues:
        if first <= cue.place <= last:
            continue
        gap = first - cue.place if cue.place < first else cue.place - last + 1
        value = cue.weight / (1 + max(0, gap - _FREE) / _REACH)
        best[cue.term] = max(best.get(cue.term, 0.0), value)
    top = sorted(best.values(), reverse=True)
    return top[0] + _MORE * sum(top[1:3]) if top else 0.0
