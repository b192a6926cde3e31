"""Pages that came with the search answer: read from there, not fetched again.

An engine that can serve its own hits has two more methods, `holds(source) -> bool` and
`async read(source) -> Page`; whoever reads pages asks them before the web reader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from deep_research.core.errors import PageUnreadable
from deep_research.core.model import Page, Source
from deep_research.plugins.readers.document import seen

from ._hits import items, web_address


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
        """Hold (URL, text) of the hits that became sources; markup is left to a reader.

        The first text of an address stays: a page must not change between two who read it.
        """
        wanted = {source.url for source in sources}
        at = self._clock().isoformat(timespec="seconds")
        for url, text in texts:
            if url in wanted and url not in self._texts and text.strip() and not _is_markup(text):
                whole = seen(text[: self._max_chars]).encode("utf-8", "replace").decode()
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
