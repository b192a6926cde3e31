"""A tree that changes in place on a terminal, with the control sequences that every terminal knows.

Sequences: ECMA-48 (CPL, ED, SGR), https://ecma-international.org/publications-and-standards/standards/ecma-48/.
"""

from __future__ import annotations

import shutil
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import wrap
from types import TracebackType
from typing import Final, Self, TextIO

from deep_research.core.events import Event, Kind
from deep_research.core.model import Path
from deep_research.runtime.tally import Tally

from .console import learnings, outcome, printable, short, summary, told

_EVERY: Final = 0.25
_AROUND: Final = 4  # lines of the terminal that the tree leaves free
_COLOURS: Final = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

_STAY: Final = (
    Kind.WARNING,
    Kind.REVIEWED,
    Kind.APPROVAL,
    Kind.CLARIFICATION,
    Kind.RUN_FINISHED,
)
"""Kinds of events that are told in lines that stay, unless they only ask: the tree shows that."""

Size = Callable[[], tuple[int, int]]
"""Columns and lines of the terminal."""


class Live:
    """Progress as a tree that changes in place, with counts, cost and time left.

    A tree that is taller than the terminal is shown without what lies below finished queries. It is
    drawn anew four times a second by a thread of its own, and wiped away at the end.

    Args:
        out: The terminal.
        colour: Whether to use colours.
        size: Asks for the terminal's size; it may change.
        every: Seconds between two drawings.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        colour: bool = True,
        size: Size = shutil.get_terminal_size,
        every: float = _EVERY,
    ) -> None:
        self._out, self._colour, self._size, self._every = out, colour, size, every
        self._tally = Tally()
        self._labels: dict[Path, str] = {}
        self._marks: dict[Path, tuple[str, str]] = {}
        self._ended: set[Path] = set()
        self._bound = 0
        self._drawn = 0
        self._kept: list[str] | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="live tree", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        with self._lock:
            self._write("")

    def line(self, text: str) -> None:
        """Say something that stays, above the tree."""
        with self._lock:
            if self._kept is not None:
                self._kept.append(text)
                return
            self._write(printable(text) + "\n")
            self._draw()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wipe the tree and leave the terminal alone while a person is asked something."""
        with self._lock:
            self._write("")
            self._kept = []
        try:
            yield
        finally:
            with self._lock:
                kept, self._kept = self._kept, None
                self._write("".join(printable(text) + "\n" for text in kept))
                self._draw()

    def emit(self, event: Event) -> None:
        """Change the tree; warnings, what was asked and the end are lines that stay."""
        with self._lock:
            progress = self._tally.add(event)
            self._change(event)
        if event.kind in _STAY and event.data.get("state") != "asked":
            self.line(told(event, progress))

    def _change(self, event: Event) -> None:
        data = event.data
        match event.kind:
            case Kind.RUN_STARTED:
                self._labels[()], self._bound = data["question"], data["nodes"]
            case Kind.NODE_STARTED:
                if event.path:
                    self._labels[event.path] = data["query"]
                self._marks[event.path] = "yellow", "…"
            case Kind.APPROVAL | Kind.CLARIFICATION if data["state"] == "asked":
                self._marks[event.path] = "yellow", "waits for an answer"
            case Kind.APPROVAL | Kind.CLARIFICATION:
                self._marks[event.path] = "cyan", outcome(event)
            case Kind.LEARNED:
                self._marks[event.path] = "cyan", learnings(data["learnings"])
            case Kind.NODE_FINISHED:
                self._marks[event.path] = "green", f"✓ {learnings(data['learnings'])}"
                self._ended.add(event.path)
            case Kind.NODE_FAILED:
                self._marks[event.path] = "red", f"✗ {data['kind']}"
                self._ended.add(event.path)

    def _work(self) -> None:
        while not self._over.wait(self._every):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if self._kept is not None:
            return
        columns, lines = self._size()
        counts = wrap(summary(self._tally.progress, self._bound), max(20, columns - 1))
        top = [self._painted("dim", line) for line in counts]
        rows = [*top, *self._rows(columns - 1, lines - _AROUND)][: max(1, lines - 1)]
        self._write("\n".join(rows) + "\n")
        self._drawn = len(rows)

    def _write(self, text: str) -> None:
        """Wipe what was drawn and write `text` in its place."""
        back = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        self._out.write(back + text)
        self._out.flush()
        self._drawn = 0

    def _rows(self, width: int, height: int) -> Iterator[str]:
        tall = len(self._labels) > height
        shown = [
            path
            for path in sorted(self._labels)  # a parent sorts before its children
            if not (tall and any(path[:n] in self._ended for n in range(1, len(path))))
        ]
        for path in shown:
            colour, mark = self._marks.get(path, ("", ""))
            lead = "".join(
                "│   " if self._follows(path[:n], shown) else "    " for n in range(1, len(path))
            )
            lead += ("├── " if self._follows(path, shown) else "└── ") if path else ""
            room = width - _width(lead) - _width(mark) - 1
            yield f"{lead}{_cut(short(self._labels[path]), room)} {self._painted(colour, mark)}"

    @staticmethod
    def _follows(path: Path, shown: list[Path]) -> bool:
        """Tell whether a later sibling of `path` is shown."""
        return any(p[:-1] == path[:-1] and p > path for p in shown if len(p) == len(path))

    def _painted(self, colour: str, text: str) -> str:
        code = _COLOURS.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if code and text and self._colour else text


def _width(text: str) -> int:
    """Return the columns that a text takes: East Asian wide characters take two."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _cut(text: str, width: int) -> str:
    """Return as much of a text as fits, without control characters."""
    text = printable(text)
    if _width(text) <= width:
        return text
    while text and _width(text) > max(0, width - 1):
        text = text[:-1]
    return text + "…" if width > 0 else ""
