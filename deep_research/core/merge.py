"""From tree to evidence bank: equal learnings become one, disagreeing ones a conflict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .model import Evidence, Learning, ResearchNode
from .quantities import quantities, spoken_dates
from .report import Conflict
from .text import fold, likeness, names, numbers, terms, words

_AS_OF = re.compile(
    r"^\s*(?:as of|as at|by|in|since)\s+(?:\w+\s+){0,3}?(\d{4})\s*,\s*"
    r"|,?\s*\bas (?:of|at)\s+(?:\w+\s+){0,3}?(\d{4})\b",
    re.IGNORECASE,
)
_SERIAL = re.compile(
    r"\s(\d{1,3})"
    r"(?![\d%,.]*\d|\s?(?:[%°]|(?:thousand|million|billion|trillion|percent|per cent)\b))"
)
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*$", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|no|never|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_SAME: Final = 0.9
_SAME_SUBJECT: Final = 0.8
_FEWEST_TERMS: Final = 2


@dataclass(frozen=True, slots=True)
class Item:
    """One citable learning of the bank; `id` counts from 1 and is what a writer may cite."""

    id: int
    learning: Learning


@dataclass(frozen=True, slots=True)
class Bank:
    """All that a writer may use.

    Attributes:
        items: Citable learnings, in tree order.
        conflicts: Pairs that disagree; only the preferred one is among the items.
        learnings: Everything that was learned, also what cannot be cited or lost a conflict.
    """

    items: tuple[Item, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    learnings: tuple[Learning, ...] = ()

    def quotes(self, ids: Iterable[int]) -> list[Evidence]:
        """Return the evidence of these items, in order; unknown ids are ignored."""
        by_id = {item.id: item for item in self.items}
        return [e for i in ids if i in by_id for e in by_id[i].learning.evidence]


def merge(root: ResearchNode) -> Bank:
    """Collect the learnings of the whole tree: parents first, siblings in planned order."""
    learnings = _united(
        replace(learning, path=node.path)
        for node in root.walk()
        for learning in node.findings.learnings
    )
    conflicts, lost = _conflicts([x for x in learnings if x.evidence])
    kept = [x for x in learnings if x.evidence and id(x) not in lost]
    items = tuple(Item(i, learning) for i, learning in enumerate(kept, 1))
    return Bank(items, tuple(conflicts), tuple(learnings))


def _united(learnings: Iterable[Learning]) -> list[Learning]:
    """Make equal learnings one with the evidence of all."""
    kept: list[Learning] = []
    buckets: dict[tuple[str, ...], list[int]] = {}
    for learning in learnings:
        bucket = buckets.setdefault(tuple(sorted(set(numbers(learning.text)))), [])
        twin = next((i for i in bucket if same(kept[i], learning)), None)
        if twin is None:
            bucket.append(len(kept))
            kept.append(learning)
            continue
        places: dict[tuple[str, int], Evidence] = {}
        for e in (*kept[twin].evidence, *learning.evidence):
            places.setdefault((e.sha256, e.start), e)
        kept[twin] = replace(kept[twin], evidence=tuple(places.values()))
    return kept


def same(a: Learning, b: Learning) -> bool:
    """Tell whether two learnings say the same of the same thing."""
    if fold(a.text) == fold(b.text):
        return True
    if bool(_NOT.search(a.text)) != bool(_NOT.search(b.text)):
        return False
    if {(e.sha256, e.start) for e in a.evidence} & {(e.sha256, e.start) for e in b.evidence}:
        return likeness(a.text, b.text) >= _SAME_SUBJECT
    if likeness(a.text, b.text) < _SAME:
        return False
    # The order of names tells who did it to whom.
    named = {w for text in (a.text, b.text) for name in names(text) for w in words(name)}
    in_a, in_b = ([w for w in words(text) if w in named] for text in (a.text, b.text))
    return in_a == in_b


def _conflicts(learnings: list[Learning]) -> tuple[list[Conflict], set[int]]:
    """Find learnings that say the same of the same thing with other numbers.

    Returns the conflicts, each with the winner of all on its preferred side, and the ids of who
    lost.
    """
    masked = [_Masked.of(x) for x in learnings]
    rows: dict[str, list[int]] = {}
    for i, m in enumerate(masked):
        for term in m.terms:
            rows.setdefault(term, []).append(i)
    beaten: dict[int, tuple[int, str, bool]] = {}
    for i, j in _pairs(masked, rows):
        if i not in beaten and j not in beaten:
            first, reason, settled = _prefer(learnings[i], masked[i], learnings[j], masked[j])
            beaten[j if first else i] = (i if first else j), reason, settled
    found: list[Conflict] = []
    for loser, verdict in beaten.items():
        winner, reason, settled = verdict
        while winner in beaten:
            winner, reason, settled = beaten[winner]
        found.append(Conflict(learnings[winner], learnings[loser], reason, settled))
    return found, {id(learnings[i]) for i in beaten}


@dataclass(frozen=True, slots=True)
class _Masked:
    """What a learning says without its numbers: two that are equal speak of the same thing.

    Attributes:
        terms: Its words, without numbers.
        values: Its numbers, without those that belong to names ('Veltran-7', 'Apollo 11').
        names: The words and numbers of its names.
        words: All of its words and numbers.
        years: The years among its values, if there are other values too: when those held.
        year: When it was so, as it says itself or as its newest page is dated; 0 if unknown.
    """

    terms: frozenset[str]
    values: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    years: frozenset[str]
    year: int

    @classmethod
    def of(cls, learning: Learning) -> _Masked:
        dated = _AS_OF.search(learning.text)
        text = _AS_OF.sub("", learning.text)
        proper = [name + _serial(name, text) for name in names(text)]
        identity = {n for name in proper for n in numbers(name.replace("-", " "))}
        counted = quantities(spoken_dates(text))
        values = frozenset(q.value for q in counted if q.number not in identity)
        dates = frozenset(v for v in values if _YEAR.fullmatch(v))
        said = frozenset(t for t in terms(text) if not t.isdigit())
        published = max((e.source.published[:4] for e in learning.evidence), default="")
        when = (dated[1] or dated[2]) if dated else published
        year = int(when) if when.isdecimal() else 0
        return cls(
            said,
            values,
            frozenset(w for name in proper for w in words(name)),
            frozenset(words(text)),
            dates if values > dates else frozenset(),
            year,
        )


def _serial(name: str, text: str) -> str:
    """Return the number that belongs to a name, as ' 11' does in 'Apollo 11', or ''."""
    match = _SERIAL.match(text, text.find(name) + len(name))
    return f" {match[1]}" if match and not _MONTH.search(name) else ""


def _pairs(masked: Sequence[_Masked], rows: dict[str, list[int]]) -> Iterator[tuple[int, int]]:
    """Yield pairs (i < j) that give the same thing different values."""
    for i, a in enumerate(masked):
        if not a.values or len(a.terms) < _FEWEST_TERMS:
            continue
        rare = sorted(a.terms, key=lambda t: (len(rows[t]), t))[:3]
        near = sorted({j for term in rare for j in rows[term] if j > i})
        for j in near:
            b = masked[j]
            if a.values <= b.values or b.values <= a.values:
                continue
            if not (a.names <= b.words and b.names <= a.words):
                continue
            if a.years and b.years and not a.years & b.years:
                continue
            if len(a.terms & b.terms) / len(a.terms | b.terms) >= _SAME_SUBJECT:
                yield i, j


def _prefer(a: Learning, ma: _Masked, b: Learning, mb: _Masked) -> tuple[bool, str, bool]:
    """Tell whether `a` is preferred, why, and whether that settles it.

    A newer date does; more pages, else the tree's order, do not.
    """
    old, new = sorted((ma.year, mb.year))
    if old and old != new:
        return ma.year == new, f"{new} is newer than {old}", True
    pages_a, pages_b = (len({e.sha256 for e in x.evidence}) for x in (a, b))
    few, many = sorted((pages_a, pages_b))
    if few != many:
        return pages_a == many, f"{many} pages against {few}", False
    return True, "same age and support; the first found is shown first", False


def fit(
    learnings: Sequence[Learning], limit: int, count: Callable[[str], int]
) -> tuple[Learning, ...]:
    """Trim to `limit` tokens: citable learnings first, then newest first; the order stays.

    One that is too large by itself is left out and does not push out others.
    """
    order = sorted(range(len(learnings)), key=lambda i: (not learnings[i].evidence, -i))
    kept: set[int] = set()
    for i in order:
        cost = count(learnings[i].text) + 2
        if cost <= limit:
            kept.add(i)
            limit -= cost
    return tuple(learnings[i] for i in sorted(kept))
