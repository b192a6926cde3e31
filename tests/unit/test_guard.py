"""The gate: budget, permits, retries, timeouts, sharing, translation of errors. All in virtual time."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.budget import Budget
from deep_research.core.errors import (
    AuthFailed,
    BudgetExceeded,
    ConfigError,
    ContextTooLong,
    JournalError,
    PageUnreadable,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    Refused,
)
from deep_research.core.events import Kind
from deep_research.core.model import Page, Source
from deep_research.core.ports import Completion, Prompt
from deep_research.core.seams import Scope
from deep_research.runtime.guard import Gate, Limits, Timeouts
from deep_research.runtime.hits import fuse, usable
from deep_research.runtime.permits import Permits
from deep_research.testing import FakeReader, FakeSearch, virtual_time

pytestmark = pytest.mark.looptime

PROMPT = Prompt("reader", "system", "user")
ANSWER = Completion("fine", "m", "stop", 10, 5, 7)


class Model:
    """Plays a script: seconds to wait, then an answer or an error; the last entry repeats."""

    def __init__(self, *script, seconds=1.0, worst=None):
        self.script, self.seconds = list(script) or [ANSWER], seconds
        self.worst = {"calls": 1, "tokens": 100, "cost": 50} if worst is None else worst
        self.running = self.peak = self.calls = 0

    async def complete(self, prompt):
        self.calls += 1
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.running -= 1
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, BaseException):
            raise step
        return step

    def worst_case(self, prompt):
        return self.worst


class Engine:
    def __init__(self, name, answer, seconds=1.0):
        self.name, self.answer, self.seconds, self.asked = name, answer, seconds, []

    async def search(self, query, *, limit):
        self.asked.append((query, limit))
        await asyncio.sleep(self.seconds)
        answer = self.answer.pop(0) if isinstance(self.answer, Script) else self.answer
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Script(list):
    """Answers to give one after the other."""


class Reader:
    def __init__(self, answer=None, seconds=1.0):
        self.answer, self.seconds, self.seen = answer, seconds, []

    async def read(self, source):
        self.seen.append(source)
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer or Page(source, f"text of {source.url}", "0" * 64)


class Bench:
    """A gate with its doubles."""

    def __init__(self, *engines, model=None, reader=None, **settings):
        self.events = []
        self.model, self.reader = model or Model(), reader or Reader()
        self.gate = Gate(
            llms={"reader": self.model},
            engines=engines,
            reader=self.reader,
            emit=self.events.append,
            **settings,
        )
        self.scope = Scope((1, 0), Budget())

    def of(self, kind):
        return [e.data for e in self.events if e.kind is kind]

    async def complete(self, scope=None, prompt=PROMPT):
        return await self.gate.complete(prompt, scope or self.scope, "learn")


def sources(*urls):
    return [Source(url) for url in urls]


def capped(**amounts):
    return Scope((0,), Budget(amounts))


# --- language models ---------------------------------------------------------------------------


async def test_a_call_is_settled_counted_and_told():
    bench, scope = Bench(), capped(calls=3, tokens=1000, cost=100)
    assert await bench.complete(scope) == ANSWER
    assert scope.budget.left == {"calls": 2, "tokens": 985, "cost": 93}
    assert (scope.usage.llm_calls, scope.usage.input_tokens, scope.usage.cost) == (1, 10, 7)
    (event,) = bench.events
    assert (event.kind, event.path) == (Kind.CALL, (0,))
    assert event.data == {
        "kind": "llm", "step": "learn", "role": "reader", "attempt": 1, "t0": 0.0, "t1": 1.0,
        "ok": True, "model": "m", "input_tokens": 10, "output_tokens": 5, "cost": 7,
    }  # fmt: skip


async def test_what_does_not_fit_is_not_asked():
    bench = Bench()
    with pytest.raises(BudgetExceeded, match="tokens"):
        await bench.complete(capped(tokens=99))
    assert bench.model.calls == 0


async def test_a_role_that_nobody_plays_is_a_clear_error():
    with pytest.raises(ConfigError, match="'writer'"):
        await Bench().complete(prompt=Prompt("writer", "", ""))


async def test_an_unknown_price_is_never_zero():
    """Without a price, a cap on cost cannot be kept: say so; without a cap, the cost stays unknown."""
    bench = Bench(model=Model(replace(ANSWER, cost=None), worst={"calls": 1, "tokens": 9}))
    with pytest.raises(ConfigError, match="price"):
        await bench.complete(capped(cost=10**9))
    assert bench.model.calls == 0
    await bench.complete()
    assert bench.scope.usage.cost is None


async def test_a_known_worst_case_stands_in_for_an_unknown_cost():
    bench, scope = Bench(model=Model(replace(ANSWER, cost=None))), capped(cost=80)
    await bench.complete(scope)
    assert scope.budget.left == {"cost": 30}


async def test_rate_limit_waits_as_long_as_asked_without_permit_and_budget(looptime):
    """While the first call waits 20 s to try again, the only permit serves the second."""
    bench = Bench(
        model=Model(RateLimited("slow down", retry_after=20), ANSWER), limits=Limits(llm=1)
    )
    first, second = capped(tokens=100), capped(tokens=100)
    one = asyncio.create_task(bench.complete(first))
    await asyncio.sleep(1.5)
    assert first.budget.left == {"tokens": 100}
    await bench.complete(second)
    assert looptime == 2.5
    assert await one == ANSWER
    assert looptime == 22
    assert first.budget.left == {"tokens": 85}
    assert [d["ok"] for d in bench.of(Kind.CALL)] == [False, True, True]
    assert bench.of(Kind.CALL)[0]["error"] == "rate_limited"


@pytest.mark.parametrize(
    ("error", "calls", "end"),
    [
        (ProviderUnavailable("500"), 3, 3 + 1 + 2),
        (RateLimited("429"), 9, 9 + 1 + 2 + 4 + 8 + 16 + 30 + 30 + 30),
        (RateLimited("429", retry_after=600), 1, 1),
        (AuthFailed("OPENAI_API_KEY"), 1, 1),
        (ContextTooLong("long", limit=10), 1, 1),
    ],
)
async def test_patience(error, calls, end, looptime):
    bench, scope = Bench(model=Model(error)), capped(calls=1, tokens=100)
    with pytest.raises(type(error)):
        await bench.complete(scope)
    assert (bench.model.calls, looptime) == (calls, end)
    assert scope.budget.left == {"calls": 1, "tokens": 100}, "what failed cost nothing"
    assert scope.usage.llm_calls == 0
    assert not any(data["paid"] for data in bench.of(Kind.CALL))


async def test_a_hanging_model_is_given_up_and_its_worst_case_stays_debited(looptime):
    bench, scope = Bench(model=Model(seconds=1000), attempts=1), capped(calls=2, cost=80)
    with pytest.raises(ProviderTimeout, match="model for reader: no answer within 300 s"):
        await bench.complete(scope)
    assert looptime == 300
    assert scope.budget.left == {"calls": 1, "cost": 30}
    assert (scope.usage.llm_calls, scope.usage.cost) == (1, 50)
    assert (bench.of(Kind.CALL)[0]["paid"], bench.of(Kind.CALL)[0]["cost"]) == (True, 50)


async def test_a_slow_model_is_allowed_where_the_setting_says_so(looptime):
    bench = Bench(model=Model(seconds=900), timeouts=Timeouts(llm=1000))
    assert await bench.complete() == ANSWER
    assert looptime == 900


async def test_a_timeout_of_the_plugin_itself_is_translated():
    with pytest.raises(ProviderTimeout):
        await Bench(model=Model(TimeoutError()), attempts=1).complete()


@pytest.mark.parametrize(
    "bug",
    [KeyError("choices"), None, "text", Completion(None), replace(ANSWER, output_tokens=-1)],
    ids=repr,
)
async def test_a_bug_in_a_plugin_is_named_and_chained(bug):
    bench = Bench(model=Model(bug))
    with pytest.raises(ProviderError, match="model for reader failed unexpectedly") as caught:
        await bench.complete()
    assert isinstance(caught.value.__cause__, KeyError | TypeError)
    assert bench.model.calls == 1


async def test_a_bug_in_worst_case_is_named_and_its_own_errors_pass():
    class Broken(Model):
        def worst_case(self, prompt):
            raise self.worst

    with pytest.raises(ProviderError, match="ZeroDivisionError"):
        await Bench(model=Broken(worst=ZeroDivisionError())).complete()
    with pytest.raises(AuthFailed):
        await Bench(model=Broken(worst=AuthFailed("key"))).complete()


async def test_a_plugin_that_cancels_itself_is_an_error_not_a_cancellation():
    with pytest.raises(ProviderError, match="cancelled itself"):
        await Bench(model=Model(asyncio.CancelledError())).complete()


@pytest.mark.parametrize("moment", [0.5, 1.5])
async def test_cancelling_leaves_nothing_behind(moment):
    """Before the permit nothing was asked, so nothing is owed; in the call the worst case is."""
    bench = Bench(limits=Limits(llm=1))
    scopes = [capped(tokens=100), capped(tokens=100)]
    tasks = [asyncio.create_task(bench.complete(s)) for s in scopes]
    await asyncio.sleep(moment)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert bench.model.running == 0
    assert len(asyncio.all_tasks()) == 1
    left = [s.budget.left["tokens"] for s in scopes]
    assert left == ([0, 100] if moment < 1 else [85, 0])
    assert bench.of(Kind.CALL)[-1]["error"] == "cancelled"
    assert await bench.complete() == ANSWER, "the permit is free again"


async def test_permits_bound_what_is_under_way():
    bench = Bench(limits=Limits(llm=3))
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(bench.complete())
    assert bench.model.peak == 3


async def test_sixteen_callers_settle_at_what_the_service_bears():
    """A service that refuses more than 8 at once: everybody is served, nobody gives up."""

    class Narrow(Model):
        async def complete(self, prompt):
            if self.running >= 8:
                raise RateLimited("too many", retry_after=1)
            return await super().complete(prompt)

    bench = Bench(model=Narrow(), limits=Limits(llm=16))
    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(bench.complete())
    refused = [d for d in bench.of(Kind.CALL) if not d["ok"]]
    assert bench.scope.usage.llm_calls == 100
    assert len(refused) < 40


async def test_permits_never_shrink_to_none_and_regrow():
    permits = Permits(3)
    for _ in range(5):
        async with permits:
            permits.slow_down()
            permits.slow_down()
            permits.slow_down()
    assert permits.size == 1
    for _ in range(50):
        async with permits:
            permits.fine()
    assert permits.size == 3


async def test_clock_and_sleep_can_be_given():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    bench = Bench(
        model=Model(ProviderUnavailable("x"), ANSWER, seconds=0), clock=lambda: 40.0, sleep=sleep
    )
    await bench.complete()
    assert slept == [1]
    assert bench.of(Kind.CALL)[0]["t0"] == 0


# --- search ------------------------------------------------------------------------------------


async def test_engines_are_asked_at_once_and_merged_in_their_order(looptime):
    """What two engines agree on comes first; addresses are canonical and each page comes once."""
    slow = Engine("a", sources("http://www.x.org/1?utm_source=q", "https://x.org/2"), 9.0)
    fast = Engine("b", sources("https://x.org/3", "https://x.org/1/"), 1.0)
    bench = Bench(slow, fast)
    hits = await bench.gate.search("  heat   pumps ", bench.scope)
    assert looptime == 9
    assert [h.url for h in hits] == ["http://www.x.org/1", "https://x.org/3", "https://x.org/2"]
    assert [h.rank for h in hits] == [0, 1, 2]
    assert slow.asked == fast.asked == [("heat pumps", 10)]
    assert [d["engine"] for d in bench.of(Kind.CALL)] == ["b", "a"]


async def test_the_same_text_is_searched_once_but_everyone_pays():
    engine = Engine("a", sources("https://x.org/1"))
    bench, first, second = Bench(engine), capped(searches=2), capped(searches=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.gate.search("q", first))
        group.create_task(bench.gate.search(" q ", second))
    assert len(engine.asked) == 1
    assert (first.budget.left, second.budget.left) == ({"searches": 1}, {"searches": 0})
    assert first.usage.searches + second.usage.searches == 1
    with pytest.raises(BudgetExceeded):
        await bench.gate.search("q", second)


async def test_a_blank_query_costs_nothing():
    bench, scope = Bench(), capped(searches=0)
    assert await bench.gate.search(" \n", scope) == ()


async def test_no_engine_is_a_clear_error():
    with pytest.raises(ConfigError, match="no search engine"):
        await Bench().gate.search("q", Scope())


async def test_one_engine_fails_the_others_count():
    bench = Bench(Engine("bad", AuthFailed("BAD_KEY")), Engine("good", sources("https://x.org/1")))
    assert len(await bench.gate.search("q", bench.scope)) == 1
    (warning,) = bench.of(Kind.WARNING)
    assert warning == {"message": "search with bad failed: BAD_KEY", "kind": "auth"}


async def test_all_engines_fail_the_first_error_counts_and_the_search_is_given_back(looptime):
    bench = Bench(
        Engine("hangs", [], 100.0),
        Engine("bad", AuthFailed("BAD_KEY")),
        timeouts=Timeouts(search=5),
    )
    scope = capped(searches=1)
    with pytest.raises(ProviderTimeout, match="hangs: no answer within 5 s"):
        await bench.gate.search("q", scope)
    assert looptime == 5, "a hanging engine is not asked again"
    assert scope.budget.left == {"searches": 1}
    assert len(bench.of(Kind.WARNING)) == 2


async def test_a_limited_engine_rests_while_others_answer(looptime):
    limited = Engine("limited", RateLimited("slow", retry_after=50))
    bench = Bench(limited, Engine("good", sources("https://x.org/1")))
    for query in ("q1", "q2"):
        assert len(await bench.gate.search(query, bench.scope)) == 1
    assert len(limited.asked) == 1
    await asyncio.sleep(60)
    await bench.gate.search("q3", bench.scope)
    assert len(limited.asked) == 2


async def test_the_only_engine_is_waited_for(looptime):
    engine = Engine("only", Script([RateLimited("slow"), ProviderUnavailable("500"), []]))
    bench = Bench(engine)
    assert await bench.gate.search("q", bench.scope) == ()
    assert looptime == 3 + 1 + 2
    assert bench.scope.usage.searches == 1


@pytest.mark.parametrize(
    "junk",
    [{"results": []}, "text", 7, [None, {}, "http://a", 3, Source("not a url"), Source(None)]],
)
async def test_a_misbehaving_engine_is_survived_and_told(junk):
    bench = Bench(Engine("", junk), Engine("good", sources("https://x.org/1")))
    assert [h.url for h in await bench.gate.search("q", bench.scope)] == ["https://x.org/1"]
    assert "Engine" in bench.of(Kind.WARNING)[0]["message"]


async def test_none_found_is_no_error():
    bench = Bench(Engine("a", None))
    assert await bench.gate.search("q", bench.scope) == ()
    assert not bench.of(Kind.WARNING)


async def test_domain_filter_and_cap():
    bench = Bench(
        Engine("a", sources(*(f"https://{h}.org/{i}" for i in range(9) for h in "xy"))),
        accept=lambda s: "//x." in s.url,
        results=4,
    )
    assert [h.url[-1] for h in await bench.gate.search("q", bench.scope)] == ["0", "1", "2", "3"]


def test_fuse_fills_what_one_engine_leaves_empty():
    bare = Source("https://x.org/1", engine="a")
    full = Source("https://x.org/1", "Title", "Snippet", "b", 0, "2024-01-02")
    (hit,) = fuse([[bare], [full]], lambda _: True, 10)
    assert hit == replace(full, engine="a")


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=4))
def test_fuse_loses_nothing_and_repeats_nothing(lists):
    given_urls = {f"https://x.org/{i}" for numbers in lists for i in numbers}
    found = [[Source(f"https://x.org/{i}") for i in numbers] for numbers in lists]
    hits = fuse(found, lambda _: True, 100)
    assert sorted(h.url for h in hits) == sorted(given_urls)
    assert [h.rank for h in hits] == list(range(len(hits)))


def test_usable_counts_what_it_drops():
    assert usable((Source("HTTPS://X.org/a#b"), None)) == ([Source("https://x.org/a")], 1)


# --- pages -------------------------------------------------------------------------------------


async def test_a_page_is_read_once_and_everyone_pays_and_keeps_his_own_hit():
    saved = []
    bench = Bench(save=saved.append)
    first, second = capped(pages=2), capped(pages=1)
    one = Source("https://x.org/a", "One", "sees this", "e1", 3, "2020-01-01")
    other = Source("http://www.x.org/a/", "Other")
    async with asyncio.TaskGroup() as group:
        a = group.create_task(bench.gate.read(one, first))
        b = group.create_task(bench.gate.read(other, second))
    assert a.result().source == one
    assert b.result().source == Source("https://x.org/a", "Other")
    assert a.result().text == b.result().text
    assert bench.reader.seen == [Source("https://x.org/a", engine="e1")]
    assert len(saved) == 1
    assert (first.budget.left, second.budget.left) == ({"pages": 1}, {"pages": 0})
    assert first.usage.pages + second.usage.pages == 1
    (told,) = bench.of(Kind.PAGE_READ)
    assert told == {
        "url": "https://x.org/a", "t0": 0.0, "t1": 1.0, "ok": True,
        "chars": len(a.result().text), "title": "",
    }  # fmt: skip


async def test_what_the_page_says_of_itself_wins():
    page = Page(Source("https://y.org/moved", "Its title", published="2024-05-01"), "t", "0" * 64)
    got = await Bench(reader=Reader(page)).gate.read(Source("https://x.org/a", "Hit"), Scope())
    assert got.source == Source("https://y.org/moved", "Its title", published="2024-05-01")


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (PageUnreadable("a wall"), "page_unreadable", "a wall"),
        (Page(Source("https://x.org"), " \n ", "0" * 64), "page_unreadable", "no text"),
        (ZeroDivisionError("oops"), "provider", "reading https://x.org/a failed unexpectedly"),
    ],
)
async def test_a_page_that_cannot_be_read_is_told_and_paid_for(answer, kind, message):
    bench, scope = Bench(reader=Reader(answer)), capped(pages=3)
    for _ in range(2):
        with pytest.raises(ProviderError, match=message):
            await bench.gate.read(Source("https://x.org/a"), scope)
    assert len(bench.reader.seen) == 1
    assert scope.budget.left == {"pages": 1}
    (told,) = bench.of(Kind.PAGE_FAILED)
    assert told["kind"] == kind
    assert message in told["message"]


async def test_a_page_that_stands_where_nothing_may_be_used_is_refused_and_not_saved():
    saved = []
    page = Page(Source("https://y.org/moved"), "text", "0" * 64)
    bench = Bench(reader=Reader(page), save=saved.append, accept=lambda s: "//x." in s.url)
    with pytest.raises(Refused, match=r"https://x.org/a: its text stands at https://y.org/moved"):
        await bench.gate.read(Source("https://x.org/a"), bench.scope)
    assert saved == []
    assert [told["kind"] for told in bench.of(Kind.PAGE_FAILED)] == ["refused"]


async def test_a_hanging_page_is_given_up(looptime):
    bench = Bench(reader=Reader(seconds=100))
    with pytest.raises(ProviderTimeout):
        await bench.gate.read(Source("https://x.org/a"), bench.scope)
    assert looptime == 60


async def test_what_is_no_address_is_refused_before_it_costs():
    scope = capped(pages=0)
    with pytest.raises(Refused, match="javascript"):
        await Bench().gate.read(Source("javascript:alert(1)"), scope)


@pytest.mark.parametrize(
    ("failure", "error"),
    [(OSError("disk full"), JournalError), (UnicodeError("surrogates"), PageUnreadable)],
)
async def test_text_that_cannot_be_saved_is_an_error(failure, error):
    def save(page):
        raise failure

    bench = Bench(save=save)
    with pytest.raises(error, match=r"https://x\.org/a"):
        await bench.gate.read(Source("https://x.org/a"), bench.scope)
    assert bench.of(Kind.PAGE_FAILED)[0]["kind"] == error.kind


async def test_cancelling_readers_stops_the_reading():
    bench = Bench(reader=Reader(seconds=50), limits=Limits(fetch=1))
    tasks = [
        asyncio.create_task(bench.gate.read(Source(f"https://x.org/{i % 2}"), bench.scope))
        for i in range(4)
    ]
    await asyncio.sleep(1)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert len(asyncio.all_tasks()) == 1


def test_an_engine_that_fails_beside_others_is_a_mishap_of_everyone_who_asked() -> None:
    """Whoever asked first: the failure is data for each of them."""

    class Broken:
        name = "broken"

        async def search(self, query: str, *, limit: int) -> list[Source]:
            raise ProviderUnavailable("down")

    async def main() -> list[Scope]:
        gate = Gate(
            llms={},
            engines=[FakeSearch({"https://a.example/": "the Orla dam"}), Broken()],
            reader=FakeReader({}),
            emit=lambda _: None,
            attempts=1,
        )
        scopes = [Scope((0,)), Scope((1,))]
        for scope in scopes:
            await gate.search("Orla dam", scope)
        return scopes

    scopes = virtual_time(main())
    assert [[(f.kind, f.message, f.path) for f in s.mishaps] for s in scopes] == [
        [("unavailable", "search with broken failed: down", (i,))] for i in (0, 1)
    ]
