"""Quotes: find a model's words in a saved text, mend near misses, ask what they carry."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from .model import Evidence, Learning
from .passages import Excerpt, quote_at
from .quantities import Quantity, quantities, regrouped, spoken_dates
from .report import Support
from .text import STOPWORDS, Span, likeness, names, numbers, stem, terms, words

_EQUAL: Final = str.maketrans(
    {
        **dict.fromkeys('‘’‚‛′`´"“”„‟″«»「」『』', "'"),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    }
)
_DROPPED: Final = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_HYPHENS = re.compile(r"(?<=[^\W\d_])-+(?=[^\W\d_])|(?<=-)-+")
_EDGES = re.compile(r"^-+(?=[^\W\d_])|-+$")
_WRAPPING = re.compile(r"^[\s\"'“”‘’«»„]*(?:(?:\.{3}|…)\s*)?|(?:\s*(?:\.{3}|…))?[\s\"'“”‘’«»„]*$")
_MENDABLE: Final = 0.5
_UNRELATED: Final = 0.2
_LOOSE: Final = 0.4
_SMALL_WORDS, _ENGLISH = 5, 2
_YEARS: Final = range(1000, 2101)


def find_quote(text: str, quote: str) -> Span | None:
    """Return where `quote` stands in `text`, or None.

    White space, kinds of quotes and dashes, letter case, ligatures, invisible characters, hyphens
    inside words and at line ends, and quotation marks or dots round the quote make no difference;
    words and numbers do: 'costs 5' does not stand in 'costs 50'. The span points into `text` as it
    is.
    """
    quote = _WRAPPING.sub("", quote)
    needle = _EDGES.sub("", _normal(quote)[0])
    if not needle:
        return None
    at = text.find(quote)
    if at >= 0 and _whole(text, at, at + len(quote)):
        return at, at + len(quote)
    hay, origin = _normal(text)
    at = hay.find(needle)
    while at >= 0:
        start, end = origin[at], origin[at + len(needle) - 1] + 1
        if _whole(text, start, end) and _normal(text[start:end])[0] == needle:
            return start, end
        at = hay.find(needle, at + 1)
    return None


def _whole(text: str, start: int, end: int) -> bool:
    """Tell whether no word and no number is cut at either end of the span."""
    return not (_glued(text, start) or _glued(text, end))


def _glued(text: str, at: int) -> bool:
    """Tell whether a word or number goes on over `at`; scripts without case do without spaces."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after.isdecimal():
        return before.isdecimal() or (before in ".," and text[max(0, at - 2)].isdecimal())
    if after in ".,":
        return before.isdecimal() and text[at + 1 : at + 2].isdecimal()
    return all(c.lower() != c.upper() for c in (before, after))


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return what a character is compared as: nothing, itself, or several ('ﬁ' is 'fi')."""
    if char in _DROPPED:
        return ""
    return "".join(unicodedata.normalize("NFKD", char.translate(_EQUAL)).casefold().split())


@lru_cache(maxsize=16)
def _normal(text: str) -> tuple[str, list[int]]:
    """Return the text without all that must not matter, and the origin of each character left."""
    out: list[str] = []
    origin: list[int] = []
    for i, raw in enumerate(text):
        for char in _plain(raw):
            out.append(char)
            origin.append(i)
    joined = "".join(out)
    for match in reversed(list(_HYPHENS.finditer(joined))):
        del out[match.start() : match.end()], origin[match.start() : match.end()]
    return "".join(out), origin


def best_excerpt(claim: str, excerpts: Sequence[Excerpt]) -> Excerpt | None:
    """Return the sentence nearest to `claim` that has all of its numbers; None if none is near."""
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
    """Return what `sentence` states and its quotes do not contain: numbers, their units, names.

    '5 million' and '5,000,000', '$' and 'dollars', '%' and 'percent', '2021-05-09' and 'May 9,
    2021' are equal; '5 million dollars' and '5 million euros' are not.

    Where sentence and quotes are of different languages, what is counted cannot be compared, and
    of the names only those of several words in the same script.

    Args:
        sentence: The sentence to be carried.
        quotes: The words that it cites.
        context: Words that may be used without a quote: the question, the titles of the cited
            pages.
    """
    quotes = list(quotes)
    other = foreign(sentence, quotes)
    sentence = spoken_dates(sentence)
    carried = spoken_dates(" ".join(quotes))
    context = spoken_dates(context)
    carried = regrouped(carried, {q.value for q in quantities(sentence)})
    sentence = regrouped(sentence, {q.value for q in quantities(f"{carried} {context}")})
    known_words = {stem(w) for w in words(f"{carried} {context}")}
    have = quantities(carried)
    given = quantities(context)
    gone: list[str] = []
    units: set[str] = set()
    for stated in quantities(sentence):
        units.update(words(stated.shown))
        same = [q for q in have if q.value == stated.value] or [
            q for q in given if q.value == stated.value
        ]
        if not same:
            gone.append(stated.number if stated.number == stated.value else stated.shown)
        elif not any(_same_unit(stated, q, known_words, other) for q in same):
            gone.append(stated.shown)
    for name in names(sentence):
        lacking = [w for w in words(name) if stem(w) not in known_words and not w.isdigit()]
        if other and (len(lacking) < len(words(name)) or " " not in name or not name.isascii()):
            continue
        if set(lacking) - STOPWORDS - units and not _opens(sentence, name):
            gone.append(name)
    return tuple(dict.fromkeys(gone))


def foreign(sentence: str, quotes: Sequence[str]) -> bool:
    """Tell whether `sentence` is in another language than `quotes`, as far as rules can.

    Another script; or of at least five small words on both sides not one in common, and on one of
    them hardly a word that English cannot do without.
    """
    quoted = " ".join(quotes)
    if not sentence.strip() or not quoted.strip():
        return False
    here, there = _script(sentence), _script(quoted)
    if here != there:
        return bool(here and there)
    small = [{w for w in words(t) if w.isalpha()} - _named(t) for t in (sentence, quoted)]
    english = [len(s & STOPWORDS) for s in small]
    return (
        min(map(len, small)) >= _SMALL_WORDS and min(english) < _ENGLISH and not small[0] & small[1]
    )


def _named(text: str) -> set[str]:
    return {w for name in names(text) for w in words(name)}


def _script(text: str) -> str:
    """Return the script of most letters of a text ('LATIN', 'CJK', …), '' without letters."""
    scripts = Counter(unicodedata.name(c, "").partition(" ")[0] for c in text if c.isalpha())
    found = scripts.most_common(1)[0][0] if scripts else ""
    return "CJK" if found in {"HIRAGANA", "KATAKANA"} else found


def _same_unit(
    stated: Quantity, known: Quantity, known_words: set[str], other: bool = False
) -> bool:
    """Tell whether a quote's number counts what the sentence's does, as far as both say what.

    A word that is no unit of measure may stand elsewhere in the quotes; behind a year it says
    nothing about the year.
    """
    if stated.unit in {"", known.unit} or (other and not (stated.measured and known.measured)):
        return True
    if stated.measured:
        return not known.measured and stated.unit in known_words
    year = stated.number.isdigit() and int(stated.number) in _YEARS
    return year or not known.unit or stated.unit in known_words


def _opens(sentence: str, name: str) -> bool:
    """Tell whether `name` only opens the sentence: one capitalised word there is rarely a name."""
    return " " not in name and sentence.lstrip("\"'“(").startswith(name) and name.isalpha()


def support(
    sentence: str, quotes: Sequence[str], context: str = ""
) -> tuple[Support, tuple[str, ...]]:
    """Judge how well the quotes carry the sentence; also return what is missing.

    Verified: every number, unit and name is there and the words overlap. Partial: something is
    missing. Unsupported: no number of the sentence is there, or the words have next to nothing in
    common; without any quote always. Words of another language need not overlap if there are
    numbers or names, and all are there.
    """
    quotes = [q for q in quotes if q.strip()]
    gone = missing(sentence, quotes, context)
    said = set(terms(sentence))
    said = said - set(terms(context)) or said
    carried = {t for quote in quotes for t in terms(quote)}
    overlap = len(said & carried) / len(said) if said else float(bool(carried))
    stated = set(numbers(sentence))
    if foreign(sentence, quotes) and not (stated and stated <= set(gone)):
        shared = stated or _named(sentence) & {w for q in quotes for w in words(q)}
        if shared and not gone:
            return Support.VERIFIED, ()
        if shared or _script(sentence) != _script(" ".join(quotes)):
            return Support.PARTIAL, gone
    if overlap < _UNRELATED or (stated and stated <= set(gone)):
        return Support.UNSUPPORTED, gone
    if gone or overlap < _LOOSE:
        return Support.PARTIAL, gone
    return Support.VERIFIED, ()


def grounded(
    text: str, excerpts: Sequence[Excerpt], pool: Sequence[Excerpt], context: str
) -> tuple[Learning, ...]:
    """Bind a learning to the sentences it points at, or mend it; () if no sentence carries it.

    If the sentences lack a number, name or unit of the text, or say something else, the text itself
    may be copied from a page; else the best matching sentence of `pool` is tried. If that fails
    too, the sentences speak for themselves: each is a learning of its own.
    """
    text = " ".join(text.split())
    if excerpts and (not text or _carried(text, [e.text for e in excerpts], context)):
        return (_learning(text or " ".join(e.text for e in excerpts), excerpts),)
    copied = _copied(text, pool)
    if copied is not None:
        return (Learning(text, (copied,)),)
    better = best_excerpt(text, pool) if text else None
    if better is not None and _carried(text, [better.text], context):
        return (_learning(text, [better]),)
    return tuple(_learning(e.text, [e]) for e in excerpts)


def _copied(text: str, pool: Sequence[Excerpt]) -> Evidence | None:
    """Return the words of a page that `text` copies; a few words prove nothing."""
    if len(words(text)) < _SMALL_WORDS:
        return None
    for page in {e.page.sha256: e.page for e in pool}.values():
        span = find_quote(page.text, text)
        if span is not None:
            return quote_at(page, *span)
    return None


def _learning(text: str, excerpts: Sequence[Excerpt]) -> Learning:
    places = {(e.sha256, e.start): e for excerpt in excerpts for e in excerpt.evidence()}
    return Learning(text, tuple(places.values()))


def _carried(text: str, quotes: Sequence[str], context: str) -> bool:
    judged, gone = support(text, quotes, context)
    return not gone and judged is not Support.UNSUPPORTED
