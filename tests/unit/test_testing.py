"""The public doubles keep their script, and the checks catch what breaks a promise."""

import asyncio
from dataclasses import replace

import pytest

from deep_research.core.errors import (
    ContextTooLong,
    PageUnreadable,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    ToolsRefused,
)
from deep_research.core.model import Page, Source
from deep_research.core.ports import Completion, Prompt, Tool, ToolCall, Turn
from deep_research.testing import (
    Calls,
    FakeReader,
    FakeSearch,
    Reply,
    ScriptedLLM,
    check_exporter,
    check_llm,
    check_page_reader,
    check_search_engine,
    sample_report,
    virtual_time,
)

PAGES = {"http://a.org/dam": "# The dam\nThe dam is 92 m high.", "http://a.org/cat": "Cats sleep."}


def prompt(role="reader", user="read this", **more):
    return Prompt(role, "be brief", user, **more)


TOOLS = (Tool("note", "Keeps a note.", {"type": "object"}),)
CALL = ToolCall("a", "note", '{"text": "deep"}')


def test_virtual_time_jumps_over_waiting():
    async def long_day():
        await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time()

    assert virtual_time(long_day()) == pytest.approx(86_400)


class TestScriptedLLM:
    async def test_the_first_line_that_fits_answers(self):
        llm = ScriptedLLM(
            Reply({"a": "ü"}, role="planner", step="plan"),
            Reply("about dams", match=r"dam\b", times=None),
            Reply(lambda p: p.user.upper(), times=2),
            "last",
        )
        texts = [
            (await llm.complete(p)).text
            for p in (
                prompt(user="a dam"),
                prompt("planner", name="plan"),
                prompt(user="x"),
                prompt(user="y"),
                prompt(user="z"),
                prompt(user="dam"),
            )
        ]
        assert texts == ["about dams", '{"a": "ü"}', "X", "Y", "last", "about dams"]
        assert len(llm.prompts) == 6
        llm.check()

    async def test_a_prompt_without_an_answer_is_reported_at_once_and_by_check(self):
        llm = ScriptedLLM(Reply("x", role="writer", times=None))
        with pytest.raises(
            AssertionError, match="no answer scripted for role='reader' step='learn'"
        ):
            await llm.complete(prompt(name="learn"))
        with pytest.raises(AssertionError, match="prompts without an answer"):
            llm.check()

    def test_answers_that_nobody_asked_for_are_reported(self):
        with pytest.raises(
            AssertionError, match=r"nobody asked for: .*role='writer', match='x' \(2×\)"
        ):
            ScriptedLLM(Reply("x", role="writer", match="x", times=2)).check()
        with pytest.raises(AssertionError, match="any prompt"):
            ScriptedLLM("x").check()

    async def test_errors_are_raised_and_completions_passed_through(self):
        done = Completion("x", finish="length")
        llm = ScriptedLLM(RateLimited("slow"), done)
        with pytest.raises(RateLimited):
            await llm.complete(prompt())
        assert await llm.complete(prompt()) is done

    def test_it_takes_its_time_and_counts_who_runs_at_once(self):
        llm = ScriptedLLM(Reply("x", times=3, delay=5))

        async def all_three():
            async with asyncio.TaskGroup() as group:
                for _ in range(3):
                    group.create_task(llm.complete(prompt()))
            return asyncio.get_running_loop().time()

        assert virtual_time(all_three()) == pytest.approx(5)
        assert (llm.most_running, llm.running) == (3, 0)

    def test_a_script_can_be_used_for_two_models(self):
        line = Reply("x")
        first, second = ScriptedLLM(line), ScriptedLLM(line)
        asyncio.run(first.complete(prompt()))
        first.check()
        with pytest.raises(AssertionError):
            second.check()

    async def test_a_script_calls_tools(self):
        """Ids go on where the conversation stands; arguments as text stay as they are."""
        llm = ScriptedLLM(
            Calls(("note", {"text": "ü"}), ("note", "{broken"), text="Well."), Calls()
        )
        talk = prompt(tools=TOOLS, turns=(Turn("", (CALL,), ("kept",)),))
        done = await llm.complete(talk)
        assert (done.text, done.finish) == ("Well.", "tool_calls")
        assert done.calls == (
            ToolCall("call_2", "note", '{"text": "ü"}'),
            ToolCall("call_3", "note", "{broken"),
        )
        assert done.output_tokens > 25 // 4, "calls are output"
        done = await llm.complete(talk)
        assert (done.calls, done.finish) == ((), "stop")

    async def test_calls_where_no_tools_are_is_a_mistake_in_the_script(self):
        with pytest.raises(
            AssertionError, match="calls scripted where no tools are: role='reader'"
        ):
            await ScriptedLLM(Calls(("note", {}))).complete(prompt())

    @pytest.mark.parametrize("match", ["deep", "note", "kept", "Go on", "Let me", "be brief"])
    def test_a_line_fits_what_was_said_in_a_conversation(self, match):
        turns = (Turn("Let me see.", (CALL,), ("kept",)), Turn("", (), ("Go on.",)))
        assert Reply("x", match=match).fits(prompt(turns=turns))
        assert Reply("x", match=match).fits(prompt()) is (match == "be brief")

    def test_tools_and_turns_count(self):
        llm = ScriptedLLM()
        sizes = [
            llm.worst_case(asked)["tokens"]
            for asked in (
                prompt(),
                prompt(tools=TOOLS),
                prompt(tools=TOOLS, turns=(Turn("x" * 80, (CALL,), ("y" * 80,)),)),
            )
        ]
        assert sizes[1] > sizes[0]
        assert sizes[2] > sizes[1] + 40

    def test_the_worst_case_names_a_cost_only_if_it_is_known(self):
        assert ScriptedLLM(cost=5).worst_case(prompt())["cost"] == 5
        assert "cost" not in ScriptedLLM(cost=None).worst_case(prompt())


class TestFakeSearchAndReader:
    async def test_pages_are_ranked_and_read(self):
        engine, reader = FakeSearch(PAGES), FakeReader(PAGES)
        (hit,) = await engine.search("height of the dam", limit=5)
        assert (hit.url, hit.title) == ("http://a.org/dam", "The dam")
        page = await reader.read(hit)
        assert page.text == PAGES["http://a.org/dam"]
        assert (engine.queries, reader.urls) == (["height of the dam"], [hit.url])
        assert await FakeSearch().search("dam", limit=5) == []

    async def test_given_answers_go_first(self):
        own = [Source("http://b.org/", engine="fake")]
        engine = FakeSearch(PAGES, answers={"q": own, "bad": ProviderTimeout("slow"), "none": []})
        assert await engine.search("q", limit=5) == own
        assert await engine.search("none", limit=5) == []
        assert len(await engine.search("cats", limit=5)) == 1
        with pytest.raises(ProviderTimeout):
            await engine.search("bad", limit=5)
        assert await FakeSearch(answers=lambda q: own * 9).search("q", limit=2) == own * 2

    async def test_a_reader_raises_what_is_missing_or_scripted(self):
        whole = Page(Source("http://c.org/"), "x", "y")
        reader = FakeReader({"http://b.org/": ProviderUnavailable("down"), "http://c.org/": whole})
        with pytest.raises(ProviderUnavailable):
            await reader.read(Source("http://b.org/"))
        with pytest.raises(PageUnreadable, match="404"):
            await reader.read(Source("http://d.org/"))
        assert await reader.read(Source("http://c.org/")) is whole


class TestDoublesConform:
    async def test_search(self):
        await check_search_engine(FakeSearch(PAGES), "the dam", limit=1)

    async def test_reader(self):
        page = await check_page_reader(
            FakeReader(PAGES), Source("http://a.org/dam"), missing=Source("http://a.org/no")
        )
        assert page.source.title == "The dam"

    async def test_llm(self):
        done = await check_llm(ScriptedLLM(lambda p: "yes", cost=3))
        assert done.text == "yes"
        await check_llm(ScriptedLLM(lambda p: "yes", cost=None), prompt())


GOOD = Source("http://a.org/", engine="fake")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "sequence of sources, not NoneType"),
        ("http://a.org/", "sequence of sources, not str"),
        ([GOOD] * 4, "4 hits where 3"),
        (["http://a.org/"], "hit 0 must be a Source, not str"),
        ([replace(GOOD, url="http://A.org")], "not the canonical URL"),
        ([replace(GOOD, url="nonsense")], "no usable URL"),
        ([replace(GOOD, rank=1)], "rank is 1"),
        ([replace(GOOD, engine="y")], "engine is 'y'"),
        ([replace(GOOD, title=None)], "title must be text"),
        ([replace(GOOD, snippet=5)], "snippet must be text"),
        ([replace(GOOD, published="May")], "'May' is no ISO date"),
        ([GOOD, replace(GOOD, url="https://www.a.org/", rank=1)], "twice in one answer"),
        ([], "found nothing for 'q'"),
    ],
)
async def test_a_search_engine_that_breaks_its_promise_is_caught(answer, words):
    class Engine:
        name = "fake"

        async def search(self, query, *, limit):
            return answer

    with pytest.raises(AssertionError, match=words):
        await check_search_engine(Engine(), "q")


async def test_a_search_engine_must_have_a_name_be_steady_quiet_and_survive_odd_queries():
    class Engine:
        name = "fake"

        def __init__(self, behave):
            self.behave, self.n = behave, 0

        async def search(self, query, *, limit):
            self.n += 1
            return self.behave(self, query)

    def noisy(engine, query):
        print("hello")  # noqa: T201 - that is the fault
        return [GOOD]

    def breaks(engine, query):
        return [GOOD] if query == "q" else {}[query]

    def wavers(engine, query):
        return [replace(GOOD, url=f"http://a.org/{engine.n}")]

    def picky(engine, query):
        if query == "q":
            return [GOOD]
        raise ProviderUnavailable("not today")

    assert await check_search_engine(Engine(picky), "q") == [GOOD]
    for behave, words in (
        (noisy, "printed 'hello"),
        (breaks, "no DeepResearchError"),
        (wavers, "second time"),
    ):
        with pytest.raises(AssertionError, match=words):
            await check_search_engine(Engine(behave), "q")
    nameless = Engine(noisy)
    nameless.name = ""
    with pytest.raises(AssertionError, match="`name`"):
        await check_search_engine(nameless, "q")


async def good_page():
    return await FakeReader(PAGES).read(Source("http://a.org/dam"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text": "  "}, "text is empty"),
        ({"sha256": "0"}, "sha256"),
        ({"source": Source("http://A.org")}, "not canonical"),
        ({"media_type": "html"}, "no media type"),
        ({"marks": ((5, "b"), (0, "a"))}, "rising order"),
        ({"marks": ((500, "b"),)}, "outside of the text"),
        ({"source": Source("http://a.org/", published="x")}, "no ISO date"),
        ({"fetched_at": "today"}, "no ISO time"),
        ({"fetched_at": "2025-01-01T00:00:00"}, "no time zone"),
    ],
)
async def test_a_page_reader_that_breaks_its_promise_is_caught(change, words):
    page = replace(await good_page(), **change)
    with pytest.raises(AssertionError, match=words):
        await check_page_reader(FakeReader({"http://a.org/dam": page}), Source("http://a.org/dam"))


async def test_a_page_reader_must_be_steady_return_pages_and_raise_for_missing_ones():
    page = await good_page()

    class Reader:
        def __init__(self, *answers):
            self.answers = list(answers)

        async def read(self, source):
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    source = Source("http://a.org/dam")
    assert await check_page_reader(Reader(page, page), source) is page
    for answers, words in (
        ([None], "must return a Page, not NoneType"),
        ([page, replace(page, text="other")], "another text"),
        ([page, page, page], "a missing page raised nothing"),
        ([page, page, KeyError("x")], "no ProviderError"),
    ):
        with pytest.raises(AssertionError, match=words):
            await check_page_reader(Reader(*answers), source, missing=source)


@pytest.mark.parametrize(
    ("done", "bound", "words"),
    [
        (None, {"calls": 1}, "must return a Completion"),
        (Completion(None), {"calls": 1}, "`text` must be text"),
        (Completion("<think>x"), {"calls": 1}, "reasoning"),
        (Completion("x", input_tokens=-1), {"calls": 1}, "`input_tokens` is -1"),
        (Completion("x", cost=0.5), {"calls": 1}, "`cost` must be a whole number, not float"),
        (Completion("x", input_tokens=9), {"calls": 1, "tokens": 3}, "spent were 9 tokens"),
        (Completion("x", cost=9), {"calls": 1, "cost": 3}, "it cost 9"),
        (Completion("x"), {}, "count one call"),
        (Completion("x"), {"calls": 1, "seconds": 3}, "names \\['seconds'\\]"),
    ],
)
async def test_a_language_model_that_breaks_its_promise_is_caught(done, bound, words):
    class Model:
        async def complete(self, prompt):
            return done

        def worst_case(self, prompt):
            return bound

    with pytest.raises(AssertionError, match=words):
        await check_llm(Model())


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (Completion("x", calls=[CALL]), "`calls` must be a tuple, not list"),
        (Completion("x", calls=("note",)), "must be a ToolCall, not str"),
        (Completion("x", calls=(ToolCall("a", "note", {}),)), "`arguments` of note must be text"),
        (Completion("x", calls=(ToolCall("a", " "),)), "a call names no tool"),
        (Completion("x", calls=(ToolCall("", "note"),)), "the call of note has no id"),
        (Completion("x", calls=(CALL, CALL)), "two calls have the id 'a'"),
        (Completion("x", calls=(ToolCall("call_1", "note"),)), "two calls have the id 'call_1'"),
        (Completion("x", cited=[]), "`cited` must be a tuple"),
        (Completion("x", cited=("http://a.org/",)), "must be a Source, not str"),
        (Completion("x", cited=(Source("file:///a"),)), "names 'file:///a'"),
        (Completion("x", input_tokens=9999), "spent were 9999"),
        (None, "must return a Completion"),
    ],
)
async def test_a_language_model_that_calls_badly_is_caught(done, words):
    class Model:
        async def complete(self, prompt):
            return done if prompt.tools else Completion("x")

        def worst_case(self, prompt):
            return {"calls": 1, "tokens": 300}

    with pytest.raises(AssertionError, match=words):
        await check_llm(Model())


async def test_a_language_model_may_call_refuse_tools_or_ignore_them_but_not_call_without():
    for answer in (Calls(("note", {"text": "x"})), ToolsRefused("no tools"), "yes"):
        llm = ScriptedLLM(Reply("yes", role="writer", times=3), Reply(answer, role="planner"))
        assert (await check_llm(llm)).text == "yes"
        llm.check()
    with pytest.raises(AssertionError, match="where no tools were offered"):
        await check_llm(ScriptedLLM(lambda prompt: Completion("x", calls=(CALL,))))


@pytest.mark.parametrize(
    ("suffix", "export", "words"),
    [
        (".md", lambda r: b"x", "`suffix`"),
        ("", lambda r: b"x", "`suffix`"),
        ("md", lambda r: "x", "must return bytes, not str"),
        ("md", lambda r: b"", "returned nothing"),
        ("md", lambda r: str(id(object())).encode() + str(r.usage.llm_calls).encode(), None),
        ("md", lambda r: setattr(r, "run", "x") or b"x", "was changed"),
        ("html", lambda r: r.body.encode(), "unescaped"),
    ],
)
def test_an_exporter_that_breaks_its_promise_is_caught(suffix, export, words):
    class Export:
        pass

    exporter = Export()
    exporter.suffix, exporter.export = suffix, export
    if words is None:
        counter = iter(range(9))
        exporter.export = lambda r: str(next(counter)).encode()
        words = "differ"
    with pytest.raises(AssertionError, match=words):
        check_exporter(exporter)


def test_the_sample_report_is_whole():
    report = sample_report()
    for claim in report.claims:
        for citation in claim.citations:
            assert 1 <= citation.reference <= len(report.references)
    assert report.tree is not None
    assert len(list(report.tree.walk())) == 3
    assert ContextTooLong("x").limit is None
