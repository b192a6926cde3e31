"""Deterministic hashed bag-of-words embeddings.

Names and rare words weigh most, common words by their rarity in the corpus, stop words nothing; repeats are damped.  Numbers and words that
ask for numbers ("figures", "dates") share a direction, and each text has a small pseudo-random component of its own, as no real model
aligns two texts perfectly.  Calibrated so that the cosine of a query with a passage that states a fact about the thing lies
near 0.6 and with an unrelated passage below 0.1: the range for which engines have tuned their thresholds (0.35 to 0.45).
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from functools import lru_cache

from .search import tokens
from .words import ENGLISH

DIM = 1536
NOISE = 0.6
ASKS_NUMBERS = frozenset(
    "figure data date measurement specification number budget statistic exact history overview detail background fact depend".split()
)


@lru_cache(maxsize=200_000)
def _slot(tok: str) -> tuple[int, float]:
    h = int.from_bytes(hashlib.blake2b(tok.encode(), digest_size=8).digest(), "big")
    return h % DIM, 1.0 if h >> 40 & 1 else -1.0


class Embedder:
    def __init__(self, index):
        self.idf = index.idf

    def weight(self, t: str) -> float:
        if t.replace(".", "").isdigit():
            return 0.15
        if t in ENGLISH or t + "s" in ENGLISH:
            return 0.06 + 0.04 * min(self.idf.get(t, 1.0), 4.0)
        return min(3.0, 0.6 * self.idf.get(t, 5.0))  # names are rare; a word met on most pages is none

    def vector(self, text: str) -> list[float]:
        v = [0.0] * DIM
        v[0] += 0.6  # a common component, as real models have
        numbers = 0
        for t, n in Counter(tokens(text)).items():
            i, s = _slot(t)
            v[i] += s * self.weight(t) * (1 + math.log(n))
            if t in ASKS_NUMBERS or t.replace(".", "").isdigit():
                numbers += n
        v[1] += 1.0 * min(numbers, 3)
        norm = math.sqrt(sum(x * x for x in v)) or 1.0
        r = random.Random(hashlib.blake2b(text.encode(), digest_size=8).digest())
        k = NOISE * norm * math.sqrt(3.0 / DIM)  # uniform noise of NOISE times the vector's length
        v = [x + k * (2 * r.random() - 1) for x in v]
        norm = math.sqrt(sum(x * x for x in v))
        return [x / norm for x in v]
