"""Cuts texts into passages and makes them searchable, CJK included."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final

from deep_research.core.rank import Ranker
from deep_research.core.text import STOPWORDS, shorten

SIZE: Final = 1000
"""Characters that a passage aims at."""

_SMALLEST: Final = 600
_LARGEST: Final = 1400
_ENDS: Final = tuple(
    re.compile(pattern)
    for pattern in (r"\n\s*\n\s*", r"\n\s*", r"[.!?…]+[\"'”’)\]]*\s+|[。！？；]+", r"\s+")
)
_CJK: Final = (
    r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
)
_CJK_ONE = re.compile(f"[{_CJK}]")
_ACCENT = re.compile("[\u0300-\u036f]")
_WORDS = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_JOINED = re.compile(r"[^\W_]+(?:[-./:'’&+][^\W_]+)+")
_SNIPPET: Final = 1200
_MOST_TERMS: Final = 48


def passages(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the passages: none overlap, together they are the whole text.

    Each is 600 to 1400 characters long (the last may be shorter) and ends at the strongest boundary
    there: a blank line, a line, a sentence, a word; nearest to 1000.
    """
    cuts: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > _LARGEST:
        end = _boundary(text, start)
        cuts.append((start, end))
        start = end
    if start < len(text):
        cuts.append((start, len(text)))
    return cuts


def _boundary(text: str, start: int) -> int:
    low, high = start + _SMALLEST, start + _LARGEST
    for pattern in _ENDS:
        ends = [m.end() for m in pattern.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: abs(end - start - SIZE))
    return start + SIZE


def best_passage(text: str, query: str, limit: int = _SNIPPET) -> str:
    """Return the passage nearest to the query, in one line of at most `limit` characters."""
    spans = passages(text)
    if not spans:
        return ""
    scores = Ranker([text[start:end] for start, end in spans]).scores({query: 1.0})
    start, end = spans[max(range(len(spans)), key=lambda i: (scores[i], -i))]
    return shorten(text[start:end], limit)


def searchable(text: str) -> str:
    """Return the text as it is indexed: forms and accents folded, each CJK character a word."""
    return text if text.isascii() else _CJK_ONE.sub(r" \g<0> ", _folded(text))


def _folded(text: str) -> str:
    """Fold case and compatibility forms and drop accents, Ё as É; Hangul and voiced kana stay."""
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()


def match_expression(query: str) -> str:
    """Return a safe FTS5 query for any text, '' if it holds no word.

    Syntax: https://www.sqlite.org/fts5.html#full_text_query_syntax. Every word stands in quotation
        marks, so nothing of
    the query is read as an operator; words are joined by OR and BM25 sorts out the rest. A run of
    CJK characters becomes its overlapping pairs as phrases, since such text has no spaces; 'KX-7'
    counts as words and as a phrase.
    """
    plain = _folded(query)
    all_words = _WORDS.findall(plain)
    terms: list[str] = []
    for word in [w for w in all_words if w not in STOPWORDS] or all_words:
        if _CJK_ONE.match(word) and len(word) > 1:
            terms.extend(f"{a} {b}" for a, b in pairwise(word))
        else:
            terms.append(word)
    terms.extend(" ".join(_WORDS.findall(joined)) for joined in _JOINED.findall(plain))
    return " OR ".join(f'"{term}"' for term in list(dict.fromkeys(terms))[:_MOST_TERMS])
