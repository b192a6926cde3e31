"""Time that costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def virtual_time(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on an event loop whose clock jumps to the next thing to do.

    `asyncio.sleep(3600)` returns at once and the loop's time is an hour later, exactly. Real
    sockets and threads do not wait for that clock: use plugin doubles here, not servers.

    Raises:
        ModuleNotFoundError: The package `looptime` is not installed.
    """
    import looptime

    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        return runner.run(coroutine)
