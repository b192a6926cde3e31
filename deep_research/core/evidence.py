"""Quotes: finding a model's words in the saved text, mending near misses, and asking whether they carry a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

from .model import Evidence, Learning
from .passages import Excerpt
from .report import Support
from .text import STOPWORDS, Span, fold, likeness, names, numbers, stem, terms, words

_EQUAL: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("\u00a0\u202f\u2007\u2009\u3000", " "),
        "…": "...",
    }
)
_DROPPED: Final = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_UNIT = re.compile(
    r"(\d[\d,. ]*)\s?(%|°\s?[CFK]\b|[a-zA-Zµμ°]+(?:/[a-zA-Z]+)?)", re.UNICODE
)
_MENDABLE: Final = 0.5


def find_quote(text: str, quote: str) -> Span | None:
    """Return where `quote` stands in `text`, or None.

    White space, kinds of quotes and dashes, letter case, invisible characters and hyphenation at line ends make no
    difference; words and numbers do. The span points into `text` as it is.
    """
    exact = text.find(quote) if quote.strip() else -1
    if exact >= 0:
        return exact, exact + len(quote)
    needle, _ = _normal(quote.strip().strip("\"'“”‘’"))
    if not needle:
        return None
    hay, origin = _normal(text)
    at = hay.find(needle)
    if at < 0:
        return None
    return origin[at], origin[at + len(needle) - 1] + 1


def _normal(text: str) -> tuple[str, list[int]]:
    """Return the text with everything dropped that must not matter, and the origin of each character left."""
    out: list[str] = []
    origin: list[int] = []
    for i, raw in enumerate(text):
        if raw in _DROPPED or raw.isspace() or raw in "\u00a0\u202f":
            continue
        for char in raw.translate(_EQUAL).casefold():
            if char == "-" and _breaks_word(text, i):
                continue
            if not char.isspace():
                out.append(char)
                origin.append(i)
    return "".join(out), origin


def _breaks_word(text: str, i: int) -> bool:
    """Tell whether the hyphen at `i` only divides a word over two lines."""
    after = text[i + 1 : i + 4]
    return after.lstrip(" ").startswith("\n") and text[i - 1 : i].isalpha()


def best_excerpt(claim: str, excerpts: Sequence[Excerpt]) -> Excerpt | None:
    """Return the sentence that says most nearly what `claim` says, with all of its numbers; None if none is near."""
    wanted = set(numbers(claim))
    best: Excerpt | None = None
    best_score = _MENDABLE
    for excerpt in excerpts:
        if not wanted <= set(numbers(excerpt.text)):
            continue
        score = max(likeness(claim, excerpt.text), _sequence(claim, excerpt.text))
        if score > best_score:
            best, best_score = excerpt, score
    return best


def _sequence(a: str, b: str) -> float:
    matcher = SequenceMatcher(None, words(a), words(b), autojunk=False)
    return matcher.ratio()


def missing(sentence: str, quotes: Iterable[str], context: str = "") -> tuple[str, ...]:
    """Return what `sentence` states and its quotes do not contain: numbers, units behind numbers, names.

    Args:
        sentence: The sentence to be carried.
        quotes: The words that it cites.
        context: Words that may be used without a quote: the question and the titles of the cited pages.
    """
    carried = " ".join(quotes)
    have = set(numbers(carried))
    gone = [n for n in dict.fromkeys(numbers(sentence)) if n not in have and not _in_context(n, context)]
    units = _units(carried)
    for number, unit in _units(sentence).items():
        known = units.get(number)
        if number in have and known and unit not in known and not unit <= known:
            gone.append(f"{number} {min(unit)}")
    known_words = {stem(w) for w in words(f"{carried} {context}")}
    for name in names(sentence):
        lacking = [
            w for w in words(name) if stem(w) not in known_words and w not in STOPWORDS and not w.isdigit()
        ]
        if lacking and not _opens(sentence, name):
            gone.append(name)
    return tuple(dict.fromkeys(gone))


def _in_context(number: str, context: str) -> bool:
    return number in set(numbers(context)) or number in words(context)


def _units(text: str) -> dict[str, set[str]]:
    """Map each number to the units that follow it (stemmed)."""
    found: dict[str, set[str]] = {}
    for raw, unit in _UNIT.findall(text):
        for number in numbers(raw.strip()):
            word = stem(fold(unit))
            if word not in STOPWORDS:
                found.setdefault(number, set()).add(word)
    return found


def _opens(sentence: str, name: str) -> bool:
    """A single capitalised word at the start of a sentence is rarely a name."""
    return " " not in name and sentence.lstrip("\"'“(").startswith(name) and name.isalpha()


def support(sentence: str, quotes: Sequence[str], context: str = "") -> tuple[Support, tuple[str, ...]]:
    """Judge how well the quotes carry the sentence; also return what is missing.

    Verified: every number, unit and name is there and the words overlap. Partial: something is missing.
    Unsupported: no number of the sentence is there, or the words have next to nothing in common.
    """
    gone = missing(sentence, quotes, context)
    said = set(terms(sentence)) - set(terms(context))
    carried = {t for quote in quotes for t in terms(quote)}
    overlap = len(said & carried) / len(said) if said else 1.0
    stated = set(numbers(sentence))
    if overlap < 0.2 or (stated and stated <= set(gone)):
        return Support.UNSUPPORTED, gone
    if gone or overlap < 0.4:
        return Support.PARTIAL, gone
    return Support.VERIFIED, ()


def grounded(text: str, excerpts: Sequence[Excerpt], pool: Sequence[Excerpt], context: str) -> Learning | None:
    """Bind a learning to the sentences it points at, or mend it; None if no sentence carries it.

    If the sentences lack a number, name or unit of the text, the best matching sentence of `pool` is tried; if that
    fails too, the sentences speak for themselves and replace the text.
    """
    text = " ".join(text.split())
    chosen = list(excerpts)
    if not chosen or (text and missing(text, [e.text for e in chosen], context)):
        better = best_excerpt(text, pool) if text else None
        if better is not None and not missing(text, [better.text], context):
            chosen = [better]
        elif chosen:
            text = " ".join(e.text for e in chosen)
    if not chosen:
        return None
    evidence: dict[tuple[str, int], Evidence] = {}
    for excerpt in chosen:
        for item in excerpt.evidence():
            evidence.setdefault((item.sha256, item.start), item)
    return Learning(text or " ".join(e.text for e in chosen), tuple(evidence.values()))
