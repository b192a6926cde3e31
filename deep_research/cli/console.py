"""What a person sees on the terminal while a run goes on: a live tree, or plain lines."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from deep_research.core.events import Event, Kind
from deep_research.core.model import Path, Usage
from deep_research.runtime.tally import ResearchProgress, Tally

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.tree import Tree

_MICRO: Final = 1_000_000
_LONGEST: Final = 100
_AROUND: Final = 4  # lines of the terminal that the tree leaves free

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
        self._say(text)

    def emit(self, event: Event) -> None:
        """Say what happened, if it is worth a line."""
        progress = self._tally.add(event)
        text = _told(event, progress) or (_told_verbose(event) if self._verbose else "")
        if text:
            self._say(f"[{event.at:6.1f} s] {text}")


class Live:
    """Progress as a tree that changes in place, with counts, cost and time left.

    A tree that is taller than the terminal is shown without what lies below finished queries.

    Args:
        console: A `rich.console.Console`, on standard error.
    """

    def __init__(self, console: Any) -> None:  # noqa: ANN401 - rich is imported on use only
        from rich.live import Live as RichLive

        self._console = console
        self._tally = Tally()
        self._question = ""
        self._labels: dict[Path, str] = {}
        self._marks: dict[Path, str] = {}
        self._ended: set[Path] = set()
        self._bound = 0
        self._live = RichLive(
            get_renderable=self._render, console=console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def line(self, text: str) -> None:
        """Say something that stays, above the tree."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def emit(self, event: Event) -> None:
        """Change the tree; warnings and the end are lines that stay."""
        progress = self._tally.add(event)
        data = event.data
        if event.kind is Kind.RUN_STARTED:
            self._question, self._bound = data["question"], data["nodes"]
        elif event.kind is Kind.NODE_STARTED:
            self._labels[event.path] = data["query"]
            self._marks[event.path] = "[yellow]…[/]"
        elif event.kind is Kind.LEARNED:
            self._marks[event.path] = f"[cyan]{_learnings(data['learnings'])}[/]"
        elif event.kind is Kind.NODE_FINISHED:
            self._marks[event.path] = f"[green]✓ {_learnings(data['learnings'])}[/]"
        elif event.kind is Kind.NODE_FAILED:
            self._marks[event.path] = f"[red]✗ {data['kind']}[/]"
        if event.kind in (Kind.WARNING, Kind.RUN_FINISHED):
            self.line(_told(event, progress))
        if event.kind in (Kind.NODE_FINISHED, Kind.NODE_FAILED):
            self._ended.add(event.path)

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        return Group(Text(summary(self._tally.progress, self._bound), style="dim"), self._tree())

    def _tree(self) -> Tree:
        from rich.markup import escape
        from rich.tree import Tree

        def label(text: str, path: Path) -> str:
            return f"{escape(_short(text))} {self._marks.get(path, '')}"

        root = Tree(label(self._question, ()))
        places: dict[Path, Tree] = {(): root}
        tall = len(self._labels) > self._console.height - _AROUND
        for path, text in sorted(self._labels.items()):  # a parent sorts before its children
            folded = tall and any(path[:n] in self._ended for n in range(1, len(path)))
            if path and not folded:
                places[path] = places.get(path[:-1], root).add(label(text, path))
        return root


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
        _learnings(progress.learnings),
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


def _told(event: Event, progress: ResearchProgress) -> str:
    """Return a line for the events that everybody wants to see, else ''."""
    data, place = event.data, _place(event.path)
    text = ""
    match event.kind:
        case Kind.RUN_STARTED:
            engines = ", ".join(data.get("engines", ()))
            text = f"at most {data['nodes']} queries, searching {engines}"
        case Kind.NODE_STARTED:
            text = f"{place} > {_short(data['query'])}"
        case Kind.LEARNED:
            text = f"{place}   {_learnings(data['learnings'])}"
        case Kind.NODE_FAILED:
            text = f"{place}   failed: {data['message']}"
        case Kind.WARNING:
            text = f"warning: {data['message']}"
        case Kind.WRITING:
            text = "writing the report"
        case Kind.RUN_FINISHED:
            known = {"", data["status"]}
            reason = "" if data["stop_reason"] in known else f" ({data['stop_reason']})"
            text = f"{data['status']}{reason}: {summary(progress)}"
    return text


def _told_verbose(event: Event) -> str:
    data, place = event.data, _place(event.path)
    text = ""
    match event.kind:
        case Kind.PAGE_READ:
            text = f"{place}   read {data['url']} ({data['chars']:,} characters)"
        case Kind.PAGE_FAILED:
            text = f"{place}   not read: {data['url']} ({data['message']})"
        case Kind.CALL:
            what = data.get("step") or f"search {data.get('engine', '')}: {data.get('query', '')}"
            end = "" if data.get("ok", True) else f", failed: {data.get('message', '')}"
            text = f"{place}   {_short(what)} took {data['t1'] - data['t0']:.1f} s{end}"
        case Kind.DECIDED if data["stop"]:
            text = f"{place}   goes no deeper: {data['stop']}"
    return text


def _learnings(count: int) -> str:
    return f"{count} learning{'' if count == 1 else 's'}"


def _place(path: Path) -> str:
    """Name a node: '0' is the question, '2.1' the first child of its second branch."""
    return ".".join(str(i + 1) for i in path) or "0"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
