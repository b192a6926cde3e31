"""The Python interface: one line for one question, and `DeepResearcher` for two steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .core.report import Report
from .interface import DeepResearcher, OnProgress
from .runtime.tally import ResearchProgress


async def research(
    question: str,
    *,
    on_progress: OnProgress | None = None,
    **settings: Any,  # noqa: ANN401 - as DeepResearcher's
) -> Report:
    """Research `question` and return the whole typed report; arguments as for `DeepResearcher`."""
    researcher = DeepResearcher(question, **settings)
    await researcher.conduct_research(on_progress)
    await researcher.write_report()
    return researcher.result


def run(
    question: str,
    *,
    on_progress: OnProgress | None = None,
    **settings: Any,  # noqa: ANN401 - as DeepResearcher's
) -> Report:
    """Research `question`, blocking; as `research`.

    Works inside a running event loop too, for instance in a notebook: then the research has a
    thread of its own, and the loop stands still until it ends.
    """

    async def work() -> Report:
        return await research(question, on_progress=on_progress, **settings)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    return _in_thread(work)


def _in_thread(work: Callable[[], Awaitable[Report]]) -> Report:
    """Run `work` in a thread with a loop of its own; who is interrupted takes it down with them."""
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def begin() -> Report:
        begun.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await work()

    with ThreadPoolExecutor(1, thread_name_prefix="deep-research") as pool:
        future = pool.submit(lambda: asyncio.run(begin()))
        try:
            return future.result()
        except BaseException:
            for loop, task in begun:
                if task is not None and not future.done():
                    loop.call_soon_threadsafe(task.cancel)
            raise


__all__ = ["DeepResearcher", "OnProgress", "ResearchProgress", "research", "run"]
