"""What a person reads while a run goes on, in plain lines; `live` shows a tree in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

from deep_research.core.events import Event, Kind
from deep_research.core.model import Path, Usage
from deep_research.runtime.tally import ResearchProgress, Tally

_MICRO: Final = 1_000_000
_LONGEST: Final = 100

Say = Callable[[str], None]
"""Writes one line for people."""


class Lines:
    """Progress as plain lines, for files, pipes and dumb terminals; ASCII only of its own.

    Args:
        say: Writes a line.
        verbose: Tell of every call and page as well.
    """

    def __init__(self, say: Say, *, verbose: bool = False) -> None:
        self._say, self._verbose = say, verbose
        self._tally = Tally()
        self._kept: list[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is held."""

    def line(self, text: str) -> None:
        """Say something that is no event."""
        if self._kept is not None:
            self._kept.append(text)
        else:
            self._say(printable(text))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep lines back while a person is asked something; they are told afterwards."""
        self._kept = []
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            for text in kept:
                self.line(text)

    def emit(self, event: Event) -> None:
        """Say what happened, if it is worth a line."""
        progress = self._tally.add(event)
        text = told(event, progress) or (_told_verbose(event) if self._verbose else "")
        if text:
            self.line(f"[{event.at:6.1f} s] {text}")


def summary(progress: ResearchProgress, bound: int = 0) -> str:
    """Return counts, cost and time in one line.

    Args:
        progress: Where the run stands.
        bound: Queries that there can be at most; 0 leaves out the time left.
    """
    done, planned = progress.completed_queries, progress.total_queries
    parts = [
        f"{done}/{planned} queries",
        f"{progress.sources} pages",
        learnings(progress.learnings),
        *spent(progress.usage),
    ]
    if bound and done:
        left = progress.usage.seconds / done * (max(planned, 1) - done)
        parts.append(f"about {left:.0f} s left")
    return ", ".join(parts)


def spent(usage: Usage) -> list[str]:
    """Say what was spent, in parts: calls and tokens, cost where it is known, seconds."""
    parts = []
    if usage.llm_calls:
        tokens = usage.input_tokens + usage.output_tokens
        cost = "cost unknown" if usage.cost is None else f"${usage.cost / _MICRO:.4f}"
        parts += [f"{usage.llm_calls} model calls", f"{tokens:,} tokens", cost]
    return [*parts, f"{usage.seconds:.0f} s"]


def told(event: Event, progress: ResearchProgress) -> str:
    """Return a line for the events that everybody wants to see, else ''."""
    data, at = event.data, place(event.path)
    text = ""
    match event.kind:
        case Kind.RUN_STARTED:
            engines = ", ".join(data.get("engines", ()))
            text = f"at most {data['nodes']} queries, searching {engines}"
        case Kind.NODE_STARTED:
            text = f"{at} > {short(data['query'])}"
        case Kind.LEARNED:
            text = f"{at}   {learnings(data['learnings'])}"
        case Kind.REVIEWED:
            text = _reviewed(data)
        case Kind.NODE_FAILED:
            text = f"{at}   failed: {data['message']}"
        case Kind.WARNING:
            text = f"warning: {data['message']}"
        case Kind.WRITING:
            text = "writing the report"
        case Kind.APPROVAL | Kind.CLARIFICATION:
            text = _asked(event)
        case Kind.RUN_FINISHED:
            known = {"", data["status"]}
            reason = "" if data["stop_reason"] in known else f" ({data['stop_reason']})"
            text = f"{data['status']}{reason}: {summary(progress)}{_unread(progress)}"
    return text


def _reviewed(data: Mapping[str, Any]) -> str:
    """Say in a line what the critic saw and what the supervisor made of it."""
    saw = f"review {data['turn']}: {learnings(data['learnings'])}, {data['news']:.0%} news"
    if data["gaps"]:
        saw += f", {_count(data['gaps'], 'gap', 'gaps')}"
    if data["delegate"]:
        return f"{saw}; goes on with {_count(data['delegate'], 'query', 'queries')}"
    return f"{saw}; enough ({data['stop']})"


def _asked(event: Event) -> str:
    """Say in a line what a person is asked, or what came of it."""
    data = event.data
    if data["state"] != "asked":
        text = outcome(event)
    elif event.kind is Kind.APPROVAL:
        text = f"waits for approval of {_count(data['queries'], 'query', 'queries')}"
    else:
        text = f"waits for answers to {_count(data['questions'], 'question', 'questions')}"
    return f"{place(event.path)}   {text}"


def outcome(event: Event) -> str:
    """Say what a person said, or what held in place of it."""
    data = event.data
    if event.kind is Kind.CLARIFICATION:
        return f"answered {_count([a for a in data['answers'] if a], 'question', 'questions')}"
    what = "rejected" if data["rejected"] else ""
    what = what or f"approved {_count(data['approved'], 'query', 'queries')}"
    return f"{what} (no answer: {data['unanswered']})" if data["unanswered"] else what


def _count(things: Sized, one: str, many: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else many}"


def _told_verbose(event: Event) -> str:
    data, at = event.data, place(event.path)
    text = ""
    match event.kind:
        case Kind.PAGE_READ:
            text = f"{at}   read {data['url']} ({data['chars']:,} characters)"
        case Kind.PAGE_FAILED:
            text = f"{at}   not read: {data['url']} ({data['message']})"
        case Kind.CALL:
            what = data.get("step") or f"search {data.get('engine', '')}: {data.get('query', '')}"
            end = "" if data.get("ok", True) else f", failed: {data.get('message', '')}"
            text = f"{at}   {short(what)} took {data['t1'] - data['t0']:.1f} s{end}"
        case Kind.THOUGHT:
            text = f"{at}   thinks: {short(data['text'])}"
        case Kind.DECIDED if data["stop"]:
            text = f"{at}   goes no deeper: {data['stop']}"
    return text


def _unread(progress: ResearchProgress) -> str:
    count = progress.usage.pages - progress.sources
    return f"; {count} page{'' if count == 1 else 's'} could not be read" if count > 0 else ""


def learnings(count: int) -> str:
    """Say a number of learnings."""
    return f"{count} learning{'' if count == 1 else 's'}"


def place(path: Path) -> str:
    """Name a node: '0' is the question, '2.1' the first child of its second branch."""
    return ".".join(str(i + 1) for i in path) or "0"


def printable(text: str) -> str:
    """Return a text without what cannot be seen, which would command the terminal.

    Messages hold what services and pages say. Line breaks and tabs stay, all else becomes a space.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def short(text: str) -> str:
    """Return a text on one line of at most 100 characters."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
