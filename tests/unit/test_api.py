"""The Python interface: what DESIGN promises to scripts, notebooks and web handlers."""

import asyncio
import enum
import threading
from itertools import pairwise
from pathlib import Path

import pytest

import deep_research
from deep_research import (
    ConfigError,
    DeepResearcher,
    DeepResearchError,
    Proposal,
    Verdict,
    api,
)
from deep_research.core.events import Kind
from deep_research.core.report import Report

QUESTION = "Who made the red kettle of Halden?"
DOCS = {
    "kettle.txt": "The red kettle of Halden was made by Ada Brandt in 1911. It is kept in Sorvik.",
    "brandt.md": "# Ada Brandt\n\nAda Brandt was born in Sorvik in 1880. She made 40 kettles of copper.",
    "sorvik.txt": "Sorvik\n\nSorvik is a harbour town. The copper mine of Sorvik was closed in 1932.",
}


@pytest.fixture(autouse=True)
def docs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in DOCS.items():
        (folder / name).write_text(text)
    return folder


class TestOneLine:
    async def test_research(self, docs):
        report = await deep_research.research(QUESTION, docs=docs)
        assert isinstance(report, Report)
        assert "Ada Brandt" in report.body

    def test_run_twice_in_one_process(self, docs):
        first, second = (deep_research.run(QUESTION, docs=docs) for _ in range(2))
        assert first.body == second.body
        assert first.run != second.run

    async def test_run_inside_a_running_loop(self, docs):
        threads = []
        report = deep_research.run(
            QUESTION, docs=docs, on_progress=lambda _: threads.append(threading.current_thread())
        )
        assert report.references
        assert {t.name for t in threads} == {"deep-research_0"}
        assert not threads[0].is_alive()

    async def test_errors_come_through_the_thread(self):
        with pytest.raises(ConfigError, match="the question is empty"):
            deep_research.run(" ")

    def test_interrupt_takes_the_thread_along(self, monkeypatch):
        """Ctrl-C while a notebook's cell waits: the research in the other thread ends, too."""
        ended = []

        async def work():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append(True)
                raise

        class Future(api.ThreadPoolExecutor):
            def submit(self, *args):
                future = super().submit(*args)
                wait = future.result

                def interrupted():
                    with pytest.raises(TimeoutError):
                        wait(0.05)
                    raise KeyboardInterrupt

                future.result = interrupted
                return future

        monkeypatch.setattr(api, "ThreadPoolExecutor", Future)
        with pytest.raises(KeyboardInterrupt):
            api._in_thread(work)
        assert ended == [True]


class TestMisspelt:
    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"on_progres": print}, "unknown setting 'on_progres'; did you mean 'on_progress'?"),
            ({"tones": "dry"}, "did you mean 'tone'?"),
            ({"on_evnt": print}, "did you mean 'on_event'?"),
            ({"bredth": 2}, "did you mean 'breadth'?"),
            ({"search": "wikipedia"}, "engines are named by engines='wikipedia'"),
        ],
    )
    async def test_the_nearest_name(self, given, says):
        with pytest.raises(ConfigError) as caught:
            await deep_research.research(QUESTION, **given)
        assert says in str(caught.value)

    def test_progress_belongs_to_the_research(self):
        with pytest.raises(ConfigError, match="an argument of conduct_research"):
            DeepResearcher(QUESTION, on_progress=print)

    def test_a_setting_that_resembles_an_argument_is_a_setting(self):
        made = DeepResearcher(QUESTION, **{"report-type": "deep"})
        assert "report-type has no meaning here" in made.config.warnings[0]

    async def test_a_listener_that_raises_is_named(self, docs, caplog):
        def my_listener(_progress):
            raise RuntimeError("mine")

        await deep_research.research(QUESTION, docs=docs, on_progress=my_listener)
        assert "my_listener" in caplog.text
        assert "_LateProgress" not in caplog.text


class TestTwoSteps:
    async def test_every_getter_has_its_type_in_every_phase(self, docs):
        researcher = DeepResearcher(QUESTION, docs=docs)

        def types():
            return (
                type(researcher.get_research_context()),
                type(researcher.get_research_sources()),
                type(researcher.get_source_urls()),
                type(researcher.get_costs()),
            )

        expected = (str, list, list, float)
        assert types() == expected
        with pytest.raises(DeepResearchError, match="write_report"):
            _ = researcher.result
        context = await researcher.conduct_research()
        assert types() == expected
        assert context == researcher.get_research_context()
        markdown = await researcher.write_report()
        assert types() == expected
        assert markdown.startswith(f"# {QUESTION}")
        assert researcher.result.status == "complete"

    async def test_findings_name_their_sources(self, docs):
        researcher = DeepResearcher(QUESTION, docs=docs)
        context = await researcher.conduct_research()
        sources = researcher.get_research_sources()
        assert {tuple(s) for s in sources} == {("url", "title", "published", "content")}
        assert [s["url"] for s in sources] == researcher.get_source_urls()
        found = {Path(url).name for url in researcher.get_source_urls()}
        assert "kettle.txt" in found
        assert found <= set(DOCS)
        assert all(f"[Source: {s['url']}]" in context for s in sources)
        assert all(s["content"] for s in sources)

    async def test_each_step_is_done_once(self, docs):
        researcher = DeepResearcher(QUESTION, docs=docs)
        assert await researcher.conduct_research() == await researcher.conduct_research()
        assert await researcher.write_report() == await researcher.write_report()
        events = (researcher.folder / "events.jsonl").read_text().splitlines()
        assert sum('"run_started"' in line for line in events) == 1
        assert sum('"run_finished"' in line for line in events) == 1

    async def test_write_report_alone_does_the_research(self, docs):
        researcher = DeepResearcher(f"  {QUESTION}\n", docs=docs)
        assert researcher.query == QUESTION
        assert "Ada Brandt" in await researcher.write_report()

    def test_steps_in_loops_of_their_own(self, docs):
        researcher = DeepResearcher(QUESTION, docs=docs)
        asyncio.run(researcher.conduct_research())
        assert "Ada Brandt" in asyncio.run(researcher.write_report())

    async def test_documents_may_be_gone_when_the_report_is_written(self, docs):
        researcher = DeepResearcher(QUESTION, docs=docs)
        await researcher.conduct_research()
        docs.rename(docs.with_name("elsewhere"))
        assert "Ada Brandt" in await researcher.write_report()

    async def test_a_pause_does_not_eat_the_time_for_writing(self, docs):
        researcher = DeepResearcher(QUESTION, docs=docs, max_seconds=5)
        await researcher.conduct_research()
        researcher._run._paused -= 3600  # as if an hour had passed
        await researcher.write_report()
        assert researcher.result.status == "complete"
        assert researcher.result.usage.seconds < 5

    async def test_nothing_found_is_empty_not_none(self, docs):
        researcher = DeepResearcher("What is zyzzyva?", docs=docs)
        assert await researcher.conduct_research() == ""
        assert researcher.get_research_sources() == []
        assert "zyzzyva" in await researcher.write_report()
        assert researcher.result.status == "nothing_found"

    async def test_stop(self, docs):
        researcher = DeepResearcher(QUESTION, docs=docs)
        researcher.stop()
        await researcher.write_report()
        assert researcher.result.status == "cancelled"


class TestProgress:
    FIELDS = (
        "current_depth",
        "total_depth",
        "current_breadth",
        "total_breadth",
        "completed_queries",
        "total_queries",
        "learnings",
        "sources",
    )

    async def test_counts_never_go_back_and_end_complete(self, docs):
        seen = []
        await DeepResearcher(QUESTION, docs=docs).conduct_research(on_progress=seen.append)
        for before, after in pairwise(seen):
            assert all(getattr(before, f) <= getattr(after, f) for f in self.FIELDS)
        last = seen[-1]
        assert last.completed_queries == last.total_queries > 1
        assert 1 <= last.current_depth <= last.total_depth == 2
        assert 1 <= last.sources <= 3
        assert last.current_query

    @pytest.mark.parametrize("kind", ["none", "sync", "async", "raises", "raises async", "slow"])
    async def test_no_callback_alters_the_result(self, kind, docs):
        calls = []

        def sync(progress):
            calls.append(progress)

        async def later(progress):
            await asyncio.sleep(0)
            calls.append(progress)

        def raises(progress):
            calls.append(progress)
            raise ValueError

        async def raises_later(progress):
            calls.append(progress)
            raise asyncio.CancelledError

        async def slow(progress):
            calls.append(progress)
            await asyncio.sleep(0.001)

        callback = {
            "none": None, "sync": sync, "async": later, "raises": raises,
            "raises async": raises_later, "slow": slow,
        }[kind]  # fmt: skip
        expected = (await deep_research.research(QUESTION, docs=docs)).body
        told = []
        report = await deep_research.research(
            QUESTION, docs=docs, on_progress=callback, on_event=told.append
        )
        assert report.body == expected
        assert bool(calls) == (kind != "none")
        assert told[-1].kind is Kind.RUN_FINISHED
        if calls:
            assert calls[-1].event.kind is Kind.RUN_FINISHED

    async def test_listeners_do_not_disturb_each_other(self, docs):
        def broken(_):
            raise ValueError

        seen = []
        researcher = DeepResearcher(QUESTION, docs=docs, on_event=broken)
        await researcher.conduct_research(on_progress=seen.append)
        assert seen

    async def test_verbose_writes_lines_to_stderr(self, docs, capsys):
        await DeepResearcher(QUESTION, docs=docs, verbose=True).write_report()
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) > 5
        assert "complete" in captured.err

    async def test_silent_by_default(self, docs, capfd):
        await DeepResearcher(QUESTION, docs=docs).write_report()
        assert capfd.readouterr() == ("", "")

    async def test_verbose_without_stderr(self, docs, monkeypatch):
        monkeypatch.setattr("sys.stderr", None)
        await DeepResearcher(QUESTION, docs=docs, verbose=True).write_report()


class TestApproval:
    """A function of the person's is asked before anything is searched for."""

    @pytest.mark.parametrize("kind", ["plain", "async", "object"])
    async def test_every_round_is_asked_about_first(self, kind, docs):
        asked, events = [], []

        def plain(proposal):
            asked.append(proposal)
            return True

        async def approve(proposal):
            return plain(proposal)

        class Approver:
            async def approve(self, proposal):
                return Verdict(proposal.queries) if plain(proposal) else None

        hook = {"plain": plain, "async": approve, "object": Approver()}[kind]
        report = await deep_research.research(
            QUESTION, docs=docs, approve=hook, on_event=events.append
        )
        assert report.status == "complete"
        assert isinstance(asked[0], Proposal)
        assert (asked[0].path, asked[0].queries[0].text) == ((), QUESTION)
        approved = {text for p in asked for q in p.queries for text in q.texts}
        searched = {e.data["query"] for e in events if e.kind is Kind.SEARCHED}
        assert searched
        assert searched <= approved

    async def test_only_what_was_approved_is_searched_for(self, docs):
        events = []

        def approve(proposal):
            return ["Sorvik copper mine"] if proposal.path == () else []

        report = await deep_research.research(
            QUESTION, docs=docs, approve=approve, on_event=events.append
        )
        assert report.references
        assert {e.data["query"] for e in events if e.kind is Kind.SEARCHED} == {
            "Sorvik copper mine"
        }

    @pytest.mark.parametrize("answer", [False, "reject"])
    async def test_rejected_at_the_first_look_costs_nothing(self, answer, docs):
        report = await deep_research.research(QUESTION, docs=docs, approve=lambda _: answer)
        assert (report.status, report.stop_reason) == ("cancelled", "rejected")
        usage = report.usage
        assert (usage.searches, usage.pages, usage.llm_calls) == (0, 0, 0)

    @pytest.mark.parametrize(
        ("answer", "says"),
        [
            ("not enough cost data", "approve: 'not enough cost data' is no answer"),
            (None, "approve: no answer, so approval.unanswered holds: stop"),
        ],
    )
    async def test_what_is_no_answer_follows_the_policy(self, answer, says, docs):
        events = []
        report = await deep_research.research(
            QUESTION, docs=docs, approve=lambda _: answer, on_event=events.append
        )
        assert (report.status, report.stop_reason) == ("nothing_found", "not_approved")
        told = [e.data["message"] for e in events if e.kind is Kind.WARNING]
        assert any(text.startswith(says) for text in told)
        assert not [e for e in events if e.kind is Kind.SEARCHED]

    async def test_asking_with_nobody_there_is_no_answer(self, docs):
        ask = {"approval.ask": "rounds"}
        report = await deep_research.research(QUESTION, docs=docs, **ask)
        assert report.stop_reason == "not_approved"
        report = await deep_research.research(
            QUESTION, docs=docs, **ask, **{"approval.unanswered": "approve"}
        )
        assert report.status == "complete"

    async def test_a_setting_that_somebody_wrote_wins(self, docs):
        def approve(_proposal):
            raise AssertionError("nobody is asked")

        report = await deep_research.research(
            QUESTION, docs=docs, approve=approve, **{"approval.ask": "never"}
        )
        assert report.status == "complete"

    async def test_a_question_that_stands_ends_with_the_run(self, docs):
        never = threading.Event()

        def approve(_proposal):
            researcher.stop()
            never.wait(5)

        researcher = DeepResearcher(QUESTION, docs=docs, approve=approve)
        await researcher.write_report()
        never.set()
        assert (researcher.result.status, researcher.result.stop_reason) == (
            "cancelled",
            "cancelled",
        )

    @pytest.mark.parametrize("name", ["approve", "clarify"])
    def test_a_hook_that_is_none_is_named(self, name):
        with pytest.raises(ConfigError, match=f"{name} = 'yes': must be a function"):
            DeepResearcher(QUESTION, **{name: "yes"})
        with pytest.raises(ConfigError, match=f"did you mean '{name}'"):
            DeepResearcher(QUESTION, **{name + "s": print})


class TestSettings:
    def test_argument_wins_over_environment_and_file(self, tmp_path, monkeypatch, docs):
        monkeypatch.setenv("DEEP_RESEARCH_BREADTH", "7")
        monkeypatch.setenv("DEEP_RESEARCH_DEPTH", "3")
        file = tmp_path / "settings.yaml"
        file.write_text("tree: {breadth: 5, depth: 4, concurrency: 9}\n")
        tree = DeepResearcher(QUESTION, docs=docs, config_path=file, breadth=2).config.tree
        assert (tree.breadth, tree.depth, tree.concurrency) == (2, 3, 9)

    @pytest.mark.parametrize("form", [str, Path, lambda p: [str(p)], lambda p: (Path(p),)])
    def test_docs_in_any_form(self, form, docs):
        assert DeepResearcher(QUESTION, docs=form(docs)).config.docs == (str(docs),)

    @pytest.mark.parametrize("path", ["docs/*.md", Path("docs/*.md"), ["docs/brandt.md"]])
    async def test_docs_as_pattern_or_file(self, path):
        researcher = DeepResearcher("Who was Ada Brandt?", docs=path)
        await researcher.conduct_research()
        assert {Path(u).name for u in researcher.get_source_urls()} == {"brandt.md"}

    def test_docs_that_are_none(self):
        with pytest.raises(ConfigError, match="docs = 5: must be a path or a list of paths"):
            DeepResearcher(QUESTION, docs=5)

    def test_tone_may_be_an_enum(self, docs):
        class Tone(enum.Enum):
            Formal = "Formal (official)"

        tone = DeepResearcher(QUESTION, docs=docs, tone=Tone.Formal).config.report.tone
        assert tone == "Formal (official)"
        assert DeepResearcher(QUESTION, docs=docs, tone="dry").config.report.tone == "dry"

    def test_report_type(self, docs):
        class Kinds(enum.Enum):
            Deep = "deep"
            Outline = "outline_report"

        DeepResearcher(QUESTION, "deep", docs=docs)
        DeepResearcher(QUESTION, report_type=Kinds.Deep, docs=docs)
        for kind in ("research_report", Kinds.Outline, None):
            with pytest.raises(ConfigError, match=r"report_type = .*must be one of deep"):
                DeepResearcher(QUESTION, report_type=kind, docs=docs)

    def test_headers(self, docs):
        headers = {"User-Agent": "me/1.0", "retrievers": "wikipedia,searxng"}
        config = DeepResearcher(QUESTION, docs=docs, headers=headers).config
        assert config.network.user_agent == "me/1.0"
        assert config.search.engines == ("wikipedia", "searxng")
        with pytest.raises(ConfigError, match="'X-Api-Key' has no meaning here"):
            DeepResearcher(QUESTION, docs=docs, headers={"X-Api-Key": "k"})

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"bredth": 3}, "bredth.*breadth"),
            ({"breadth": "three"}, "breadth.*'three'"),
            ({"breadth": 0}, "breadth.*0.*1 to 32"),
            ({"preset": "quik"}, "quik.*quick"),
            ({"openai_api_key": "sk-1"}, "secret"),
        ],
    )
    def test_what_does_not_fit_is_named(self, settings, message, docs):
        with pytest.raises(ConfigError, match=message):
            DeepResearcher(QUESTION, docs=docs, **settings)

    def test_preset(self, docs):
        quick = DeepResearcher(QUESTION, docs=docs, preset="quick").config
        assert quick.tree != DeepResearcher(QUESTION, docs=docs).config.tree

    def test_what_has_no_effect_is_logged(self, tmp_path, docs, caplog):
        file = tmp_path / "old.json"
        file.write_text('{"EMBEDDING": "openai:text-embedding-3-small"}')
        DeepResearcher(QUESTION, docs=docs, config_path=file)
        assert "EMBEDDING has no meaning here" in caplog.text

    async def test_folder(self, docs, tmp_path):
        researcher = DeepResearcher(QUESTION, docs=docs, folder=tmp_path / "here")
        await researcher.write_report()
        assert (tmp_path / "here" / "report.md").exists()
        with pytest.raises(ConfigError, match="here holds another run"):
            await DeepResearcher(QUESTION, docs=docs, folder=tmp_path / "here").write_report()


class TestSideBySide:
    async def test_two_runs_at_once_are_isolated(self, docs):
        """Different settings, budgets and stops; one is stopped, the other does not notice."""
        events = {"a": [], "b": []}
        a = DeepResearcher(QUESTION, docs=docs, breadth=1, depth=1, on_event=events["a"].append)
        b = DeepResearcher(QUESTION, docs=docs, **{"budget.pages": 1}, on_event=events["b"].append)
        c = DeepResearcher("Who was Ada Brandt?", docs=docs)
        c.stop()
        async with asyncio.TaskGroup() as group:
            for researcher in (a, b, c):
                group.create_task(researcher.write_report())
        statuses = [r.result.status for r in (a, b, c)]
        assert statuses == ["complete", "partial", "cancelled"]
        assert b.result.usage.pages == 1
        assert max(len(e.path) for e in events["a"]) == 1
        for name, researcher in (("a", a), ("b", b)):
            assert {e.run for e in events[name]} == {researcher.result.run}
        assert a.folder != b.folder

    def test_settings_are_not_shared(self, docs):
        one = DeepResearcher(QUESTION, docs=docs, breadth=2, tone="dry")
        two = DeepResearcher(QUESTION, docs=docs)
        assert (one.config.tree.breadth, two.config.tree.breadth) == (2, 4)
        assert two.config.report.tone == ""
        assert one.folder != two.folder


def test_exported_names():
    """What users import; a name that goes or comes is a decision."""
    assert sorted(deep_research.__all__) == dir(deep_research)
    for name in deep_research.__all__:
        assert getattr(deep_research, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = deep_research.nothing
