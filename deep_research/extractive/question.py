"""What a question is made of: names, content words, things to compare, parts to answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from deep_research.core.text import STOPWORDS, fold, stem, terms, unique, words

from . import names
from .language import detect, function_words

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CLAUSE = re.compile(
    r"[,;:?!。，；？]|\b(?:(?:in|to|for|from) which|where|which|that|whom?|whose|when|while|since)\b",
    re.IGNORECASE,
)
_OR = re.compile(r"\s(?:or|vs\.?|versus|oder|ou|或|还是)\s", re.IGNORECASE)
_AND = re.compile(r"\s(?:and|und|et|y|和|与|と)\s", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|compare|comparing|both|entre|zwischen)\s+(.+)", re.IGNORECASE)
_LIST = re.compile(r"\s*(?:[,;、]\s*(?:and|or|und|et|y)?|\s(?:and|und|et|y)\s)\s*", re.IGNORECASE)
_NEAR: Final = 4.0
_APPOSED: Final = 0.15
_UNPLACED: Final = 0.5
_SIDES: Final = 2
_MAX_PARTS: Final = 6


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
        """
        for k in names.title_keys(title):
            if names.within(k, self.key) and self._written_as_name(k):
                return k
        return ""

    def _written_as_name(self, k: str) -> bool:
        if not k.isascii():
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
        return [w for w in self.content if stem(w) not in said]


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
    all_words = tuple(fold(w) for w in _WORD.findall(bare)) if bare.isascii() else words(bare)
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
        parts = _AND.split(between.group(1), maxsplit=1)
    else:
        parts = _OR.split(asked)
        parts[:1] = [re.split(r"[,:：，]", parts[0])[-1]]
    parts = [_trim(part) for part in parts]
    return tuple(p for p in parts if p) if len(parts) >= _SIDES and all(parts) else ()


def aspects(text: str) -> tuple[str, ...]:
    """Return the parts asked for one by one: the list after a colon, or several questions."""
    head, colon, tail = text.partition(":") if ":" in text else text.partition("：")
    if colon and not head.strip()[-1:].isdigit():
        parts = [_trim(part) for part in _LIST.split(tail.strip().rstrip("?.")) if part]
        if len(parts) >= _SIDES and all(parts):
            return tuple(parts[:_MAX_PARTS])
    several = [p.strip() for p in re.split(r"(?<=[?？])\s*", text) if p.strip()]
    return tuple(several[:_MAX_PARTS]) if len(several) >= _SIDES else ()


def clauses(text: str) -> list[str]:
    """Return the clauses of a question that can be searched for by themselves, in order."""
    parts = [" ".join(analyse(p).content) for p in _CLAUSE.split(text) if p and p.strip()]
    return unique(p for p in parts if p.count(" ") >= 1 or not p.isascii())


def _trim(part: str) -> str:
    """Drop small words from both ends; capitals make a word part of a name."""
    idle = STOPWORDS | function_words(detect(part))
    tokens = part.strip(" \t\"'“”?.,").split()
    while tokens and tokens[0] in idle:
        tokens.pop(0)
    while tokens and tokens[-1] in idle:
        tokens.pop()
    return " ".join(tokens)
