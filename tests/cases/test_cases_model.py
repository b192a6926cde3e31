"""Whatever a model says: the run goes on, the report is whole, nothing of it leaks."""

import pytest


async def test_smoke(lab):
    done = await lab({})
    done.check()
    print(done.markdown, done.queries, done.report.status, done.report.stop_reason)
    assert done.report.status == "complete"
async def test_smoke2(lab):
    done = await lab(None)
    done.check()
    print(done.markdown, done.queries, done.report.status, done.report.stop_reason)
