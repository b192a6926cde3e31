"""What a question is made of: names, content words, things to compare, parts to answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from deep_research.core.text import STOPWORDS, fold, stem, terms, unique, words

from . import names
from .language import detect, function_words

_CJK: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_HAS_CJK = re.compile(f"[{_CJK}]")
_WORD = re.compile(rf"[{_CJK}]|[^\W_]+(?:['’][^\W_]+)*")
_CLAUSE = re.compile(
    r"[,;:?!\u3002\uff0c\uff1b\uff1f]"
    r"|\b(?:(?:in|to|for|from) which|where|which|that|whom?|whose|when|while|since)\b",
    re.IGNORECASE,
)
_OR = re.compile(r"\s(?:or|vs\.?|versus|oder|ou)\s|或者?|还是", re.IGNORECASE)
_AND = re.compile(r"\s(?:and|und|et|y)\s|[和与と]", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\b(?:between|compare|comparing|entre|zwischen)\s+([^,;:]+)|比较([^,;:，]+)", re.IGNORECASE
)
_LIST = re.compile(
    r"\s*(?:[,;、，]\s*(?:(?:and|or|und|et|y)\s)?|\s(?:and|und|et|y)\s)\s*", re.IGNORECASE
)
_NEAR: Final = 4.0
_APPOSED: Final = 0.15
_UNPLACED: Final = 0.5
_SIDES: Final = 2
_MAX_PARTS: Final = 6
_LONGEST_SIDE: Final = 8
_MOST_OPEN: Final = 16
_IDLE_CJK: Final = frozenset("的了是在和与及或吗呢哪谁はがのをにでともか")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, taken apart once.

    Attributes:
        text: Without possessive 's, so that names end where they end.
        words: All words, folded.
        content: The words that bear meaning, folded, in order, each once.
        names: The names in it, as written, the longest form of each.
    """

    text: str
    words: tuple[str, ...]
    content: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def key(self) -> str:
        """All words with single spaces, to look names up in."""
        return " ".join(self.words)

    def names_title(self, title: str) -> str:
        """Return the key under which this question names a page's subject, or ''.

        One of its words has to be written like a name, and not only because it opens the question.
        In a question without any capitals the title's own decide.
        """
        flat = not any(c.isupper() for c in self.text[1:])
        proper = flat and any(word[0].isupper() for word in _WORD.findall(title)[1:])
        for k in names.title_keys(title):
            if names.within(k, self.key) and (proper or self._written_as_name(k)):
                return k
        return ""

    def _written_as_name(self, k: str) -> bool:
        if _HAS_CJK.search(k):
            return len(k) > 1
        raw = _WORD.findall(self.text)
        n = k.count(" ") + 1
        return any(
            " ".join(self.words[i : i + n]) == k
            and any(
                (w[0].isupper() or w[0].isdigit()) and w.lower() not in STOPWORDS and i + j > 0
                for j, w in enumerate(raw[i : i + n])
            )
            for i in range(len(self.words) - n + 1)
        )

    def weights(self, subject: str, title: str) -> dict[str, float]:
        """Weigh the stems that are still open on a page about `subject` (a key).

        In 'the birthplace of the director of X' a page about X is first asked for the director:
        what stands nearer to the name weighs more. A word right before the name ('film X') only
        says what X is.
        """
        said = {stem(w) for w in words(title)}
        place = _place(subject.split(), self.words)
        weights: dict[str, float] = {}
        for i, word in enumerate(self.words):
            term = stem(word)
            if word not in self.content or term in said:
                continue
            if place is None:
                weight = _UNPLACED
            elif i == place[0] - 1:
                weight = _APPOSED
            else:
                gap = place[0] - i if i < place[0] else i - place[1]
                weight = 1 / (1 + gap / _NEAR)
            weights[term] = max(weights.get(term, 0.0), weight)
        return weights

    def share(self, text: str) -> float:
        """Return how much of the question's content stands in `text`, 0 to 1."""
        said = set(terms(text))
        return sum(stem(w) in said for w in self.content) / (len(self.content) or 1)

    def open_words(self, title: str) -> list[str]:
        """Return the content words that a page's title does not settle: what to ask for next."""
        said = {stem(w) for w in words(title)}
        found: list[str] = []
        joins = False
        for word in self.words:
            is_open = word in self.content and stem(word) not in said
            if is_open and joins and _HAS_CJK.match(word):
                found[-1] += word
            elif is_open:
                found.append(word)
            joins = is_open and bool(_HAS_CJK.match(word))
        return list(dict.fromkeys(found))[:_MOST_OPEN]


def _place(needle: list[str], hay: tuple[str, ...]) -> tuple[int, int] | None:
    n = len(needle)
    for i in range(len(hay) - n + 1 if n else 0):
        if list(hay[i : i + n]) == needle:
            return i, i + n - 1
    return None


@lru_cache(maxsize=256)
def analyse(text: str) -> Question:
    """Take a question apart."""
    bare = names.POSSESSIVE.sub("", " ".join(text.split()))
    idle = STOPWORDS | function_words(detect(bare))
    idle |= _IDLE_CJK
    all_words = tuple(fold(w) for w in _WORD.findall(bare))
    content = tuple(dict.fromkeys(w for w in all_words if w not in idle)) or all_words
    found = [n.text for n in names.find(bare) if names.key(n.text) not in idle]
    keys = [names.key(n) for n in found]
    whole = [
        n
        for n, k in zip(found, keys, strict=True)
        if k and not any(k != other and names.within(k, other) for other in keys)
    ]
    return Question(bare, all_words, content, tuple(dict.fromkeys(whole)))


def sides(text: str) -> tuple[str, ...]:
    """Return the things that a question compares: 'A or B', 'A versus B', 'between A and B'."""
    asked = text.strip().rstrip("?？。. ")
    if between := _BETWEEN.search(asked):
        parts = _AND.split(between.group(1) or between.group(2), maxsplit=1)
    else:
        parts = _OR.split(asked)
        parts[:1] = [re.split(r"[,:：，]", parts[0])[-1]]
    parts = [_trim(part) for part in parts]
    fit = len(parts) >= _SIDES and all(p and len(p.split()) <= _LONGEST_SIDE for p in parts)
    return tuple(parts[:_MAX_PARTS]) if fit else ()


def aspects(text: str) -> tuple[str, ...]:
    """Return the parts asked for one by one: the list after a colon, or several questions.

    What begins with a capital after a colon is taken for the rest of a title.
    """
    _, colon, tail = text.partition(":") if ":" in text else text.partition("：")
    tail = tail.strip().rstrip("?？。. ")
    if colon and not tail[:1].isupper():
        parts = [part.strip() for part in _LIST.split(tail)]
        if len(parts) >= _SIDES and all(parts):
            return tuple(parts[:_MAX_PARTS])
    several = [p.strip() for p in re.split(r"(?<=[?？])\s*", text) if _WORD.search(p)]
    return tuple(several[:_MAX_PARTS]) if len(several) >= _SIDES else ()


def clauses(text: str) -> list[str]:
    """Return the clauses of a question that can be searched for by themselves, in order."""
    parts = [" ".join(analyse(p).content) for p in _CLAUSE.split(text) if p and p.strip()]
    return unique(p for p in parts if p.count(" ") >= 1 or not p.isascii())


def _trim(part: str) -> str:
    """Drop small words from both ends, but not what opens a name, as in 'El Tonto'."""
    idle = STOPWORDS | function_words(detect(part))
    tokens = part.strip(" \t\"'“”?.,").split()
    while tokens and fold(tokens[0]) in idle:
        if tokens[0][0].isupper() and len(tokens) > 1 and tokens[1][0].isupper():
            break
        tokens.pop(0)
    while tokens and tokens[-1] in idle:
        tokens.pop()
    return " ".join(tokens)
