"""Long-term memory: what is kept of a report, what a question recalls, and files that cannot be used."""

import asyncio
import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.cli.commands import main
from deep_research.config import load
from deep_research.core.errors import ConfigError, DeepResearchError, JournalError
from deep_research.core.events import Kind
from deep_research.core.ports import Lead
from deep_research.core.report import Citation, Claim, Reference, Report, RunStatus, Support
from deep_research.runtime.memory import claims as claims_module
from deep_research.runtime.memory.claims import line, verified
from deep_research.runtime.memory.leads import Leads
from deep_research.runtime.memory.store import SqliteMemory
from deep_research.testing import sample_report
from deep_research.wiring import memory_of

ROOT = Path(__file__).parents[2]
LENGTH = "The Zephyr bridge at Orlin is 4,321 metres long."
BUILDER = "The Zephyr bridge at Orlin was built by Ada Brook."
QUESTION = "How long is the Zephyr bridge at Orlin?"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def report(*texts, question=QUESTION, status=RunStatus.COMPLETE, run="r1", site="a.example"):
    """A report that verified `texts`, each by a page of its own."""
    return Report(
        run,
        question,
        status,
        "done",
        claims=tuple(
            Claim(text, "Facts", Support.VERIFIED, (Citation(n, text, 7, 7 + len(text)),))
            for n, text in enumerate(texts, 1)
        ),
        references=tuple(
            Reference(
                n, f"https://{site}/{n}", "T", f"2024-05-0{n % 9 + 1}", "2025-01-01", sha(text)
            )
            for n, text in enumerate(texts, 1)
        ),
    )


@pytest.fixture
def file(tmp_path):
    return tmp_path / "memory.db"


def at(file, day="2026-01-01", **options):
    """The memory as it is on a day."""
    return SqliteMemory(file, now=lambda: f"{day}T12:00:00+00:00", **options)


def texts(leads):
    return [lead.text for lead in leads]


def rows(file, query):
    with closing(sqlite3.connect(file)) as db:
        return db.execute(query).fetchall()


class TestRemember:
    async def test_a_claim_comes_back_with_pages_and_the_day_of_its_run(self, file):
        await at(file).remember(report(LENGTH))
        assert await at(file, "2027-01-01").recall(QUESTION) == [
            Lead(LENGTH, ("https://a.example/1",), "2026-01-01", "2024-05-02")
        ]

    async def test_all_that_a_claim_stands_on_is_kept(self, file):
        await at(file).remember(report(LENGTH))
        kept = rows(file, "SELECT url, published, sha256, start, quote, date FROM quotes")
        when = "2026-01-01T12:00:00+00:00"
        assert kept == [("https://a.example/1", "2024-05-02", sha(LENGTH), 7, LENGTH, when)]
        assert rows(file, "SELECT run, question FROM claims") == [("r1", QUESTION)]

    @pytest.mark.parametrize("status", list(RunStatus))
    async def test_only_of_runs_that_came_to_an_end(self, file, status):
        """H: what a person rejected or stopped, and what failed, writes no memory."""
        await at(file).remember(report(LENGTH, status=status))
        assert file.exists() == (status in {RunStatus.COMPLETE, RunStatus.PARTIAL})

    @pytest.mark.parametrize("support", list(Support))
    def test_only_what_is_verified(self, support):
        made = report(LENGTH)
        made.claims = (replace(made.claims[0], support=support),)
        assert bool(verified(made)) == (support is Support.VERIFIED)

    async def test_today_unless_told_otherwise(self, file):
        await SqliteMemory(file).remember(report(LENGTH))
        (claim,) = SqliteMemory(file).claims()
        age = datetime.now(UTC) - datetime.fromisoformat(claim.date)
        assert timedelta(0) <= age < timedelta(minutes=1)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda r: replace(r, claims=(replace(r.claims[0], citations=()),)),
            lambda r: replace(r, references=()),
            lambda r: replace(r, references=(replace(r.references[0], sha256=""),)),
            lambda r: replace(r, references=(replace(r.references[0], url=""),)),
            lambda r: replace(r, references=(replace(r.references[0], url="https://a/" + "x" * 3000),)),
            lambda r: replace(r, claims=(replace(r.claims[0], citations=(Citation(1, "", 0, 0),)),)),
            lambda r: replace(r, claims=(replace(r.claims[0], text="It is. \x1b"),)),
        ],
    )  # fmt: skip
    def test_nothing_without_words_on_a_page_of_this_run(self, spoil):
        """What only an earlier run knew, a lead, never gets any older by being repeated."""
        assert verified(spoil(report(LENGTH))) == []

    async def test_nothing_to_keep_makes_no_file(self, file):
        await at(file).remember(report())
        await at(file).recall(QUESTION)
        assert at(file).claims() == []
        assert at(file).forget([1]) == 0
        assert not file.exists()

    async def test_folders_are_made(self, tmp_path):
        file = tmp_path / "a" / "b" / "memory.db"
        await at(file).remember(report(LENGTH))
        assert texts(await at(file).recall(QUESTION)) == [LENGTH]

    async def test_the_home_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        await at("~/m #1?.db").remember(report(LENGTH))
        assert (tmp_path / "m #1?.db").is_file()

    def test_nobodys_home(self, monkeypatch):
        def nowhere(_path):
            raise RuntimeError

        monkeypatch.setattr(Path, "expanduser", nowhere)
        assert at("~/m.db").path == Path("~/m.db")

    async def test_a_real_report(self, file):
        await at(file).remember(sample_report())
        (kept,) = at(file).claims()
        assert (kept.text, kept.published) == ("The bridge is 412 m long.", "2024-05-06")

    def test_dates_are_dates(self):
        made = report(LENGTH)
        made.references = (replace(made.references[0], published="yesterday"),)
        assert verified(made)[0].quotes[0].published == ""

    async def test_half_of_a_surrogate_pair(self, file):
        made = report(LENGTH)
        made.claims = (replace(made.claims[0], text=LENGTH + "\ud800", citations=(Citation(1, "a\ud800", 0, 2),)),)  # fmt: skip
        await at(file).remember(made)
        assert texts(await at(file).recall(QUESTION)) == [LENGTH]

    async def test_cancelled_before_it_is_done_keeps_nothing(self, file, monkeypatch):
        """A second Ctrl-C while another process holds the file."""
        going = threading.Event()
        held = threading.Event()
        keep = claims_module.find_twin

        def slow(*arguments):
            going.set()
            held.wait(5)
            return keep(*arguments)

        monkeypatch.setattr("deep_research.runtime.memory.store.find_twin", slow)
        task = asyncio.create_task(at(file).remember(report(LENGTH)))
        await asyncio.to_thread(going.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.set()
        await asyncio.get_running_loop().shutdown_default_executor()
        assert rows(file, "SELECT count(*) FROM claims") == [(0,)]


class TestAgain:
    async def test_the_same_report_twice_changes_nothing(self, file):
        for _ in range(2):
            await at(file).remember(report(LENGTH, BUILDER))
        assert len(at(file).claims()) == 2

    @pytest.mark.parametrize(
        "again",
        [
            LENGTH.upper(),
            "The Zephyr bridge at Orlin is 4,321 long metres.",
        ],
    )
    async def test_the_same_in_other_words_is_refreshed(self, file, again):
        await at(file).remember(report(LENGTH))
        await at(file, "2026-02-02").remember(report(again, run="r2", site="b.example"))
        (claim,) = at(file).claims()
        assert (claim.text, claim.run, claim.date[:10]) == (again, "r2", "2026-02-02")
        assert claim.urls == ("https://b.example/1", "https://a.example/1")

    @pytest.mark.parametrize(("quote", "kept"), [(BUILDER, 1), (LENGTH, 2)])
    async def test_wording_may_differ_more_where_the_quote_is_the_same(self, file, quote, kept):
        made = report("The old Zephyr bridge at Orlin was built by Ada Brook.")
        made.claims = (replace(made.claims[0], citations=(Citation(1, quote, 0, len(quote)),)),)
        await at(file).remember(report(BUILDER))
        await at(file).remember(made)
        assert len(at(file).claims()) == kept

    async def test_an_equal_quote_with_another_number_is_another_claim(self, file):
        first, second = report(LENGTH), report(LENGTH.replace("4,321", "4,000"))
        second.claims = (replace(second.claims[0], citations=first.claims[0].citations),)
        for one in (first, second):
            await at(file).remember(one)
        assert len(at(file).claims()) == 2

    async def test_an_older_clock_takes_no_date_back(self, file):
        await at(file, "2026-03-03").remember(report(LENGTH))
        await at(file, "2026-01-01").remember(report(LENGTH))
        assert at(file).claims()[0].date[:10] == "2026-03-03"

    async def test_a_page_that_changes_daily_is_one_page(self, file):
        for n in range(5):
            made = report(LENGTH)
            made.references = (replace(made.references[0], sha256=sha(str(n))),)
            await at(file, f"2026-01-0{n + 1}").remember(made)
        assert rows(file, "SELECT sha256 FROM quotes") == [(sha("4"),)]

    async def test_a_newer_claim_that_contradicts_stands_beside_the_older(self, file):
        """Both are leads with their dates, the newer one first."""
        newer = LENGTH.replace("4,321", "4,400")
        await at(file, "2026-01-01").remember(report(LENGTH))
        await at(file, "2026-06-01").remember(report(newer, run="r2"))
        leads = await at(file).recall(QUESTION)
        assert [(x.text, x.date) for x in leads] == [(newer, "2026-06-01"), (LENGTH, "2026-01-01")]

    async def test_a_denial_is_another_claim(self, file):
        await at(file).remember(report(BUILDER))
        await at(file).remember(report(BUILDER.replace("was built", "was not built")))
        assert len(at(file).claims()) == 2


class TestRecall:
    async def test_by_topic_best_first(self, file):
        await at(file).remember(report(BUILDER, LENGTH))
        assert texts(await at(file).recall("Who built the Zephyr bridge?"))[0] == BUILDER
        assert texts(await at(file).recall("Zephyr bridge metres long"))[0] == LENGTH

    @pytest.mark.parametrize(
        "question",
        [
            "How tall is the Eiffel tower?",
            "How long is the river Elbe?",
            "Who built the Marram lighthouse and when?",
            "Which bridges did Ada Wong design?",
            "What is the bridge of the nose?",
            "?!",
            "",
        ],
    )
    async def test_an_unrelated_question_gets_none(self, file, question):
        await at(file).remember(report(BUILDER, LENGTH))
        assert await at(file).recall(question) == []

    async def test_one_name_among_many_of_its_kind(self, file):
        towns = [f"The population of Town{chr(97 + n)} is {n + 1}000." for n in range(26)]
        for n, text in enumerate(towns):
            await at(file).remember(report(text, question=text[:-9] + "?", run=f"r{n}"))
        assert texts(await at(file).recall("What is the population of Towng?")) == [towns[6]]
        assert await at(file).recall("What is the population of Paris?") == []

    async def test_a_claim_is_found_by_its_question(self, file):
        await at(file).remember(report("It was opened in May 1998."))
        assert texts(await at(file).recall(QUESTION)) == ["It was opened in May 1998."]

    async def test_a_long_question_needs_the_weightiest_words_only(self, file):
        await at(file).remember(report(LENGTH))
        words = " ".join(f"word{n}" for n in range(100))
        assert texts(await at(file).recall(f"{QUESTION} {words}")) == [LENGTH]

    async def test_other_scripts(self, file):
        await at(file).remember(
            report("東京タワーの高さは333メートルです。", question="東京タワー")
        )
        assert len(await at(file).recall("東京タワーはどのくらい高いですか")) == 1
        assert await at(file).recall("富士山はどこにありますか") == []

    async def test_at_most_twelve_and_five_pages(self, file):
        for n in range(20):
            await at(file).remember(report(LENGTH.replace("4,321", str(n))))
        for n in range(9):
            await at(file).remember(report(BUILDER, site=f"s{n}.example"))
        leads = await at(file).recall(QUESTION)
        assert len(leads) == 12
        assert max(len(x.urls) for x in await at(file).recall("Who built the Zephyr bridge?")) == 5

    async def test_the_order_of_writing_does_not_matter(self, tmp_path):
        """Among equals of one day the text decides."""
        found = []
        for name, order in (("a", range(9)), ("b", reversed(range(9)))):
            memory = at(tmp_path / name)
            for n in order:
                await memory.remember(report(f"The Zephyr bridge at Orlin has {n} towers."))
            found.append(texts(await memory.recall(QUESTION)))
        assert found[0] == found[1]
        assert len(found[0]) == 9

    @given(st.text(), st.text(max_size=700))
    def test_what_is_recalled_is_one_visible_line(self, text, more):
        shown = line(text + more)
        assert len(shown) <= 500
        assert shown.isprintable()

    async def test_hostile_rows(self, file):
        """Somebody else's hand in the file: nothing invisible and nothing endless comes out."""
        await at(file).remember(report(LENGTH))
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("UPDATE claims SET text = ?", (LENGTH + "\n\x1b[2J\u202e" + "x" * 9999,))
            db.execute("UPDATE claims SET date = CAST(x'ff00' AS TEXT)")
            for n, url in enumerate((f"https://a/{'x' * 3000}", "https://a b", "a\n## b", b"\xff")):
                db.execute("INSERT INTO quotes VALUES (1, ?, '9', '', ?, '', '')", (url, n))
        (lead,) = await at(file).recall(QUESTION)
        assert lead.text.isprintable()
        assert len(lead.text) <= 500
        assert lead.date.isprintable()
        assert "https://a.example/1" in lead.urls
        assert all(url.isprintable() and " " not in url for url in lead.urls)


class TestForget:
    async def test_words_are_gone_from_the_file(self, file):
        await at(file).remember(report(LENGTH, BUILDER))
        (gone,) = [c.id for c in at(file).claims() if c.text == BUILDER]
        assert at(file).forget([gone, gone, 99]) == 1
        assert texts(at(file).claims()) == [LENGTH]
        assert b"Ada Brook" not in file.read_bytes()
        assert b"4,321" in file.read_bytes()

    async def test_an_id_is_never_used_again(self, file):
        await at(file).remember(report(LENGTH))
        at(file).forget([1])
        await at(file).remember(report(LENGTH))
        assert [c.id for c in at(file).claims()] == [2]

    async def test_nothing(self, file):
        await at(file).remember(report(LENGTH))
        assert at(file).forget([]) == 0


class TestSharing:
    async def test_threads(self, file):
        """A file that is made by eight at once holds what each of them kept."""
        async with asyncio.TaskGroup() as group:
            for n in range(8):
                group.create_task(at(file).remember(report(f"Town number {n} has {n}00 people.")))
        assert len(at(file).claims()) == 8
        assert rows(file, "PRAGMA journal_mode") == [("wal",)]

    def test_processes(self, file):
        code = (
            "import asyncio, sys; sys.path[:0] = [sys.argv[1], sys.argv[2]];"
            "from test_memory import at, report\n"
            "async def main():\n"
            "    for n in range(10):\n"
            "        await at(sys.argv[3]).remember(report(f'{sys.argv[4]} has {n}00 people.'))\n"
            "asyncio.run(main())"
        )
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        arguments = [sys.executable, "-c", code, str(ROOT), str(Path(__file__).parent), str(file)]
        running = [
            subprocess.Popen([*arguments, town], env=environment) for town in ("Orlin", "Torvik", "Sund")
        ]  # fmt: skip
        assert [process.wait(30) for process in running] == [0, 0, 0]
        assert len(at(file).claims()) == 30

    async def test_reading_goes_on_while_another_writes(self, file):
        await at(file).remember(report(LENGTH))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("DELETE FROM claims")
            assert texts(await at(file, patience=0.01).recall(QUESTION)) == [LENGTH]
            with pytest.raises(JournalError, match=r"memory .*memory\.db: was busy for 0\.01 s"):
                await at(file, patience=0.01).remember(report(BUILDER))
            other.execute("ROLLBACK")

    async def test_all_or_none(self, file, monkeypatch):
        await at(file).remember(report(LENGTH))
        calls = []

        def breaks(db, fact):
            calls.append(fact)
            if len(calls) == 2:
                raise sqlite3.OperationalError("disk full")

        monkeypatch.setattr("deep_research.runtime.memory.store.find_twin", breaks)
        with pytest.raises(JournalError, match="disk full"):
            await at(file).remember(report(BUILDER, "The Zephyr bridge has 3 towers."))
        assert texts(at(file).claims()) == [LENGTH]

    async def test_a_damaged_claim_does_not_harm_a_new_one(self, file):
        await at(file).remember(report(LENGTH))
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("UPDATE claims SET text = ?", (b"\xff\x00",))
        await at(file).remember(report(LENGTH))
        assert LENGTH in texts(at(file).claims())

    async def test_sqlite_may_have_rolled_back_itself(self, file, monkeypatch):
        def breaks(db, fact):
            db.execute("ROLLBACK")
            raise sqlite3.OperationalError("disk full")

        monkeypatch.setattr("deep_research.runtime.memory.store.find_twin", breaks)
        with pytest.raises(JournalError, match="disk full"):
            await at(file).remember(report(LENGTH))


def not_sqlite(file):
    file.write_bytes(b"This is a shopping list, not a database. " * 50)


def foreign(file):
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")


def newer(file):
    asyncio.run(at(file).remember(report(LENGTH)))
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("PRAGMA user_version = 7")


def torn(file):
    asyncio.run(
        at(file).remember(report(*(f"The Zephyr bridge has {n} towers." for n in range(200))))
    )
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)


def robbed(file):
    asyncio.run(at(file).remember(report(LENGTH)))
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DROP TABLE quotes")


def folder(file):
    file.mkdir()


class TestUnusable:
    @pytest.mark.parametrize(
        ("spoil", "kind", "words"),
        [
            (not_sqlite, JournalError, "is no SQLite file; name another file"),
            (foreign, JournalError, "is a database of another program; name another file"),
            (newer, JournalError, "has version 7, and this program reads 1"),
            (torn, JournalError, "is damaged"),
            (robbed, JournalError, "lacks what a memory holds"),
            (folder, ConfigError, "is a folder or a device; name a file"),
        ],
    )
    def test_says_what_and_why_and_touches_nothing(self, file, spoil, kind, words):
        spoil(file)
        before = file.read_bytes() if file.is_file() else b""
        doings = (
            lambda: asyncio.run(at(file).recall(QUESTION)),
            lambda: asyncio.run(at(file).remember(report(LENGTH))),
        )
        for do in doings:
            with pytest.raises(kind, match=words) as caught:
                do()
            assert str(file) in str(caught.value)
            assert "\n" not in str(caught.value)
        assert before == (file.read_bytes() if file.is_file() else b"")

    async def test_an_empty_file_is_an_empty_memory(self, file):
        file.touch()
        assert await at(file).recall(QUESTION) == []
        await at(file).remember(report(LENGTH))
        assert texts(await at(file).recall(QUESTION)) == [LENGTH]

    async def test_a_place_where_nothing_can_be_made(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match=r"memory .*file/m\.db: cannot be made or read \("):
            await at(tmp_path / "file" / "m.db").remember(report(LENGTH))

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            (sqlite3.SQLITE_READONLY_DIRECTORY, "may not be written to; make file and folder"),
            (sqlite3.SQLITE_CANTOPEN, "cannot be opened; make file and folder"),
            (sqlite3.SQLITE_FULL, "does not fit on the disk"),
            (sqlite3.SQLITE_INTERRUPT, r"cannot be used \(the words of SQLite\)"),
        ],
    )
    async def test_what_sqlite_means(self, file, monkeypatch, code, words):
        """As root, who runs tests in containers, nothing is read-only: so SQLite is made to say so."""
        error = sqlite3.OperationalError("the words of SQLite")
        error.sqlite_errorcode = code

        def fails(*_arguments, **_options):
            raise error

        monkeypatch.setattr(sqlite3, "connect", fails)
        with pytest.raises(JournalError, match=words):
            await at(file).remember(report(LENGTH))

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
    async def test_a_read_only_file_is_read(self, file):
        await at(file).remember(report(LENGTH))
        file.chmod(0o400)
        assert texts(await at(file).recall(QUESTION)) == [LENGTH]
        with pytest.raises(JournalError, match="may not be written to"):
            await at(file).remember(report(BUILDER))

    async def test_somebody_in_it_leaves_the_journal_as_it_is(self, file):
        """Write-ahead logging cannot be begun while another process reads; the next one begins it."""
        await at(file).remember(report(LENGTH))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("PRAGMA journal_mode = DELETE")
            other.execute("BEGIN")
            other.execute("SELECT * FROM claims").fetchall()
            with pytest.raises(JournalError, match="was busy"):
                await at(file, patience=0.01).remember(report(BUILDER))
            other.execute("COMMIT")
        await at(file).remember(report(BUILDER))
        assert rows(file, "PRAGMA journal_mode") == [("wal",)]


class Broken:
    """A memory that fails in what it is told to."""

    def __init__(self, *fails):
        self.fails, self.kept = fails, []

    async def recall(self, question):
        if "recall" in self.fails:
            raise JournalError("memory m.db: is damaged")
        return [Lead(question)]

    async def remember(self, report):
        if "remember" in self.fails:
            raise ConfigError("memory m.db: is a folder")
        self.kept.append(report.run)


class TestLeads:
    async def test_no_memory(self):
        events = []
        leads = Leads(None, events.append)
        made = report(LENGTH)
        assert await leads.recall(QUESTION) == ()
        await leads.remember(made)
        assert (made.notes, events) == ((), [])

    async def test_a_memory_that_works_is_silent(self):
        events, memory, made = [], Broken(), report(LENGTH)
        leads = Leads(memory, events.append)
        assert await leads.recall("why?") == [Lead("why?")]
        await leads.remember(made)
        assert (memory.kept, made.notes, events) == (["r1"], (), [])

    async def test_a_failure_is_told_and_noted(self):
        events, made = [], report(LENGTH)
        made.notes = ("A note.",)
        leads = Leads(Broken("recall", "remember"), events.append)
        assert await leads.recall(QUESTION) == ()
        await leads.remember(made)
        assert made.notes == (
            "A note.",
            "Earlier runs are not recalled: memory m.db: is damaged.",
            "This run is not remembered: memory m.db: is a folder.",
        )
        assert [(e.kind, e.data["kind"]) for e in events] == [
            (Kind.WARNING, "journal"),
            (Kind.WARNING, "config"),
        ]

    async def test_a_bug_stays_loud(self):
        class Buggy:
            async def recall(self, question):
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await Leads(Buggy(), [].append).recall(QUESTION)
        assert not issubclass(ZeroDivisionError, DeepResearchError)


class TestCommand:
    @pytest.fixture(autouse=True)
    def place(self, tmp_path, monkeypatch):
        for name in [n for n in os.environ if n.startswith("DEEP_RESEARCH")]:
            monkeypatch.delenv(name)
        monkeypatch.chdir(tmp_path)

    @pytest.fixture
    def call(self, capsys):
        def do(*arguments, to="memory.db"):
            with pytest.raises(SystemExit) as ended:
                main(["memory", *arguments, *(["--memory", to] if to else [])])
            out, err = capsys.readouterr()
            return ended.value.code, out, err

        return do

    @pytest.fixture
    def full(self):
        """Three claims of two runs, one of them with two pages."""
        for day, run, texts, site in (
            ("2026-01-01", "r1", (LENGTH, BUILDER), "a.example"),
            ("2026-02-02", "r2", (BUILDER, "The Elbe is 1,094 km long."), "b.example"),
        ):
            made = report(*texts, run=run, site=site, question="What is in the north?")
            asyncio.run(at("memory.db", day).remember(made))

    @pytest.mark.usefixtures("full")
    def test_list(self, call):
        code, out, err = call("list")
        assert (code, err) == (0, "")
        assert out.splitlines() == [
            "    3  2026-02-02  The Elbe is 1,094 km long.  https://b.example/2",
            f"    2  2026-02-02  {BUILDER}  https://b.example/1 (+1)",
            f"    1  2026-01-01  {LENGTH}  https://a.example/1",
        ]

    @pytest.mark.usefixtures("full")
    def test_list_what_a_question_would_recall(self, call):
        code, out, _ = call("list", "Who built the Zephyr bridge?")
        assert code == 0
        assert [text.split()[0] for text in out.splitlines()] == ["2", "1"]
        told = "nothing on that topic is remembered in memory.db\n"
        assert call("list", "How tall is the Eiffel tower?") == (0, "", told)

    def test_list_nothing(self, call):
        assert call("list") == (0, "", "nothing is remembered in memory.db\n")
        assert not Path("memory.db").exists()

    def test_the_file_may_be_a_setting(self, call, monkeypatch):
        monkeypatch.setenv("DEEP_RESEARCH_MEMORY_FILE", "mine.db")
        assert call("list", to=None)[2] == "nothing is remembered in mine.db\n"
        assert "in other.db" in call("list", "--set", "memory.file=other.db", to=None)[2]

    def test_no_file(self, call):
        error = "error: no memory is set: name its file with --memory FILE or memory.file\n"
        assert call("list", to=None) == (2, "", error)
        assert call("forget", "--all", to=None) == (2, "", error)

    @pytest.mark.usefixtures("full")
    @pytest.mark.parametrize(
        ("arguments", "left"),
        [
            (["1"], [3, 2]),
            (["3", "1", "3"], [2]),
            (["--run", "r1"], [3, 2]),
            (["--run", "r2"], [1]),
            (["--run", "r3"], [3, 2, 1]),
            (["--before", "2026-02-02"], [3, 2]),
            (["--before", "2026-02-03"], []),
            (["--all"], []),
        ],
    )
    def test_forget(self, call, arguments, left):
        code, out, err = call("forget", *arguments)
        assert [claim.id for claim in at("memory.db").claims()] == left
        gone = 3 - len(left)
        assert (code, out) == (0, "")
        assert err == f"{gone} claim{'' if gone == 1 else 's'} forgotten in memory.db\n"

    @pytest.mark.usefixtures("full")
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "say in one way what to forget"),
            (["1", "--all"], "say in one way what to forget"),
            (["--run", "r1", "--before", "2026-01-01"], "say in one way what to forget"),
            (["1", "8", "9"], "there is no claim 8, 9; nothing is forgotten"),
            (["--before", "yesterday"], "--before 'yesterday': write a date as 2026-01-31"),
            (["first"], "'first' is not a valid integer"),
        ],
    )
    def test_forget_only_what_is_meant(self, call, arguments, words):
        code, out, err = call("forget", *arguments)
        assert (code, out) == (2, "")
        assert words in err
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert len(at("memory.db").claims()) == 3

    def test_a_file_that_cannot_be_used(self, call):
        not_sqlite(Path("memory.db"))
        code, _, err = call("list")
        assert code == 1
        assert err.startswith("error: memory memory.db: is no SQLite file; name another file")
        Path("memory.db").unlink()
        Path("memory.db").mkdir()
        assert call("forget", "--all")[0] == 2


def test_a_run_has_a_memory_only_where_a_file_is_set():
    assert memory_of(load(environ={})) is None
    made = memory_of(load(arguments={"memory.file": "m.db"}, environ={}))
    assert isinstance(made, SqliteMemory)
    assert made.path == Path("m.db")
