"""Reads local files: txt, md, html, pdf, docx, csv and whatever else turns out to be text."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from deep_research.core.errors import PageUnreadable, ProviderTimeout, Refused
from deep_research.core.model import Page, Source

from .document import Document
from .web import now, page

# The standard table depends on the machine; what matters here must not.
_TYPES: Final = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".xml": "application/xml",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
}


class FileReader:
    """Reads `file:` sources; the name's ending is a hint, the bytes decide.

    Args:
        max_chars: Longest text; the rest is dropped.
        max_bytes: Largest file that is read.
        parse_seconds: Longest time for one file.
        clock: Tells `Page.fetched_at`.
    """

    def __init__(
        self,
        *,
        max_chars: int = 2_000_000,
        max_bytes: int = 100_000_000,
        parse_seconds: float = 60.0,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._max_chars = max_chars
        self._max_bytes = max_bytes
        self._parse_seconds = parse_seconds
        self._clock = clock

    async def read(self, source: Source) -> Page:
        """Return the text of the file at `source.url`.

        Raises:
            Refused: `source.url` is no file URL.
            PageUnreadable: No such file, no permission, too large, or no text in it.
            ProviderTimeout: Parsing took too long.
        """
        if not source.url.startswith("file:"):
            raise Refused(f"{source.url} is no file")
        path = Path(url2pathname(urlsplit(source.url).path))
        try:
            async with asyncio.timeout(self._parse_seconds):
                document = await asyncio.to_thread(self._document, path)
        except TimeoutError as error:
            raise ProviderTimeout(f"{path} took more than {self._parse_seconds:g} s") from error
        except PageUnreadable as error:
            raise PageUnreadable(f"{path} {error}") from error
        except OSError as error:
            raise PageUnreadable(f"{path} cannot be read: {error.strerror}") from error
        return page(source, document, self._clock())

    def _document(self, path: Path) -> Document:
        from .extract import extract

        if path.stat().st_size > self._max_bytes:
            raise PageUnreadable(f"is larger than {self._max_bytes} bytes")
        suffix = path.suffix.lower()
        kind = _TYPES.get(suffix) or mimetypes.guess_type(path.name)[0] or ""
        return extract(path.read_bytes(), media_type=kind, max_chars=self._max_chars)
