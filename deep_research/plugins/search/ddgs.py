"""Public web search engines through the optional `ddgs` package; no key."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from deep_research.core.errors import ConfigError, ProviderTimeout, ProviderUnavailable, RateLimited
from deep_research.core.model import Source

from ._api import Api
from ._hits import query_with_sites, to_sources

_QUERY_LIMIT: Final = 500


class DdgsSearch:
    """Asks DuckDuckGo and others, in a worker thread because `ddgs` blocks.

    API: https://github.com/deedy5/ddgs (`DDGS.text`, hits are `{"title", "href", "body"}`).

    Args:
        http: Unused: `ddgs` brings its own client. Here so that all web engines are built alike.
        region: Country and language, for instance 'us-en', 'de-de'.
        safesearch: How strictly adult content is filtered.
        time_range: 'd', 'w', 'm' or 'y': only results of the last day, week, month or year.
        backend: Which engines to ask, for instance 'duckduckgo,brave'; 'auto' chooses.
        include_domains: Keep results of these domains only.
        exclude_domains: Drop results of these domains.
        timeout: Seconds for one request.

    Raises:
        ConfigError: The package is not installed.
    """

    name = "ddgs"

    def __init__(
        self,
        http: Api | None = None,  # noqa: ARG002 - every engine takes the client first
        *,
        region: str = "us-en",
        safesearch: Literal["on", "moderate", "off"] = "moderate",
        time_range: Literal["d", "w", "m", "y"] | None = None,
        backend: str = "auto",
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
        timeout: int = 10,
    ) -> None:
        # Only looked for here; the import itself is slow and waits for the first search.
        if importlib.util.find_spec("ddgs") is None:
            raise ConfigError(
                "ddgs: the package is not installed; run: pip install 'deep-research[ddgs]'"
            )
        self._timeout = timeout
        self._include, self._exclude = tuple(include_domains), tuple(exclude_domains)
        self._options = {
            "region": region,
            "safesearch": safesearch,
            "timelimit": time_range,
            "backend": backend,
        }

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        """Return at most `limit` hits, best first.

        Raises:
            RateLimited, ProviderTimeout, ProviderUnavailable: No engine answered.
        """
        text = query_with_sites(query, self._include, self._exclude, _QUERY_LIMIT)
        if not text:
            return []
        answer = await asyncio.to_thread(self._ask, text, limit)
        return to_sources(
            answer, engine=self.name, limit=limit, include=self._include, exclude=self._exclude
        )

    def _ask(self, text: str, limit: int) -> Sequence[Mapping[str, Any]]:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        try:
            with DDGS(timeout=self._timeout) as client:
                hits: Sequence[Mapping[str, Any]] = client.text(
                    text, max_results=limit, **self._options
                )
        except RatelimitException as error:
            raise RateLimited(f"ddgs: {error}") from error
        except TimeoutException as error:
            raise ProviderTimeout(f"ddgs: no answer in {self._timeout} s") from error
        except DDGSException as error:
            if "no results" in str(error).lower():
                return []
            raise ProviderUnavailable(f"ddgs: {error}") from error
        return hits
