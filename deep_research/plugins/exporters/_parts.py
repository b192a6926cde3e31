"""What several report formats say in the same words."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from deep_research.core.model import Usage
from deep_research.core.report import Reference, Report, Round, RunStatus
from deep_research.core.text import shorten

_STATUS: Final = MappingProxyType(
    {
        RunStatus.PARTIAL: "Partial: research ended early",
        RunStatus.NOTHING_FOUND: "Nothing was found",
        RunStatus.FAILED: "Failed",
        RunStatus.CANCELLED: "Interrupted: written from what was there",
    }
)


_REASON: Final = MappingProxyType({"cancelled": "", "no_evidence": "no evidence"})
_MOST_FAILURES: Final = 5
_LONGEST: Final = 300
_MICRO: Final = 1_000_000

USAGE: Final = ("Step", "Model", "Calls", "Tokens in", "Tokens out", "Cost")
"""Columns of the usage table: two of words, then numbers."""


def status_line(report: Report) -> str:
    """Say in one sentence how the run ended and why; '' if it is complete."""
    if report.status is RunStatus.COMPLETE:
        return ""
    reason = _REASON.get(report.stop_reason, report.stop_reason)
    return f"{_STATUS[report.status]}{reason and f' ({reason})'}."


def troubles(report: Report) -> list[str]:
    """Say what failed on the way, a few sentences, where there is nothing else to tell."""
    if report.body.strip() or report.status is RunStatus.COMPLETE:
        return []
    told = [f.message for f in report.failures if f.message not in report.stop_reason]
    told = list(dict.fromkeys(told))
    more = [f"{len(told) - _MOST_FAILURES} more"] if len(told) > _MOST_FAILURES else []
    return [*told[:_MOST_FAILURES], *more]


def marks_of(report: Report, reference: Reference) -> str:
    """Return the places inside a source that the report cites, in order: 'p. 3, p. 7'."""
    quotes = {
        citation.quote
        for claim in report.claims
        for citation in claim.citations
        if citation.reference == reference.n
    }
    marks = [
        (evidence.start, evidence.mark)
        for learning in report.learnings
        for evidence in learning.evidence
        if evidence.mark and evidence.sha256 == reference.sha256 and evidence.quote in quotes
    ]
    return ", ".join(dict.fromkeys(mark for _, mark in sorted(marks)))


def usage_rows(report: Report) -> list[tuple[str, ...]]:
    """Return the usage table below `USAGE`, the total last; [] if no model was asked."""
    total = Usage()
    rows = []
    for spent in report.spent:
        used = Usage(spent.calls, spent.input_tokens, spent.output_tokens, spent.cost)
        total.add(used)
        rows.append((spent.step, spent.model or "unknown", *_numbers(used)))
    return [*rows, ("Total", "", *_numbers(total))] if rows else []


def _numbers(used: Usage) -> tuple[str, ...]:
    cost = "unknown" if used.cost is None else f"${used.cost / _MICRO:.4f}"
    return f"{used.llm_calls:,}", f"{used.input_tokens:,}", f"{used.output_tokens:,}", cost


def round_lines(report: Report) -> list[str]:
    """Say what came of each round; [] if there was only one, of which the report itself tells."""
    return [_told(one) for one in report.rounds] if len(report.rounds) > 1 else []


def _told(one: Round) -> str:
    brought = f"{one.learnings} learning{'' if one.learnings == 1 else 's'}"
    if one.learnings:
        brought += f", {one.news:.0%} new"
    parts = [
        ("", brought),
        ("Missing: ", _listed(one.gaps)),
        ("Next: ", _listed(one.delegated)),
        ("Ended: ", one.stop.replace("_", " ")),
        ("Why: ", shorten(one.reason, _LONGEST)),
    ]
    return " ".join(f"{name}{text.rstrip(' .')}." for name, text in parts if text.strip(" ."))


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(shorten(text, _LONGEST).rstrip(" .") for text in texts)
