"""Settings of a served world, and what one run did to it so far."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

from . import content
from .embed import Embedder
from .reader import Reader
from .search import Index


@dataclass
class Config:
    host: str = "127.0.0.1"
    port: int = 8900
    # world
    seed: int = 1
    topics: int = 4
    pages: int = 500
    hop1: int = 6  # things under the root, under each of those, and so on
    hop2: int = 2
    hop3: int = 1
    conflict: float = 0.18
    dead: float = 0.10
    backlink: float = 0.25
    # latency, seconds before --speed
    speed: float = 1.0
    ttft: float = 0.3
    per_out: float = 0.005
    per_in: float = 0.00002
    embed: float = 0.1  # seconds per embedding call
    search_lo: float = 0.2
    search_hi: float = 1.0
    fetch_lo: float = 0.2
    fetch_hi: float = 1.0
    slow: float = 6.0
    hang: float = 40.0
    # LLM
    natural_max: int = 6000
    context_limit: int = 128_000
    # faults (off by default)
    max_concurrent: int = 0  # 429 beyond this many concurrent chat calls
    rpm: int = 0  # 429 beyond this many chat calls a minute
    retry_after: float = 1.0
    p500: float = 0.0  # share of chat calls answered with 500
    p_malformed: float = 0.0  # share of JSON answers cut off
    dump: str = ""  # file to append every chat prompt and answer to


WORLD_FIELDS = ("seed", "topics", "pages", "hop1", "hop2", "hop3", "conflict", "dead", "backlink")


class State:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        self.load_world()
        self.reset("start")

    def load_world(self):
        c = self.cfg
        self.world = content.World(**{k: getattr(c, k) for k in WORLD_FIELDS})
        self.index = Index(self.world)
        self.embedder = Embedder(self.index)
        self.html_cache = {}
        self._vec = {}

    def reset(self, label):
        self.label, self.t0 = label, time.perf_counter()
        self.events: list[dict] = []
        self.active = Counter()
        self.peak = Counter()
        self.seen = Counter()
        self.window: list[float] = []
        self.reader = Reader(self.cfg.natural_max)
        self.reader_cpu = 0.0

    def now(self):
        return time.perf_counter() - self.t0

    def unit(self, *key) -> float:
        """Uniform [0,1) from the seed and a key."""
        h = hashlib.blake2b("\x1f".join(map(str, (self.cfg.seed, *key))).encode(), digest_size=8).digest()
        return int.from_bytes(h, "big") / 2**64

    def enter(self, kind):
        self.active[kind] += 1
        self.peak[kind] = max(self.peak[kind], self.active[kind])
        return self.now()

    def leave(self, kind, t0, **kw):
        self.active[kind] -= 1
        self.events.append(dict(kind=kind, t0=round(t0, 4), t1=round(self.now(), 4), **kw))

    def vector(self, text):
        if text not in self._vec:
            self._vec[text] = self.embedder.vector(text)
        return self._vec[text]

    def url(self, page):
        return f"http://{self.cfg.host}:{self.cfg.port}{page.url_path}"

    def stats(self):
        ev = self.events
        by = defaultdict(list)
        for e in ev:
            by[e["kind"]].append(e)
        chat, emb, srch, fet = by["chat"], by["embed"], by["search"], by["fetch"]
        ok = [e for e in chat if e["status"] == 200]
        qs = Counter(" ".join(e["q"].lower().split()) for e in srch)
        us = Counter(e["url"] for e in fet)
        raw = Counter(u for e in srch for u in e.get("raw", ()))
        raw.update(u for e in by["extract"] for u in e.get("raw", ()))
        read = us + raw
        tops = Counter(e["top"] for e in srch if e.get("top"))
        t0 = min((e["t0"] for e in ev), default=0)
        t1 = max((e["t1"] for e in ev), default=0)
        busy = sum(e["t1"] - e["t0"] for e in chat)
        return dict(
            label=self.label,
            seed=self.cfg.seed,
            llm_calls=len(chat),
            llm_ok=len(ok),
            llm_status=dict(Counter(str(e["status"]) for e in chat)),
            llm_tasks=dict(Counter(e.get("task", "") for e in ok).most_common()),
            input_tokens=sum(e["in"] for e in ok),
            output_tokens=sum(e["out"] for e in ok),
            truncated=sum(1 for e in ok if e.get("truncated")),
            malformed=sum(1 for e in ok if e.get("malformed")),
            llm_busy_s=round(busy, 2),
            llm_peak=self.peak["chat"],
            embed_calls=len(emb),
            embed_inputs=sum(e["n"] for e in emb),
            embed_tokens=sum(e["in"] for e in emb),
            searches=len(srch),
            distinct_queries=len(qs),
            duplicate_queries=len(srch) - len(qs),
            same_results_again=sum(tops.values()) - len(tops),
            fetches=len(fet),
            distinct_fetched=len(us),
            duplicate_fetches=len(fet) - len(us),
            failed_fetches=sum(1 for e in fet if e["status"] != 200),
            fetch_status=dict(Counter(str(e["status"]) for e in fet)),
            server_side_pages=sum(raw.values()),
            distinct_server_side=len(raw),
            duplicate_server_side=sum(raw.values()) - len(raw),
            pages_read=sum(read.values()),
            distinct_pages_read=len(read),
            duplicate_pages_read=sum(read.values()) - len(read),
            search_peak=self.peak["search"],
            fetch_peak=self.peak["fetch"],
            first_s=round(t0, 3),
            last_s=round(t1, 3),
            span_s=round(t1 - t0, 3),
            llm_mean_concurrency=round(busy / (t1 - t0), 3) if t1 > t0 else 0,
            llm_idle_s=round(_idle(chat, t0, t1), 2),
            reader_cpu_s=round(self.reader_cpu, 2),
        )


def _idle(events, t0, t1):
    """Seconds of [t0, t1] in which no event was running."""
    cover, end = 0.0, t0
    for a, b in sorted((e["t0"], e["t1"]) for e in events):
        if b > end:
            cover += b - max(a, end)
            end = b
    return (t1 - t0) - cover


async def pause(state, seconds, since=None):
    """Sleep until `seconds` (scaled by --speed) after `since` (server clock) or from now."""
    s = seconds / state.cfg.speed
    if since is not None:
        s -= state.now() - since
    if s > 0:
        await asyncio.sleep(s)
