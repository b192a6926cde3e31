"""BM25 search with snippets over the pages of a world."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict

STOP = set(
    "a an and are as at be but by for from has have in into is it its of on or that the their this to was were what "
    "which who will with how when where why does do did about give tell me much many any other those these".split()
)
_TOK = re.compile(r"[A-Za-z0-9]+(?:[-.][A-Za-z0-9]+)*")


def tokens(text: str) -> list[str]:
    """Lower-case tokens; a hyphenated token also yields its parts; plurals lose their s."""
    out = []
    for t in _TOK.findall(text.lower()):
        out.append(t)
        if "-" in t:
            out += t.split("-")
    return [t[:-1] if len(t) > 4 and t.endswith("s") and not t.endswith("ss") else t for t in out if t not in STOP]


class Index:
    def __init__(self, world, k1=1.4, b=0.6, title_weight=2):
        self.world, self.k1, self.b = world, k1, b
        self.paths = list(world.pages)
        self.post = defaultdict(list)
        self.len = []
        for i, path in enumerate(self.paths):
            p = world.pages[path]
            c = Counter(tokens(p.text))
            for t in tokens(p.title):
                c[t] += title_weight
            self.len.append(sum(c.values()))
            for t, n in c.items():
                self.post[t].append((i, n))
        self.avg = sum(self.len) / len(self.len)
        self.idf = {t: math.log(1 + (len(self.paths) - len(v) + 0.5) / (len(v) + 0.5)) for t, v in self.post.items()}
        self.max_idf = max(self.idf.values())

    def search(self, query: str, k: int = 10) -> list[tuple[float, object]]:
        scores = defaultdict(float)
        for t in dict.fromkeys(tokens(query)):
            for i, n in self.post.get(t, ()):
                norm = self.k1 * (1 - self.b + self.b * min(self.len[i], 4 * self.avg) / self.avg)
                scores[i] += self.idf[t] * n * (self.k1 + 1) / (n + norm)

        def tie(i):
            return hashlib.md5(f"{self.world.seed}{self.paths[i]}".encode()).hexdigest()

        best = sorted(scores, key=lambda i: (-round(scores[i], 6), tie(i)))[:k]
        return [(scores[i], self.world.pages[self.paths[i]]) for i in best]

    def snippet(self, page, query: str, size: int = 280) -> str:
        """The window of the page's sentences which matches the query best."""
        q = set(tokens(query))
        sents = re.split(r"(?<=[.!?])\s+", page.text[:200_000])
        best, at = -1.0, 0
        for i, s in enumerate(sents):
            sc = sum(self.idf.get(t, 0) for t in q & set(tokens(s)))
            if sc > best + 1e-9:
                best, at = sc, i
        out = ""
        for s in sents[at:]:
            if len(out) + len(s) > size and out:
                break
            out = f"{out} {s}".strip()
        return out
