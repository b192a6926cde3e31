"""Figures of one run: concurrency from the world's call log, the critical path from the engine's own events."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

WRITING = frozenset({"outline", "write", "section", "opening", "summary", "check", "rewrite"})
"""Steps that follow the tree, for event logs that do not mark where writing begins."""


def log_figures(events: list[dict]) -> dict:
    """Busy, idle and mean concurrency of chat, search and fetch over the run, from /admin/log."""
    if not events:
        return {}
    t0, t1 = min(e["t0"] for e in events), max(e["t1"] for e in events)
    span = max(t1 - t0, 1e-9)
    out = {"span_s": round(span, 2)}
    for kind in ("chat", "search", "fetch", "embed"):
        ev = [e for e in events if e["kind"] == kind]
        work = sum(e["t1"] - e["t0"] for e in ev)
        busy, end = 0.0, t0
        for a, b in sorted((e["t0"], e["t1"]) for e in ev):
            if b > end:
                busy += b - max(a, end)
                end = b
        out[kind] = {
            "calls": len(ev),
            "work_s": round(work, 2),
            "busy_s": round(busy, 2),
            "idle_share": round(1 - busy / span, 3),
            "mean_concurrency": round(work / span, 2),
        }
    out["all_work_s"] = round(sum(out[k]["work_s"] for k in ("chat", "search", "fetch", "embed")), 2)
    return out


def read_events(path: Path) -> list[dict]:
    """The events of a run folder's events.jsonl; a last line that was cut off is left out."""
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            out.append(event)
    return out


def critical_path(events: list[dict]) -> dict:
    """The longest chain of outside calls that no amount of concurrency could shorten, beside the time really taken.

    A node's steps (brief, search, read, learn, decide ...) follow one another; calls of one step at one node could all run
    at once, so the longest of them counts; a call that was tried again counts once more for each attempt; then the slowest
    child counts with all below it. When the tree has grown the writer's steps follow in the same way.

    Returns seconds: `wall`, `critical_path`, `ratio` (wall / critical path, None without calls), and the chain itself as
    rows of [path, step, seconds].
    """
    nodes, writer = _timed(events)
    children = defaultdict(list)
    for path in _with_ancestors(nodes):
        if path:
            children[path[:-1]].append(path)

    def below(path: tuple) -> tuple[float, list]:
        rows = _chain(path, nodes.get(path, ()))
        deeper = max((below(child) for child in sorted(children[path])), key=lambda r: r[0], default=(0.0, []))
        return sum(row[2] for row in rows) + deeper[0], rows + deeper[1]

    _, rows = below(())
    rows += _chain((), writer)
    total = sum(row[2] for row in rows)
    wall = _wall(events)
    return {
        "wall": round(wall, 2),
        "critical_path": round(total, 2),
        "ratio": round(wall / total, 3) if total else None,
        "chain": [[list(path), step, round(seconds, 3)] for path, step, seconds in rows],
    }


def _timed(events):
    """({path: calls}, the writer's calls); a call is (step, attempt, t0, t1)."""
    marked = any(e.get("kind") == "writing" for e in events)
    nodes, writer, writing = defaultdict(list), [], False
    for event in events:
        kind, data = event.get("kind"), event.get("data") or {}
        writing = writing or kind == "writing"
        if not all(isinstance(data.get(t), int | float) for t in ("t0", "t1")):
            continue
        if kind == "call":
            step = str(data.get("step") or data.get("kind") or "call")
        elif kind in ("page_read", "page_failed"):
            step = "read"
        elif kind == "searched":
            step = "search"
        else:
            continue
        path = tuple(event.get("path") or ())
        call = (step, int(data.get("attempt") or 1), data["t0"], data["t1"])
        late = not path and (writing if marked else step in WRITING)
        (writer if late else nodes[path]).append(call)
    return nodes, writer


def _with_ancestors(paths):
    return sorted({path[:n] for path in paths for n in range(len(path) + 1)})


def _chain(path, calls):
    """[(path, step, seconds)] of one node, in the order in which its steps began."""
    steps = defaultdict(list)
    for step, attempt, t0, t1 in sorted(calls, key=lambda c: c[2]):
        steps[step].append((attempt, t0, t1))
    return [(path, step, _goes(rows) if step == "read" else _attempts(rows)) for step, rows in steps.items()]


def _attempts(rows) -> float:
    longest = defaultdict(float)
    for attempt, t0, t1 in rows:
        longest[attempt] = max(longest[attempt], t1 - t0)
    return sum(longest.values())


def _goes(rows) -> float:
    """Pages are read in up to two goes: where most of the first ones failed, the next best are tried."""
    first_end, goes = rows[0][2], [[]]
    for _, t0, t1 in rows:
        if len(goes) == 1 and t0 >= first_end:
            goes.append([])
        if len(goes) == 1:
            first_end = max(first_end, t1)
        goes[-1].append(t1 - t0)
    return sum(max(go) for go in goes)


def _wall(events) -> float:
    ats = [e["at"] for e in events if isinstance(e.get("at"), int | float)]
    ends = [d["t1"] for e in events if isinstance((d := e.get("data") or {}).get("t1"), int | float)]
    return max(max(ats, default=0.0) - min(ats, default=0.0), max(ends, default=0.0))
