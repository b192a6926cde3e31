"""Reading text by rule: sentences, words, names, numbers, likeness; Latin, Cyrillic, CJK."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

Span = tuple[int, int]

_CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)*")
_VOICING: Final = "\u3099\u309a"
"""Marks that make another letter in Japanese, unlike an accent."""
NUMBER: Final = re.compile(
    rf"(?<![^\W{_CJK}])[+\u2212-]?(?:(?<![\d.])\.)?\d(?:[\d,.\u00a0\u202f]*\d)?"
)
_CAPITALS: Final = "".join(c for c in map(chr, range(0x530)) if c.isupper())
_TOKEN: Final = (
    rf"(?:(?:[{_CAPITALS}]\.)+|(?:Mr|Mrs|Ms|Dr|Prof|St|Ste|Mt|Ft|Jr|Sr)\.|[{_CAPITALS}][\w’'-]*)"
)
_NAME = re.compile(rf"\b{_TOKEN}(?:[^\S\n]+(?:of|de|la|von|van|der|the|and|&|{_TOKEN}))*")
_END = re.compile(
    r"[.!?…]+[\"'”’)\]]*(?:\[\w{1,4}\])*(?=\s)|[。！？；]+[」』”’）]*"
    r"|\n{2,}|\n(?=\s*(?:[-*•|#]|\d{1,3}[.)]\s))"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Mt|No|Nos|Vol|Fig|Figs|Eq|Ch|pp?|cf|ca|approx"
    r"|vs|etc|e\.g|i\.e|al|Inc|Ltd|Co|Corp|Bros|Gen|Col|Lt|Capt|Sgt|Rev|Hon|Gov|Sen|Rep|Pres"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|U\.S|U\.K|a\.m|p\.m|Ph\.D)\.$"
)
STOPWORDS: Final = frozenset(
    (  # noqa: SIM905 - a word a line would fill three screens
        "a about above after again all also am an and any are as at be because been before "
        "being below between both but by can could did do does doing down during each few for "
        "from further had has have having he her here hers him his how i if in into is it its "
        "just know known let me more most my no nor not now of off on once only or other our "
        "out over own same she should so some such than that the their them then there these "
        "they this those through to too under until up very was we were what when where which "
        "while who whom whose why will with would you your"
    ).split()
)
_CONNECT: Final = frozenset(("de", "von", "van", "der", "la", "&"))
_SHORTEST: Final = 3
_MAX_SENTENCE: Final = 600


def sentences(text: str) -> list[Span]:
    """Return the (start, end) of each sentence: in order, no overlaps, no white space round it.

    A blank line, a list item and a heading end a sentence; common abbreviations, initials and
    decimals do not. None is longer than 600 characters: a longer one is cut between words. All that
    is not white space lies in one of them.
    """
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if match.group().startswith(".") and _is_abbreviation(text, match):
            continue
        spans.extend(_trimmed(text, start, end))
        start = end
    spans.extend(_trimmed(text, start, len(text)))
    return spans


def _is_abbreviation(text: str, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 3].lstrip()
    if following[:1].islower():
        return True
    return bool(_ABBREVIATION.search(text[max(0, match.start() - 12) : match.start() + 1]))


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while True:
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if end - start <= _MAX_SENTENCE:
            break
        cut = text.rfind(" ", start, start + _MAX_SENTENCE)
        cut = cut if cut > start else start + _MAX_SENTENCE
        yield from _trimmed(text, start, cut)
        start = cut
    if end > start:
        yield start, end


def fold(text: str) -> str:
    """Lower-case, compatibility-normalised, without accents: for comparing, never for showing."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in decomposed if c in _VOICING or not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare).casefold()


@lru_cache(maxsize=8192)
def words(text: str) -> tuple[str, ...]:
    """Return the folded words in order.

    Each CJK character is one word; 'Veltran-7' gives 'veltran' and '7'.
    """
    return tuple(_WORD.findall(fold(text)))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Strip English plural and verb endings, lightly, so that what is compared comes out alike.

    'city' and 'cities', 'make', 'makes' and 'making', 'building' and 'buildings' are pairs.
    """
    if not word.isascii():
        return word
    word = _without(word, (("ies", "y"), ("ss", "ss"), ("s", "")))
    word = _without(word, (("ing", ""), ("ed", "")))
    while len(word) > _SHORTEST and word.endswith("e"):
        word = word[:-1]
    return word


def _without(word: str, endings: Iterable[tuple[str, str]]) -> str:
    """Replace the first of `endings` that leaves enough of a word."""
    for ending, rest in endings:
        trunk = word.removesuffix(ending) + rest
        if word.endswith(ending) and len(trunk) >= _SHORTEST:
            return trunk
    return word


@lru_cache(maxsize=8192)
def terms(text: str) -> tuple[str, ...]:
    """Return the stemmed words in order, without stopwords; the unit of ranking and likeness."""
    return tuple(stem(w) for w in words(text) if w not in STOPWORDS)


def numbers(text: str) -> list[str]:
    """Return the numbers in order, in one spelling.

    '1,843', '1.843.000' and, with a no-break space, '1 843' lose their separators; '2.50' becomes
    '2.5', '1.234,5' becomes '1234.5', '−5' (any minus sign) '-5', '.5' becomes '0.5' and '007' '7'.
    A comma before other than three digits is a decimal comma; so is no dot before three.
    """
    return [_normal_number(m.group()) for m in NUMBER.finditer(text)]


def _normal_number(raw: str) -> str:
    digits = re.sub(r"\d", lambda m: str(int(m.group())), re.sub(r"[\u00a0\u202f]", "", raw))
    digits = digits.lstrip("+").replace("\u2212", "-")
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"-?\d{1,3}(?:\.\d{3})+,\d+|-?\d{1,3}(?:\.\d{3}){2,}", digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"-?\d+,\d+", digits):
        digits = digits.replace(",", ".")
    if digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0*(?=\d)", r"\1", re.sub(r"^(-?)\.", r"\g<1>0.", digits))


def names(text: str) -> list[str]:
    """Return runs of capitalised words in order; none spans the end of a sentence or of a line.

    Initials and titles keep their full stop ('J. R. Smith', 'St. Maurice'). A leading article and a
    lone sentence opener like 'In' are no part of a name.
    """
    found: list[str] = []
    for match in _NAME.finditer(text):
        run: list[str] = []
        for token in (*match.group().split(), ""):
            opens = token.lower() in STOPWORDS and token[:1].isupper()
            if not token or (opens and run and run[-1].endswith(".")):
                found.extend(_name(run))
                run = []
            run.append(token)
    return found


def _name(tokens: list[str]) -> Iterator[str]:
    while tokens and tokens[0].lower() in STOPWORDS:
        tokens = tokens[1:]
    while tokens and (tokens[-1].lower() in STOPWORDS or tokens[-1] in _CONNECT):
        tokens = tokens[:-1]
    if tokens:
        yield " ".join(tokens).rstrip(".'’")


def likeness(a: str, b: str) -> float:
    """Return how alike two short texts are, 0 to 1: shared terms over all terms (Jaccard)."""
    left, right = frozenset(terms(a)), frozenset(terms(b))
    return len(left & right) / len(left | right) if left and right else float(fold(a) == fold(b))


def same_query(a: str, b: str, threshold: float = 0.8) -> bool:
    """Tell whether two queries bring the same: alike in terms, equal in numbers and names.

    'Veltran-7 density' and 'Veltran-42 density' are alike but not the same.
    """
    if likeness(a, b) < threshold or _digits(a) != _digits(b):
        return False
    return _named(a) <= set(terms(b)) and _named(b) <= set(terms(a))


def _digits(text: str) -> frozenset[str]:
    return frozenset(w for w in words(text) if any(c.isdigit() for c in w))


def _named(text: str) -> frozenset[str]:
    return frozenset(t for name in names(text) for t in terms(name))


def unique(queries: Iterable[str], asked: Iterable[str] = ()) -> list[str]:
    """Drop blank queries and those that say the same as an earlier one or one of `asked`."""
    seen = list(asked)
    kept: list[str] = []
    for query in queries:
        text = " ".join(query.split())
        if text and not any(same_query(text, other) for other in seen):
            kept.append(text)
            seen.append(text)
    return kept


def shorten(text: str, limit: int) -> str:
    """Fold white space; cut to `limit` characters between words and mark the cut with '…'."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    return text[: max(0, limit - 1)].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
