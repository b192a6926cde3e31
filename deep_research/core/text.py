"""Reading text by rule: sentences, words, names, numbers, likeness. Right for Latin, Cyrillic and CJK alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

Span = tuple[int, int]

_CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_]+(?:['’][^\W_]+)*", re.UNICODE)
_NUMBER = re.compile(r"(?<![\w.,])[+-]?\d[\d,.\u00a0\u202f]*\d|(?<![\w.])\d")
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-ÞА-Я][\w’'-]*(?:\s+(?:of|de|la|von|van|der|the|and|&|[A-ZÀ-ÖØ-ÞА-Я][\w’'.-]*))*")
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？；]+[」』”’）]*|\n{2,}|\n(?=\s*(?:[-*•|#]|\d{1,3}[.)]\s))")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Mt|No|Nos|Vol|Fig|Figs|Eq|Ch|pp?|cf|ca|approx|vs|etc|e\.g|i\.e|al|"
    r"Inc|Ltd|Co|Corp|Bros|Gen|Col|Lt|Capt|Sgt|Rev|Hon|Gov|Sen|Rep|Pres|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|"
    r"U\.S|U\.K|a\.m|p\.m|Ph\.D)\.$"
)
STOPWORDS: Final = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both but by "
    "can could did do does doing down during each few for from further had has have having he her here hers him his how "
    "i if in into is it its just know known let me more most my no nor not now of off on once only or other our out over "
    "own same she should so some such than that the their them then there these they this those through to too under "
    "until up very was we were what when where which while who whom whose why will with would you your".split()
)
_MAX_SENTENCE: Final = 600


def sentences(text: str) -> list[Span]:
    """Return the (start, end) of each sentence: no overlaps, no surrounding white space, none longer than 600 characters.

    A blank line, a list item and a heading end a sentence; common abbreviations, initials and decimals do not.
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
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while end - start > _MAX_SENTENCE:
        cut = text.rfind(" ", start + 1, start + _MAX_SENTENCE)
        cut = cut if cut > start else start + _MAX_SENTENCE
        yield start, cut
        start = cut + (text[cut : cut + 1] == " ")
    if end > start:
        yield start, end


def fold(text: str) -> str:
    """Lower-case, compatibility-normalised, without accents: for comparing, never for showing."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


@lru_cache(maxsize=8192)
def words(text: str) -> tuple[str, ...]:
    """Return the folded words in order; each CJK character is one word, 'Veltran-7' gives 'veltran' and '7'."""
    return tuple(_WORD.findall(fold(text)))


def stem(word: str) -> str:
    """Strip English plural and verb endings, lightly: it only has to make both sides of a comparison alike."""
    if len(word) <= 3 or not word.isascii():
        return word
    for ending, rest in (("sses", "ss"), ("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") | (ending == "sses"):
            trunk = word[: -len(ending)] + rest
            if len(trunk) >= 3:
                return trunk.rstrip("e") if len(trunk) > 3 else trunk
            return word
    return word.rstrip("e") if len(word) > 4 else word


@lru_cache(maxsize=8192)
def terms(text: str) -> tuple[str, ...]:
    """Return the stemmed content words in order, without stopwords; the unit of ranking and likeness."""
    return tuple(stem(w) for w in words(text) if w not in STOPWORDS)


def numbers(text: str) -> list[str]:
    """Return the numbers in order, normalised: '1,843' and '1 843' become '1843', '2.50' becomes '2.5'."""
    return [n for n in (_normal_number(m.group()) for m in _NUMBER.finditer(text)) if n]


def _normal_number(raw: str) -> str:
    digits = re.sub(r"[\s\u00a0\u202f]", "", raw.lstrip("+")).rstrip(".,")
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"-?\d{1,3}(?:\.\d{3}){2,}", digits):
        digits = digits.replace(".", "")
    elif re.fullmatch(r"-?\d+,\d+", digits):
        digits = digits.replace(",", ".")
    if "." in digits and digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    return digits


def names(text: str) -> list[str]:
    """Return runs of capitalised words in order, without a leading article or a lone sentence opener like 'In'."""
    found: list[str] = []
    for match in _NAME.finditer(text):
        tokens = match.group().split()
        while tokens and tokens[0].lower() in STOPWORDS:
            tokens.pop(0)
        while tokens and (tokens[-1].lower() in STOPWORDS or tokens[-1] in {"de", "von", "van", "der", "la", "&"}):
            tokens.pop()
        if tokens:
            found.append(" ".join(tokens).rstrip(".'’"))
    return found


def likeness(a: str, b: str) -> float:
    """Return how alike two short texts are, 0 to 1: shared terms over all terms (Jaccard)."""
    left, right = frozenset(terms(a)), frozenset(terms(b))
    return len(left & right) / len(left | right) if left and right else float(fold(a) == fold(b))


def same_query(a: str, b: str, threshold: float = 0.8) -> bool:
    """Tell whether two queries would bring the same results: alike in terms, and equal in numbers.

    'Veltran-7 density' and 'Veltran-42 density' are alike but not the same.
    """
    return likeness(a, b) >= threshold and _digits(a) == _digits(b)


def _digits(text: str) -> frozenset[str]:
    return frozenset(w for w in words(text) if any(c.isdigit() for c in w))


def unique(queries: Iterable[str], asked: Iterable[str] = ()) -> list[str]:
    """Drop blank queries and those that say the same as an earlier one or one already asked; keep the order."""
    seen = list(asked)
    kept: list[str] = []
    for query in queries:
        text = " ".join(query.split())
        if text and not any(same_query(text, other) for other in seen):
            kept.append(text)
            seen.append(text)
    return kept


def shorten(text: str, limit: int) -> str:
    """Cut at a word boundary and mark the cut with an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
