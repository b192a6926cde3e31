"""The event stream and the counts made from it: listeners cannot harm a run (A4)."""

import asyncio
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.events import Event, Kind
from deep_research.core.model import Usage
from deep_research.core.report import Spent
from deep_research.runtime.progress import JsonlSink, Stream, as_line
from deep_research.runtime.tally import ProgressCallback, ResearchProgress, Tally

STARTED = Event(Kind.RUN_STARTED, data={"question": "q", "breadth": 4, "depth": 2, "nodes": 13})


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Keeper:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.events = []
        self.closed = False

    def emit(self, event) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.closed = True


# --- stream ------------------------------------------------------------------


async def test_events_are_numbered_and_timed():
    keeper, clock = Keeper(), Clock()
    async with Stream("r1", [keeper], clock=clock) as stream:
        stream.emit(STARTED)
        clock.now += 1.23456
        stream.emit(Event(Kind.WRITING, (1,)))
    assert [(e.n, e.at, e.run, e.path) for e in keeper.events] == [
        (1, 0.0, "r1", ()),
        (2, 1.235, "r1", (1,)),
    ]
    assert keeper.closed


@pytest.mark.parametrize("raised", [ValueError("no"), asyncio.CancelledError()])
async def test_a_raising_listener_is_named_once_and_told_again(caplog, raised):
    """It alters nothing for the others, whatever it raises."""
    keeper, calls = Keeper(), []

    def broken(event):
        calls.append(event)
        raise raised

    with caplog.at_level(logging.WARNING, "deep_research"):
        async with Stream("r", [broken, keeper]) as stream:
            for _ in range(3):
                stream.emit(STARTED)
    assert len(keeper.events) == len(calls) == 3
    assert len(caplog.records) == 1
    assert "broken" in caplog.text


@pytest.mark.parametrize("raised", [ValueError("no"), asyncio.CancelledError()])
async def test_an_async_listener_that_raises(caplog, raised):
    seen = []

    async def broken(event):
        await asyncio.sleep(0)
        seen.append(event.n)
        raise raised

    with caplog.at_level(logging.WARNING, "deep_research"):
        async with Stream("r", [broken]) as stream:
            stream.emit(STARTED)
            stream.emit(STARTED)
    assert seen == [1, 2]
    assert len(caplog.records) == 1


async def test_async_listeners_are_heard_in_order_before_the_end():
    seen = []

    async def slow(event):
        await asyncio.sleep(0.01 / event.n)
        seen.append(event.n)

    async with Stream("r", [slow]) as stream:
        for _ in range(3):
            stream.emit(STARTED)
        assert seen == []
    assert seen == [1, 2, 3]


@pytest.mark.looptime
async def test_a_listener_that_hangs_is_cut_off(caplog):
    """After five seconds (of virtual time); nothing is left running, and nothing complains later."""
    made = []

    async def hang(_event):
        await asyncio.Event().wait()

    def future(_event):
        made.append(asyncio.get_running_loop().create_future())
        return made[-1]

    loop = asyncio.get_running_loop()
    began = loop.time()
    async with Stream("r", [hang, future, hang]) as stream:
        stream.emit(STARTED)
    assert loop.time() - began == pytest.approx(5.0, abs=0.1)
    assert "cut off" in caplog.text
    assert made[0].cancelled()
    assert len(asyncio.all_tasks()) == 1


async def test_a_cancelled_run_still_closes_its_listeners():
    keeper = Keeper()

    async def hang(_event):
        await asyncio.Event().wait()

    async def run():
        async with Stream("r", [hang, keeper]) as stream:
            stream.emit(STARTED)

    task = asyncio.create_task(run())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert keeper.closed


class Awkward:
    """An awaitable that can neither be closed nor cancelled."""

    def __await__(self):
        yield


async def test_what_was_emitted_outside_is_heard_when_the_stream_opens():
    seen = []

    async def listen(event):
        seen.append(event.n)

    stream = Stream("r", [listen])
    stream.emit(STARTED)
    async with stream:
        pass
    async with stream:
        stream.emit(STARTED)
    assert seen == [1, 2]


async def test_closing_a_stream_that_was_never_opened(monkeypatch):
    monkeypatch.setattr("deep_research.runtime.progress._DRAIN", 0.01)
    stream = Stream("r", [lambda _: Awkward()])
    stream.emit(STARTED)
    await stream.close()
    assert stream._queue.empty()


def test_a_stream_in_two_event_loops():
    """Research in one `asyncio.run`, the report in another: numbers go on."""
    seen = []

    async def listen(event):
        seen.append(event.n)

    stream = Stream("r", [listen])

    async def phase():
        async with stream:
            stream.emit(STARTED)

    asyncio.run(phase())
    asyncio.run(phase())
    assert seen == [1, 2]


# --- file --------------------------------------------------------------------


async def test_jsonl_appends_a_line_at_once(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("{}\n")
    sink = JsonlSink(path)
    sink.emit(
        Event(Kind.PAGE_READ, (0, 1), {"title": "π – 中文 \ud800", "kind": Kind.CALL}, 3, 1.5, "r")
    )
    lines = path.read_text("utf-8").splitlines()
    assert json.loads(lines[1]) == {
        "n": 3,
        "at": 1.5,
        "run": "r",
        "kind": "page_read",
        "path": [0, 1],
        "data": {"title": "π – 中文 \ud800", "kind": "call"},
    }
    sink.emit(STARTED)
    assert len(path.read_text("utf-8").splitlines()) == 3
    sink.close()
    sink.close()


def test_values_that_are_not_json_become_text():
    assert '"x": "<object' in as_line(Event(Kind.WARNING, data={"x": object()}))


async def test_a_file_that_cannot_be_written_is_no_harm(tmp_path, caplog):
    async with Stream("r", [JsonlSink(tmp_path / "no" / "events.jsonl")]) as stream:
        stream.emit(STARTED)
        stream.emit(STARTED)
    assert len(caplog.records) == 1


# --- counts ------------------------------------------------------------------


def llm(**data) -> Event:
    return Event(Kind.CALL, data={"kind": "llm", "t0": 0, "t1": 1, "ok": True} | data)


def search(query, path=(), **data) -> Event:
    return Event(Kind.CALL, path, {"kind": "search", "query": query, "ok": True} | data)


def test_counts_of_a_run():
    tally = Tally()
    for event in (
        STARTED,
        Event(Kind.NODE_STARTED, (), {"query": "root"}),
        search("root"),
        search("root"),  # the second engine
        search("more", ok=False),
        Event(Kind.PAGE_READ, (), {"url": "u"}),
        Event(Kind.PAGE_FAILED, (), {"url": "v"}),
        llm(input_tokens=10, output_tokens=5, cost=7),
        llm(ok=False),
        Event(Kind.LEARNED, (), {"learnings": 2}),
        Event(Kind.DECIDED, (), {"delegate": ["a", "b"], "stop": ""}),
        Event(Kind.NODE_STARTED, (1,), {"query": "b"}, at=2.0),
        Event(Kind.NODE_FAILED, (1,), {"kind": "x", "message": "y"}, at=3.0),
    ):
        progress = tally.add(event)
    assert progress == ResearchProgress(
        current_depth=1,
        total_depth=2,
        current_breadth=1,
        total_breadth=4,
        current_query="b",
        completed_queries=1,
        total_queries=3,
        learnings=2,
        sources=1,
        usage=Usage(1, 10, 5, 7, searches=2, pages=2, seconds=3.0),
        node=(1,),
        event=progress.event,
    )
    assert progress.event.kind is Kind.NODE_FAILED


def test_never_more_queries_done_than_planned():
    """A refused key ends the question before it begins."""
    failed = Event(Kind.NODE_FAILED, (), {"kind": "auth_failed", "message": "no"})
    progress = Tally().add(failed)
    assert (progress.completed_queries, progress.total_queries) == (1, 1)


def test_an_unknown_price_is_never_zero():
    tally = Tally()
    assert tally.add(llm(cost=5)).usage.cost == 5
    assert tally.add(llm(cost=None)).usage.cost is None
    assert tally.add(llm(cost=5)).usage.cost is None


def test_more_branches_than_the_tree_has_at_first():
    """The supervisor's further turns add some; then the breadth that is told grows with them."""
    tally = Tally()
    tally.add(STARTED)
    for i in range(6):
        tally.add(Event(Kind.NODE_STARTED, (i,), {"query": "q"}))
    assert (tally.progress.current_breadth, tally.progress.total_breadth) == (6, 6)


# --- usage by step -----------------------------------------------------------


def call(step, role="planner", model="strong", cost=10, **data) -> Event:
    given = {"input_tokens": 3, "output_tokens": 2, "cost": cost}
    return llm(step=step, role=role, model=model, **given, **data)


def given_up(step, role="planner", cost=99) -> Event:
    told = {"ok": False, "paid": True, "error": "timeout", "message": "late"}
    return llm(step=step, role=role, cost=cost, **told)


def spent(*events):
    tally = Tally()
    for event in events:
        tally.add(event)
    return tally.spent


STEPS = ["brief", "clarify", "decide", "plan", "learn", "react", "review", "outline", "section",
         "rewrite", "a", "b"]  # fmt: skip


@given(st.permutations([step for step in STEPS for _ in range(2)]))
def test_rows_stand_in_the_order_of_a_run_whoever_answered_first(steps):
    rows = spent(*map(call, steps))
    assert rows == tuple(Spent(step, "planner", "strong", 2, 6, 4, 20) for step in STEPS)


def test_a_row_for_each_step_role_and_model():
    rows = spent(
        call("learn", "reader", "b", 1),
        call("learn", "reader", "a", 2),
        call("learn", "planner", "b", 4),
        call("learn", "reader", "b", 8),
    )
    assert [(r.role, r.model, r.calls, r.cost) for r in rows] == [
        ("planner", "b", 1, 4),
        ("reader", "a", 1, 2),
        ("reader", "b", 2, 9),
    ]


def test_one_unknown_price_makes_that_row_unknown_and_no_other():
    rows = spent(call("plan"), call("learn", cost=None), call("learn"))
    assert [(r.step, r.cost) for r in rows] == [("plan", 10), ("learn", None)]


def test_an_attempt_that_was_paid_counts_with_the_model_of_its_step():
    """Who did not answer gave no name; what failed for free is no call."""
    rows = spent(call("plan"), given_up("plan"), llm(ok=False, step="plan", role="planner"))
    assert rows == (Spent("plan", "planner", "strong", 2, 3, 2, 109),)
    assert spent(call("plan"), given_up("plan", cost=None))[0].cost is None


@pytest.mark.parametrize("others", [(), ("a", "b")])
def test_where_that_is_nobody_or_several_it_is_the_model_that_was_set(others):
    begun = Event(Kind.RUN_STARTED, data={**STARTED.data, "llm": {"planner": "qwen3:8b"}})
    rows = spent(begun, given_up("plan"), *(call("plan", model=name) for name in others))
    assert [(r.model, r.calls) for r in rows] == [*((name, 1) for name in others), ("qwen3:8b", 1)]
    assert spent(given_up("plan"))[0].model == ""


CALLS = st.one_of(
    st.builds(
        call,
        st.sampled_from(STEPS),
        st.sampled_from(["planner", "reader"]),
        st.sampled_from(["", "m", "n"]),
        st.none() | st.integers(0, 9),
    ),
    st.builds(given_up, st.sampled_from(STEPS), cost=st.none() | st.integers(0, 9)),
    st.just(search("q")),
    st.just(llm(ok=False)),
)


@given(st.lists(CALLS, max_size=20))
def test_the_rows_add_up_to_the_usage(events):
    tally = Tally()
    for event in events:
        tally.add(event)
    total = Usage(searches=tally.progress.usage.searches)
    for row in tally.spent:
        total.add(Usage(row.calls, row.input_tokens, row.output_tokens, row.cost))
    assert total == tally.progress.usage


PATHS = st.lists(st.integers(0, 2), max_size=2).map(tuple)
EVENTS = st.one_of(
    st.builds(lambda p: Event(Kind.NODE_STARTED, p, {"query": "q"}), PATHS),
    st.builds(lambda p: Event(Kind.NODE_FINISHED, p, {"learnings": 0}), PATHS),
    st.builds(
        lambda p, n: Event(Kind.DECIDED, p, {"delegate": ["q"] * n, "stop": ""}),
        PATHS,
        st.integers(0, 3),
    ),
    st.builds(lambda n: Event(Kind.LEARNED, (), {"learnings": n}), st.integers(0, 3)),
    st.just(Event(Kind.PAGE_READ, (), {"url": "u"})),
)
COUNTS = (
    "current_depth",
    "current_breadth",
    "completed_queries",
    "total_queries",
    "learnings",
    "sources",
)


@given(st.lists(EVENTS, max_size=30))
def test_counts_never_go_back(events):
    tally = Tally()
    before = tally.progress
    for event in events:
        after = tally.add(event)
        assert all(getattr(after, name) >= getattr(before, name) for name in COUNTS)
        before = after


# --- callback ----------------------------------------------------------------


def test_callback_gets_progress_and_its_answer_comes_back():
    seen = []
    sink = ProgressCallback(lambda progress: seen.append(progress.total_depth) or "answer")
    assert sink.emit(STARTED) == "answer"
    assert seen == [2]
    assert sink.flush() is None
    assert "lambda" in repr(sink)


def test_a_slow_callback_gets_a_tenth_of_the_time_and_the_last_progress():
    """It must not hold up the run: after 1 s of its own it is left alone for 9 s."""
    clock, seen = Clock(), []

    def slow(progress):
        seen.append(progress.learnings)
        clock.now += 1.0

    sink = ProgressCallback(slow, clock=clock)
    for _ in range(20):
        sink.emit(Event(Kind.LEARNED, data={"learnings": 1}))
        clock.now += 1.0
    assert seen == [1, 10, 19]
    sink.flush()
    assert seen == [1, 10, 19, 20]


async def test_a_stream_delivers_the_last_progress():
    clock, seen = Clock(), []

    async def slow(progress):
        seen.append(progress.learnings)

    def begin(progress):
        clock.now += 1.0
        return slow(progress)

    async with Stream("r", [ProgressCallback(begin, clock=clock)]) as stream:
        for _ in range(3):
            stream.emit(Event(Kind.LEARNED, data={"learnings": 1}))
    assert seen == [1, 3]


def test_a_callback_that_raises_counts_on(caplog):
    seen = []

    def broken(progress):
        seen.append(progress.learnings)
        raise ValueError

    stream = Stream("r", [ProgressCallback(broken)])
    for _ in range(2):
        stream.emit(Event(Kind.LEARNED, data={"learnings": 1}))
    assert seen == [1, 2]
    assert len(caplog.records) == 1
