"""A run from question to folder: what stands in the files, how it ends, what bad input says."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deep_research.app import Run
from deep_research.config import load
from deep_research.core.errors import ConfigError
from deep_research.core.events import Kind
from deep_research.core.model import Findings, Learning
from deep_research.core.passages import quote_at
from deep_research.plugins.exporters.json import parse
from deep_research.registry import check_engine
from deep_research.runtime.progress import as_dict
from deep_research.testing import FakePage, Reply

pytestmark = pytest.mark.usefixtures("place")


def settings(**arguments):
    return load(arguments=arguments, check=check_engine)


def unbound_quotes(folder):
    """Pointers of report.json that are not words of the saved page."""
    report = json.loads((folder / "report.json").read_text("utf-8"))
    pages = {r["n"]: r["sha256"] for r in report["references"]}
    places = [(pages[c["reference"]], c) for claim in report["claims"] for c in claim["citations"]]
    places += [(e["sha256"], e) for x in report["learnings"] for e in x["evidence"]]
    assert len(places) > 20, "there is nothing to check"
    texts = {p.stem: p.read_bytes().decode() for p in (folder / "sources").iterdir()}
    return [p for sha, p in places if texts[sha][p["start"] : p["end"]] != p["quote"]]


def contents(folder):
    """What stands in a folder, by path."""
    return {p: p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def stored_events(folder):
    lines = (Path(folder) / "events.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


class TestFolder:
    """Without a model, over the example corpus."""

    @pytest.fixture
    async def told(self):
        return []

    @pytest.fixture
    async def finished(self, told, corpus, question):
        run = Run(question, settings(docs=[str(corpus)]), emit=told.append)
        return run, await run.execute()

    async def test_every_quote_stands_where_the_report_says(self, finished):
        run, report = finished
        assert report.status == "complete"
        assert len(report.references) >= 8
        assert unbound_quotes(run.folder) == []

    async def test_a_check_leaves_nothing_and_the_run_goes_on(self, corpus, question):
        run = Run(question, settings(docs=[str(corpus)]))
        await run.check()
        assert not run.folder.exists()
        assert (await run.execute()).status == "complete"

    async def test_a_check_refuses_what_a_run_refuses(self, question, tmp_path):
        for arguments in ({"docs": ["nope"]}, {"engines": "searxng"}, {"engines": "tavily"}):
            with pytest.raises(ConfigError, match=r"no such file|no address|no key"):
                await Run(question, settings(**arguments)).check()
        (tmp_path / "held").mkdir()
        (tmp_path / "held" / "events.jsonl").touch()
        held = settings(docs=[str(tmp_path)], **{"report.folder": str(tmp_path / "held")})
        with pytest.raises(ConfigError, match="holds another run"):
            await Run(question, held).check()

    async def test_files_hold_what_was_returned(self, finished):
        run, report = finished
        assert run.folder == Path("runs") / run.id
        assert parse((run.folder / "report.json").read_bytes()).body == report.body
        assert report.body.strip() in (run.folder / "report.md").read_text("utf-8")
        raw = json.loads((run.folder / "report.json").read_text("utf-8"))
        assert set(raw) >= {
            "schema", "run", "question", "status", "stop_reason", "body", "sections", "claims", "references",
            "learnings", "conflicts", "gaps", "failures", "tree", "usage", "config_digest", "version",
        }  # fmt: skip
        assert raw["run"] == run.id
        assert raw["config_digest"] == run.config.digest()
        assert raw["usage"]["llm_calls"] == 0

    async def test_the_file_of_events_is_what_the_callback_was_told(self, finished, told):
        run, _ = finished
        events = stored_events(run.folder)
        assert events == [json.loads(json.dumps(as_dict(e))) for e in told]
        assert [e["n"] for e in events] == list(range(1, len(events) + 1))
        assert {e["run"] for e in events} == {run.id}
        kinds = [e["kind"] for e in events]
        assert kinds[0] == "run_started"
        assert kinds[-2:] == ["report_ready", "run_finished"]
        assert kinds.count("node_started") == kinds.count("node_finished")

    async def test_the_report_says_that_there_was_no_model(self, finished):
        assert "without a language model" in finished[1].notes[0]


class TestWithModel:
    async def test_every_quote_stands_where_the_report_says(
        self, clerk, endpoint, corpus, question
    ):
        async with endpoint(clerk()) as server:
            run = Run(question, settings(docs=[str(corpus)]))
            report = await run.execute()
        assert report.status == "complete", report.stop_reason
        assert unbound_quotes(run.folder) == []
        assert report.usage.llm_calls == len(server.bodies)
        assert report.usage.cost == 0, "an endpoint of one's own is free"
        assert {b["model"] for b in server.bodies} == {"fake-model"}, "the first that is listed"

    async def test_key_is_in_no_file(self, clerk, endpoint, corpus, question):
        async with endpoint(clerk()):
            run = Run(question, settings(docs=[str(corpus)]))
            await run.execute()
        texts = [p.read_text("utf-8") for p in run.folder.rglob("*") if p.is_file()]
        assert not any("sk-test" in text for text in texts)

    async def test_wrong_key_names_the_variable(self, clerk, endpoint, corpus, question):
        refused = FakePage({"error": {"message": "Incorrect API key provided"}}, 401)
        async with endpoint(clerk(), faults=[refused] * 9) as server:
            report = await Run(question, settings(docs=[str(corpus)])).execute()
        assert report.status == "failed"
        assert "OPENAI_API_KEY" in report.stop_reason
        assert len(server.bodies) <= 2, "a refused key is not tried again and again"

    @pytest.mark.usefixtures("once")
    async def test_dead_endpoint_is_named(self, monkeypatch, corpus, question):
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        run = Run(question, settings(docs=[str(corpus)], llm="openai:m"))
        report = await run.execute()
        assert report.status == "failed"
        assert "127.0.0.1:9" in report.stop_reason
        assert (run.folder / "report.md").exists()

    async def test_writer_that_fails_leaves_a_plain_report(self, clerk, endpoint, corpus, question):
        broken = (
            Reply("no idea", step="outline", times=None),
            Reply("nor", step="section", times=None),
        )
        async with endpoint(clerk(*broken)):
            report = await Run(question, settings(docs=[str(corpus)])).execute()
        assert report.references
        assert report.body

    async def test_roles_that_share_a_model_share_its_connections(
        self, clerk, endpoint, corpus, question
    ):
        async with endpoint(clerk()) as server:
            await Run(question, settings(docs=[str(corpus)], depth=1, breadth=1)).execute()
        assert server.hits["/v1/models"] == 1


class TestLimits:
    @pytest.mark.parametrize(
        ("resource", "amount", "used"),
        [
            ("pages", 5, lambda u: u.pages),
            ("searches", 3, lambda u: u.searches),
            ("pages", 1, lambda u: u.pages),
        ],
    )
    async def test_small_budgets_are_kept(self, resource, amount, used, corpus, question):
        config = settings(docs=[str(corpus)], **{f"budget.{resource}": amount})
        report = await Run(question, config).execute()
        assert (report.status, report.stop_reason) == ("partial", "budget")
        assert 0 < used(report.usage) <= amount
        assert report.references

    @pytest.mark.parametrize("calls", [1, 2, 3, 5, 8])
    async def test_calls_are_kept(self, calls, clerk, endpoint, corpus, question):
        async with endpoint(clerk()) as server:
            config = settings(docs=[str(corpus)], planner="tree", **{"budget.calls": calls})
            report = await Run(question, config).execute()
        assert report.usage.llm_calls == len(server.bodies) <= calls
        assert report.status in ("partial", "nothing_found")
        assert "budget" in report.stop_reason

    async def test_tokens_are_kept(self, clerk, endpoint, corpus, question):
        async with endpoint(clerk()):
            config = settings(docs=[str(corpus)], planner="tree", **{"budget.tokens": 30_000})
            report = await Run(question, config).execute()
        usage = report.usage
        assert 0 < usage.input_tokens + usage.output_tokens <= 30_000
        assert report.status == "partial"

    async def test_cost_is_kept(self, clerk, endpoint, corpus, question):
        async with endpoint(clerk()):
            prices = {"fake-model": [1.0, 4.0]}
            config = settings(
                docs=[str(corpus)],
                llm="openai:fake-model",
                planner="tree",
                **{"budget.cost": 0.05, "models.prices": prices},
            )
            report = await Run(question, config).execute()
        assert 0 < report.usage.cost <= 50_000
        assert report.status == "partial"

    async def test_nothing_affordable_is_nothing_found(self, corpus, question):
        config = settings(docs=[str(corpus)], **{"budget.searches": 0})
        report = await Run(question, config).execute()
        assert report.status == "nothing_found"
        assert report.stop_reason == "budget"

    async def test_seconds_end_a_run_that_hangs(self, clerk, endpoint, corpus, question):
        slow = Reply({}, step="learnings", times=None, delay=30)
        began = time.monotonic()
        async with endpoint(clerk(slow)):
            config = settings(docs=[str(corpus)], **{"budget.seconds": 0.4})
            report = await Run(question, config).execute()
        assert time.monotonic() - began < 5
        assert report.stop_reason == "deadline"

    async def test_nothing_found(self, tmp_path):
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "bread.txt").write_text("Flour and water make bread.")
        run = Run("What is zyzzyva?", settings(docs=[str(tmp_path / "docs")]))
        report = await run.execute()
        assert (report.status, report.stop_reason) == ("nothing_found", "no_evidence")
        assert "nothing" in (run.folder / "report.md").read_text("utf-8").lower()

    async def test_stop_writes_from_what_is_there(self, corpus, question):
        def watch(event):
            if event.kind is Kind.LEARNED:
                run.stop()

        run = Run(question, settings(docs=[str(corpus)]), emit=watch)
        report = await run.execute()
        assert (report.status, report.stop_reason) == ("cancelled", "cancelled")
        full = await Run(question, settings(docs=[str(corpus)])).execute()
        assert 0 < len(report.learnings) < len(full.learnings)
        assert report.references

    async def test_stop_before_the_start(self, corpus, question):
        run = Run(question, settings(docs=[str(corpus)]))
        run.stop()
        report = await run.execute()
        assert report.status == "cancelled"

    async def test_stop_after_the_end_harms_nothing(self, corpus, question):
        run = Run(question, settings(docs=[str(corpus)]))
        await asyncio.to_thread(lambda: asyncio.run(run.execute()))
        run.stop()


class TestCutOff:
    """What is cancelled from outside propagates, leaves nothing running, and says so."""

    async def test_cancelled(self, clerk, endpoint, corpus, question):
        reading = asyncio.Event()
        slow = Reply({}, step="learnings", times=None, delay=30)

        llm = clerk(slow)
        complete = llm.complete

        async def signalling(prompt):
            if prompt.name == "learnings":
                reading.set()
            return await complete(prompt)

        llm.complete = signalling
        async with endpoint(llm):
            before = asyncio.all_tasks()
            run = Run(question, settings(docs=[str(corpus)]))
            task = asyncio.create_task(run.execute())
            await reading.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            left = {t for t in asyncio.all_tasks() - before if "deep_research" in repr(t)}
        assert left == set()
        last = stored_events(run.folder)[-1]
        assert last["kind"] == "run_finished"
        assert last["data"]["stop_reason"] == "interrupted"
        assert last["data"]["usage"]["llm_calls"] == 2, "what was cut off may have been paid for"

    @pytest.mark.parametrize(
        ("answer", "ends"),
        [
            ("os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(30)", "run_finished"),
            ("raise KeyboardInterrupt", "node_started"),
        ],
        ids=["pressed", "raised in a branch"],
    )
    def test_interrupt(self, answer, ends, place):
        """Ctrl-C comes out as what it is, and the events until then are on disk."""
        script = place / "script.py"
        script.write_text(INTERRUPTED.format(answer=answer))
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=env, capture_output=True, timeout=30, check=False)
        assert done.stdout.decode().split() == ["interrupted"]
        last = stored_events("out")[-1]
        assert last["kind"] == ends
        assert last["data"].get("stop_reason", "interrupted") == "interrupted"

    async def test_a_bug_is_loud(self, monkeypatch, corpus, question):
        from deep_research.extractive.learn import ExtractiveLearner

        def broken(*_):
            raise ZeroDivisionError

        monkeypatch.setattr(ExtractiveLearner, "choose", broken)
        with pytest.raises(BaseExceptionGroup) as caught:
            await Run(question, settings(docs=[str(corpus)])).execute()
        assert caught.group_contains(ZeroDivisionError)


class TestBadInput:
    """One clear sentence each, before anything is spent, and no trace in the file system."""

    @pytest.fixture(autouse=True)
    def _traceless(self, place):
        yield
        kept = {"docs", "out", "home"}
        assert {p.name for p in place.iterdir()} - kept <= {"runs"}
        assert not list(place.glob("runs/*"))

    @pytest.mark.parametrize("question", ["", "  \n\t ", None, 7, ["a"]])
    async def test_question(self, question, corpus):
        with pytest.raises(ConfigError, match="the question"):
            Run(question, settings(docs=[str(corpus)]))

    async def test_missing_folder(self, question):
        with pytest.raises(ConfigError, match="no-such-folder"):
            await Run(question, settings(docs=["no-such-folder"])).execute()

    async def test_empty_folder(self, tmp_path, question):
        (tmp_path / "docs").mkdir()
        with pytest.raises(ConfigError, match=r"no readable document in .*docs"):
            await Run(question, settings(docs=[str(tmp_path / "docs")])).execute()

    @pytest.mark.parametrize(
        ("engine", "message"),
        [("serxng", "did you mean 'searxng'"), ("no_such_module:Engine", "no module")],
    )
    async def test_unknown_engine(self, engine, message, question):
        with pytest.raises(ConfigError, match=message):
            await Run(question, settings(**{"search.engines": [engine]})).execute()

    async def test_unknown_format(self, corpus, question):
        with pytest.raises(ConfigError, match="unknown report format 'docs'"):
            Run(question, settings(docs=[str(corpus)], **{"report.formats": ["docs"]}))

    async def test_no_key_for_the_model(self, corpus, question):
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            Run(question, settings(docs=[str(corpus)], llm="openai:gpt-5-mini"))

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    async def test_folder_without_permission(self, place, corpus, question):
        (place / "out").mkdir(mode=0o500)
        config = settings(docs=[str(corpus)], folder=str(place / "out" / "run"))
        with pytest.raises(ConfigError, match=r"cannot write to .*run"):
            await Run(question, config).execute()

    async def test_folder_below_a_file(self, place, corpus, question):
        (place / "out").write_text("a file")
        for folder in ("out", "out/run"):
            config = settings(docs=[str(corpus)], **{"report.folder": folder})
            with pytest.raises(ConfigError, match=f"cannot write to {folder}"):
                await Run(question, config).execute()
        assert (place / "out").read_text() == "a file"


class TestFolderOfAnotherRun:
    async def test_is_refused_and_kept(self, corpus, question):
        config = settings(docs=[str(corpus)], **{"report.folder": "out"})
        await Run(question, config).execute()
        before = contents("out")
        with pytest.raises(ConfigError, match="out holds another run: name another folder"):
            await Run("Who was Larcum Kendall?", config).execute()
        assert contents("out") == before

    async def test_of_two_at_once_one_is_refused(self, corpus, question):
        config = settings(docs=[str(corpus)], **{"report.folder": "out"})
        runs = [Run(question, config, run=name) for name in "ab"]

        async def outcome(run):
            try:
                return (await run.execute()).run
            except ConfigError as error:
                return str(error)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(outcome(run)) for run in runs]
        assert tasks[0].result() == "a"
        assert "holds another run" in tasks[1].result()
        assert {e["run"] for e in stored_events("out")} == {"a"}

    @pytest.fixture
    def out(self, place):
        (place / "out").mkdir()
        return place / "out"

    async def test_other_files_may_be_there(self, out, corpus, question):
        notes = out / "notes.txt"
        notes.write_text("mine")
        config = settings(docs=[str(corpus)], **{"report.folder": "out"})
        assert (await Run(question, config).execute()).status == "complete"
        assert notes.read_text() == "mine"

    async def test_a_run_that_could_not_begin_does_not_block_it(self, out, corpus, question):
        bad = settings(docs=["missing"], **{"report.folder": "out"})
        with pytest.raises(ConfigError):
            await Run(question, bad).execute()
        assert contents(out) == {}
        good = settings(docs=[str(corpus)], **{"report.folder": "out"})
        assert (await Run(question, good).execute()).status == "complete"


class TestPlugins:
    async def test_unreadable_documents_are_named(self, place, question):
        docs = place / "docs"
        docs.mkdir()
        (docs / "good.txt").write_text("The longitude problem was solved by John Harrison in 1759.")
        for n in range(12):
            (docs / f"bad{n:02}.pdf").write_bytes(b"%PDF-1.7 nothing")
        told = []
        run = Run(question, settings(docs=[str(docs)]), emit=told.append)
        report = await run.execute()
        warnings = [e.data["message"] for e in told if e.kind is Kind.WARNING]
        assert report.status == "complete"
        assert told[0].kind is Kind.RUN_STARTED
        assert sum("bad" in w for w in warnings) == 10
        assert any(w.startswith("2 further documents") for w in warnings)

    async def test_exporter_that_fails_loses_neither_report_nor_the_other_files(
        self, corpus, question
    ):
        told = []
        names = ["md", f"{__name__}:Broken", f"{__name__}:Unwritable", "json"]
        config = settings(docs=[str(corpus)], **{"report.formats": names})
        run = Run(question, config, emit=told.append)
        report = await run.execute()
        assert report.status == "complete"
        assert {p.name for p in run.folder.glob("report.*")} == {"report.md", "report.json"}
        warnings = [e.data["message"] for e in told if e.kind is Kind.WARNING]
        assert any("ZeroDivisionError" in w for w in warnings)
        assert any("report.no/such is not written: No such file" in w for w in warnings)

    async def test_key_goes_to_the_engine_of_that_name_only(self, monkeypatch, corpus, question):
        """An engine that takes no key is not disturbed by one."""
        monkeypatch.setenv("FOLDER_API_KEY", "k")
        report = await Run(question, settings(docs=[str(corpus)])).execute()
        assert report.status == "complete"

    async def test_researcher_of_ones_own(self, corpus, question):
        config = settings(docs=[str(corpus)], researcher=f"{__name__}:Scout")
        report = await Run(question, config).execute()
        assert report.status == "complete"
        assert {x.text for x in report.learnings} == {"Scouts look ahead."}

    async def test_unknown_researcher(self, corpus, question):
        config = settings(docs=[str(corpus)], researcher="pipline")
        with pytest.raises(ConfigError, match=r"unknown researcher 'pipline'.*'pipeline'"):
            Run(question, config)

    async def test_domains_filter_the_web_not_the_documents(self, corpus, question):
        config = settings(docs=[str(corpus)], **{"search.include_domains": ["example.org"]})
        assert (await Run(question, config).execute()).status == "complete"


INTERRUPTED = """
import asyncio, os, signal
import deep_research

class Engine:
    name = "engine"
    async def search(self, query, *, limit):
        {answer}

try:
    deep_research.run("zyzzyva", engines="__main__:Engine", folder="out")
except KeyboardInterrupt:
    print("interrupted")
"""


class Broken:
    """An exporter with a bug."""

    suffix = "broken"

    def export(self, report):
        raise ZeroDivisionError


class Unwritable:
    """An exporter whose file cannot be written."""

    suffix = "no/such"

    def export(self, report):
        return b""


class Scout:
    """A nested researcher that asks the run's own search and reader."""

    def __init__(self, *, outside):
        self.outside = outside

    async def investigate(self, node, brief, scope):
        hits = await self.outside.search(node.query.text, scope)
        page = await self.outside.read(hits[0], scope)
        return Findings((Learning("Scouts look ahead.", (quote_at(page, 0, 20),)),))
