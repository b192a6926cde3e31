"""What does the supervisor save, what does it find for the same price, what costs a short question?

    python benchmarks/supervisor.py --seeds 1 2 3 --breadth 4 --depths 3 2 --concurrency 16
    python benchmarks/supervisor.py --seeds 4 5 6 7 8 --speed 4

For each seed and depth, one after another in the loopback world: the fixed tree; the supervisor
with 60 % of the model calls that the tree made as its budget; with all of them; and without a
budget. Then short questions about single facts. Below the tables stands what has to hold and
whether it does; the exit code is 1 if something does not. What follows `--` is handed to every run
of the engine.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from run_world import (
    Job,
    Tools,
    UnusableError,
    arguments,
    line_of,
    measure,
    modules,
    parser,
    served,
)

TREE, LESS, SAME, FREE = "fixed tree", "supervisor, {share} %", "supervisor, 100 %", "supervisor"
SHORT: Final = "short question"
SHORT_CALLS: Final = 3
QUESTIONS: Final = {
    "melts": "At what temperature does {} melt?",
    "launched": "In which year was {} launched?",
    "crew": "How big is the crew of {}?",
    "runs": "At what temperature does {} run?",
    "founded": "When was {} founded?",
    "workforce": "How many people work for {}?",
    "papers": "How many scientific papers did {} write?",
    "control rods": "How many control rods does {} use?",
    "genome": "How big is the genome of {}?",
    "weighs": "How many kilograms does {} weigh at launch?",
    "spans": "How many metres does {} span between its towers?",
    "completed": "In which year was {} completed?",
    "hardness": "What hardness does {} have on the Mohs scale?",
    "mirror": "How big is the primary mirror of {}?",
}
"""What a person would ask about a fact, by the fact's keyword."""


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one run, or means; `ratio` is its calls by those of the tree, else 0."""

    depth: int
    arm: str
    seed: str
    recall: float
    wrong: float
    invented: float
    precision: float | None
    calls: float
    ratio: float
    tokens: float
    seconds: float
    path: float | None
    stop: str


HEAD: Final = (
    *("depth", "", "seed", "recall", "wrong", "invented", "precision", "calls", "of tree"),
    *("tokens", "seconds", "÷ critical path", "stop reason"),
)
TEXTS: Final = {1, 12}
"""Columns that are words."""


def arms(args: argparse.Namespace, url: str, seed: int, depth: int, tools: Tools) -> Iterator[Row]:
    """Run the tree, then the supervisor with what the tree's calls allow."""
    less = LESS.format(share=round(args.share * 100))

    def row(arm: str, *flags: str, tree: int = 0) -> Row:
        name = f"{arm.replace(' %', '').replace(', ', '-').replace(' ', '-')}-d{depth}-seed{seed}"
        found = _run(args, url, Job(name, seed, depth, extra=(*flags, *args.extra)), tools)
        return _row(found, depth, arm, seed, tree)

    tree = row(TREE, "--planner", "tree")
    yield tree
    calls = int(tree.calls)
    yield row(less, "--max-calls", str(int(calls * args.share)), tree=calls)
    yield row(SAME, "--max-calls", str(calls), tree=calls)
    yield row(FREE, tree=calls)


def short(args: argparse.Namespace, url: str, seed: int, tools: Tools) -> Iterator[Row]:
    """Ask about single facts; recall tells whether the answer is in the report."""
    world = tools.content.World(seed=seed)
    for fact in _asked(world.topic_facts(), args.short):
        subject = fact.subject[0].lower() + fact.subject[1:]
        subject = subject if subject.startswith("the ") else fact.subject
        question = QUESTIONS[fact.keywords[0]].format(subject)
        job = Job(f"short-{fact.id}-seed{seed}", seed, args.depths[0], extra=args.extra)
        found = _run(args, url, job._replace(question=question), tools)
        report = Path(found["folder"], "run", "report.md")
        text = report.read_text(encoding="utf-8") if report.is_file() else ""
        found["figures"]["recall"] = float(fact.value in text.partition("## References")[0])
        found["question"] = question
        yield _row(found, args.depths[0], SHORT, seed, 0)


def _asked(facts: Sequence[Any], most: int) -> list[Any]:
    """Return facts that QUESTIONS ask for, one of each kind of thing first met."""
    kinds: dict[str, Any] = {}
    for fact in facts:
        if fact.keywords[0] in QUESTIONS:
            kinds.setdefault(fact.keywords[0], fact)
    return list(kinds.values())[:most]


def _run(args: argparse.Namespace, url: str, job: Job, tools: Tools) -> dict[str, Any]:
    found = measure(args, url, job, tools)
    print(line_of(found), file=sys.stderr, flush=True)
    if found["figures"]["exit code"] not in {0, 3}:
        raise UnusableError(f"{job.name} ended without a report; see {found['folder']}")
    return found


def _row(found: dict[str, Any], depth: int, arm: str, seed: int, tree: int) -> Row:
    f = found["figures"]
    return Row(
        depth,
        arm,
        str(seed),
        f["recall"],
        f["wrong"],
        f["invented"],
        f["citation precision"],
        f["LLM calls"],
        f["LLM calls"] / tree if tree else 0.0,
        f["tokens"],
        f["wall s"],
        f["ratio"],
        f["stop reason"],
    )


def means(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each depth and arm, in their order."""
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.depth, row.arm), []).append(row)
    return [_mean(group) for group in groups.values()]


def _mean(rows: Sequence[Row]) -> Row:
    def of(name: str) -> float:
        return fmean(v for row in rows if (v := getattr(row, name)) is not None)

    numbers = {
        name: of(name) if any(getattr(r, name) is not None for r in rows) else None
        for name in asdict(rows[0])
        if name not in {"depth", "arm", "seed", "stop"}
    }
    stops = ", ".join(dict.fromkeys(row.stop for row in rows))
    return Row(rows[0].depth, rows[0].arm, "mean", **numbers, stop=stops)  # type: ignore[arg-type]


def claims(rows: Sequence[Row], share: float) -> Iterator[tuple[bool, str]]:
    """Yield what has to hold at the first depth and for short questions, and whether it does."""
    average = {(row.depth, row.arm): row for row in means(rows)}
    depth = rows[0].depth
    tree, less = average[depth, TREE], average[depth, LESS.format(share=round(share * 100))]
    same = average[depth, SAME]
    told = f"{less.recall:.3f} against {tree.recall:.3f}, {less.ratio:.0%} of the calls"
    holds = less.recall >= tree.recall and less.calls <= share * tree.calls
    yield holds, f"depth {depth}, {share:.0%} of the tree's calls: no less is found ({told})"
    told = f"{same.recall:.3f} against {tree.recall:.3f}, {same.ratio:.0%} of the calls"
    holds = same.recall > tree.recall and same.calls <= tree.calls
    yield holds, f"depth {depth}, all of the tree's calls: more is found ({told})"
    lookups = [row for row in rows if row.arm == SHORT]
    if lookups:
        most = max(row.calls for row in lookups)
        answered = sum(row.recall == 1 for row in lookups)
        holds = most <= SHORT_CALLS and answered == len(lookups)
        told = f"{answered} of {len(lookups)} answered, with {most:.0f} calls at most"
        yield holds, f"short questions: answered with no more than {SHORT_CALLS} calls ({told})"
    told = "nothing is invented, and no older value stated where a newer one is known"
    yield not any(row.wrong or row.invented for row in rows), told


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table in Markdown, its columns aligned."""
    lines = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    rule = ["-" * w if i in TEXTS else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join(_line(line, widths) for line in (lines[0], rule, *lines[1:]))


def _cells(row: Row) -> tuple[str, ...]:
    precision = "" if row.precision is None else f"{row.precision:.2f}"
    path = "" if row.path is None else f"{row.path:.2f}"
    return (
        *(str(row.depth), row.arm, row.seed, f"{row.recall:.3f}", f"{row.wrong:.3g}"),
        *(f"{row.invented:.3g}", precision, f"{row.calls:.4g}"),
        *(f"{row.ratio:.0%}" if row.ratio else "", f"{row.tokens:,.0f}", f"{row.seconds:.1f}"),
        *(path, row.stop),
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        c.ljust(w) if i in TEXTS else c.rjust(w)
        for i, (c, w) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join(padded)} |"


def main(argv: list[str]) -> int:
    """Return 0 if all claims hold, 1 if one does not, 2 if something cannot be used."""
    ap = parser(__doc__ or "")
    ap.add_argument("--depths", type=int, nargs="+", default=[3, 2], help="the first is judged")
    ap.add_argument("--share", type=float, default=0.6, help="of the tree's calls, for less")
    ap.add_argument("--short", type=int, default=2, help="short questions for each seed")
    args = arguments(ap, argv)
    rows: list[Row] = []
    try:
        tools = modules(args.world)
        with served(args.world, args.port, args.out / "world.log") as url:
            for depth in args.depths:
                for seed in args.seeds:
                    rows.extend(arms(args, url, seed, depth, tools))
            for seed in args.seeds:
                rows.extend(short(args, url, seed, tools))
    except (UnusableError, ImportError, urllib.error.URLError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    held = list(claims(rows, args.share))
    whole = {
        **{k: getattr(args, k) for k in ("breadth", "depths", "concurrency", "speed", "extra")},
        "runs": [asdict(row) for row in rows],
        "means": [asdict(row) for row in means(rows)],
        "claims": [{"holds": holds, "claim": claim} for holds, claim in held],
    }
    text = json.dumps(whole, indent=1, ensure_ascii=False)
    (args.out / "results.json").write_text(text, encoding="utf-8")
    if args.json:
        print(text)
    else:
        print(f"breadth {args.breadth}, concurrency {args.concurrency}, speed {args.speed:g}\n")
        print(f"{table(means(rows))}\n\n{table(rows)}\n")
        for holds, claim in held:
            print(f"{'holds:         ' if holds else 'does not hold: '}{claim}")
        print(f"\nAll files: {args.out}")
    return 0 if all(holds for holds, _ in held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
