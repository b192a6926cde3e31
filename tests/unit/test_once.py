"""One call per key, whoever gives up."""

import asyncio

import pytest

from deep_research.core.errors import PageUnreadable
from deep_research.runtime.once import Once

pytestmark = pytest.mark.looptime


class Work:
    def __init__(self, seconds=5.0, error=None):
        self.calls, self.cancelled, self.seconds, self.error = 0, 0, seconds, error

    async def __call__(self):
        self.calls += 1
        number = self.calls
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return f"page {number}"


async def test_callers_share_one_call_and_later_ones_get_its_value(looptime):
    work, once = Work(), Once()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(once("a", work)) for _ in range(3)]
    assert {t.result() for t in tasks} == {"page 1"}
    assert await once("a", work) == "page 1"
    assert work.calls == 1
    assert looptime == 5


async def test_keys_are_apart():
    work, once = Work(), Once()
    assert (await once("a", work), await once("b", work)) == ("page 1", "page 2")


async def test_an_error_is_shared_too_and_not_tried_again():
    work, once = Work(error=PageUnreadable("gone")), Once()
    for _ in range(2):
        with pytest.raises(PageUnreadable, match="gone"):
            await once("a", work)
    assert work.calls == 1


async def test_a_cancelled_caller_stops_nobody_else():
    work, once = Work(), Once()
    first = asyncio.create_task(once("a", work))
    second = asyncio.create_task(once("a", work))
    await asyncio.sleep(1)
    first.cancel()
    assert await second == "page 1"
    assert first.cancelled()
    assert work.cancelled == 0


async def test_the_last_caller_takes_the_call_with_it_and_frees_the_key():
    work, once = Work(), Once()
    callers = [asyncio.create_task(once("a", work)) for _ in range(2)]
    await asyncio.sleep(1)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    assert work.cancelled == 1
    assert len(asyncio.all_tasks()) == 1
    assert await once("a", work) == "page 2"


async def test_an_error_that_nobody_waits_for_is_not_reported_as_lost(caplog):
    """Caller cancelled in the very tick in which the call fails."""
    work, once = Work(error=PageUnreadable("gone")), Once()
    caller = asyncio.create_task(once("a", work))
    asyncio.get_running_loop().call_at(asyncio.get_running_loop().time() + 5, caller.cancel)
    await asyncio.wait({caller})
    del caller, once
    assert not caplog.records
