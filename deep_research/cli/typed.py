"""Lines from standard input, waited for without holding up the run."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from typing import Final, TextIO

_CHUNK: Final = 65_536


class Typed:
    """What a person types, or a script sends, line by line.

    A thread reads, and only while a line is wanted. It cannot be stopped, so it is left behind when
    nobody waits any more; nothing waits for it either, at the end of the process.

    Args:
        stream: Standard input; None where there is none.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._rest = b""
        self._reading = False
        self._wanted: asyncio.Future[str | None] | None = None
        self._late: list[str | None] = []

    @property
    def person(self) -> bool:
        """Whether somebody sits at a terminal."""
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:  # it is closed
            return False

    async def line(self) -> str | None:
        """Return the next line without its end; None at the end of the input."""
        if self._late:
            return self._late.pop(0)
        loop = asyncio.get_running_loop()
        self._wanted = loop.create_future()
        if not self._reading:
            self._reading = True
            work = threading.Thread(
                target=self._work, args=(loop,), name="standard input", daemon=True
            )
            work.start()
        return await self._wanted

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        line = self._next()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._came, line)

    def _came(self, line: str | None) -> None:
        self._reading = False
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(line)
        elif not self.person:
            self._late.append(line)
        # A person who answers too late answered another question.

    def _next(self) -> str | None:
        """Read a line; whatever cannot be read is the end."""
        if self._stream is None:
            return None
        try:
            number = self._stream.fileno()
        except (OSError, ValueError):
            return self._next_of_text(self._stream)
        # Not through the stream: a thread that waits inside it would have Python die at exit.
        while b"\n" not in self._rest:
            try:
                more = os.read(number, _CHUNK)
            except OSError:
                more = b""
            if not more:
                break
            self._rest += more
        line, end, self._rest = self._rest.partition(b"\n")
        if not line and not end:
            return None
        return line.decode(self._stream.encoding or "utf-8", "replace").rstrip("\r")

    @staticmethod
    def _next_of_text(stream: TextIO) -> str | None:
        try:
            line = stream.readline()
        except (OSError, ValueError):
            return None
        return line.rstrip("\r\n") if line else None
