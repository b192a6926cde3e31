"""The web engines: what they send, how they read answers, how they say what is wrong."""

from typing import Any

import pytest

from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    ConfigError,
    PageUnreadable,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from deep_research.core.model import Source
from deep_research.plugins.search.http import HttpSearch
from deep_research.plugins.search.searxng import SearxngSearch
from deep_research.plugins.search.tavily import TavilySearch
from deep_research.plugins.search.wikipedia import WikipediaSearch


class Api:
    """Answers in turn, the last one for ever; remembers what was sent."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.calls = list(answers), []

    async def get_json(self, url, **request):
        return self._next(url, request)

    async def post_json(self, url, payload, **request):
        return self._next(url, {"payload": payload, **request})

    def _next(self, url, request):
        self.calls.append((url, request))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def sent(self):
        return self.calls[-1][1]


def hits(*urls):
    return [{"url": url, "title": "T", "content": "C"} for url in urls]


ENGINES = {
    "searxng": lambda api: SearxngSearch(api, url="http://127.0.0.1:8080"),
    "tavily": lambda api: TavilySearch(api, api_key="k"),
    "http": lambda api: HttpSearch(api, url="http://127.0.0.1/s"),
    "wikipedia": WikipediaSearch,
}


@pytest.mark.parametrize("name", ENGINES)
async def test_an_empty_query_asks_nobody(name):
    api = Api([])
    assert await ENGINES[name](api).search(" \n ", limit=3) == []
    assert api.calls == []


@pytest.mark.parametrize("name", ENGINES)
async def test_engines_of_configured_addresses_are_trusted_and_have_a_time_limit(name):
    api = Api({"results": [], "query": {"search": []}})
    await ENGINES[name](api).search("query", limit=3)
    assert api.sent["trusted"] is True
    assert api.sent["timeout"] > 0


class TestSearxng:
    async def test_sends_the_documented_parameters_and_reads_dates(self):
        hit = {
            "url": "http://a.org/",
            "title": "A",
            "content": "x",
            "publishedDate": "2024-01-02T00:00:00",
        }
        api = Api({"results": [hit], "unresponsive_engines": []})
        engine = SearxngSearch(
            api, url="http://h:1/", language="de", categories=["general", "science"],
            engines=["brave"], time_range="year", safesearch=0, include_domains=["a.org"],
        )  # fmt: skip
        (found,) = await engine.search("q", limit=1)
        assert found == Source("http://a.org/", "A", "x", "searxng", 0, "2024-01-02")
        url, request = api.calls[0]
        assert url == "http://h:1/search"
        assert request["params"] == {
            "q": "q site:a.org", "format": "json", "pageno": "1", "language": "de",
            "categories": "general,science", "engines": "brave", "time_range": "year", "safesearch": "0",
        }  # fmt: skip

    async def test_turns_pages_until_there_are_enough(self):
        pages = [{"results": hits(*(f"http://a.org/{p}{i}" for i in range(3)))} for p in range(9)]
        api = Api(*pages)
        found = await SearxngSearch(api, url="http://h/search").search("q", limit=5)
        assert [s.rank for s in found] == [0, 1, 2, 3, 4]
        assert [c[1]["params"]["pageno"] for c in api.calls] == ["1", "2"]

    @pytest.mark.parametrize("second", [{"results": []}, {"results": hits("http://a.org/1")}])
    async def test_stops_turning_when_nothing_new_comes(self, second):
        api = Api({"results": hits("http://a.org/1")}, second)
        assert len(await SearxngSearch(api, url="http://h").search("q", limit=5)) == 1
        assert len(api.calls) == 2

    async def test_turns_three_pages_at_most(self):
        api = Api(*[{"results": hits(f"http://a.org/{p}")} for p in range(9)])
        assert len(await SearxngSearch(api, url="http://h").search("q", limit=50)) == 3

    async def test_json_switched_off_says_the_mend(self):
        with pytest.raises(ConfigError, match=r"add 'json' to search.formats in its settings.yml"):
            await SearxngSearch(Api(AuthFailed("403")), url="http://h").search("q", limit=3)

    async def test_something_else_at_the_address_says_what_to_check(self):
        with pytest.raises(BadAnswer, match=r"is there a SearXNG\? mend SEARX_URL"):
            await SearxngSearch(Api(BadAnswer("no JSON")), url="http://h").search("q", limit=3)

    @pytest.mark.parametrize("failed", [[["google", "CAPTCHA"], "bing"], [["google", "CAPTCHA"]]])
    async def test_nothing_found_because_engines_failed_is_an_error(self, failed):
        api = Api({"results": [], "unresponsive_engines": failed})
        with pytest.raises(ProviderUnavailable, match=r"google \(CAPTCHA\)"):
            await SearxngSearch(api, url="http://h").search("q", limit=3)

    async def test_failed_engines_do_not_matter_if_others_found_something(self):
        api = Api({"results": hits("http://a.org/"), "unresponsive_engines": [["google", "x"]]})
        assert len(await SearxngSearch(api, url="http://h").search("q", limit=1)) == 1

    @pytest.mark.parametrize("url", ["", "  "])
    def test_no_address_is_a_configuration_error(self, url):
        with pytest.raises(ConfigError, match="SEARX_URL"):
            SearxngSearch(Api([]), url=url)

    def test_safesearch_out_of_range_is_named(self):
        with pytest.raises(ConfigError, match=r"safesearch is 3; give 0, 1 or 2"):
            SearxngSearch(Api([]), url="http://h", safesearch=3)


class TestTavily:
    async def test_sends_key_and_options(self):
        api = Api({"results": hits("http://a.org/")})
        engine = TavilySearch(
            api, api_key=" key ", url="http://h/", depth="advanced", topic="news", time_range="week",
            include_domains=["a.org"], exclude_domains=["b.org"],
        )  # fmt: skip
        assert len(await engine.search("q", limit=50)) == 1
        url, request = api.calls[0]
        assert url == "http://h/search"
        assert request["headers"] == {"Authorization": "Bearer key"}
        assert request["payload"] == {
            "query": "q", "max_results": 20, "search_depth": "advanced", "topic": "news",
            "time_range": "week", "include_domains": ["a.org"], "exclude_domains": ["b.org"],
        }  # fmt: skip

    async def test_a_query_beyond_400_characters_is_cut_between_words(self):
        api = Api({"results": []})
        await TavilySearch(api, api_key="k").search("seven " * 100, limit=3)
        assert len(api.sent["payload"]["query"]) <= 400
        assert api.sent["payload"]["query"].endswith("seven")

    @pytest.mark.parametrize("key", [None, "", "  "])
    def test_a_missing_key_names_the_variable(self, key):
        with pytest.raises(ConfigError, match="set TAVILY_API_KEY"):
            TavilySearch(Api([]), api_key=key)

    async def test_a_refused_key_names_the_variable_and_never_the_key(self):
        engine = TavilySearch(Api(AuthFailed("401")), api_key="tvly-secret")
        with pytest.raises(AuthFailed, match="TAVILY_API_KEY") as caught:
            await engine.search("q", limit=3)
        assert "secret" not in str(caught.value)

    async def test_raw_content_is_read_from_the_answer(self):
        raw = [
            {"url": "http://a.org/", "raw_content": "whole"},
            {"url": "http://b.org/", "raw_content": None},
        ]
        api = Api({"results": raw})
        engine = TavilySearch(api, api_key="k", raw_content=True)
        a, b = await engine.search("q", limit=3)
        assert api.sent["payload"]["include_raw_content"] == "text"
        assert engine.holds(a)
        assert (await engine.read(a)).text == "whole"
        assert not engine.holds(b)


class TestHttp:
    async def test_pages_that_come_along_are_served_without_fetching(self):
        text = "Filler. " * 200 + "The dam is 92 m high. " + "Filler. " * 200
        api = Api([
            {"url": "http://a.org/", "raw_content": text},
            {"url": "http://b.org/", "raw_content": "<!DOCTYPE html><p>markup"},
            {"url": "http://c.org/", "raw_content": "  "},
        ])  # fmt: skip
        engine = HttpSearch(
            api, url="http://h/s", args={"k": "5"}, headers={"X": "y"}, query_name="query"
        )
        a, b, c = await engine.search("how high is the dam", limit=5)
        assert api.calls[0][0] == "http://h/s"
        assert api.sent["params"] == {"k": "5", "query": "how high is the dam"}
        assert api.sent["headers"] == {"X": "y"}
        assert "92 m" in a.snippet
        page = await engine.read(a)
        assert page.text == text
        assert page.source == a
        assert [engine.holds(s) for s in (a, b, c)] == [True, False, False]

    async def test_the_first_text_of_a_page_stays_and_a_later_hit_without_it_is_no_error(self):
        hit = {"url": "http://a.org/", "raw_content": "The dam\x1b[2J is\x00 high.\n"}
        late = hit | {"raw_content": "Other."}
        api = Api([hit])
        engine = HttpSearch(api, url="http://h")
        (a,) = await engine.search("dam", limit=3)
        api.answers = [[{"url": "http://a.org/", "body": "short"}]]
        (again,) = await engine.search("dam", limit=3)
        api.answers = [[late]]
        await engine.search("dam", limit=3)
        assert a.snippet == "The dam[2J is high."
        assert again.snippet == "short"
        assert engine.holds(again)
        assert (await engine.read(again)).text == "The dam[2J is high.\n"

    async def test_another_engines_hit_of_the_same_page_is_not_served(self):
        engine = HttpSearch(Api([{"url": "http://a.org/", "raw_content": "x"}]), url="http://h")
        await engine.search("q", limit=1)
        foreign = Source("http://a.org/", engine="searxng")
        assert not engine.holds(foreign)
        with pytest.raises(PageUnreadable, match="holds no text"):
            await engine.read(foreign)

    async def test_hits_to_be_fetched_keep_title_and_body(self):
        engine = HttpSearch(
            Api([{"href": "http://a.org/", "title": "T", "body": "B"}]), url="http://h"
        )
        (hit,) = await engine.search("q", limit=5)
        assert (hit.title, hit.snippet, engine.holds(hit)) == ("T", "B", False)

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (
                ProviderError("http://h/s?query=q&token=geheim answered 404: x"),
                "http: http://h/s answered 404: x",
            ),
            (AuthFailed("http://h/s?token=geheim answered 401"), "check search.http.headers"),
        ],
    )
    async def test_errors_keep_their_kind_but_not_the_arguments(self, error, words):
        with pytest.raises(type(error), match=words) as caught:
            await HttpSearch(Api(error), url="http://h/s", args={"token": "geheim"}).search(
                "q", limit=1
            )
        assert "geheim" not in str(caught.value)

    def test_no_address_is_a_configuration_error(self):
        with pytest.raises(ConfigError, match="RETRIEVER_ENDPOINT"):
            HttpSearch(Api([]))


class TestWikipedia:
    async def test_titles_become_article_addresses_and_snippets_text(self):
        rows = [
            {
                "title": "Ångström's law",
                "snippet": 'the <span class="searchmatch">law</span> &amp; order',
            },
            {"title": "C++/CLI?", "snippet": None},
            {"title": None},
            "junk",
        ]
        api = Api({"query": {"search": rows}})
        first, second = await WikipediaSearch(api, language="de").search("law", limit=500)
        assert first.url == "https://de.wikipedia.org/wiki/%C3%85ngstr%C3%B6m's_law"
        assert first.snippet == "the law & order"
        assert second.url == "https://de.wikipedia.org/wiki/C%2B%2B/CLI%3F"
        url, request = api.calls[0]
        assert url == "https://de.wikipedia.org/w/api.php"
        assert request["params"]["srlimit"] == "50"
        assert "deep-research" in request["headers"]["User-Agent"]

    async def test_search_syntax_of_the_query_is_taken_out(self):
        api = Api({"query": {"search": []}})
        await WikipediaSearch(api).search('-insource:/x/ "dam~" (wall)', limit=3)
        assert api.calls[0][1]["params"]["srsearch"] == "insource x dam wall"

    async def test_if_nothing_holds_every_word_any_word_will_do(self):
        api = Api({"query": {"search": []}}, {"query": {"search": [{"title": "Dam"}]}})
        (hit,) = await WikipediaSearch(api).search("what is the height of dam", limit=3)
        assert hit.title == "Dam"
        assert api.sent["params"]["srsearch"] == "height OR dam"

    async def test_a_long_query_fits_and_never_ends_in_an_operator(self):
        api = Api({"query": {"search": []}})
        await WikipediaSearch(api).search(" ".join(f"w{n:04}" for n in range(90)), limit=3)
        for _, request in api.calls:
            assert len(request["params"]["srsearch"]) <= 300
            assert not request["params"]["srsearch"].endswith("OR")

    @pytest.mark.parametrize(
        ("answer", "error", "words"),
        [
            ({"error": {"code": "ratelimited", "info": "slow"}}, RateLimited, "slow"),
            ({"error": {"code": "maxlag", "info": "5 s"}}, RateLimited, "maxlag"),
            (
                {"error": {"code": "internal_api_error_X", "info": "x"}},
                ProviderUnavailable,
                "internal",
            ),
            ({"error": {"code": "badvalue", "info": "no"}}, BadAnswer, "badvalue: no"),
            ([], BadAnswer, "expected an object, got list"),
        ],
    )
    async def test_errors_that_come_with_status_200_are_raised(self, answer, error, words):
        with pytest.raises(error, match=words):
            await WikipediaSearch(Api(answer)).search("q", limit=3)

    @pytest.mark.parametrize("answer", [{}, {"query": None}, {"query": {"search": "x"}}])
    async def test_an_answer_without_results_is_nothing_found(self, answer):
        assert await WikipediaSearch(Api(answer)).search("q", limit=3) == []

    async def test_another_wiki(self):
        api = Api({"query": {"search": [{"title": "A b"}]}})
        (hit,) = await WikipediaSearch(api, url="http://wiki.example/w/api.php").search(
            "q", limit=3
        )
        assert hit.url == "http://wiki.example/wiki/A_b"

    @pytest.mark.parametrize("language", ["", "english", "e", "../x"])
    def test_a_wrong_language_is_named(self, language):
        with pytest.raises(ConfigError, match=r"search.wikipedia.language"):
            WikipediaSearch(Api([]), language=language)
