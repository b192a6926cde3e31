"""Engines through the real HTTP client, against loopback servers that speak the documented formats."""

import pytest

from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    ConfigError,
    ProviderUnavailable,
    RateLimited,
)
from deep_research.plugins.search.http import HttpSearch
from deep_research.plugins.search.searxng import SearxngSearch
from deep_research.plugins.search.tavily import TavilySearch
from deep_research.plugins.search.wikipedia import WikipediaSearch
from deep_research.runtime.http import Http
from deep_research.testing import FakePage, FakeWeb


@pytest.fixture
async def web():
    async with FakeWeb() as server:
        yield server


@pytest.fixture
async def http():
    async with Http() as client:
        yield client


async def test_a_private_address_from_the_configuration_may_be_asked(web, http):
    web.page("/search", {"results": [{"url": "http://a.org/"}]})
    assert len(await SearxngSearch(http, url=web.url()).search("q & ü?", limit=1)) == 1
    assert web.requests[0].query["q"] == "q & ü?"
    assert web.requests[0].query["format"] == "json"


@pytest.mark.parametrize(
    ("page", "error", "words"),
    [
        (FakePage("Forbidden", 403), ConfigError, "search.formats"),
        (FakePage("<html>hello", 200), BadAnswer, "is there a SearXNG"),
        (FakePage("", 429, headers={"Retry-After": "7"}), RateLimited, "429"),
        (FakePage("", 502), ProviderUnavailable, "502"),
    ],
)
async def test_what_goes_wrong_at_searxng_is_told_apart(web, http, page, error, words):
    web.page("/search", page)
    with pytest.raises(error, match=words):
        await SearxngSearch(http, url=web.url()).search("q", limit=1)


async def test_tavily_gets_json_and_a_bearer_key(web, http):
    web.page("/search", {"results": [{"url": "http://a.org/", "content": "c", "score": 0.9}]})
    (hit,) = await TavilySearch(http, api_key="tvly-k", url=web.url()).search("q", limit=3)
    request = web.requests[0]
    assert hit.snippet == "c"
    assert request.method == "POST"
    assert request.headers["Authorization"] == "Bearer tvly-k"
    assert request.json()["query"] == "q"


async def test_a_key_that_tavily_refuses(web, http):
    web.page(
        "/search", FakePage({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401)
    )
    with pytest.raises(AuthFailed, match=r"TAVILY_API_KEY is refused.*invalid API key"):
        await TavilySearch(http, api_key="tvly-k", url=web.url()).search("q", limit=3)


async def test_wikipedia_is_asked_politely(web, http):
    web.page("/w/api.php", {"query": {"search": [{"title": "Orla dam", "snippet": "<b>x</b>"}]}})
    engine = WikipediaSearch(http, url=web.url("/w/api.php"))
    (hit,) = await engine.search("orla", limit=3)
    assert hit.url == web.url("/wiki/Orla_dam")
    assert web.requests[0].headers["User-Agent"].startswith("deep-research/")


async def test_an_own_endpoint_with_arguments_in_its_address(web, http):
    web.page("/find", [{"url": "http://a.org/", "raw_content": "The whole page."}])
    engine = HttpSearch(http, url=web.url("/find?index=main"), args={"k": "3"})
    (hit,) = await engine.search("q", limit=3)
    assert web.requests[0].query == {"index": "main", "k": "3", "query": "q"}
    assert (await engine.read(hit)).text == "The whole page."


async def test_a_dead_endpoint_is_named_without_its_arguments(http):
    engine = HttpSearch(http, url="http://127.0.0.1:9/find", args={"key": "geheim"})
    with pytest.raises(ProviderUnavailable, match=r"http://127\.0\.0\.1:9/find") as caught:
        await engine.search("q", limit=3)
    assert "geheim" not in str(caught.value)
