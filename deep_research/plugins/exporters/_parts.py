"""What several report formats say in the same words."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from deep_research.core.report import Reference, Report, RunStatus

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
