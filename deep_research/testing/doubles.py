"""A search engine and a page reader that have everything already."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from deep_research.core.errors import PageUnreadable, ProviderError
from deep_research.core.model import Page, Source
from deep_research.core.rank import Ranker
from deep_research.core.text import shorten
from deep_research.core.urls import canonical

FETCHED_AT: Final = "2025-01-01T00:00:00+00:00"
"""When fake pages were fetched."""


class FakeSearch:
    """A search engine over given pages, or with given answers.

    Args:
        pages: URL → text; a search ranks them by BM25, those that share no word with the query are
            left out.
        answers: Query → hits, or a function of the query; what it does not know is searched for in
            `pages`. An exception is raised.
        name: The engine's name, also `Source.engine`.
        delay: Seconds before each answer.

    Attributes:
        queries: All queries, in the order of their arrival.
    """

    def __init__(
        self,
        pages: Mapping[str, str] | None = None,
        *,
        answers: Mapping[str, Sequence[Source] | Exception]
        | Callable[[str], Sequence[Source]]
        | None = None,
        name: str = "fake",
        delay: float = 0.0,
    ) -> None:
        self.name = name
        self.queries: list[str] = []
        self._pages = {canonical(url): text for url, text in (pages or {}).items()}
        self._answers, self._delay = answers, delay

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        self.queries.append(query)
        await asyncio.sleep(self._delay)
        if callable(self._answers):
            return self._answers(query)[:limit]
        answer = (self._answers or {}).get(query)
        if isinstance(answer, Exception):
            raise answer
        return (self._ranked(query) if answer is None else answer)[:limit]

    def _ranked(self, query: str) -> list[Source]:
        scores = Ranker(list(self._pages.values())).scores({query: 1.0})
        scored = sorted(zip(scores, self._pages, strict=True), key=lambda pair: -pair[0])
        found = [url for score, url in scored if score > 0]
        return [
            Source(url, _title(self._pages[url]), shorten(self._pages[url], 300), self.name, rank)
            for rank, url in enumerate(found)
        ]


class FakeReader:
    """A page reader that has the pages already.

    Args:
        pages: URL → text, a whole `Page`, or the error to raise; other URLs are unreadable.
        delay: Seconds before each page.

    Attributes:
        urls: All URLs asked for, in order.
    """

    def __init__(
        self, pages: Mapping[str, str | Page | ProviderError], *, delay: float = 0.0
    ) -> None:
        self.urls: list[str] = []
        self._pages = {canonical(url): page for url, page in pages.items()}
        self._delay = delay

    async def read(self, source: Source) -> Page:
        self.urls.append(source.url)
        await asyncio.sleep(self._delay)
        page = self._pages.get(canonical(source.url))
        if page is None:
            raise PageUnreadable(f"{source.url} answered 404")
        if isinstance(page, Exception):
            raise page
        if isinstance(page, Page):
            return page
        digest = hashlib.sha256(page.encode()).hexdigest()
        here = replace(source, title=source.title or _title(page))
        return Page(here, page, digest, "text/plain", FETCHED_AT)


def _title(text: str) -> str:
    return shorten(text.strip().partition("\n")[0].lstrip("# "), 80)
