"""Names in running text: whom and what a sentence speaks of, found by spelling alone.

Latin, Cyrillic and Greek names are runs of capitalised words ('Ermengarde of Tours', 'Apollo 11');
Chinese and Japanese ones are quoted titles, katakana runs and words that end like the name of an
institution or a place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from deep_research.core.text import STOPWORDS, words

_TOKEN = re.compile(r"[^\W_]+(?:[-'’.&/][^\W_]+)*")
POSSESSIVE = re.compile(r"['’]s\b|(?<=s)['’](?=\s|$)", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“”«»„](.{2,80}?)[\"“”«»]|``(.{2,80}?)''|[《「『〈](.{1,40}?)[》」』〉]")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc・=＝]{3,}")
_HAN_BREAK = re.compile(r"[^\u3400-\u9fff]+|[的在是于和与及为由从到了被对以等他她其该此这那哪什么]")
_HAN_NAME = re.compile(
    r".{1,10}(?:公司|集团|大学|大學|学院|研究所|研究院|银行|銀行|法院|医院|省|市|县|州|国|國|河|山|岛|湖|党|军|社|寺|号)$"
)


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_LINKS: Final = _set(
    "of de du des la le les von van der den the di da del della al bin ibn ben y zu und"
)
_CALENDAR: Final = _set(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
)
_OPENERS: Final = _set(
    "however although today prior upon additionally moreover therefore thus meanwhile later since "
    "despite according like unlike many several two three four five six another every yes note see "
    "first second one published updated author source date title contents summary introduction "
    "compare describe explain list name give tell find summarize summarise everything nothing "
    "among within without along around based besides given instead"
)
_INITIAL: Final = 3
_YEAR_DIGITS: Final = 4
_LONGEST: Final = 12
_TAIL = re.compile(r"\s*\([^)]*\)\s*$")
_SITE = re.compile(r"\s+[-|–—·]\s+")


class Name(NamedTuple):
    """A name and where it stands: `text[start:end]` holds it."""

    start: int
    end: int
    text: str


@lru_cache(maxsize=16384)
def key(text: str) -> str:
    """Return how names are compared: folded words with single spaces, without possessive 's."""
    return " ".join(words(POSSESSIVE.sub("", text)))


def within(needle: str, hay: str) -> bool:
    """Tell whether the words of one key stand in a row in another."""
    return bool(needle) and f" {needle} " in f" {hay} "


@lru_cache(maxsize=4096)
def title_keys(title: str) -> tuple[str, ...]:
    """Return the names that a page title gives its subject, the fullest first.

    'Brother (Pearl Jam song)' is about 'brother', 'Baure, Nigeria' also about 'baure', and
    'Hank Snow - Wikipedia' also about 'hank snow'.
    """
    bare = _TAIL.sub("", title)
    forms = [bare, *_SITE.split(bare)[:1]]
    forms += [_TAIL.sub("", form) for form in forms]
    forms += [_TAIL.sub("", form.partition(",")[0]) for form in forms]
    return tuple(k for k in dict.fromkeys(key(form) for form in forms) if k)


def find(text: str) -> list[Name]:
    """Return the names in `text`, in order of their place; a quoted title may hold others."""
    found = [*_quoted(text), *_runs(text), *_cjk(text)]
    found.sort(key=lambda n: (n.start, -n.end))
    return list(dict.fromkeys(found))


def _quoted(text: str) -> Iterator[Name]:
    for match in _QUOTED.finditer(text):
        inner = match.lastindex or 0
        span = match.span(inner)
        title = text[slice(*span)].strip(" ,.")
        if title and len(title.split()) <= _LONGEST and not title.islower():
            yield Name(*span, title)


def _runs(text: str) -> Iterator[Name]:
    """Capitalised words in a row, joined by 'of', 'von' and their like; 'and' and commas divide."""
    run: list[re.Match[str]] = []
    links: list[re.Match[str]] = []
    before = ""
    for match in _TOKEN.finditer(text):
        word = match.group()
        joined = bool(run) and _adjoins(text, (links or run)[-1], match)
        if joined and word.lower() in _LINKS and not word[0].isupper():
            links.append(match)
        elif joined and (word[0].isupper() or (not links and _numeral(word))):
            run += [*links, match]
            links = []
        else:
            yield from _closed(text, run)
            opens = word[0].isupper() or (word[0].isdigit() and before == "the")
            run, links = ([match] if opens else []), []
        if run and POSSESSIVE.search(word):
            yield from _closed(text, run)
            run, links = [], []
        before = word.lower()
    yield from _closed(text, run)


def _adjoins(text: str, last: re.Match[str], match: re.Match[str]) -> bool:
    gap = text[last.end() : match.start()]
    if gap.isspace():
        return "\n\n" not in gap
    return gap.strip() == "." and gap != "." and len(last.group()) <= _INITIAL


def _numeral(word: str) -> bool:
    return word.isdigit() and len(word) < _YEAR_DIGITS


def _closed(text: str, run: list[re.Match[str]]) -> Iterator[Name]:
    """Trim function words and dates off a run; yield what is left, if it can be a name."""
    while run and run[0].group().lower() in STOPWORDS | _OPENERS:
        run = run[1:]
    if not run:
        return
    start, end = run[0].start(), run[-1].end()
    name = POSSESSIVE.sub("", text[start:end])
    parts = words(name)
    idle = all(w in _CALENDAR or w in STOPWORDS or w.isdigit() for w in parts)
    if not idle and len(parts) <= _LONGEST and len(name) > 1 and not name[0].islower():
        yield Name(start, start + len(name), " ".join(name.split()))


def _cjk(text: str) -> Iterator[Name]:
    for match in _KATAKANA.finditer(text):
        yield Name(*match.span(), match.group())
    at = 0
    for stop in [*_HAN_BREAK.finditer(text), None]:
        end = stop.start() if stop else len(text)
        if _HAN_NAME.fullmatch(text[at:end]):
            yield Name(at, end, text[at:end])
        at = stop.end() if stop else end
