"""How many calls of one kind may be under way: lowered when the other side asks to slow down."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final

_CALLS_TO_REGROW: Final = 4
"""After this many rounds of calls without complaint one withheld permit comes back."""


class Permits:
    """`async with permits:` round one outside call.

    Every `slow_down` withholds one permit (never the last), and one comes back after four rounds of
    successes. So sixteen callers settle at the eight that a service bears, without being told.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        """Permits in use or free right now, at least 1."""
        self._most = size
        self._withhold = 0
        self._good = 0
        self._free = asyncio.Semaphore(size)

    def slow_down(self) -> None:
        """Call while holding a permit: with it, the number of permits shrinks by one."""
        self._good = 0
        if self.size - self._withhold > 1:
            self._withhold += 1

    def fine(self) -> None:
        """Call after a success."""
        self._good += 1
        if self.size < self._most and self._good >= _CALLS_TO_REGROW * self.size:
            self._good = 0
            self.size += 1
            self._free.release()

    async def __aenter__(self) -> None:
        await self._free.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._withhold:
            self._withhold -= 1
            self.size -= 1
        else:
            self._free.release()
