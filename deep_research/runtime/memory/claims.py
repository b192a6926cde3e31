"""What of a report is worth remembering, and when two claims are one."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from typing import Final

from deep_research.core.merge import same
from deep_research.core.model import Evidence, Learning, Source
from deep_research.core.report import Report, RunStatus, Support
from deep_research.core.text import numbers, shorten, terms

_LONGEST: Final = 500
_LONGEST_URL: Final = 2000
_LONGEST_QUOTE: Final = 2000
_SHARED: Final = (Evidence(Source(""), "", "", 0, 0),)
"""Stands for the quote that two claims share."""
_DATE: Final = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a saved page that carry a claim: `page[start:][:len(quote)] == quote`."""

    url: str
    published: str
    sha256: str
    start: int
    quote: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A verified claim of a report and what it stands on; never without a quote."""

    text: str
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A claim as it is kept.

    Attributes:
        id: Its number in the file; never used again once it is forgotten.
        text: The claim.
        question: What was asked when it was last verified,
        run: by which run,
        date: and when, as ISO 8601 in UTC.
        urls: Pages that it stood on, the last seen first.
        published: Date of the newest of these pages, ISO or ''.
    """

    id: int
    text: str
    question: str
    run: str
    date: str
    urls: tuple[str, ...]
    published: str


def verified(report: Report) -> list[Fact]:
    """Return the claims to remember, in the report's order.

    Only what words on a page of this very run carry: no lead becomes knowledge by being repeated.
    Nothing of a run that was cancelled, failed or found nothing.
    """
    if report.status not in {RunStatus.COMPLETE, RunStatus.PARTIAL}:
        return []
    pages = {r.n: r for r in report.references if address(r.url) and r.sha256}
    facts = []
    for claim in report.claims:
        if claim.support is not Support.VERIFIED:
            continue
        cited = [(pages[c.reference], c) for c in claim.citations if c.reference in pages]
        quotes = tuple(
            Quote(r.url, _date(r.published), r.sha256, c.start, _storable(c.quote))
            for r, c in cited
            if c.quote
        )
        text = line(claim.text)
        if quotes and terms(text):
            facts.append(Fact(text, quotes))
    return facts


def line(value: object, limit: int = _LONGEST) -> str:
    """Return what is in the file as one line of at most `limit` characters that can be seen."""
    text = "" if value is None else str(value)
    return shorten("".join(c if c.isprintable() else " " for c in text), limit)


def address(value: object) -> str:
    """Return a URL of at most 2,000 visible characters, or ''."""
    url = str(value)
    fits = url.isprintable() and " " not in url and len(url) <= _LONGEST_URL
    return url if fits else ""


def _date(text: str) -> str:
    match = _DATE.match(text)
    return match[0] if match else ""


def _storable(quote: str) -> str:
    """Return the beginning of a quote; half of a surrogate pair, which UTF-8 lacks, becomes '?'."""
    return quote[:_LONGEST_QUOTE].encode("utf-8", "replace").decode()


def topic(text: str, question: str) -> str:
    """Return the terms by which a claim is recalled: its own and those of its question."""
    return " ".join(dict.fromkeys((*terms(text), *terms(question))))


def bucket(text: str) -> str:
    """Return what two equal claims have in common: their words, whatever the order."""
    return " ".join(sorted(set(terms(text))))


def find_twin(db: sqlite3.Connection, fact: Fact) -> int | None:
    """Return the id of the claim that says the same of the same thing; None if it is new.

    Looked for among those with equal words, and among those that stand on an equal quote, where
    the wording may differ more. Comparing with all would take a minute once there are thousands.
    """
    numbered = set(numbers(fact.text))
    for n, text, cites in _candidates(db, fact):
        shared = _SHARED if cites else ()
        if set(numbers(text)) == numbered and same(
            Learning(text, shared), Learning(fact.text, shared)
        ):
            return n
    return None


def _candidates(db: sqlite3.Connection, fact: Fact) -> list[tuple[int, str, bool]]:
    """Return id, text and whether a quote is shared, the oldest claim first."""
    rows = db.execute("SELECT id, text FROM claims WHERE bucket = ?", (bucket(fact.text),))
    found = {n: (n, line(text), False) for n, text in rows}
    for quote in fact.quotes:
        rows = db.execute(
            "SELECT id, text FROM claims WHERE id IN (SELECT claim FROM quotes WHERE quote = ?)",
            (quote.quote,),
        )
        found |= {n: (n, line(text), True) for n, text in rows}
    return [found[n] for n in sorted(found)]
