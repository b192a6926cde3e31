"""Wikipedia, and any other wiki that runs MediaWiki; no key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

from deep_research.core.errors import BadAnswer, ConfigError, ProviderUnavailable, RateLimited
from deep_research.core.model import Source
from deep_research.core.text import STOPWORDS, words

from ._api import Api
from ._hits import cut, to_sources

_QUERY_LIMIT: Final = 300
_MOST_RESULTS: Final = 50
_ASK_LATER: Final = frozenset({"ratelimited", "maxlag", "readonly"})
_SYNTAX = re.compile(r"[\"~*?\\/\[\]{}()<>|^!]|(?<!\S)[-+]|(?<=\w):(?=\S)")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")
USER_AGENT: Final = "deep-research/0.1 (https://pypi.org/project/deep-research/)"


class WikipediaSearch:
    """Asks a wiki's full-text search.

    Wire format: https://www.mediawiki.org/wiki/API:Search; errors arrive with status 200,
    https://www.mediawiki.org/wiki/API:Errors_and_warnings. The client says who it is and asks for
    no more than one answer at a time per query, as https://www.mediawiki.org/wiki/API:Etiquette
    wants. The search looks for pages that hold every word and takes at most 300 characters; if that
    finds nothing, the query's content words are tried with OR.

    Args:
        http: The run's HTTP client.
        language: Code of the Wikipedia's language, for instance 'en', 'de', 'zh'.
        url: Address of another wiki's api.php; '' is Wikipedia in `language`.
        user_agent: Who asks; Wikimedia wants a way to get in touch in it.
        timeout: Seconds for one request.

    Raises:
        ConfigError: `language` is no language code.
    """

    name = "wikipedia"

    def __init__(
        self,
        http: Api,
        *,
        language: str = "en",
        url: str = "",
        user_agent: str = USER_AGENT,
        timeout: float = 20.0,
    ) -> None:
        code = language.strip().lower().replace("_", "-")
        if not _LANGUAGE.fullmatch(code):
            raise ConfigError(
                f"wikipedia: search.wikipedia.language is {language!r}; give a code such as 'en'"
            )
        self._api = url.strip() or f"https://{code}.wikipedia.org/w/api.php"
        parts = urlsplit(self._api)
        self._site = f"{parts.scheme}://{parts.netloc}"
        self._http, self._timeout = http, timeout
        self._headers = {"User-Agent": user_agent}

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        """Return at most `limit` articles, best first.

        Raises:
            RateLimited: The wiki asks to come back later.
        """
        text = cut(_SYNTAX.sub(" ", query), _QUERY_LIMIT)
        if not text:
            return []
        found = await self._ask(text, limit)
        content = [word for word in dict.fromkeys(words(text)) if word not in STOPWORDS]
        if not found and len(content) > 1:
            found = await self._ask(cut(" OR ".join(content), _QUERY_LIMIT), limit)
        return found

    async def _ask(self, text: str, limit: int) -> list[Source]:
        params = {
            "action": "query",
            "list": "search",
            "srsearch": text.removesuffix(" OR"),
            "srlimit": str(max(1, min(limit, _MOST_RESULTS))),
            "srprop": "snippet",
            "format": "json",
            "formatversion": "2",
        }
        answer = await self._http.get_json(
            self._api, params=params, headers=self._headers, timeout=self._timeout, trusted=True
        )
        hits = [self._hit(item) for item in _search_results(answer)]
        return to_sources(hits, engine=self.name, limit=limit)

    def _hit(self, item: object) -> dict[str, Any]:
        fields = item if isinstance(item, Mapping) else {}
        title = fields.get("title")
        if not isinstance(title, str) or not title.strip():
            return {}
        path = quote(title.strip().replace(" ", "_"), safe="/:(),'!*;@~$")
        return {
            "url": f"{self._site}/wiki/{path}",
            "title": title,
            "snippet": fields.get("snippet"),
        }


def _search_results(answer: object) -> Sequence[Any]:
    """Return the hits, or raise what the wiki reports."""
    if not isinstance(answer, Mapping):
        raise BadAnswer(f"wikipedia: expected an object, got {type(answer).__name__}")
    error = answer.get("error")
    if isinstance(error, Mapping):
        code, info = str(error.get("code")), str(error.get("info"))
        if code in _ASK_LATER:
            raise RateLimited(f"wikipedia: {code}: {info}")
        if code.startswith(("internal_api_error", "cirrussearch-backend-error")):
            raise ProviderUnavailable(f"wikipedia: {code}: {info}")
        raise BadAnswer(f"wikipedia: {code}: {info}")
    query = answer.get("query")
    results = query.get("search") if isinstance(query, Mapping) else None
    return results if isinstance(results, list) else []
