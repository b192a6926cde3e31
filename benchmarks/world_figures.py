"""The figures of a run in the loopback world, and how they are shown."""

from __future__ import annotations

from collections import Counter
from typing import Any

ROWS = (
    *("recall", "hop 0", "hop 1", "hop 2", "hop 3", "seen", "wrong", "stale", "invented"),
    *("citation precision", "citation recall", "uncited", "words", "references", "unsupported"),
    *("LLM calls", "LLM errors", "tokens in", "tokens out", "tokens", "searches", "fetches"),
    *("duplicate queries", "duplicate fetches", "failed fetches", "failures named"),
    *("wall s", "run s", "critical path s", "ratio", "exit code", "status", "stop reason"),
)


def figures_of(
    scored: dict[str, Any], stats: dict[str, Any], result: dict[str, Any], path: dict[str, Any]
) -> dict[str, Any]:
    """Collect them from the score, the world's counts, report.json and the critical path."""
    support = Counter(c.get("support") for c in result.get("claims") or [])
    named = Counter(str(f.get("kind")) for f in result.get("failures") or [])
    hops = {f"hop {h}": share for h, share in scored["recall_by_hop"].items()}
    return hops | {
        "recall": scored["recall"],
        "wrong": scored["wrong"],
        "stale": scored["stale_mentions"],
        "invented": scored["invented"],
        "citation precision": scored["citation_precision"],
        "citation recall": scored["citation_recall"],
        "uncited": scored["uncited_statements"],
        "words": scored["words"],
        "references": scored["sources"],
        "unsupported": support["unsupported"],
        "LLM calls": stats["llm_calls"],
        "LLM errors": stats["llm_calls"] - stats["llm_ok"] + stats["malformed"],
        "tokens in": stats["input_tokens"],
        "tokens out": stats["output_tokens"],
        "tokens": stats["input_tokens"] + stats["output_tokens"],
        "searches": stats["searches"],
        "fetches": stats["fetches"],
        "duplicate queries": stats["duplicate_queries"],
        "duplicate fetches": stats["duplicate_fetches"],
        "failed fetches": stats["failed_fetches"],
        "failures named": sum(named.values()),
        "failure kinds": dict(sorted(named.items())),
        "run s": path["wall"],
        "critical path s": path["critical_path"],
        "ratio": path["ratio"],
        "status": result.get("status") or "no report.json",
        "stop reason": result.get("stop_reason") or "-",
    }


def mean(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean of each figure over the runs that have it as a number."""
    columns = {row: [r["figures"].get(row) for r in runs] for row in ROWS}
    numbers = {
        row: [v for v in values if isinstance(v, int | float)] for row, values in columns.items()
    }
    return {row: round(sum(v) / len(v), 4) for row, v in numbers.items() if v}


def table(runs: list[dict[str, Any]]) -> str:
    """One column per seed and one for the mean, one row per figure."""
    average = mean(runs)
    lines = [["", *(f"seed {r['seed']}" for r in runs), "mean"]]
    for row in ROWS:
        values = [*(r["figures"].get(row) for r in runs), average.get(row)]
        lines.append([row, *(_shown(v) for v in values)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 2 else f"{value:.1f}"
    text = "" if value is None else str(value)
    return text if len(text) <= 24 else text[:23] + "…"
