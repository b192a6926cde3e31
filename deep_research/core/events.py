"""What a run says about itself: one stream for callback, log file, terminal and dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .model import Path


class Kind(StrEnum):
    """The kinds of events; `docs/reference/events.md` lists what each carries in `data`."""

    RUN_STARTED = "run_started"
    CLARIFICATION = "clarification"
    BRIEF_READY = "brief_ready"
    APPROVAL = "approval"
    NODE_STARTED = "node_started"
    SEARCHED = "searched"
    PAGE_READ = "page_read"
    PAGE_FAILED = "page_failed"
    LEARNED = "learned"
    THOUGHT = "thought"
    DECIDED = "decided"
    REVIEWED = "reviewed"
    NODE_FINISHED = "node_finished"
    NODE_FAILED = "node_failed"
    CALL = "call"
    WARNING = "warning"
    WRITING = "writing"
    SECTION_WRITTEN = "section_written"
    REPORT_READY = "report_ready"
    RUN_FINISHED = "run_finished"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: What happened.
        path: The node it happened at; () for the root and the run itself.
        data: Plain values (text, numbers, lists, mappings) that survive JSON.
        n: Position in the run's stream, from 1; set by the stream.
        at: Seconds since the run began; set by the stream.
        run: Id of the run; set by the stream.
    """

    kind: Kind
    path: Path = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    n: int = 0
    at: float = 0.0
    run: str = ""
