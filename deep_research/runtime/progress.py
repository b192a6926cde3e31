"""The run's event stream: numbers events, fans them out, keeps listeners from doing harm."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO

from deep_research.core.events import Event
from deep_research.core.ports import ProgressSink

Sink = ProgressSink | Callable[[Event], object]
"""Something with `emit(event)`, or a sync or async function of an event."""

_DRAIN: Final = 5.0
"""Seconds that async listeners get at the end to finish what they have begun."""

_log = logging.getLogger("deep_research")


class Stream:
    """One run's events, in order, to every sink.

    A sink that raises is named once in the log and goes on being told; what an async one returns is
    awaited one after another by a task of the stream's own, and cut off if it does not end. Use as
    `async with`.

    Args:
        run: Id of the run.
        sinks: Who is told.
        clock: Seconds; only differences count.
    """

    def __init__(
        self, run: str, sinks: Iterable[Sink] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self._clock, self._n = run, clock, 0
        self._began: float | None = None
        self._sinks = [(sink, getattr(sink, "emit", sink)) for sink in sinks]
        self._queue: asyncio.Queue[tuple[object, Awaitable[object]]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._named: set[int] = set()

    async def __aenter__(self) -> Self:
        # A stream may be opened again, also by another event loop: its queue belongs to this one.
        waiting, self._queue = self._queue, asyncio.Queue()
        while not waiting.empty():
            self._queue.put_nowait(waiting.get_nowait())
        self._task = asyncio.create_task(self._work(), name="progress")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def emit(self, event: Event) -> None:
        """Number `event` and tell everybody. Never raises."""
        if self._began is None:
            self._began = self._clock()
        self._n += 1
        at = round(self._clock() - self._began, 3)
        numbered = replace(event, n=self._n, at=at, run=self._run)
        for sink, tell in self._sinks:
            self._guarded(sink, lambda tell=tell: tell(numbered))  # type: ignore[misc]

    async def close(self) -> None:
        """Let async listeners finish, 5 seconds at most, then close the sinks."""
        for sink, _ in self._sinks:
            if flush := getattr(sink, "flush", None):
                self._guarded(sink, flush)
        try:
            async with asyncio.timeout(_DRAIN):
                await self._queue.join()
        except TimeoutError:
            _log.warning("a progress listener did not end; it was cut off")
        finally:
            if self._task:
                self._task.cancel()
                await asyncio.wait([self._task])
            while not self._queue.empty():
                _discard(self._queue.get_nowait()[1])
            for sink, _ in self._sinks:
                if close := getattr(sink, "close", None):
                    self._guarded(sink, close)

    def _guarded(self, sink: object, call: Callable[[], object]) -> None:
        try:
            result = call()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - a listener may raise anything
            self._complain(sink, error)
            return
        if inspect.isawaitable(result):
            self._queue.put_nowait((sink, result))

    async def _work(self) -> None:
        """Await what async listeners returned, in order."""
        while True:
            sink, awaitable = await self._queue.get()
            try:
                await awaitable
            except asyncio.CancelledError as error:
                if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                    raise
                self._complain(sink, error)  # the listener's own, not meant for this task
            except Exception as error:  # noqa: BLE001 - a listener may raise anything
                self._complain(sink, error)
            finally:
                self._queue.task_done()

    def _complain(self, sink: object, error: BaseException) -> None:
        if id(sink) not in self._named:
            self._named.add(id(sink))
            _log.warning("progress listener %r failed: %r", sink, error)


def _discard(awaitable: Awaitable[object]) -> None:
    """Drop what will not be awaited any more, without a warning about it."""
    for name in ("close", "cancel"):
        if end := getattr(awaitable, name, None):
            end()
            return


def as_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain data, in the order people read it."""
    return {
        "n": event.n,
        "at": event.at,
        "run": event.run,
        "kind": str(event.kind),
        "path": list(event.path),
        "data": dict(event.data),
    }


def as_line(event: Event) -> str:
    """Return an event as one line of JSON, without the line's end."""
    return json.dumps(as_dict(event), ensure_ascii=False, default=str)


class JsonlSink:
    """Appends each event to a file as one line of JSON, at once: what was told survives a crash.

    Args:
        path: The file; made when the first event comes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def emit(self, event: Event) -> None:
        """Append one line."""
        if self._file is None:
            # A broken character becomes a JSON escape instead of an error.
            self._file = self._path.open(
                "a", encoding="utf-8", errors="backslashreplace", newline="\n"
            )
        self._file.write(as_line(event) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
