"""Tavily: a search service for programs; needs a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from deep_research.core.errors import AuthFailed, ConfigError
from deep_research.core.model import Page, Source

from ._api import Api
from ._held import HeldPages, raw_texts
from ._hits import cut, to_sources

KEY_NAME: Final = "TAVILY_API_KEY"
_QUERY_LIMIT: Final = 400
_MOST_RESULTS: Final = 20


class TavilySearch:
    """Asks Tavily.

    Wire format: https://docs.tavily.com/documentation/api-reference/endpoint/search. Queries beyond
        400 characters are
    refused there, so longer ones are cut between words; 20 results are the most.

    Args:
        http: The run's HTTP client.
        api_key: The key, from the environment variable TAVILY_API_KEY.
        url: Address of the service or of one that speaks its language.
        depth: 'basic' costs one credit, 'advanced' two.
        topic: 'news' also dates its results.
        time_range: Only results of the last day, week, month or year.
        raw_content: Have the pages' text sent along and read it from there instead of fetching the
            pages.
        include_domains: Keep results of these domains only.
        exclude_domains: Drop results of these domains.
        timeout: Seconds for one request.

    Raises:
        ConfigError: The key is missing; names TAVILY_API_KEY.
    """

    name = "tavily"

    def __init__(
        self,
        http: Api,
        *,
        api_key: str | None = None,
        url: str = "https://api.tavily.com",
        depth: Literal["basic", "advanced", "fast", "ultra-fast"] = "basic",
        topic: Literal["general", "news", "finance"] = "general",
        time_range: Literal["day", "week", "month", "year"] | None = None,
        raw_content: bool = False,
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
        timeout: float = 30.0,
    ) -> None:
        self._key = (api_key or "").strip()
        if not self._key:
            raise ConfigError(f"tavily: no key; set {KEY_NAME} in the environment")
        base = url.strip().rstrip("/")
        self._url = base if base.endswith("/search") else f"{base}/search"
        self._http, self._timeout = http, timeout
        self._include, self._exclude = tuple(include_domains), tuple(exclude_domains)
        self._raw = raw_content
        self._held = HeldPages(self.name)
        self._options: dict[str, Any] = {"search_depth": depth, "topic": topic}
        if time_range:
            self._options["time_range"] = time_range
        if self._include:
            self._options["include_domains"] = list(self._include)
        if self._exclude:
            self._options["exclude_domains"] = list(self._exclude)
        if raw_content:
            self._options["include_raw_content"] = "text"

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        """Return at most `limit` hits, best first.

        Raises:
            AuthFailed: The key is refused; names TAVILY_API_KEY.
        """
        text = cut(query, _QUERY_LIMIT)
        if not text:
            return []
        body = {"query": text, "max_results": max(1, min(limit, _MOST_RESULTS)), **self._options}
        try:
            answer = await self._http.post_json(
                self._url,
                body,
                headers={"Authorization": f"Bearer {self._key}"},
                timeout=self._timeout,
                trusted=True,
            )
        except AuthFailed as error:
            raise AuthFailed(f"tavily: the key in {KEY_NAME} is refused: {error}") from error
        found = to_sources(
            answer, engine=self.name, limit=limit, include=self._include, exclude=self._exclude
        )
        if self._raw:
            self._held.keep(found, raw_texts(answer, engine=self.name))
        return found

    def holds(self, source: Source) -> bool:
        """Tell whether the page came with the answer."""
        return self._held.holds(source)

    async def read(self, source: Source) -> Page:
        """Return the text that came with the answer."""
        return await self._held.read(source)
