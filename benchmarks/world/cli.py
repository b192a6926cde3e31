"""Command line: serve, question, truth, summary, score, analyse, selftest."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from .analyse import critical_path, log_figures, read_events
from .content import World
from .score import score
from .selftest import run
from .server import serve
from .state import WORLD_FIELDS, Config


def _parser() -> argparse.ArgumentParser:
    ap = argparse.ArgumentParser(prog="python -m benchmarks.world", description=__doc__)
    sub = ap.add_subparsers(dest="cmd", required=True)
    defaults = {f.name: f.default for f in dataclasses.fields(Config)}

    def world_args(p):
        for k in WORLD_FIELDS:
            p.add_argument("--" + k, type=type(defaults[k]), default=defaults[k])
        p.add_argument("--topic", type=int, default=0)

    s = sub.add_parser("serve", help="run the world on loopback")
    for f in dataclasses.fields(Config):
        s.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
    for name, what in (
        ("question", "print the root question"),
        ("truth", "print the planted facts"),
        ("summary", "print what the world holds"),
    ):
        world_args(sub.add_parser(name, help=what))
    sc = sub.add_parser("score", help="score a report (markdown file) against the planted facts")
    sc.add_argument("report", type=Path)
    sc.add_argument("--sources", type=Path, help="JSON file with the engine's list of source URLs")
    sc.add_argument("--detail", action="store_true")
    world_args(sc)
    an = sub.add_parser("analyse", help="figures of a run: concurrency of /admin/log, critical path of events.jsonl")
    an.add_argument("log", type=Path, nargs="?", help="JSON list from /admin/log")
    an.add_argument("--events", type=Path, help="the events.jsonl of the engine's run folder")
    sub.add_parser("selftest", help="check determinism, the reader and the scorer")
    return ap


def main(argv: list[str] | None = None) -> int:
    ap = _parser()
    a = ap.parse_args(argv)
    if a.cmd == "serve":
        serve(Config(**{f.name: getattr(a, f.name) for f in dataclasses.fields(Config)}))
        return 0
    if a.cmd == "analyse":
        if not (a.log or a.events):
            ap.error("analyse needs a call log, --events, or both")
        out = {}
        if a.log:
            out["calls"] = log_figures(json.loads(a.log.read_text(encoding="utf-8")))
        if a.events:
            out["critical_path"] = critical_path(read_events(a.events))
        print(json.dumps(out, indent=1))
        return 0
    if a.cmd == "selftest":
        return run()
    w = World(**{k: getattr(a, k) for k in WORLD_FIELDS})
    if a.cmd == "question":
        print(w.question(a.topic))
    elif a.cmd == "truth":
        print(json.dumps(w.truth(a.topic), indent=1))
    elif a.cmd == "summary":
        print(json.dumps(w.summary(), indent=1))
    elif a.cmd == "score":
        src = json.loads(a.sources.read_text(encoding="utf-8")) if a.sources else []
        print(json.dumps(score(w, a.report.read_text(encoding="utf-8"), src, a.topic, a.detail), indent=1))
    return 0
