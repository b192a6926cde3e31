"""A report with everything in it, for exporters to be tried on."""

from __future__ import annotations

import hashlib
from typing import Final

from deep_research.core.model import (
    Evidence,
    Failure,
    Learning,
    Query,
    ResearchNode,
    Source,
    Usage,
)
from deep_research.core.report import (
    Citation,
    Claim,
    Conflict,
    Reference,
    Report,
    RunStatus,
    Section,
    Support,
)

HOSTILE: Final = "<script>alert('page')</script>"
"""Stands in every text of the sample that comes from pages or models; no file may run it."""

_QUOTE: Final = "The bridge is 412 m long."


def sample_report() -> Report:
    """Return a report with two references, two claims, a conflict, a gap and a failure."""
    first = _evidence("https://example.org/bridge?a=1&b=2", f"Bridge {HOSTILE}", _QUOTE)
    second = _evidence("https://example.com/%E6%A1%A5", "桥 – “the bridge”", "It is 410 m long.")
    learnings = (
        Learning(f"The bridge is 412 m long. {HOSTILE}", (first,), (0,)),
        Learning("The bridge is 410 m long.", (second,), (1, 0)),
    )
    root = ResearchNode(Query("bridge", f"its length {HOSTILE}"))
    root.branch((Query("bridge length"), Query("bridge history")))
    text = f"The bridge is 412 m long [1]. Others say 410 m [2]. {HOSTILE}"
    return Report(
        run="sample",
        question=f"How long is the bridge? {HOSTILE}",
        status=RunStatus.PARTIAL,
        stop_reason="deadline",
        body=f"## Length\n\n{text}\n\n- a list\n- with *emphasis* | and a pipe\n",
        sections=(Section("Length", text),),
        claims=(
            Claim(
                "The bridge is 412 m long.",
                "Length",
                Support.VERIFIED,
                (Citation(1, _QUOTE, first.start, first.end),),
            ),
            Claim(
                "Others say 410 m.",
                "Length",
                Support.CONFLICTING,
                (Citation(2, second.quote, second.start, second.end),),
                ("410 m",),
            ),
        ),
        references=tuple(
            Reference(n, e.source.url, e.source.title, e.source.published, e.fetched_at, e.sha256)
            for n, e in enumerate((first, second), 1)
        ),
        learnings=learnings,
        conflicts=(Conflict(learnings[0], learnings[1], "412 m, 410 m"),),
        gaps=(f"Who built it? {HOSTILE}",),
        failures=(Failure("timeout", f"https://example.net did not answer {HOSTILE}", (1,)),),
        tree=root,
        usage=Usage(7, 1200, 340, 1500, 4, 3, 12.5),
        notes=("A note.",),
        config_digest="0" * 64,
        version="0.0.0",
    )


def _evidence(url: str, title: str, quote: str) -> Evidence:
    page = f"About it. {quote}"
    return Evidence(
        Source(url, title, quote, "sample", 0, "2024-05-06"),
        hashlib.sha256(page.encode()).hexdigest(),
        quote,
        page.index(quote),
        len(page),
        "2025-01-01T00:00:00+00:00",
        "p. 1",
    )
