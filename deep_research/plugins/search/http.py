"""Any search endpoint of one's own that speaks GPT Researcher's custom retriever format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from deep_research.core.errors import AuthFailed, ConfigError, ProviderError
from deep_research.core.model import Page, Source
from deep_research.plugins.readers.document import seen

from ._api import Api
from ._held import HeldPages, raw_texts
from ._hits import cut, to_sources
from ._passages import best_passage

_ARGUMENTS = re.compile(r"(https?://[^\s?]*)\?\S*")


class HttpSearch:
    """Asks `GET url?query=…&further arguments` for a JSON list of hits.

    Wire format: https://docs.gptr.dev/docs/gpt-researcher/search-engines (custom retriever) and
    https://github.com/assafelovic/gpt-researcher/blob/main/gpt_researcher/retrievers/custom/custom.py:
    `[{"url", "raw_content"}]`, or `[{"href", "title", "body"}]` for hits that are to be fetched. A
    `raw_content` is the page: it is read from the answer instead of being fetched, and the snippet
    is its passage nearest to the query.

    Args:
        http: The run's HTTP client.
        url: The endpoint. Required.
        args: Further query arguments, sent with every request.
        headers: Request headers, for instance for a key.
        query_name: Name of the argument that carries the query.
        query_limit: Longer queries are cut between words, in characters.
        include_domains: Keep results of these domains only.
        exclude_domains: Drop results of these domains.
        timeout: Seconds for one request.

    Raises:
        ConfigError: `url` is missing.
    """

    name = "http"

    def __init__(
        self,
        http: Api,
        *,
        url: str = "",
        args: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        query_name: str = "query",
        query_limit: int = 2000,
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
        timeout: float = 30.0,
    ) -> None:
        if not url.strip():
            raise ConfigError(
                "http: no search endpoint; set RETRIEVER_ENDPOINT or search.http.url, for instance https://host/search"
            )
        self._http, self._url, self._timeout = http, url.strip(), timeout
        self._args, self._headers = dict(args or {}), dict(headers or {})
        self._query_name, self._query_limit = query_name, query_limit
        self._include, self._exclude = tuple(include_domains), tuple(exclude_domains)
        self._held = HeldPages(self.name)

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        """Return at most `limit` hits, in the endpoint's order.

        Raises:
            AuthFailed: The endpoint wants other headers or arguments.
        """
        text = cut(query, self._query_limit)
        if not text:
            return []
        try:
            answer = await self._http.get_json(
                self._url,
                params={**self._args, self._query_name: text},
                headers=self._headers,
                timeout=self._timeout,
                trusted=True,
            )
        except ProviderError as error:
            # The client's message shows the whole address; arguments may be keys.
            hint = "; check search.http.headers and args" if isinstance(error, AuthFailed) else ""
            error.args = (f"http: {_without_arguments(str(error))}{hint}",)
            raise
        found = to_sources(
            answer, engine=self.name, limit=limit, include=self._include, exclude=self._exclude
        )
        texts: dict[str, str] = {}
        for url, whole in raw_texts(answer, engine=self.name):
            texts.setdefault(url, seen(whole))
        self._held.keep(found, texts.items())
        return [
            replace(source, snippet=best_passage(texts[source.url], text))
            if source.url in texts and self._held.holds(source)
            else source
            for source in found
        ]

    def holds(self, source: Source) -> bool:
        """Tell whether the page came with the answer."""
        return self._held.holds(source)

    async def read(self, source: Source) -> Page:
        """Return the text that came with the answer."""
        return await self._held.read(source)


def _without_arguments(message: str) -> str:
    return _ARGUMENTS.sub(r"\1", message)
