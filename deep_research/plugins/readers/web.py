"""Reads pages of the web: fetched through the one HTTP door, parsed off the event loop."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from deep_research.core import urls
from deep_research.core.errors import PageUnreadable, ProviderTimeout
from deep_research.core.model import Page, Source

from .document import Document

if TYPE_CHECKING:
    from deep_research.runtime.answers import Response
    from deep_research.runtime.http import Http

ACCEPT: Final = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.9,*/*;q=0.5"
_LITTLE: Final = 300
"""Characters of text below which a page may be a mere signpost."""
_HOPS: Final = 2


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


class WebReader:
    """Reads HTML, PDF, Word and text pages.

    Args:
        http: Fetches; bounds addresses, sizes and times.
        max_chars: Longest text of a page; the rest is dropped.
        parse_seconds: Longest time for parsing one page.
        clock: Tells `Page.fetched_at`.
    """

    def __init__(
        self,
        http: Http,
        *,
        max_chars: int = 2_000_000,
        parse_seconds: float = 30.0,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._http = http
        self._max_chars = max_chars
        self._parse_seconds = parse_seconds
        self._clock = clock

    async def read(self, source: Source) -> Page:
        """Fetch `source.url` and return its text; what the hit lacks (title, date) the page says.

        A page that holds next to nothing and sends its readers elsewhere (meta refresh, frames) is
        left for that other page, twice at most; `Page.source.url` is where the text stands.

        Raises:
            PageUnreadable: No text: gone, empty, a wall, an image, broken, a password.
            Refused: The address must not be dialled.
            ProviderTimeout: Fetching or parsing took too long.
            ProviderError: Any other trouble on the way.
        """
        from .elsewhere import elsewhere

        url, seen = source.url, set[str]()
        while url not in seen and len(seen) <= _HOPS:
            response = await self._http.get(url, accept=ACCEPT)
            url = urls.canonical(response.url)
            seen.add(url)
            found = await self._document(response, url)
            little = isinstance(found, PageUnreadable) or len(found.text) < _LITTLE
            target = elsewhere(response.body, url) if little else ""
            if not target:
                return self._page(source, url, found)
            url = target
        raise PageUnreadable(f"{source.url} only sends its readers on, in circles or too far")

    def _page(self, source: Source, url: str, found: Document | PageUnreadable) -> Page:
        if isinstance(found, PageUnreadable):
            raise PageUnreadable(f"{url} {found}") from found
        return page(dataclasses.replace(source, url=url), found, self._clock())

    async def _document(self, response: Response, url: str) -> Document | PageUnreadable:
        from .extract import extract

        try:
            async with asyncio.timeout(self._parse_seconds):
                return await asyncio.to_thread(
                    extract,
                    response.body,
                    media_type=response.media_type,
                    charset=response.charset,
                    url=url,
                    cut=response.truncated,
                    max_chars=self._max_chars,
                )
        except TimeoutError as error:
            raise ProviderTimeout(
                f"{url} took more than {self._parse_seconds:g} s to parse"
            ) from error
        except PageUnreadable as error:
            return error


def page(source: Source, document: Document, fetched: datetime) -> Page:
    """Make the page of `document`, which was read for `source` at the time `fetched`."""
    return Page(
        source=dataclasses.replace(
            source,
            title=source.title or document.title,
            published=source.published or document.published,
        ),
        text=document.text,
        sha256=hashlib.sha256(document.text.encode()).hexdigest(),
        media_type=document.media_type,
        fetched_at=fetched.astimezone(UTC).isoformat(timespec="seconds"),
        marks=document.marks,
    )
