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


def status_line(report: Report) -> str:
    """Say in one sentence how the run ended and why; '' if it is complete."""
    if report.status is RunStatus.COMPLETE:
        return ""
    reason = f" ({report.stop_reason})" if report.stop_reason else ""
    return f"{_STATUS[report.status]}{reason}."


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
