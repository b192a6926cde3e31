"""The command line: flags, exit codes, what goes to which stream, interrupts, and unwilling terminals (A11)."""

import asyncio
import io
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import Mock

import pytest

from deep_research.cli import commands
from deep_research.cli import doctor as doctor_module
from deep_research.cli import session as session_module
from deep_research.cli.commands import main
from deep_research.cli.console import Lines, spent, summary
from deep_research.cli.live import Live, _cut, _width
from deep_research.config import ModelChoice, load
from deep_research.core.errors import AuthFailed, ConfigError, ProviderUnavailable
from deep_research.core.events import Event, Kind
from deep_research.core.model import Query, Source, Usage
from deep_research.core.ports import Completion, Proposal, Verdict
from deep_research.core.report import Reference, Report, RunStatus
from deep_research.plugins.exporters.json import JsonExporter
from deep_research.runtime.tally import ResearchProgress
from deep_research.wiring import shape_of

ROOT = Path(__file__).parents[2]
EVENTS = (
    Event(
        Kind.RUN_STARTED,
        data={"question": "Why?", "breadth": 4, "depth": 2, "nodes": 13, "engines": ["folder"]},
    ),
    Event(Kind.NODE_STARTED, (), {"query": "why [red] now"}),
    Event(
        Kind.CALL,
        (),
        {"kind": "search", "engine": "folder", "query": "why", "t0": 0.0, "t1": 0.5, "ok": True},
    ),
    Event(Kind.PAGE_READ, (), {"url": "u", "title": "t", "chars": 1200}),
    Event(Kind.PAGE_FAILED, (), {"url": "v", "kind": "unavailable", "message": "gone"}),
    Event(
        Kind.CALL,
        (),
        {"kind": "llm", "step": "learn", "t0": 0.0, "t1": 2.0, "ok": False, "message": "slow down"},
    ),
    Event(Kind.LEARNED, (), {"learnings": 2}),
    Event(Kind.DECIDED, (), {"delegate": ["because"], "stop": ""}),
    Event(Kind.NODE_STARTED, (0,), {"query": "because " * 30}),
    Event(Kind.NODE_FAILED, (0,), {"kind": "timeout", "message": "no answer"}),
    Event(Kind.NODE_STARTED, (1, 0), {"query": "orphan"}),
    Event(Kind.DECIDED, (1, 0), {"delegate": [], "stop": "depth"}),
    Event(Kind.NODE_FINISHED, (), {"learnings": 2}),
    Event(Kind.WARNING, data={"message": "one engine rests"}),
    Event(Kind.WRITING, data={"learnings": 2}),
    Event(Kind.RUN_FINISHED, data={"status": "complete", "stop_reason": "depth", "usage": {}}),
)


class FakeRun:
    """Stands for the engine: tells the events, then returns a report; waits to be stopped if told so."""

    status = RunStatus.COMPLETE
    wait = False
    made: ClassVar[list["FakeRun"]] = []

    def __init__(self, question, config, *, emit=None, approver=None, clarifier=None) -> None:
        if not question.strip():
            raise ConfigError("the question is empty: say what is to be researched")
        self.question, self.config, self.emit = question, config, emit
        self.approver, self.clarifier = approver, clarifier
        self.folder = Path(config.report.folder or "runs/r1")
        self.models = {}
        self.shape = shape_of(config, self.models)
        self.stops = 0
        self.stopped = None
        self.made.append(self)

    def stop(self) -> None:
        self.stops += 1
        if self.stopped and self.wait != "stubborn":
            self.stopped.set()

    async def check(self) -> None:
        if self.question == "Cannot?":
            raise ConfigError("docs: no such folder")

    async def execute(self) -> Report:
        self.stopped = asyncio.Event()
        for event in EVENTS:
            self.emit(event)
        if self.wait:
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
            if self.wait == "stubborn":
                asyncio.get_running_loop().call_later(0.02, os.kill, os.getpid(), signal.SIGINT)
            await self.stopped.wait()
        return Report("r1", self.question, self.status, "why it ended", body="It is so [1]. π")


@pytest.fixture(autouse=True)
def _clean(monkeypatch, tmp_path):
    """No settings of this machine, an own working directory, the fake engine."""
    for name in list(os.environ):
        if (
            name.endswith("_API_KEY")
            or name.startswith("DEEP_RESEARCH")
            or name == "OPENAI_BASE_URL"
        ):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session_module, "Run", FakeRun)
    monkeypatch.setattr(FakeRun, "made", [])


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def run_of(capsys, *arguments: str):
    code, _, err = call(capsys, "run", "Why?", *arguments)
    assert code == 0, err
    return FakeRun.made[-1].config


# --- run ---------------------------------------------------------------------


def test_the_report_goes_to_stdout_and_progress_to_stderr(capsys):
    code, out, err = call(capsys, "run", "Why?")
    assert code == 0
    assert out.startswith("# Why?\n")
    assert "It is so [1]. π" in out
    assert "0 > why [red] now" in err
    assert "note: no language model is set" in err
    assert err.endswith("files: runs/r1\n")
    assert "took" not in err


@pytest.mark.parametrize(
    ("status", "code"),
    [("complete", 0), ("failed", 1), ("partial", 3), ("nothing_found", 4), ("cancelled", 130)],
)
def test_exit_codes(capsys, monkeypatch, status, code):
    monkeypatch.setattr(FakeRun, "status", RunStatus(status))
    got, out, err = call(capsys, "run", "Why?", "-q")
    assert got == code
    assert out.startswith("# Why?")
    assert err == ("error: why it ended\n" if status == "failed" else "")


def test_json_writes_events_instead_of_the_report(capsys):
    code, out, _ = call(capsys, "run", "Why?", "--json", "-q")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [line["kind"] for line in lines] == [str(event.kind) for event in EVENTS]


def test_verbose_tells_of_calls_and_pages(capsys):
    _, _, err = call(capsys, "run", "Why?", "-v")
    assert "search folder: why took 0.5 s" in err
    assert "learn took 2.0 s, failed: slow down" in err
    assert "read u (1,200 characters)" in err
    assert "not read: v (gone)" in err
    assert "2.1   goes no deeper: depth" in err


def test_every_flag_becomes_its_setting(capsys):
    flags = """
        --docs a,b --docs c --web --breadth 3 --depth 1 --concurrency 9 --planner tree
        --researcher pipeline --llm ollama:x:y --search wikipedia --search tavily,http
        --preset quick --max-cost 0.5 --max-tokens 9 --max-calls 8 --max-seconds 7 -o out
        --format html --format md --set network.allow_hosts=127.0.0.1,::1 --set report.tone=dry
    """
    config = run_of(capsys, *flags.split())
    assert config.docs == ("a,b", "c")
    assert config.web is True
    assert (config.tree.breadth, config.tree.depth, config.tree.concurrency) == (3, 1, 9)
    assert config.models.planner == config.models.reader == config.models.writer == "ollama:x:y"
    assert config.search.engines == ("wikipedia", "tavily", "http")
    assert config.reading.pages_per_query == 3  # of the preset
    budget = config.budget
    assert (budget.cost, budget.tokens, budget.calls, budget.seconds) == (0.5, 9, 8, 7)
    assert (config.report.folder, config.report.formats) == ("out", ("html", "md"))
    assert config.network.allow_hosts == ("127.0.0.1", "::1")
    assert config.report.tone == "dry"
    assert config.origin("tree.breadth") == "command line"


def test_no_web(capsys):
    assert run_of(capsys, "--docs", "d", "--no-web").web is False
    assert run_of(capsys).web is None


def test_a_file_and_warnings_of_it(capsys, tmp_path):
    (tmp_path / "c.yaml").write_text("depth: 5\nSCRAPER: bs\n")
    code, _, err = call(capsys, "run", "Why?", "--config", "c.yaml")
    assert code == 0
    assert "warning: c.yaml: SCRAPER has no meaning here" in err
    assert FakeRun.made[-1].config.tree.depth == 5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--breadth", "0"],
            "command line: tree.breadth = '0': must be a whole number from 1 to 32",
        ),
        (["--set", "tree.depth"], "--set 'tree.depth': write it as KEY=VALUE"),
        (["--set", "tree.bredth=3"], "did you mean 'tree.breadth'?"),
        (["--set", "tree.depth=3", "--depth", "2"], "tree.depth is set twice on the command line"),
        (["--set", "tree.depth=3", "--set", "tree.depth=2"], "tree.depth is set twice"),
        (["--config", "no.yaml"], "no.yaml: there is no such configuration file"),
        (["--preset", "quik"], "did you mean 'quick'?"),
        (["--bredth", "3"], "No such option '--bredth'"),
        (["was", "it"], "Got unexpected extra arguments (was it)"),
        (["was", "it"], "; put the question in quotes"),
        (["--planner", "tre"], "did you mean 'tree'?"),
        (["--llm", " "], "--llm ' ': name a model as provider:model, or 'none'"),
        (["--set", "search=wikipedia"], "engines are named by search.engines"),
        (["-w"], "a question that begins with '-' comes last, behind ' -- '"),
    ],
)
def test_wrong_usage_is_one_line(capsys, arguments, says):
    code, out, err = call(capsys, "run", "Why?", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [(), ("config",)])
def test_no_command_is_answered_with_the_help(capsys, arguments):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: deep-research")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Why so?"], 'A question is researched by: deep-research run "Why so?"'),
        (["how", "was", "it", "--depth", "2"], 'deep-research run "how was it"'),
        (["shw", "r1"], "No such command 'shw'"),
        (["show", "r1", "r2"], "Got unexpected extra argument (r2)"),
        (["--no-such"], "No such option"),
    ],
)
def test_a_question_without_the_command(capsys, arguments, says):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert ("A question is researched by" in err) is ("run" in says)
    assert "put the question in quotes" not in err
    assert len(err.splitlines()) == 1


def test_what_cannot_be_seen_is_no_part_of_a_question(capsys):
    call(capsys, "run", "\x1b[31mWhy\x07\tnot?\n")
    assert FakeRun.made[-1].question == " [31mWhy \tnot?\n"


def test_the_question_from_stdin(capsys, monkeypatch):
    for arguments in (["run", "-"], ["run"]):
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO("Où\n\xff".encode() + b"\xff"))
        )
        assert call(capsys, *arguments)[0] == 0
        assert FakeRun.made[-1].question.startswith("Où")


def test_no_question(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    code, _, err = call(capsys, "run")
    assert (code, err) == (
        2,
        "error: no question: give one in quotes, or '-' to read it from stdin\n",
    )
    code, _, err = call(capsys, "run", "  ")
    assert (code, err) == (2, "error: the question is empty: say what is to be researched\n")


def test_dry_run_spends_nothing(capsys):
    code, out, err = call(capsys, "run", "Why?", "--dry-run", "--set", "budget.pages=10")
    assert (code, err) == (0, "")
    assert out.startswith("at most 29 queries, ")
    assert "10 pages" in out
    assert out.endswith("(limited by: pages)\n")


def test_dry_run_refuses_what_a_run_refuses(capsys):
    for flag in ("--dry-run", "--approve"):
        code, out, err = call(capsys, "run", "Cannot?", flag)
        assert (code, out, err) == (2, "", "error: docs: no such folder\n")


def test_dry_run_with_a_model(capsys, monkeypatch):
    class Priced(FakeRun):
        def __init__(self, *args, **kwargs) -> None:
            super().__init__(*args, **kwargs)
            choice = ModelChoice("openai", "m", prices=self.prices)
            self.models = dict.fromkeys(("planner", "reader", "writer"), choice)

        prices = (1.0, 2.0)

    monkeypatch.setattr(session_module, "Run", Priced)
    assert " model calls, " in call(capsys, "run", "Why?", "--dry-run")[1]
    assert "$" in call(capsys, "run", "Why?", "--dry-run")[1]
    Priced.prices = None
    assert "cost unknown (set models.prices)" in call(capsys, "run", "Why?", "--dry-run")[1]
    assert "note:" not in call(capsys, "run", "Why?")[2]


def test_approve_shows_the_bound_and_has_the_run_ask(capsys, monkeypatch):
    code, _, err = call(capsys, "run", "Why?", "--approve", "-q")
    assert (code, err.count("at most 29 queries")) == (0, 1)
    asked = FakeRun.made[-1]
    assert asked.config.approval.ask == "rounds"
    assert asked.approver is not None
    assert asked.clarifier is None, "nobody can answer"
    code, _, err = call(capsys, "run", "Why?", "--set", "approval.ask=rounds", "-q")
    assert (code, err) == (0, "")
    assert FakeRun.made[-1].approver is not None
    run_of(capsys)
    assert FakeRun.made[-1].approver is None
    code, _, err = call(capsys, "run", "Why?", "--approve", "--set", "approval.ask=never")
    assert (code, "approval.ask is set twice" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "asks"), [((), True), (("-q",), False), (("--json",), False), (("-v",), True)]
)
def test_who_sits_at_a_terminal_can_be_asked_back(capsys, monkeypatch, arguments, asks):
    for name in ("stdin", "stderr"):
        terminal = io.StringIO()
        terminal.isatty = lambda: True
        monkeypatch.setattr(sys, name, terminal)
    call(capsys, "run", "Why?", *arguments)
    assert (FakeRun.made[-1].clarifier is not None) is asks


@pytest.mark.parametrize("quiet", [False, True])
def test_an_approval_holds_back_progress(capsys, monkeypatch, quiet):
    class Asks(FakeRun):
        async def execute(self):
            self.verdict = await self.approver.approve(Proposal((), (Query("a kettle"),)))
            return await super().execute()

    monkeypatch.setattr(session_module, "Run", Asks)
    monkeypatch.setattr(sys, "stdin", io.StringIO("perhaps\ny\n"))
    code, out, err = call(capsys, "run", "Why?", "--approve", *(["-q"] if quiet else []))
    assert (code, out[:7]) == (0, "# Why?\n")
    assert Asks.made[-1].verdict == Verdict((Query("a kettle"),))
    assert "To be searched for\n  1  a kettle\n" in err
    assert "> perhaps\n'perhaps' is not one of them; what counts: approve," in err


def test_no_standard_error_to_ask_on(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    session = session_module.Session(
        "Why?", load(arguments={"approval.ask": "rounds"}), say=print, quiet=True
    )
    assert session.run().status == "complete"
    assert FakeRun.made[-1].approver is None


def test_errors_of_the_engine(capsys, monkeypatch):
    def failing(error):
        async def execute(_self):
            raise error

        return execute

    monkeypatch.setattr(FakeRun, "execute", failing(ConfigError("no such folder: x")))
    assert call(capsys, "run", "Why?", "-q") == (2, "", "error: no such folder: x\n")
    monkeypatch.setattr(FakeRun, "execute", failing(AuthFailed("set X")))
    assert call(capsys, "run", "Why?", "-q") == (1, "", "error: set X\n")
    monkeypatch.setattr(FakeRun, "execute", failing(OSError(28, "No space left")))
    assert call(capsys, "run", "Why?", "-q") == (1, "", "error: No space left\n")


# --- interrupts --------------------------------------------------------------


def test_one_interrupt_stops_and_the_report_is_written(capsys, monkeypatch):
    monkeypatch.setattr(FakeRun, "wait", True)
    monkeypatch.setattr(FakeRun, "status", RunStatus.CANCELLED)
    code, out, err = call(capsys, "run", "Why?")
    assert code == 130
    assert out.startswith("# Why?")
    assert "stopping: the report is written from what is there" in err
    assert FakeRun.made[-1].stops == 1


def test_two_interrupts_give_up(capsys, monkeypatch):
    monkeypatch.setattr(FakeRun, "wait", "stubborn")
    code, out, err = call(capsys, "run", "Why?")
    assert (code, out) == (130, "")
    assert err.endswith("error: interrupted; events are in runs/r1\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_signal_handlers_a_run_goes_on(capsys, monkeypatch):
    def refuse(*_):
        raise NotImplementedError

    monkeypatch.setattr(asyncio.unix_events._UnixSelectorEventLoop, "add_signal_handler", refuse)
    assert call(capsys, "run", "Why?", "-q")[0] == 0


def test_keyboard_interrupt_elsewhere(capsys, monkeypatch):
    def interrupt(_self):
        raise KeyboardInterrupt

    monkeypatch.setattr(session_module.Session, "bound", interrupt)
    assert call(capsys, "run", "Why?", "--dry-run") == (130, "", "\nerror: interrupted\n")


# --- what a terminal shows ---------------------------------------------------


SIZE = (140, 40)


def drawn(out):
    """What stands on the terminal after the last wiping, without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", re.split(r"\x1b\[\d+F\x1b\[J", out.getvalue())[-1])


def test_the_live_tree():
    out = io.StringIO()
    with Live(out, size=lambda: SIZE) as live:
        for event in EVENTS[:-3]:
            live.emit(event)
        live._draw()
        text = drawn(out)
        for event in EVENTS[-3:]:
            live.emit(event)
    assert "why [red] now" not in text  # the root is the question
    assert "Why?" in text
    assert "because because" in text
    assert "✗ timeout" in text
    assert "✓ 2 learnings" in text
    assert "about 0 s left" in text
    assert "└── " in text
    stays = out.getvalue()
    assert "warning: one engine rests\n" in stays
    assert (
        "complete (depth): 2/3 queries, 1 pages, 2 learnings, 0 s; 1 page could not be read"
        in stays.rpartition("one engine rests")[2]
    )
    assert drawn(out) == "", "the tree is wiped away at the end"


def test_the_live_tree_moves_by_itself():
    out, sizes = io.StringIO(), []

    def size():
        sizes.append(1)
        return SIZE

    with Live(out, size=size, every=0.001) as live:
        live.emit(EVENTS[0])
        for _ in range(500):
            if len(sizes) > 2:
                break
            time.sleep(0.001)
    assert len(sizes) > 2


def test_branches_of_the_live_tree():
    out = io.StringIO()
    live = Live(out, colour=False, size=lambda: SIZE)
    live.emit(
        Event(Kind.RUN_STARTED, (), {"question": "Why?", "breadth": 2, "depth": 2, "nodes": 7})
    )
    for path in ((0,), (0, 0), (0, 1), (1,), (1, 0)):
        live.emit(Event(Kind.NODE_STARTED, path, {"query": f"q{path}"}))
    live._draw()
    assert drawn(out).splitlines()[1:] == [
        "Why? ",
        "├── q(0,) …",
        "│   ├── q(0, 0) …",
        "│   └── q(0, 1) …",
        "└── q(1,) …",
        "    └── q(1, 0) …",
    ]
    assert "\x1b[3" not in out.getvalue()


def test_a_tree_taller_than_the_terminal_is_folded_below_finished_queries():
    out = io.StringIO()
    live = Live(out, size=lambda: (80, 6))
    for path in ((0,), (0, 1), (2,), (2, 1)):
        live.emit(Event(Kind.NODE_STARTED, path, {"query": f"query {path}"}))
    live.emit(Event(Kind.NODE_FINISHED, (0,), {"learnings": 2}))
    live._draw()
    assert "query (2, 1)" in drawn(out)
    assert "query (0,)" in drawn(out)
    assert "query (0, 1)" not in drawn(out)
    assert len(drawn(out).splitlines()) < 6


def test_a_row_fits_the_terminal_and_controls_nothing():
    assert (_width("abc"), _width("大坝"), _width("e\u0301")) == (3, 4, 1)
    assert _cut("大坝很高", 5) == "大坝…"
    assert _cut("a\x1b[31mb", 20) == "a [31mb"
    assert _cut("abc", 0) == ""


def test_messages_of_others_command_no_terminal(capsys):
    """ESC, C1 and carriage returns of a service's message stop at every way out."""
    warning = Event(Kind.WARNING, (), {"message": "no\x1b[2J\x9b1A\rkey\x07 für 大坝"})
    said, out = [], io.StringIO()
    Lines(said.append).emit(warning)
    Lines(said.append).line("\x1b]0;x\x07")
    live = Live(out, size=lambda: SIZE)
    live.line(warning.data["message"])
    commands._say("a\x1b[31mb\n\tc")
    err = capsys.readouterr().err
    assert said[0].endswith("warning: no [2J 1A key  für 大坝")
    assert said[1] == " ]0;x "
    assert out.getvalue().startswith("no [2J 1A key  für 大坝\n")
    assert err == "a [31mb\n\tc\n"


def test_a_terminal_gets_the_tree_and_a_dumb_one_lines(monkeypatch):
    def terminal(encoding="utf-8"):
        return SimpleNamespace(isatty=lambda: True, write=len, flush=int, encoding=encoding)

    def watch(verbose=False, **environ):
        return session_module._watch(print, load(environ=environ), verbose=verbose)

    monkeypatch.setattr(sys, "stderr", terminal())
    live = watch(TERM="xterm")
    assert isinstance(live, Live)
    assert live._colour
    assert not watch(TERM="xterm", NO_COLOR="1")._colour
    assert isinstance(watch(verbose=True, TERM="xterm"), Lines)
    assert isinstance(watch(TERM="dumb"), Lines)
    assert isinstance(watch(), Lines)
    monkeypatch.setattr(sys, "stderr", terminal("ascii"))
    assert isinstance(watch(TERM="xterm"), Lines)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(watch(TERM="xterm"), Lines)


def test_lines_are_ascii_of_their_own():
    said = []
    with Lines(said.append, verbose=True) as lines:
        for event in EVENTS:
            lines.emit(event)
    assert all(line.isascii() for line in said)
    assert max(len(line) for line in said) < 140


def test_what_was_spent():
    assert spent(Usage(seconds=3)) == ["3 s"]
    assert spent(Usage(2, 1000, 500, 1500)) == ["2 model calls", "1,500 tokens", "$0.0015", "0 s"]
    assert "cost unknown" in spent(Usage(1, cost=None))
    half = ResearchProgress(completed_queries=2, total_queries=4, usage=Usage(seconds=10))
    assert summary(half, 13).endswith("10 s, about 10 s left")


# --- runs, show, export ------------------------------------------------------


@pytest.fixture
def saved(tmp_path) -> Path:
    folder = tmp_path / "runs" / "r1"
    folder.mkdir(parents=True)
    reference = Reference(1, "https://a.org", "A", "", "", "ff")
    made = Report(
        "r1", "Why?", RunStatus.PARTIAL, "budget", body="So [1].", references=(reference,)
    )
    (folder / "report.json").write_bytes(JsonExporter().export(made))
    return folder


def test_show(capsys, saved):
    for name in ("r1", str(saved)):
        code, out, _ = call(capsys, "show", name)
        assert code == 0
        assert "So [1]." in out


def test_export(capsys, saved, tmp_path):
    code, out, _ = call(capsys, "export", "r1", "--format", "html,md")
    assert (code, out) == (0, "runs/r1/report.html\nruns/r1/report.md\n")
    assert (saved / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    code, out, _ = call(capsys, "export", "r1", "--format", "json", "-o", "other")
    assert (tmp_path / "other" / "report.json").read_bytes() == (saved / "report.json").read_bytes()


def test_export_that_cannot_be(capsys, saved):
    assert (
        "unknown report format 'pdf'; there are: "
        in call(capsys, "export", "r1", "--format", "pdf")[2]
    )
    (saved.parent / "file").write_text("")
    code, _, err = call(capsys, "export", "r1", "--format", "md", "-o", "runs/file")
    assert code == 2
    assert "runs/file/report.md: cannot be written" in err


def test_runs(capsys, saved):
    (saved.parent / "r0").mkdir()
    (saved.parent / "r0" / "events.jsonl").write_text("")
    (saved.parent / "r2").mkdir()
    (saved.parent / "r2" / "report.json").write_text("{}")
    (saved.parent / "empty").mkdir()
    code, out, _ = call(capsys, "runs")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("r2  unreadable")
    assert lines[1].split() == ["r1", "partial", "Why?"]
    assert lines[2] == "r0  no report      (it is running, or was cut off)"
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ("", "it is running, or was cut off"),
        ('{"data": {"status": "cancelled"}}\n', "interrupted twice"),
        ('{"data": {"stat', "it is running, or was cut off"),
        ('{"data": {"query": "x"}}\n', "it is running, or was cut off"),
        ("7", "it is running, or was cut off"),
    ],
)
def test_a_run_without_a_report(capsys, saved, events, says):
    folder = saved.parent / "r4"
    folder.mkdir()
    (folder / "events.jsonl").write_text(events)
    code, _, err = call(capsys, "show", "r4")
    assert code == 2
    assert err == f"error: run 'r4' has no report: {says}; see runs/r4/events.jsonl\n"


def test_no_runs(capsys):
    assert call(capsys, "runs") == (0, "", "")


def test_runs_that_cannot_be_shown(capsys, saved, monkeypatch):
    assert call(capsys, "show", "nope")[2] == (
        "error: there is no run 'nope'; `deep-research runs` lists those below ./runs\n"
    )
    (saved.parent / "r3").mkdir()
    assert "run 'r3' has no report: it is running" in call(capsys, "show", "r3")[2]
    (saved / "report.json").write_text("{")
    code, _, err = call(capsys, "show", "r1")
    assert code == 2
    assert "runs/r1/report.json: is not a report" in err

    def refuse(_self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "cannot be read (Permission denied)" in call(capsys, "show", "r1")[2]


# --- config, plugins, doctor -------------------------------------------------


def test_config_show(capsys, tmp_path):
    (tmp_path / "c.yaml").write_text("SCRAPER: bs\n")
    code, out, err = call(capsys, "config", "show", "--config", "c.yaml", "--depth", "3")
    assert code == 0
    assert "tree.depth = 3  (command line)" in out.splitlines()
    assert "tree.breadth = 4  (default)" in out.splitlines()
    assert "SCRAPER has no meaning here" in err


def test_config_schema(capsys):
    _, out, _ = call(capsys, "config", "schema")
    assert "tree" in json.loads(out)["properties"]


def test_plugins(capsys, monkeypatch):
    code, out, _ = call(capsys, "plugins")
    assert code == 0
    assert "deep_research.plugins.exporters.json:JsonExporter" in out

    def missing(kind, name):
        raise ConfigError(f"{kind} {name} needs more")

    monkeypatch.setattr("deep_research.registry.usable", missing)
    assert "exporters json needs more" in call(capsys, "plugins")[1]


class Model:
    """A language model for the doctor."""

    error: Exception | None = None
    closed = 0

    async def complete(self, prompt) -> Completion:
        assert prompt.max_tokens >= 256  # endpoints refuse less, reasoning models need more
        if self.error:
            raise self.error
        return Completion("y", "served")

    async def close(self) -> None:
        self.closed += 1


class Engine:
    """A search engine for the doctor."""

    hits = (Source("u"),)
    error: Exception | None = None
    closed = 0

    def close(self) -> None:
        self.closed += 1

    async def search(self, _query, *, limit):
        assert limit == 1
        if self.error:
            raise self.error
        return self.hits[:limit]


@pytest.fixture
def outside(monkeypatch):
    model, engine = Model(), Engine()
    made = {"llms": model, "search": engine}
    monkeypatch.setattr(doctor_module.registry, "build", lambda kind, *_, **__: made[kind])
    return SimpleNamespace(model=model, engine=engine)


def test_doctor_on_a_bare_machine(capsys, outside):
    code, out, _ = call(capsys, "doctor", "--search", "wikipedia")
    assert code == 0
    assert "ok   Python 3." in out
    assert "ok   keys in the environment: none" in out
    assert "warn no language model: research goes without one; set OPENAI_API_KEY" in out
    assert "ok   search engine wikipedia answers with 1 hits" in out
    outside.engine.hits = ()
    assert (
        "warn search engine wikipedia answers with 0 hits"
        in call(capsys, "doctor", "--search", "wikipedia")[1]
    )


def test_doctor_shows_names_of_keys_never_values(capsys, monkeypatch, outside):
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code, out, _ = call(capsys, "doctor")
    assert code == 0
    assert "keys in the environment: OPENAI_API_KEY, TAVILY_API_KEY" in out
    assert "ok   model served answers" in out
    assert "search engine tavily has its key (not tried: it would be billed)" in out
    assert "secret" not in out


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (AuthFailed("OPENAI_API_KEY is refused"), "OPENAI_API_KEY is refused"),
        (TimeoutError(), "no answer within 20 s"),
    ],
)
def test_doctor_when_the_outside_fails(capsys, outside, error, says):
    outside.model.error = outside.engine.error = error
    code, out, _ = call(capsys, "doctor", "--llm", "ollama:x", "--search", "wikipedia")
    assert code == 1
    assert f"fail model x: {says}" in out
    assert f"fail search engine wikipedia: {says}" in out
    assert (outside.model.closed, outside.engine.closed) == (1, 1)


def test_doctor_on_contradictions(capsys, outside):
    code, out, _ = call(capsys, "doctor", "--llm", "openai:x", "--no-web")
    assert code == 1
    assert "set OPENAI_API_KEY in the environment" in out
    assert "web is false and there are no documents" in out


def test_doctor_on_documents(capsys, outside):
    assert "ok   documents are indexed: papers" in call(capsys, "doctor", "--docs", "papers")[1]
    outside.engine.problems = [("a.pdf", "broken")]
    assert (
        "warn documents are indexed: papers; 1 files cannot be read"
        in call(capsys, "doctor", "--docs", "papers")[1]
    )
    outside.engine.error = ProviderUnavailable("no such folder: papers")
    assert (
        "fail search engine folder: no such folder" in call(capsys, "doctor", "--docs", "papers")[1]
    )


def test_doctor_on_python_extras_and_a_folder_that_refuses(capsys, monkeypatch, outside):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor_module.tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(doctor_module, "_OLDEST", (9, 9))
    for found in (None, object()):
        monkeypatch.setattr(doctor_module, "find_spec", lambda _name, found=found: found)
        monkeypatch.setattr(doctor_module.metadata, "version", lambda _name: "1.0")
        code, out, _ = call(capsys, "doctor", "--search", "wikipedia")
        assert code == 1
        assert "is too old; 3.11 or newer is needed" in out
        assert "cannot be written to (Permission denied): choose -o DIR" in out
        missing = "note extra ddgs is not installed: pip install 'deep-research[ddgs]'"
        assert (missing in out) is (found is None)


# --- processes ---------------------------------------------------------------


def python(*arguments: str, **options) -> subprocess.CompletedProcess:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environ,
        capture_output=True,
        timeout=30,
        check=False,
        **options,
    )


def test_help_needs_nothing_heavy():
    """`--help` and the package import neither pydantic, aiohttp, openai nor rich."""
    code = (
        "import sys, deep_research, deep_research.cli\n"
        "try: deep_research.cli.main(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'pydantic', 'aiohttp', 'openai', 'rich', 'yaml', 'trafilatura', 'asyncio', 'tiktoken'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr.decode()
    assert b"Exit codes" in done.stdout


def test_a_code_page_that_lacks_characters(tmp_path):
    """A11: replaced, not a crash."""
    folder = tmp_path / "r"
    folder.mkdir()
    made = Report("r", "研究 🙂 é", RunStatus.COMPLETE, "depth")
    (folder / "report.json").write_bytes(JsonExporter().export(made))
    done = python("-m", "deep_research", "show", str(folder), env={"PYTHONIOENCODING": "cp1252"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"# ?? ? \xe9\n"


def test_a_reader_that_goes_away():
    """A broken pipe is no error."""
    command = [sys.executable, "-m", "deep_research", "config", "schema"]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_closed_stdout():
    command = f"exec {sys.executable} -m deep_research config schema >&-"
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command], env=environ, capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_running_the_package_is_the_command_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["deep_research", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("deep_research", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("deep-research, version 0.")


def test_a_pipe_that_breaks_while_writing(monkeypatch):
    """In this process: the rest of the output goes nowhere."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        commands._out("x")
        commands._out("y")
        assert os.fstat(stream.fileno()).st_rdev == Path(os.devnull).stat().st_rdev


def test_a_disk_that_is_full_while_writing(monkeypatch, tmp_path):
    """It is told, once: what is left in the buffer goes nowhere."""
    with (tmp_path / "out").open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(commands.click, "echo", Mock(side_effect=OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space left"):
            commands._out("x")
        assert os.fstat(stream.fileno()).st_rdev == Path(os.devnull).stat().st_rdev


def test_version():
    done = python("-m", "deep_research", "--version")
    assert done.stdout.startswith(b"deep-research, version 0.")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            Event(
                Kind.REVIEWED,
                data={
                    "turn": 1,
                    "learnings": 9,
                    "news": 0.5,
                    "gaps": ["a", "b"],
                    "delegate": ["c"],
                },
            ),
            "review 1: 9 learnings, 50% news, 2 gaps; goes on with 1 query",
        ),
        (
            Event(
                Kind.REVIEWED,
                data={
                    "turn": 2,
                    "learnings": 1,
                    "news": 1.0,
                    "gaps": [],
                    "delegate": [],
                    "stop": "answered",
                },
            ),
            "review 2: 1 learning, 100% news; enough (answered)",
        ),
        (Event(Kind.THOUGHT, (0,), {"text": "Two more things."}), "1   thinks: Two more things."),
    ],
)
def test_what_the_supervisor_does_is_told(event: Event, line: str) -> None:
    said: list[str] = []
    Lines(said.append, verbose=True).emit(event)
    assert [text.partition("] ")[2] for text in said] == [line]
