"""Event loops, callbacks, signals, streams and file systems: the run goes on or says why it cannot."""

import asyncio
import datetime as dt
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import deep_research
from deep_research import DeepResearcher
from deep_research.app import Run
from deep_research.config import load
from deep_research.folder import Folder
from deep_research.registry import check_engine
from deep_research.testing import FakePage, FakeWeb, Reply, ScriptedLLM

ROOT = Path(__file__).parents[2]
QUESTION = "How long is the Zephyr bridge at Orlin?"
FACT = "The Zephyr bridge at Orlin is 4,321 metres long."
DOCS = {
    "orlin.md": f"# Orlin\n\n{FACT} It was built by Ada Brook and Tom Hale.\n",
    "brook.md": "# Ada Brook\n\nAda Brook was born in Torvik in 1949 and built nine bridges.\n",
    "hale.md": "# Tom Hale\n\nTom Hale was born in Marram in 1951 and left Orlin in 1999.\n",
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A home and a working directory of one's own, with a few documents."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, text in DOCS.items():
        path = tmp_path / "papers" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def command(*arguments):
    return [sys.executable, "-m", "deep_research", *map(str, arguments)]


def environment(**more):
    kept = {"PATH": os.environ["PATH"], "HOME": str(Path.cwd() / "home"), "PYTHONPATH": str(ROOT)}
    return {**kept, **{k: v for k, v in more.items() if v is not None}}


def call(*arguments, env=None, stdin=b"", **more):
    """Run the command line as a process of its own; output in bytes."""
    done = subprocess.run(
        command(*arguments), input=stdin, capture_output=True, check=False, timeout=30,
        env=environment(**(env or {})), **more,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert b"Exception ignored" not in done.stderr, done.stderr.decode()
    return done


def settings(**arguments):
    return load(arguments={"docs": ["papers"], **arguments}, check=check_engine)


# --- loops and threads --------------------------------------------------------


def test_one_process_two_event_loops():
    """A1: nothing of the first loop is left over in the second."""
    for _ in range(2):
        report = asyncio.run(deep_research.research(QUESTION, docs="papers"))
        assert FACT in report.body


def test_one_researcher_over_two_event_loops():
    """A1: researched in one loop, written in another."""
    researcher = DeepResearcher(QUESTION, docs="papers")
    asyncio.run(researcher.conduct_research())
    assert FACT in asyncio.run(researcher.write_report())


async def test_the_blocking_form_inside_a_running_loop():
    """A2: a notebook's cell, a web handler."""
    assert FACT in deep_research.run(QUESTION, docs="papers").body


def test_the_blocking_form_in_several_threads():
    """A2: each thread has its run; folders and index are shared without harm."""
    reports = []
    threads = [
        threading.Thread(target=lambda: reports.append(deep_research.run(QUESTION, docs="papers")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [FACT in report.body for report in reports] == [True] * 4
    assert len({report.run for report in reports}) == 4


async def test_two_runs_in_one_loop_know_nothing_of_each_other():
    """A3: one is stopped, one has a budget, one goes through."""
    stopped = Run(QUESTION, settings())
    stopped.stop()
    poor = Run(QUESTION, settings(max_searches=1))
    rich = Run(QUESTION, settings())
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run.execute()) for run in (stopped, poor, rich)]
    first, second, third = [task.result() for task in tasks]
    assert first.status == "cancelled"
    assert second.usage.searches <= 1
    assert (third.status, third.usage.searches > 1) == ("complete", True)
    assert len({run.folder for run in (stopped, poor, rich)}) == 3


async def test_many_runs_of_one_moment_have_folders_of_their_own():
    ids = {Run(QUESTION, settings()).id for _ in range(50)}
    assert len(ids) == 50


# --- callbacks ----------------------------------------------------------------


def raising(_progress):
    raise ValueError("a bug of the caller's")


async def slow(_progress):
    await asyncio.sleep(0.02)


async def raising_later(_progress):
    await asyncio.sleep(0)
    raise ValueError("a bug of the caller's")


class Odd:
    """Not a coroutine, not None."""

    def __call__(self, progress):
        return progress


@pytest.mark.parametrize(
    "callback", [None, lambda _: None, raising, slow, raising_later, Odd()], ids=lambda c: f"A4-{getattr(c, '__name__', c)}"[:24]
)  # fmt: skip
async def test_a_callback_cannot_change_the_run(callback):
    """A4: the same report whatever it does."""
    plain = await deep_research.research(QUESTION, docs="papers")
    watched = await deep_research.research(QUESTION, docs="papers", on_progress=callback)
    assert watched.body == plain.body
    assert watched.status == "complete"


async def test_progress_never_goes_back_and_ends_at_the_end():
    """A5: counts are of the whole tree."""
    seen = []
    await deep_research.research(QUESTION, docs="papers", on_progress=seen.append, breadth=2)
    done = [p.completed_queries for p in seen]
    total = [p.total_queries for p in seen]
    assert done == sorted(done)
    assert total == sorted(total)
    assert done[-1] == total[-1] > 1


async def test_a_callback_may_stop_the_run():
    """A6: stop from inside a callback; the report has what was there."""
    researcher = DeepResearcher(QUESTION, docs="papers", depth=3)
    await researcher.conduct_research(lambda p: p.learnings and researcher.stop())
    assert FACT in await researcher.write_report()
    assert researcher.result.status in {"cancelled", "complete"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_is_not_swallowed(error):
    """A10: Ctrl-C inside a callback ends the run; what was learned is in its events."""

    def callback(progress):
        if progress.learnings:
            raise error

    with pytest.raises(error):
        asyncio.run(
            deep_research.research(QUESTION, docs="papers", folder="run", on_progress=callback)
        )
    kinds = [json.loads(line)["kind"] for line in Path("run/events.jsonl").read_text().splitlines()]
    assert "learned" in kinds


async def test_a_cancelled_run_says_so_and_leaves_no_task():
    """A10: who cancels the task gets the CancelledError; the events end with the fact."""
    async with FakeWeb() as web:
        web.page("/search", FakePage(hangs=True))
        run = Run(QUESTION, settings(**{
            "web": True, "search.engines": "http", "search.http.url": web.url("/search"),
        }))  # fmt: skip
        task = asyncio.create_task(run.execute())
        while "/search" not in web.hits:  # noqa: ASYNC110 - the double has no event for it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    last = json.loads(content(run.folder / "events.jsonl").splitlines()[-1])
    assert (last["kind"], last["data"]["status"]) == ("run_finished", "cancelled")
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_branches_wait_for_their_parent_only(monkeypatch):
    """A9: three stages of 50 ms take about three stages, not one per node."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    times = []

    async def search(request):
        times.append(time.monotonic())
        await asyncio.sleep(0.05)
        n = len(times)
        names = f"Ada Brook {n} knew Tom Hale {n}, Ida Kell {n} and Olaf Brun {n}."
        text = f"Pier {n} of the Zephyr bridge at Orlin is {n} metres high. {names}"
        return [
            {
                "url": f"http://a.example/{n}",
                "title": f"Zephyr bridge pier {n}",
                "raw_content": text,
            }
        ]

    async with FakeWeb() as web:
        web.route("/search", search)
        began = time.monotonic()
        report = await Run(QUESTION, settings(**{
            "docs": [], "breadth": 4, "depth": 3, "llm": "none", "concurrency": 64, "limits.search": 64,
            "search.engines": "http", "search.http.url": web.url("/search"),
        })).execute()  # fmt: skip
    wall = time.monotonic() - began
    assert report.usage.searches == len(times)
    assert len(times) * 0.05 > wall or len(times) < 6, f"{len(times)} searches in {wall:.2f} s"


# --- signals --------------------------------------------------------------------


def learned():
    """Whether the run of the other process has learned something."""
    events = Path("run/events.jsonl")
    return events.exists() and '"learned"' in events.read_text()


def content(path):
    return Path(path).read_text("utf-8")


@pytest.fixture
async def stuck():
    """A search endpoint that answers until something has been learned, and then not any more."""
    text = DOCS["orlin.md"]
    hit = {"url": "http://a.example/", "title": "Zephyr bridge", "raw_content": text}

    def search(_request):
        return FakePage(hangs=True) if learned() else FakePage([hit])

    async with FakeWeb() as web:
        web.route("/search", search)
        yield web


async def begun(web, *more):
    """Start a run on the stuck endpoint and wait until it hangs."""
    address = f"search.http.url={web.url('/search')}"
    process = await asyncio.create_subprocess_exec(
        *command("run", QUESTION, "--search", "http", "--set", address, "-o", "run", *more),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment(),
    )  # fmt: skip
    async with asyncio.timeout(20):
        while not learned():  # noqa: ASYNC110 - the other process has no event to wait for
            await asyncio.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_one_signal_and_the_report_is_written(stuck, number):
    """A7: what was learned before is in it; exit code 130."""
    process = await begun(stuck)
    process.send_signal(number)
    async with asyncio.timeout(20):
        out, err = await process.communicate()
    assert process.returncode == 130
    assert FACT in out.decode()
    assert "the report is written from what is there" in err.decode()
    assert json.loads(content("run/report.json"))["status"] == "cancelled"
    assert "Traceback" not in err.decode()


async def test_two_signals_and_it_is_over(stuck):
    """A7: at once, without a report, and the events say so."""
    process = await begun(stuck)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(20):
        _, err = await process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err.decode()
    assert "run_finished" in content("run/events.jsonl")


async def test_a_deadline_ends_a_stuck_run(stuck):
    """A8: partial, exit code 3."""
    process = await begun(stuck, "--max-seconds", "1")
    async with asyncio.timeout(20):
        out, _ = await process.communicate()
    assert process.returncode == 3
    assert FACT in out.decode()


# --- streams ----------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-16", "latin-1"])
def test_streams_of_any_encoding(encoding):
    """A11: CJK, emoji and dashes on a terminal that lacks them; the file has them all."""
    Path("papers/cjk.md").write_text(
        "# Orlin 橋\n\nThe Zephyr bridge at Orlin is called 大橋 — “great” 🌉.\n", "utf-8"
    )
    done = call(
        "run", "What is the Zephyr bridge 大橋 at Orlin called?", "--docs", "papers", "-o", "run",
        env={"PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert done.returncode == 0
    assert "大橋" in Path("run/report.md").read_text("utf-8")
    # click takes an ASCII stream for one that was set up wrongly, and writes UTF-8
    assert "Orlin" in done.stdout.decode("utf-8" if encoding == "ascii" else encoding)


@pytest.mark.parametrize("closed", ["stdout", "stderr", "both"])
def test_closed_streams(closed):
    """A11: the report's files are written all the same."""
    redirect = {"stdout": ">&-", "stderr": "2>&-", "both": ">&- 2>&-"}[closed]
    line = " ".join(
        f"'{part}'" for part in command("run", QUESTION, "--docs", "papers", "-o", "run")
    )
    done = subprocess.run(["sh", "-c", f"{line} {redirect}"], env=environment(), check=False)
    assert done.returncode == 0
    assert FACT in Path("run/report.md").read_text()


def test_a_reader_that_reads_one_line():
    """A11: `| head -1` is no error."""
    line = " ".join(
        f"'{part}'" for part in command("run", QUESTION, "--docs", "papers", "--json", "-q")
    )
    done = subprocess.run(
        ["sh", "-c", f"{line} | head -n 1"], env=environment(), capture_output=True, check=False
    )
    assert json.loads(done.stdout)["kind"] == "run_started"
    assert done.stderr == b""


def test_a_full_disk_behind_stdout():
    """A11: said in words."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("run", QUESTION, "--docs", "papers", "-q", "-o", "run"),
            stdout=full, stderr=subprocess.PIPE, env=environment(), check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode() == "error: No space left on device\n"
    assert FACT in Path("run/report.md").read_text()


def test_nothing_is_printed_by_the_library(capfd):
    """A11: no line, no logging set up, no file where the import happens."""
    code = "import deep_research, logging; print(len(logging.getLogger().handlers))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        check=True,
        cwd="papers",
    )
    assert (done.stdout, done.stderr) == (b"0\n", b"")
    assert {p.name for p in Path("papers").iterdir()} == set(DOCS)
    asyncio.run(deep_research.research(QUESTION, docs="papers"))
    assert capfd.readouterr() == ("", "")


# --- questions ---------------------------------------------------------------------


QUESTIONS = {
    "dash-after-dashes": (["--", f"-{QUESTION}"], b"", 0),
    "from-stdin": (["-"], QUESTION.encode(), 0),
    "from-a-pipe": ([], QUESTION.encode(), 0),
    "stdin-is-no-utf-8": (["-"], b"\xff\xfe " + QUESTION.encode(), 0),
    "stdin-has-nul": (["-"], QUESTION.encode().replace(b"Zephyr", b"Zephyr\0"), 0),
    "stdin-is-empty": (["-"], b"", 2),
    "blank": ([" \n "], b"", 2),
    "no-question-no-stdin": ([], b"", 2),
    "very-long": (["-"], (QUESTION + " Why? " * 4000).encode(), 0),
    "controls": ([f"\x1b[31m{QUESTION}\x07"], b"", 0),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_questions(case):
    arguments, stdin, code = QUESTIONS[case]
    done = call("run", "--docs", "papers", "-q", "-o", "run", *arguments, stdin=stdin)
    assert done.returncode == code, done.stderr
    assert (FACT in done.stdout.decode()) is (code == 0)
    assert (b"the question is empty" in done.stderr) is (code == 2)
    assert not {0x1B, 0x07, 0x00} & set(done.stdout)


def test_a_question_that_looks_like_a_flag_is_explained():
    done = call("run", f"-{QUESTION}", "--docs", "papers")
    assert done.returncode == 2
    assert b"a question that begins with '-' comes last, behind ' -- '" in done.stderr


def test_approval_with_nobody_there():
    """Nothing is searched for, and that is said."""
    done = call("run", QUESTION, "--docs", "papers", "--approve", "-o", "run")
    assert done.returncode == 4
    assert b"approve: no answer, so approval.unanswered holds: stop" in done.stderr
    assert FACT not in done.stdout.decode()


def test_no_command_shows_the_help():
    done = call()
    assert done.returncode == 2
    assert done.stderr.startswith(b"Usage: deep-research")


# --- places ---------------------------------------------------------------------------


@pytest.mark.parametrize("home", [None, "/nonexistent", "/proc/1", ""])
def test_a_home_that_is_none(home):
    """No place for the index of the documents: kept in memory, once said, nothing lost."""
    done = call(
        "run", QUESTION, "--docs", "papers", "-o", "run", env={"HOME": home, "XDG_CACHE_HOME": None}
    )
    assert done.returncode == 0
    assert FACT in done.stdout.decode()


FOLDERS = ["CON", "a:b?*", "ends with a dot.", "übung/経度 und mehr", "-o", "x" * 200, "tail/"]


@pytest.mark.parametrize("name", FOLDERS, ids=lambda n: f"A12-{n}"[:24])
def test_folders_of_odd_names(name):
    """A12: what people ask for is what they get."""
    done = call(
        "run", QUESTION, "--docs", "papers", "-q", f"-o{name}" if name != "-o" else "-o./-o"
    )
    assert done.returncode == 0, done.stderr
    assert FACT in (Path(name) / "report.md").read_text()
    assert call("show", f"./{name}").stdout == done.stdout


@pytest.mark.parametrize("name", ["長" * 300, "file", "file/below", "a\nb" * 200, "/proc/1/x"])
def test_folders_that_cannot_be(name):
    """A12: one line, exit code 2, nothing spent."""
    Path("file").write_text("")
    done = call("run", QUESTION, "--docs", "papers", "-q", "-o", name)
    assert done.returncode == 2
    assert b"cannot write to" in done.stderr


def test_the_names_of_runs_do_not_depend_on_the_question():
    """A12: a run's own folder is called by time and chance: valid everywhere."""
    run = Run("長" * 300 + " CON: a/b\\c?*", settings())
    assert run.id.replace("-", "").isalnum()
    assert len(run.id) < 40


def test_documents_at_odd_places(place):
    """L3's names, from the command line: blanks, other letters, '#', '%' and brackets in paths."""
    folder = place / "my papers 50%" / "[a] #1 übung"
    folder.mkdir(parents=True)
    (folder / "or lin?.md").write_text(DOCS["orlin.md"])
    done = call("run", QUESTION, "--docs", folder, "-o", "run")
    assert done.returncode == 0
    report = json.loads(Path("run/report.json").read_text())
    assert report["references"][0]["url"].startswith("file:///")


def test_a_working_directory_that_cannot_be_written(place):
    """`runs/` cannot be made: one line, exit code 2."""
    if os.geteuid() == 0:
        (place / "runs").write_text("in the way")  # nothing is read-only for root
    else:
        place.chmod(0o500)
    done = call("run", QUESTION, "--docs", "papers", "-q")
    place.chmod(0o700)
    assert done.returncode == 2
    assert b"cannot write to runs" in done.stderr


def full(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_disk_that_is_full_when_the_report_is_written(monkeypatch):
    """The report is in hand all the same, and a warning names the file."""
    original = Path.write_bytes

    def write(path, data):
        return full() if path.name.startswith("report.") else original(path, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    events = []
    report = await Run(QUESTION, settings(), emit=events.append).execute()
    assert FACT in report.body
    told = [e.data["message"] for e in events if e.kind == "warning"]
    assert any("report.md is not written: No space left on device" in text for text in told)


async def test_a_disk_that_is_full_when_a_page_is_saved(monkeypatch):
    """What cannot be saved cannot be cited: named as the reason, no crash."""
    monkeypatch.setattr(Folder, "save", full)
    report = await Run(QUESTION, settings()).execute()
    assert report.status == "failed"
    assert report.references == ()
    assert "No space left" in report.stop_reason


async def test_a_folder_that_is_taken():
    """P5: two runs never share a folder."""
    await Run(QUESTION, settings(), folder=Path("run")).execute()
    with pytest.raises(deep_research.ConfigError, match="holds another run"):
        await Run(QUESTION, settings(), folder=Path("run")).execute()


def test_two_processes_over_one_index():
    """The index of one folder of documents, made by two at once: both find everything."""
    started = [
        subprocess.Popen(
            command("run", QUESTION, "--docs", "papers", "-q", "-o", f"run{n}"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        )
        for n in range(3)
    ]  # fmt: skip
    for process in started:
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        assert FACT in out.decode()


# --- clocks -----------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns", "nonsense"])
def test_time_zones_do_not_matter(zone):
    """A14: names of runs and times of pages are UTC everywhere."""
    done = call("run", QUESTION, "--docs", "papers", "-q", env={"TZ": zone})
    assert done.returncode == 0
    (folder,) = Path("runs").iterdir()
    now = dt.datetime.now(dt.UTC)
    named = dt.datetime.strptime(folder.name[:15], "%Y%m%d-%H%M%S").replace(tzinfo=dt.UTC)
    assert abs((now - named).total_seconds()) < 60
    reference = json.loads((folder / "report.json").read_text())["references"][0]
    assert reference["fetched_at"].endswith("+00:00")


async def test_a_model_that_is_asked_once_per_loop(monkeypatch):
    """A13: a model client made in one event loop is not used in the next."""
    from deep_research.testing import FakeOpenAI

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    llm = ScriptedLLM(Reply({"queries": [], "learnings": []}, times=None))

    async with FakeOpenAI(llm) as endpoint:
        for _ in range(2):
            report = await asyncio.to_thread(
                deep_research.run,
                QUESTION,
                docs="papers",
                llm="fake",
                **{"models.base_url": endpoint.base_url},
            )
            assert report.status in {"complete", "nothing_found"}
