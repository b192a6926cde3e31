"""Pages that came with the search answer: read from there, not fetched again.

An engine that can serve its own hits has two more methods: `holds(source) -> bool` and
    `read(source) -> Page`.
`OwnPagesFirst` asks them before the web reader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from deep_research.core.errors import PageUnreadable
from deep_research.core.model import Page, Source
from deep_research.core.ports import PageReader

from ._hits import items, web_address


@runtime_checkable
class HoldsPages(Protocol):
    """An engine that serves the text of its own hits."""

    def holds(self, source: Source) -> bool:
        """Tell whether `read` would answer without dialling out."""
        ...

    async def read(self, source: Source) -> Page:
        """Return the page of a hit. Raises `PageUnreadable` for others."""
        ...


class OwnPagesFirst:
    """A `PageReader` that asks the engines that hold pages, in order, then the reader.

    Args:
        engines: All engines; those without pages are passed over.
        reader: Fetches everything else.
    """

    def __init__(self, engines: Iterable[object], reader: PageReader) -> None:
        self._holders = [engine for engine in engines if isinstance(engine, HoldsPages)]
        self._reader = reader

    async def read(self, source: Source) -> Page:
        for holder in self._holders:
            if holder.holds(source):
                return await holder.read(source)
        return await self._reader.read(source)


def _now() -> datetime:
    return datetime.now(UTC)


class HeldPages:
    """Raw texts of one engine's hits, for one run.

    Args:
        engine: Only sources of this engine are served, so that another engine's hit is fetched
            afresh.
        clock: Gives `Page.fetched_at`.
        max_chars: Longer texts are cut here.
    """

    def __init__(
        self,
        engine: str,
        *,
        clock: Callable[[], datetime] = _now,
        max_chars: int = 2_000_000,
    ) -> None:
        self._engine, self._clock, self._max_chars = engine, clock, max_chars
        self._texts: dict[str, tuple[str, str]] = {}

    def keep(self, sources: Sequence[Source], texts: Iterable[tuple[str, str]]) -> None:
        """Hold (URL, text) of the hits that became sources; markup is left to a reader."""
        wanted = {source.url for source in sources}
        at = self._clock().isoformat(timespec="seconds")
        for url, text in texts:
            if url in wanted and text.strip() and not _is_markup(text):
                whole = text[: self._max_chars].encode("utf-8", "replace").decode()
                self._texts[url] = (whole, at)

    def holds(self, source: Source) -> bool:
        """Tell whether the text of this hit is at hand."""
        return source.engine == self._engine and source.url in self._texts

    async def read(self, source: Source) -> Page:
        """Return the held text as a page."""
        if not self.holds(source):
            raise PageUnreadable(f"{self._engine}: holds no text of {source.url}")
        text, at = self._texts[source.url]
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Page(source, text, digest, "text/plain", at)


def raw_texts(answer: object, *, engine: str) -> Iterator[tuple[str, str]]:
    """Yield (canonical URL, `raw_content`) of the hits that bring their page along."""
    for item in items(answer, engine=engine):
        text = item.get("raw_content") if isinstance(item, Mapping) else None
        url = web_address(item)
        if isinstance(text, str) and url:
            yield url, text


def _is_markup(text: str) -> bool:
    return text.lstrip()[:15].lower().startswith(("<!doctype", "<html", "<?xml"))
