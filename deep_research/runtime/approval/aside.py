"""Calling a person's function, plain or async, without holding up the run."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

Hook = Callable[..., object]
"""A function of somebody else's: plain or async; it may block, raise or never come back."""


async def call_aside(hook: Hook, given: object) -> object:
    """Return what `hook(given)` returns, awaited if it is awaitable.

    A plain function runs in a thread of its own. When the caller is cancelled, that thread is left
    behind and what it returns is dropped: the thread cannot be ended, and neither the run nor the
    end of the process waits for it, as they would for one of a pool.

    Raises:
        BaseException: Whatever the hook raises.
    """
    result = hook(given) if _is_async(hook) else await _in_thread(hook, given)
    return await result if inspect.isawaitable(result) else result


def _is_async(hook: Hook) -> bool:
    called = getattr(hook, "__call__", None)  # noqa: B004 - an object's own, which may be async
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(called)


async def _in_thread(hook: Hook, given: object) -> object:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

    def settle(result: object, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((result, error))

    def work() -> None:
        result, error = None, None
        try:
            result = hook(given)
        except BaseException as caught:  # noqa: BLE001 - raised again where it is awaited
            error = caught
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    name = f"deep-research {getattr(hook, '__name__', 'hook')}"
    threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
    result, error = await done
    if error is not None:
        raise error
    return result
