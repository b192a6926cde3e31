"""SearXNG: a metasearch engine that people host themselves; no key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from deep_research.core.errors import AuthFailed, BadAnswer, ConfigError, ProviderUnavailable
from deep_research.core.model import Source

from ._api import Api
from ._hits import items, query_with_sites, to_sources

_QUERY_LIMIT: Final = 500
_MOST_PAGES: Final = 3
_STRICTEST: Final = 2


class SearxngSearch:
    """Asks a SearXNG instance.

    Wire format: https://docs.searxng.org/dev/search_api.html; the answer's fields are those of
        `get_json_response` in
    https://github.com/searxng/searxng/blob/master/searx/webutils.py. A page holds what the instance
    likes (often 10 to 30 hits), so further pages are asked for until `limit` is reached, three at
    most.

    Args:
        http: The run's HTTP client.
        url: Address of the instance, for instance 'http://127.0.0.1:8080'. Required.
        language: Language code such as 'en' or 'de-CH'; '' leaves it to the instance.
        categories: SearXNG categories, for instance 'general', 'science'.
        engines: SearXNG's own engines to ask; empty leaves it to the instance.
        time_range: Only results of the last day, month or year.
        safesearch: 0 off, 1 moderate, 2 strict; None leaves it to the instance.
        include_domains: Keep results of these domains only.
        exclude_domains: Drop results of these domains.
        timeout: Seconds for one request.

    Raises:
        ConfigError: `url` is missing, or `safesearch` is out of range.
    """

    name = "searxng"

    def __init__(
        self,
        http: Api,
        *,
        url: str = "",
        language: str = "",
        categories: Sequence[str] = ("general",),
        engines: Sequence[str] = (),
        time_range: Literal["day", "month", "year"] | None = None,
        safesearch: int | None = None,
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
        timeout: float = 20.0,
    ) -> None:
        if not url.strip():
            raise ConfigError(
                "searxng: no address; set SEARX_URL or search.searxng.url, for instance http://127.0.0.1:8080"
            )
        if safesearch is not None and not 0 <= safesearch <= _STRICTEST:
            raise ConfigError(f"searxng: search.searxng.safesearch is {safesearch}; give 0, 1 or 2")
        base = url.strip().rstrip("/")
        self._url = base if base.endswith("/search") else f"{base}/search"
        self._http, self._timeout = http, timeout
        self._include, self._exclude = tuple(include_domains), tuple(exclude_domains)
        options = {
            "format": "json",
            "language": language,
            "categories": ",".join(categories),
            "engines": ",".join(engines),
            "time_range": time_range or "",
            "safesearch": "" if safesearch is None else str(safesearch),
        }
        self._options = {key: value for key, value in options.items() if value}

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        """Return at most `limit` hits, best first.

        Raises:
            ConfigError: The instance does not serve JSON.
            ProviderUnavailable: Nothing found because the instance's own engines failed.
        """
        text = query_with_sites(query, self._include, self._exclude, _QUERY_LIMIT)
        if not text:
            return []
        answer: object = None
        raw: list[Any] = []
        found: list[Source] = []
        for pageno in range(1, _MOST_PAGES + 1):
            answer = await self._page(text, pageno)
            fresh = list(items(answer, engine=self.name))
            raw.extend(fresh)
            before = len(found)
            found = to_sources(
                raw, engine=self.name, limit=limit, include=self._include, exclude=self._exclude
            )
            if not fresh or len(found) >= limit or len(found) == before:
                break
        if not found:
            _explain_nothing(answer)
        return found

    async def _page(self, text: str, pageno: int) -> object:
        params = {"q": text, "pageno": str(pageno), **self._options}
        try:
            return await self._http.get_json(
                self._url, params=params, timeout=self._timeout, trusted=True
            )
        except AuthFailed as error:
            raise ConfigError(
                f"searxng: {self._url} refuses to answer in JSON (403); add 'json' to "
                "search.formats in its settings.yml, and if its limiter is on, let this client pass"
            ) from error
        except BadAnswer as error:
            raise BadAnswer(
                f"searxng: is there a SearXNG? mend SEARX_URL or search.searxng.url: {error}"
            ) from error


def _explain_nothing(answer: object) -> None:
    """Raise if the instance found nothing while engines of its own failed: `[[name, why], …]`."""
    failed = answer.get("unresponsive_engines") if isinstance(answer, Mapping) else None
    if not isinstance(failed, list) or not failed:
        return
    pairs = [f"{e[0]} ({e[1]})" if isinstance(e, list) and len(e) > 1 else str(e) for e in failed]
    raise ProviderUnavailable(f"searxng: nothing found, engines failed: {', '.join(pairs[:8])}")
