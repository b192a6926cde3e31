"""One call per key, whoever gives up."""

import asyncio

import pytest

from deep_research.runtime.once import Once


@pytest.fixture(autouse=True)
def _virtual(looptime_loop):
    """All waits are virtual."""


pytestmark = pytest.mark.looptime


class Work:
    def __init__(self, seconds=5.0, error=None):
        self.calls, self.cancelled, self.seconds, self.error = 0, 0, seconds, error

    async def __call__(self):
        self.calls += 1
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return f"page {self.calls}"
