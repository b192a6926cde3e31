"""Which of the remembered claims are on the topic of a question.

A claim has to share the weightiest terms of the question before it is ranked at all: BM25 alone
would find a best answer to any question.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from heapq import nlargest
from math import log
from typing import Final

from deep_research.core.rank import Ranker
from deep_research.core.text import names, terms

from .claims import line

MOST: Final = 12
"""Leads of one question."""
_FLOOR: Final = 0.5
"""Share of the weight of the question's weightiest terms that a claim needs."""
_WEIGHTIEST: Final = 6
_MOST_TERMS: Final = 60
_MOST_RANKED: Final = 400
_BACKGROUND: Final = 200
"""A small memory tells little about how common a word is: it counts as if it held so many."""


def ranked(db: sqlite3.Connection, question: str) -> list[int]:
    """Return the ids of the claims on the topic of `question`: best first, the newer of equals."""
    near = _near(db, question)
    dates, texts = {}, {}
    for n in near:
        row = db.execute("SELECT text, question, date FROM claims WHERE id = ?", (n,)).fetchone()
        text, asked, dates[n] = (line(value) for value in row)
        texts[n] = f"{text} {asked}"
    scores = Ranker(list(texts.values())).scores({question: 1.0})
    best = {n: round(score, 1) for n, score in zip(texts, scores, strict=True)}
    # The text itself comes last, so that the order of writing does not matter.
    return sorted(
        sorted(texts, key=lambda n: texts[n]), key=lambda n: (best[n], dates[n]), reverse=True
    )


def _near(db: sqlite3.Connection, question: str) -> list[int]:
    """Return the ids of at most 400 claims that share enough with the question.

    At least one word of a name that the question holds, and a part of its weight. Weights are whole
    numbers: their sum does not depend on the order of a set.
    """
    wanted = frozenset(list(dict.fromkeys(terms(question)))[:_MOST_TERMS])
    named = wanted.intersection(t for name in names(question) for t in terms(name))
    rows = db.execute("SELECT id, terms FROM claims").fetchall()
    shared = {n: wanted.intersection(str(topic).split()) for n, topic in rows}
    count = Counter(term for some in shared.values() for term in some)
    total = max(len(rows), _BACKGROUND)
    weight = {t: round(1000 * log(1 + (total - count[t] + 0.5) / (count[t] + 0.5))) for t in wanted}
    floor = _FLOOR * sum(nlargest(_WEIGHTIEST, weight.values()))
    near = {
        n: covered
        for n, some in shared.items()
        if (some & named if named else some) and (covered := sum(weight[t] for t in some)) >= floor
    }
    return nlargest(_MOST_RANKED, near, key=lambda n: (near[n], n))
