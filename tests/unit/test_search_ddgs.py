"""The `ddgs` package: asked in a thread, its errors translated, its absence explained."""

import importlib.util
import threading

import pytest

from deep_research.core.errors import ConfigError, ProviderTimeout, ProviderUnavailable, RateLimited
from deep_research.plugins.search.ddgs import DdgsSearch

ddgs = pytest.importorskip("ddgs")
exceptions = pytest.importorskip("ddgs.exceptions")


@pytest.fixture
def asked(monkeypatch):
    """Replace the client; `asked.answer` is returned or raised, `asked.calls` records."""

    class Client:
        answer: object = ()
        calls: list = []  # noqa: RUF012 - one for the test

        def __init__(self, timeout):
            self.timeout = timeout

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def text(self, query, **options):
            Client.calls.append((query, options, threading.current_thread()))
            if isinstance(Client.answer, Exception):
                raise Client.answer
            return Client.answer

    Client.calls = []
    monkeypatch.setattr(ddgs, "DDGS", Client)
    return Client


async def test_hits_become_sources_off_the_event_loop(asked):
    asked.answer = [{"title": "A", "href": "http://a.org/", "body": "B"}, {"href": "http://b.net/"}]
    engine = DdgsSearch(region="de-de", time_range="y", include_domains=["a.org"])
    (hit,) = await engine.search("q", limit=5)
    assert (hit.url, hit.title, hit.snippet, hit.engine) == ("http://a.org/", "A", "B", "ddgs")
    query, options, thread = asked.calls[0]
    assert query == "q site:a.org"
    assert options == {
        "max_results": 5, "region": "de-de", "safesearch": "moderate", "timelimit": "y", "backend": "auto",
    }  # fmt: skip
    assert thread is not threading.main_thread()


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (exceptions.RatelimitException("429"), RateLimited),
        (exceptions.TimeoutException("slow"), ProviderTimeout),
        (exceptions.DDGSException("broken"), ProviderUnavailable),
    ],
)
async def test_errors_are_translated(asked, raised, expected):
    asked.answer = raised
    with pytest.raises(expected, match="ddgs") as caught:
        await DdgsSearch().search("q", limit=3)
    assert caught.value.__cause__ is raised


async def test_nothing_found_is_no_error(asked):
    asked.answer = exceptions.DDGSException("No results found.")
    assert await DdgsSearch().search("q", limit=3) == []


async def test_an_empty_query_asks_nobody(asked):
    assert await DdgsSearch().search(" ", limit=3) == []
    assert asked.calls == []


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'deep-research\[ddgs\]'"):
        DdgsSearch()
