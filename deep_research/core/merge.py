"""From the tree to the evidence bank: equal learnings become one, disagreeing ones a conflict, order is the planner's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .model import Evidence, Learning, ResearchNode
from .report import Conflict
from .text import fold, likeness, names, numbers, terms

_AS_OF = re.compile(r"^\s*(?:as of|as at|by|in|since)\s+(?:\w+\s+)?(\d{4})\s*,\s*", re.IGNORECASE)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_SAME: Final = 0.9
_SAME_SUBJECT: Final = 0.8


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
        twin = next((i for i in bucket if _same(kept[i], learning)), None)
        if twin is None:
            bucket.append(len(kept))
            kept.append(learning)
            continue
        first = kept[twin]
        places = {(e.sha256, e.start): e for e in (*first.evidence, *reversed(learning.evidence))}
        for e in first.evidence:
            places[e.sha256, e.start] = e
        kept[twin] = replace(first, evidence=tuple(places.values()))
    return kept


def _same(a: Learning, b: Learning) -> bool:
    if fold(a.text) == fold(b.text):
        return True
    if {(e.sha256, e.start) for e in a.evidence} & {(e.sha256, e.start) for e in b.evidence}:
        return likeness(a.text, b.text) >= _SAME_SUBJECT
    return likeness(a.text, b.text) >= _SAME and set(_proper(a.text)) == set(_proper(b.text))


def _proper(text: str) -> tuple[str, ...]:
    return tuple(fold(name) for name in names(text))


def _conflicts(learnings: list[Learning]) -> tuple[list[Conflict], set[int]]:
    """Find learnings that say the same of the same thing with other numbers; return them and who lost."""
    masked = [_Masked.of(x) for x in learnings]
    rows: dict[str, list[int]] = {}
    for i, m in enumerate(masked):
        for term in m.terms:
            rows.setdefault(term, []).append(i)
    found: list[Conflict] = []
    lost: set[int] = set()
    for i, j in _pairs(masked, rows):
        if id(learnings[i]) in lost or id(learnings[j]) in lost:
            continue
        newer, older, reason = _prefer(learnings[i], masked[i], learnings[j], masked[j])
        found.append(Conflict(newer, older, reason))
        lost.add(id(older))
    return found, lost


@dataclass(frozen=True, slots=True)
class _Masked:
    """What a learning says without its numbers: two of these that are equal speak of the same thing."""

    terms: frozenset[str]
    values: frozenset[str]
    names: frozenset[str]
    year: int

    @classmethod
    def of(cls, learning: Learning) -> _Masked:
        dated = _AS_OF.match(learning.text)
        text = _AS_OF.sub("", learning.text)
        identity = frozenset(n for name in names(text) for n in numbers(f" {name.replace('-', ' ')}"))
        said = frozenset(t for t in terms(text) if not t.isdigit())
        published = max((e.source.published[:4] for e in learning.evidence), default="")
        year = int(dated.group(1)) if dated else int(published) if published.isdigit() else 0
        return cls(
            said,
            frozenset(numbers(text)) - identity,
            frozenset(w for name in names(text) for w in fold(name).split()),
            year,
        )


def _pairs(masked: Sequence[_Masked], rows: dict[str, list[int]]) -> Iterator[tuple[int, int]]:
    """Yield pairs (i < j) that give the same thing different values."""
    for i, a in enumerate(masked):
        if not a.values or len(a.terms) < 2:
            continue
        rare = sorted(a.terms, key=lambda t: (len(rows[t]), t))[:3]
        near = sorted({j for term in rare for j in rows[term] if j > i})
        for j in near:
            b = masked[j]
            if not b.values or a.values <= b.values or b.values <= a.values or a.names != b.names:
                continue
            if len(a.terms & b.terms) / len(a.terms | b.terms) >= _SAME_SUBJECT:
                yield i, j


def _prefer(
    a: Learning, ma: _Masked, b: Learning, mb: _Masked
) -> tuple[Learning, Learning, str]:
    """Prefer the newer date, then more independent pages, then the earlier place in the tree."""
    if ma.year != mb.year and ma.year and mb.year:
        newer, older = (a, b) if ma.year > mb.year else (b, a)
        return newer, older, f"{max(ma.year, mb.year)} is newer than {min(ma.year, mb.year)}"
    if len(a.evidence) != len(b.evidence):
        more, fewer = (a, b) if len(a.evidence) > len(b.evidence) else (b, a)
        return more, fewer, f"{len(more.evidence)} pages against {len(fewer.evidence)}"
    return a, b, "same age and support; the first found is shown first"


def fit(
    learnings: Sequence[Learning], limit: int, count: Callable[[str], int]
) -> tuple[Learning, ...]:
    """Trim to `limit` tokens: citable learnings first, then newest first; the order stays.

    One that is too large by itself is left out and does not push out others.
    """
    order = sorted(
        range(len(learnings)), key=lambda i: (not learnings[i].evidence, -i)
    )
    kept: set[int] = set()
    for i in order:
        cost = count(learnings[i].text) + 2
        if cost <= limit:
            kept.add(i)
            limit -= cost
    return tuple(learnings[i] for i in sorted(kept))


def years(text: str) -> list[int]:
    """Return the years that a text names."""
    return [int(y) for y in _YEAR.findall(text)]
