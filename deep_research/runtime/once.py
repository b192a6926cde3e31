"""Shared work, done once: what one branch reads, no other branch reads again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Once(Generic[K, V]):
    """One call per key, however many ask for it and whoever of them gives up.

    Every caller gets the same value or the same error, also later, so who came first cannot show.
    The call runs in a task of its own, owned by the callers that wait for it: one that is cancelled
    does not stop the others; the last one takes the task with it, and the key is free again. So no
    task outlives its callers and nothing needs closing.
    """

    __slots__ = ("_calls", "_waiting")

    def __init__(self) -> None:
        self._calls: dict[K, asyncio.Task[V]] = {}
        self._waiting: dict[K, int] = {}

    async def __call__(self, key: K, make: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return what the first `make()` for this key returned, or raise what it raised."""
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = asyncio.create_task(make())
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            await asyncio.wait(
                {call}
            )  # not `await call`: that would hand a caller's cancellation on
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                await self._abandon(key, call)
        return call.result()

    async def _abandon(self, key: K, call: asyncio.Task[V]) -> None:
        """The last caller leaves: stop what is not finished, and let no error go unread."""
        if not call.done():
            del self._calls[key]
            call.cancel()
            await asyncio.wait({call})
        if not call.cancelled():
            call.exception()
