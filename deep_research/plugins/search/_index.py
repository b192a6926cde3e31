"""A full-text index of documents in SQLite: BM25 over passages, one hit per document.

FTS5: https://www.sqlite.org/fts5.html. The table of words is contentless, so the texts are stored
    once, as passages that
put together are the whole text; removing a document therefore hands its words in again, as that
page prescribes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Final, NamedTuple
from unicodedata import unidata_version
from zlib import crc32

from deep_research.core.errors import ConfigError
from deep_research.core.model import Page, Source
from deep_research.version import __version__

from ._passages import passages, searchable

_APPLICATION: Final = 0x44525331  # 'DRS1' marks our files
_LAYOUT: Final = 1
_READERS: Final = "deep_research.plugins.readers"
_EXTRACTORS: Final = ("trafilatura", "lxml", "beautifulsoup4", "pypdf", "python-docx")
_LOCK_SECONDS: Final = 60.0
_SCHEMA: Final = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, digest TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '', words TEXT NOT NULL DEFAULT '',
    published TEXT NOT NULL DEFAULT '', media_type TEXT NOT NULL DEFAULT '',
    fetched_at TEXT NOT NULL DEFAULT '', marks TEXT NOT NULL DEFAULT '[]',
    reason TEXT NOT NULL DEFAULT ''
);
CREATE TABLE passages (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX passages_by_document ON passages (document);
CREATE VIRTUAL TABLE words USING fts5(
    title, body, content='', tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
_SEARCH: Final = """
WITH hits AS MATERIALIZED (
    SELECT rowid AS id, bm25(words) AS score FROM words WHERE words MATCH ?
), best AS (
    SELECT passages.document AS document, passages.id AS id, min(hits.score) AS score
    FROM hits JOIN passages ON passages.id = hits.id GROUP BY passages.document
)
SELECT documents.url, documents.title, documents.published, passages.text
FROM best JOIN documents ON documents.id = best.document JOIN passages ON passages.id = best.id
ORDER BY best.score, documents.url LIMIT ?
"""


class Stamp(NamedTuple):
    """How a file looked: size in bytes, time of change in nanoseconds, SHA-256 of its bytes."""

    size: int
    modified: int
    digest: str


TRY_AGAIN: Final = Stamp(-1, 0, "")
"""No file looks like this: a document stored with it is read again the next time."""


class Entry(NamedTuple):
    """One document to store: either its page, or the reason why it has none."""

    url: str
    stamp: Stamp
    page: Page | None
    reason: str = ""
    words: str = ""


class Hit(NamedTuple):
    """One document that was found, with its best passage."""

    url: str
    title: str
    published: str
    passage: str


class Index:
    """The documents of one set of paths. Calls may block; several threads may make them.

    Args:
        path: The file; None keeps everything in memory.

    Raises:
        sqlite3.Error: The file cannot be opened, is locked for a minute or is no database.
        FileExistsError: It is somebody else's database.
        ConfigError: This Python's SQLite has no full-text search.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            ":memory:" if path is None else path,
            timeout=_LOCK_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        self._finalizer = weakref.finalize(self, self._db.close)
        try:
            self._set_up(path)
        except (sqlite3.Error, FileExistsError, ConfigError):
            self.close()
            raise

    def close(self) -> None:
        """Close the file, after what a thread is still doing: SQLite bears no other order."""
        with self._lock:
            self._finalizer()

    def _set_up(self, path: Path | None) -> None:
        with self._lock, self._transaction() as db:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
            if tables and application != _APPLICATION:
                raise FileExistsError(f"{path} is a database of another program")
            if version == _version():
                return
            for name in ("words", "passages", "documents"):
                db.execute(f"DROP TABLE IF EXISTS {name}")
            try:
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
            except sqlite3.OperationalError as error:
                if "fts5" not in str(error):
                    raise
                raise ConfigError(
                    "local documents need SQLite with FTS5, which this Python's sqlite3 lacks; "
                    "use another build of Python"
                ) from error
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {_version()}")

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All or nothing, also when two processes index the same folder; 'DEFERRED' only reads."""
        self._db.execute(f"BEGIN {kind}")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite may have rolled back itself, on a full disk say
                self._db.execute("ROLLBACK")
            raise

    def stamps(self) -> dict[str, Stamp]:
        """Return how each stored document looked when it was stored, by URL."""
        with self._lock:
            rows = self._db.execute("SELECT url, size, modified, digest FROM documents").fetchall()
        return {url: Stamp(size, modified, digest) for url, size, modified, digest in rows}

    def problems(self) -> list[tuple[str, str]]:
        """Return (URL, reason) of the documents that have no page."""
        query = "SELECT url, reason FROM documents WHERE reason != '' ORDER BY url"
        with self._lock:
            return self._db.execute(query).fetchall()

    def count(self) -> int:
        """Return how many documents can be searched."""
        with self._lock:
            row = self._db.execute("SELECT count(*) FROM documents WHERE reason = ''").fetchone()
        return int(row[0])

    def put(self, entries: Iterable[Entry]) -> None:
        """Store documents, in place of earlier ones with the same URL."""
        with self._lock, self._transaction() as db:
            for entry in entries:
                _remove(db, entry.url)
                _insert(db, entry)

    def touch(self, stamps: Iterable[tuple[str, Stamp]]) -> None:
        """Note new times of documents whose content is as it was."""
        rows = [(stamp.size, stamp.modified, url) for url, stamp in stamps]
        with self._lock, self._transaction() as db:
            db.executemany("UPDATE documents SET size = ?, modified = ? WHERE url = ?", rows)

    def drop(self, urls: Iterable[str]) -> None:
        """Forget documents."""
        with self._lock, self._transaction() as db:
            for url in urls:
                _remove(db, url)

    def search(self, expression: str, limit: int) -> list[Hit]:
        """Return the best documents for an FTS5 expression, best first; equal scores by URL."""
        with self._lock:
            rows = self._db.execute(_SEARCH, (expression, max(0, limit))).fetchall()
        return [Hit(*row) for row in rows]

    def page(self, source: Source) -> Page | None:
        """Return the stored page of `source.url`."""
        # In one transaction: another run may put the same document anew, under another id.
        with self._lock, self._transaction("DEFERRED") as db:
            row = db.execute(
                "SELECT id, title, published, media_type, fetched_at, marks FROM documents "
                "WHERE url = ? AND reason = ''",
                (source.url,),
            ).fetchone()
            if row is None:
                return None
            text = "".join(t for _, t in _texts(db, row[0]))
        here = Source(source.url, row[1], source.snippet, source.engine, source.rank, row[2])
        marks = tuple((int(offset), str(label)) for offset, label in json.loads(row[5]))
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Page(here, text, digest, row[3], row[4], marks)


@cache
def _version() -> int:
    """Return what marks an index of today's making; one with another mark is made anew.

    Texts depend on the readers' code and the libraries that it calls, words on Python's Unicode
    tables. The mark fits `PRAGMA user_version`, a signed integer of 32 bits.
    """
    code = [f for f in resources.files(_READERS).iterdir() if f.name.endswith(".py")]
    parts = [str(_LAYOUT), unidata_version, __version__]
    parts += [_installed(name) for name in _EXTRACTORS]
    parts += [
        hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(code, key=lambda f: f.name)
    ]
    return crc32("|".join(parts).encode()) >> 1


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _texts(db: sqlite3.Connection, document: int) -> list[tuple[int, str]]:
    query = "SELECT id, text FROM passages WHERE document = ? ORDER BY id"
    return db.execute(query, (document,)).fetchall()


def _remove(db: sqlite3.Connection, url: str) -> None:
    row = db.execute("SELECT id, words FROM documents WHERE url = ?", (url,)).fetchone()
    if row is None:
        return
    document, title = row
    db.executemany(
        "INSERT INTO words (words, rowid, title, body) VALUES ('delete', ?, ?, ?)",
        [(id_, title, searchable(text)) for id_, text in _texts(db, document)],
    )
    db.execute("DELETE FROM passages WHERE document = ?", (document,))
    db.execute("DELETE FROM documents WHERE id = ?", (document,))


def _insert(db: sqlite3.Connection, entry: Entry) -> None:
    page, stamp = entry.page, entry.stamp
    if page is None:
        db.execute(
            "INSERT INTO documents (url, size, modified, digest, reason) VALUES (?, ?, ?, ?, ?)",
            (entry.url, *stamp, entry.reason or "no text"),
        )
        return
    title = searchable(entry.words)
    cursor = db.execute(
        "INSERT INTO documents (url, size, modified, digest, title, words, published, media_type, "
        "fetched_at, marks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.url, *stamp, page.source.title, title, page.source.published, page.media_type,
            page.fetched_at, json.dumps(page.marks),
        ),
    )  # fmt: skip
    document = cursor.lastrowid
    for start, end in passages(page.text):
        text = page.text[start:end]
        row = db.execute("INSERT INTO passages (document, text) VALUES (?, ?)", (document, text))
        db.execute(
            "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
            (row.lastrowid, title, searchable(text)),
        )
