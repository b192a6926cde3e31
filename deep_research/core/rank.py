"""BM25: which of a few hundred texts answer a query best.

Formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009,
with the +1 inside the logarithm that keeps every weight positive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from .text import terms


class Ranker:
    """Scores texts against weighted queries; built once for a set of texts."""

    def __init__(self, texts: Sequence[str], *, k1: float = 1.2, b: float = 0.6) -> None:
        counts = [Counter(terms(text)) for text in texts]
        lengths = [sum(c.values()) for c in counts]
        mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
        seen = Counter(term for c in counts for term in c)
        self.idf = {t: log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for t, n in seen.items()}
        self._weights = [
            {
                t: self.idf[t] * n * (k1 + 1) / (n + k1 * (1 - b + b * length / mean))
                for t, n in c.items()
            }
            for c, length in zip(counts, lengths, strict=True)
        ]

    def scores(self, queries: Mapping[str, float]) -> list[float]:
        """Return one score per text: the weighted sum over `queries` (text → weight)."""
        wanted: dict[str, float] = {}
        for query, weight in queries.items():
            for term in dict.fromkeys(terms(query)):
                wanted[term] = wanted.get(term, 0.0) + weight
        return [sum(w.get(t, 0.0) * x for t, x in wanted.items()) for w in self._weights]
