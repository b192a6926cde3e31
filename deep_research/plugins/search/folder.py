"""Local documents: found by full-text search, read from the index."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from deep_research.core.errors import (
    ConfigError,
    PageUnreadable,
    ProviderError,
    ProviderUnavailable,
    Refused,
)
from deep_research.core.model import Page, Source
from deep_research.core.ports import PageReader
from deep_research.core.text import shorten
from deep_research.core.urls import canonical

from ._index import TRY_AGAIN, Entry, Index, Stamp
from ._passages import match_expression
from ._scan import KINDS, Scan, scan, shown

IN_MEMORY: Final = ":memory:"
_BATCH: Final = 64
_SNIPPET: Final = 1200


class FolderSearch:
    """Searches local documents by words (BM25 over passages) and serves their text.

    The index is a SQLite file. Before the first search (or in `prepare`) it is brought up to date:
    new and changed files are read, those gone are removed, and files whose size and time or whose
    content is as before are left alone. It is also the reader of its own hits, as `holds` and
    `read` say.

    Args:
        paths: Folders, files or patterns such as 'papers/**/*.pdf'.
        index: The index file. None puts it into the user's cache, under a name made from the paths;
            ':memory:' or a place that cannot be written keeps it in memory for this run.
        include: Patterns of file names inside folders, for instance '*.md'; empty takes txt, md,
            html, pdf, docx, csv and other text.
        exclude: Patterns of file names to leave out.
        max_bytes: Larger files are passed over.

    Attributes:
        problems: (path, reason) of what could not be used, known after `prepare`.
    """

    name = "folder"

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        index: Path | str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        max_bytes: int = 50_000_000,
    ) -> None:
        self.paths = (paths,) if isinstance(paths, str | Path) else tuple(paths)
        self.problems: list[tuple[str, str]] = []
        self._where = index
        self._include, self._exclude, self._max_bytes = tuple(include), tuple(exclude), max_bytes
        self._index: Index | None = None
        self._preparing = asyncio.Lock()
        self._reader: PageReader | None = None

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        """Return at most `limit` documents, best first; the snippet is the best passage.

        Raises:
            ProviderUnavailable: The index cannot be searched.
            ConfigError: As `prepare`.
        """
        index = await self.prepare()
        expression = match_expression(query)
        if not expression:
            return []
        try:
            hits = await asyncio.to_thread(index.search, expression, limit)
        except sqlite3.Error as error:
            raise ProviderUnavailable(f"folder: the index cannot be searched: {error}") from error
        return [
            Source(h.url, h.title, shorten(h.passage, _SNIPPET), self.name, rank, h.published)
            for rank, h in enumerate(hits)
        ]

    def holds(self, source: Source) -> bool:
        """Tell whether this is a local address; `read` refuses those that were not given."""
        return source.url.startswith("file:")

    async def read(self, source: Source) -> Page:
        """Return the text of a document as it was indexed.

        Raises:
            Refused: The address is none of the given documents.
            PageUnreadable: It is no address at all.
            ProviderUnavailable: The index cannot be read.
            ConfigError: As `prepare`.
        """
        try:
            url = canonical(source.url)
        except ValueError as error:
            raise PageUnreadable(f"folder: {error}") from error
        index = await self.prepare()
        here = Source(url, source.title, source.snippet, self.name, source.rank, source.published)
        try:
            page = await asyncio.to_thread(index.page, here)
        except sqlite3.Error as error:
            raise ProviderUnavailable(f"folder: the index cannot be read: {error}") from error
        if page is None:
            raise Refused(f"folder: {url} is none of the given documents")
        return page

    async def prepare(self) -> Index:
        """Bring the index up to date, once; further calls return at once.

        An index file that is damaged, locked or full is left; `problems` says so, and the documents
        are indexed in memory.

        Raises:
            ConfigError: A path is missing, or no file can be read.
            ProviderUnavailable: They cannot be indexed in memory either.
        """
        async with self._preparing:
            if self._index is None:
                try:
                    self._index = await self._prepared()
                except sqlite3.Error as error:
                    raise ProviderUnavailable(
                        f"folder: the documents cannot be indexed: {error}"
                    ) from error
            return self._index

    async def close(self) -> None:
        """Close the index file; a later call opens it again. An engine let go closes by itself."""
        index, self._index = self._index, None
        if index is not None:
            await asyncio.to_thread(index.close)

    async def _prepared(self) -> Index:
        if not self.paths:
            raise ConfigError("docs: no folder or file given; name one with --docs PATH")
        found = await asyncio.to_thread(
            scan,
            self.paths,
            include=self._include,
            exclude=self._exclude,
            max_bytes=self._max_bytes,
        )
        index, noted = await asyncio.to_thread(self._open)
        try:
            problems = await self._updated(index, found)
        except sqlite3.Error as error:
            await asyncio.to_thread(index.close)
            index, noted = Index(None), [self._in_memory(error)]
            problems = await self._updated(index, found)
        self.problems = [*found.problems, *noted, *problems]
        if not index.count():
            raise ConfigError(self._nothing())
        return index

    async def _updated(self, index: Index, found: Scan) -> list[tuple[str, str]]:
        """Make `index` hold what was found; return (path, reason) of what cannot be used."""
        problems: list[tuple[str, str]] = []
        known = await asyncio.to_thread(index.stamps)
        plan = await asyncio.to_thread(_plan, found, known, problems)
        await asyncio.to_thread(index.drop, plan.gone)
        await asyncio.to_thread(index.touch, plan.touched)
        for at in range(0, len(plan.fresh), _BATCH):
            batch = [await self._parsed(*file) for file in plan.fresh[at : at + _BATCH]]
            await asyncio.to_thread(index.put, batch)
        problems.extend((local_path(url), reason) for url, reason in index.problems())
        return problems

    def _nothing(self) -> str:
        where = ", ".join(repr(shown(path)) for path in self.paths)
        kinds = ", ".join(self._include or KINDS)
        reasons = "; ".join(f"{path}: {reason}" for path, reason in self.problems[:3])
        return f"docs: no readable document in {where}; looked for {kinds}" + (
            f" ({reasons})" if reasons else ""
        )

    def _open(self) -> tuple[Index, list[tuple[str, str]]]:
        """Open the index file, or one in memory where no file can be had, and say so."""
        if self._where == IN_MEMORY:
            return Index(None), []
        try:
            path = self._file()
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Index(path), []
        except (OSError, RuntimeError, sqlite3.Error) as error:
            return Index(None), [self._in_memory(error)]

    def _in_memory(self, error: Exception) -> tuple[str, str]:
        mend = ""
        if isinstance(error, sqlite3.Error) and self._where != IN_MEMORY:
            mend = "; if it happens again, " + (
                f"set search.folder.index to another file than {shown(self._file())}"
                if self._where
                else f"delete {shown(self._file())}"
            )
        return "index", f"kept in memory for this run: {error}{mend}"

    def _file(self) -> Path:
        return Path(self._where).expanduser() if self._where else self._cache_file()

    def _cache_file(self) -> Path:
        parts = [os.path.abspath(Path(path).expanduser()) for path in self.paths]  # noqa: PTH100 - keeps links
        key = "\0".join([*parts, "|", *self._include, "|", *self._exclude])
        name = hashlib.sha256(os.fsencode(key)).hexdigest()[:24]
        return cache_folder() / "folders" / f"{name}.sqlite"

    async def _parsed(self, url: str, stamp: Stamp) -> Entry:
        if self._reader is None:
            from deep_research.plugins.readers.files import FileReader

            self._reader = FileReader()
        path = Path(local_path(url))
        name = path.name
        try:
            page = await self._reader.read(Source(url, engine=self.name))
        except ProviderError as error:
            reason = str(error).removeprefix(f"{path} ")
            return Entry(url, TRY_AGAIN if error.retryable else stamp, None, reason)
        title = page.source.title or name
        source = Source(url, title, engine=self.name, published=page.source.published)
        text = page.text.encode("utf-8", "replace").decode()
        page = Page(source, text, page.sha256, page.media_type, page.fetched_at, page.marks)
        return Entry(url, stamp, page, words=f"{title} {path.stem}".replace("_", " "))


class _Plan(NamedTuple):
    """What has to be done to the index: documents to read, those only touched, those gone."""

    fresh: list[tuple[str, Stamp]]
    touched: list[tuple[str, Stamp]]
    gone: list[str]


def _plan(found: Scan, known: dict[str, Stamp], problems: list[tuple[str, str]]) -> _Plan:
    """Compare files with the index: by size and time first, by content where those differ."""
    plan = _Plan([], [], [])
    present: set[str] = set()
    for path in found.files:
        try:
            url = canonical(path.as_uri())
            stat = path.stat()
            old = known.get(url)
            if old and (old.size, old.modified) == (stat.st_size, stat.st_mtime_ns):
                present.add(url)
                continue
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            problems.append((shown(path), error.strerror or str(error)))
            continue
        present.add(url)
        stamp = Stamp(stat.st_size, stat.st_mtime_ns, digest)
        (plan.touched if old and old.digest == digest else plan.fresh).append((url, stamp))
    plan.gone.extend(sorted(known.keys() - present))
    return plan


def local_path(url: str) -> str:
    """Return the path of a file URL as text that can be printed."""
    path = unquote(urlsplit(url).path, errors="replace")
    return path[1:] if path[2:3] == ":" else path


def cache_folder() -> Path:
    """Return where this platform keeps what can be made again. Raises RuntimeError if homeless."""
    home = Path.home()
    if sys.platform == "win32":
        return home / "AppData" / "Local" / "deep-research" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "deep-research"
    return home / ".cache" / "deep-research"
