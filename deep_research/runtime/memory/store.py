"""Long-term memory: claims that earlier runs verified, in one SQLite file, as leads to verify.

Several processes and threads may share the file: each call opens it, does one short transaction and
closes it. Write-ahead logging (https://www.sqlite.org/wal.html) lets them read while one writes; it
needs a file system that all of them share memory on, so no network share. Text that comes out is
as little trusted as a page: one line, nothing invisible, cut to length.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from deep_research.core.errors import ConfigError, DeepResearchError, JournalError
from deep_research.core.ports import Lead
from deep_research.core.report import Report

from .claims import Fact, Remembered, address, bucket, find_twin, line, topic, verified
from .recall import MOST, ranked

_APPLICATION: Final = 0x4452534D  # 'DRSM' marks our files
_VERSION: Final = 1
_MOST_URLS: Final = 5
# One quote for each page of a claim, the newest: a page that changes daily adds no rows.
_SCHEMA: Final = f"""
CREATE TABLE claims (
    id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, question TEXT NOT NULL,
    run TEXT NOT NULL, date TEXT NOT NULL, bucket TEXT NOT NULL, terms TEXT NOT NULL);
CREATE INDEX claims_bucket ON claims (bucket);
CREATE TABLE quotes (
    claim INTEGER NOT NULL, url TEXT NOT NULL, published TEXT NOT NULL, sha256 TEXT NOT NULL,
    start INTEGER NOT NULL, quote TEXT NOT NULL, date TEXT NOT NULL, PRIMARY KEY (claim, url)
) WITHOUT ROWID;
CREATE INDEX quotes_quote ON quotes (quote);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION}
"""
_WORDS: Final = {
    sqlite3.SQLITE_NOTADB: "is no SQLite file; name another file",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a copy, or remove it",
    sqlite3.SQLITE_READONLY: "may not be written to; make file and folder writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; make file and folder readable and writable",
    sqlite3.SQLITE_FULL: "does not fit on the disk",
    sqlite3.SQLITE_ERROR: "lacks what a memory holds; restore it from a copy, or remove it",
}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class SqliteMemory:
    """A `Memory` in one SQLite file. Nothing is touched before a call; only `remember` makes it.

    Args:
        path: The file; '~' is the home folder. Missing folders are made with it.
        patience: Seconds to wait while another process writes.
        now: Gives the time as ISO 8601 in UTC.

    Every method raises

    * `ConfigError`: the path is a folder, or cannot be made;
    * `JournalError`: the file is no SQLite file, another program's, of another version, damaged,
      locked for longer than `patience`, or may not be read or written.
    """

    def __init__(
        self, path: str | Path, *, patience: float = 5.0, now: Callable[[], str] = _now
    ) -> None:
        self.path = Path(path)
        with suppress(RuntimeError):  # nobody's home: '~' is taken as it stands
            self.path = self.path.expanduser()
        self._patience, self._now = patience, now

    async def recall(self, question: str) -> Sequence[Lead]:
        """Return at most 12 leads on the topic of `question`: best first, the newer of equals.

        No file yet is nothing remembered.
        """
        found = await asyncio.to_thread(self.claims, question)
        return [Lead(c.text, c.urls[:_MOST_URLS], c.date[:10], c.published) for c in found]

    async def remember(self, report: Report) -> None:
        """Keep the verified claims of a report that is complete or partial; all or none.

        A claim that is known is refreshed; one that contradicts it stands beside it. Cancelled
        before it is done, nothing is kept.
        """
        facts = verified(report)
        if not facts:
            return
        given_up = threading.Event()
        try:
            await asyncio.to_thread(self._store, report, facts, given_up)
        except asyncio.CancelledError:
            given_up.set()
            raise

    def claims(self, question: str | None = None) -> list[Remembered]:
        """Return what is kept, the newest first; with a `question` what it would recall."""
        with self._reading() as db:
            if db is None:
                return []
            if question is None:
                rows = db.execute("SELECT id FROM claims ORDER BY date DESC, id DESC")
                chosen = [n for (n,) in rows]
            else:
                chosen = ranked(db, question)[:MOST]
            return list(_loaded(db, chosen))

    def forget(self, ids: Iterable[int]) -> int:
        """Erase claims, so that their words are gone from the file; return how many there were."""
        wanted = [(n,) for n in dict.fromkeys(ids)]
        if not wanted or not self.path.exists():
            return 0
        with self._writing() as db:
            db.execute("PRAGMA secure_delete = ON")
            with _transaction(db):
                count = db.executemany("DELETE FROM claims WHERE id = ?", wanted).rowcount
                db.executemany("DELETE FROM quotes WHERE claim = ?", wanted)
        return count

    def _store(self, report: Report, facts: Sequence[Fact], given_up: threading.Event) -> None:
        date = self._now()
        with self._writing() as db, _transaction(db):
            for fact in facts:
                _keep(db, fact, line(report.question), report.run, date)
            if given_up.is_set():
                raise JournalError(f"memory {self.path}: the run was cancelled; nothing is kept")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open the file to read in one snapshot; None if nothing was ever kept in it."""
        with self._translated():
            if not self.path.exists():
                yield None
                return
            with closing(self._connect("ro")) as db, _transaction(db, "DEFERRED"):
                yield db if self._is_ours(db) else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open the file to write; make it if there is none."""
        with self._translated():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect("rwc")) as db:
                with _transaction(db):
                    if not self._is_ours(db):
                        for statement in _SCHEMA.split(";"):
                            db.execute(statement)
                with suppress(sqlite3.OperationalError):  # others are in it: the next one's turn
                    db.execute("PRAGMA journal_mode = WAL")
                yield db

    def _connect(self, mode: str) -> sqlite3.Connection:
        if self.path.exists() and not self.path.is_file():
            raise ConfigError(f"memory {self.path}: is a folder or a device; name a file")
        db = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=self._patience,
            isolation_level=None,
        )
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return db

    def _is_ours(self, db: sqlite3.Connection) -> bool:
        """Tell whether the file holds a memory; False if it is empty."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not (tables or application or version):
            return False
        if application != _APPLICATION:
            raise JournalError(
                f"memory {self.path}: is a database of another program; name another file"
            )
        if version != _VERSION:
            raise JournalError(
                f"memory {self.path}: has version {version}, and this program reads {_VERSION};"
                " use the program that wrote it, or name another file"
            )
        return True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._told(error) from error
        except OSError as error:
            why = error.strerror or error
            raise ConfigError(f"memory {self.path}: cannot be made or read ({why})") from error

    def _told(self, error: sqlite3.Error) -> DeepResearchError:
        """Say what SQLite means; https://www.sqlite.org/rescode.html, the low byte is the class."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            words = f"was busy for {self._patience:g} s: another process writes; try again"
        else:
            words = _WORDS.get(code, "cannot be used")
        return JournalError(f"memory {self.path}: {words} ({error})")


@contextmanager
def _transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All or nothing; 'DEFERRED' only reads."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite may have rolled back itself, on a full disk say
            db.execute("ROLLBACK")
        raise


def _keep(db: sqlite3.Connection, fact: Fact, question: str, run: str, date: str) -> None:
    """Add a claim, or refresh it: the newest wording, run and date, and the pages of both."""
    row = (fact.text, question, run, date, bucket(fact.text), topic(fact.text, question))
    claim = find_twin(db, fact)
    if claim is None:
        claim = db.execute(
            "INSERT INTO claims (text, question, run, date, bucket, terms)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
    else:
        db.execute(
            "UPDATE claims SET text = ?, question = ?, run = ?, date = max(date, ?), bucket = ?,"
            " terms = ? WHERE id = ?",
            (*row, claim),
        )
    quotes = [(claim, q.url, q.published, q.sha256, q.start, q.quote, date) for q in fact.quotes]
    db.executemany("INSERT OR REPLACE INTO quotes VALUES (?, ?, ?, ?, ?, ?, ?)", quotes)


def _loaded(db: sqlite3.Connection, ids: Iterable[int]) -> Iterator[Remembered]:
    for n in ids:
        row = db.execute("SELECT text, question, run, date FROM claims WHERE id = ?", (n,))
        text, question, run, date = (line(value) for value in row.fetchone())
        rows = db.execute(
            "SELECT url, published FROM quotes WHERE claim = ? ORDER BY date DESC, url", (n,)
        ).fetchall()
        urls = tuple(url for raw, _ in rows if (url := address(raw)))
        published = max((line(day) for _, day in rows), default="")
        yield Remembered(n, text, question, run, date, urls, published)
