"""Every registered plugin keeps its protocol's promises, against servers that speak the documented formats."""

import sys
from pathlib import Path

import pytest

from deep_research import registry
from deep_research.core.errors import ContextTooLong, RateLimited
from deep_research.core.model import Source
from deep_research.core.ports import Prompt
from deep_research.runtime.http import Http
from deep_research.testing import (
    FakeOpenAI,
    FakePage,
    FakeWeb,
    ScriptedLLM,
    check_exporter,
    check_llm,
    check_page_reader,
    check_search_engine,
)

URLS = [f"https://example.org/{n}?utm_source=x" for n in range(40)]
ARTICLE = (
    "<html><title>The dam</title><article><h1>The dam</h1>"
    + "<p>The dam at Orla is 92 m high.</p>" * 20
)


def searxng(request):
    """https://docs.searxng.org/dev/search_api.html"""
    if not request.query.get("q"):
        return FakePage({"error": "No query"}, 400)
    assert request.query["format"] == "json"
    first = 10 * (int(request.query["pageno"]) - 1)
    rows = [
        {
            "url": url,
            "title": "T",
            "content": "C",
            "publishedDate": "2024-01-02T00:00:00",
            "engines": ["x"],
        }
        for url in URLS[first : first + 10]
    ]
    return {"query": request.query["q"], "results": rows, "unresponsive_engines": []}


def tavily(request):
    """https://docs.tavily.com/documentation/api-reference/endpoint/search"""
    body = request.json()
    if request.headers.get("Authorization") != "Bearer key":
        return FakePage({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401)
    if len(body["query"]) > 400:
        return FakePage(
            {"detail": {"error": "Query is too long. Max query length is 400 characters."}}, 400
        )
    rows = [
        {"url": u, "title": "T", "content": "C", "score": 0.5, "raw_content": None} for u in URLS
    ]
    return {"query": body["query"], "answer": None, "results": rows[: body["max_results"]]}


def wikipedia(request):
    """https://www.mediawiki.org/wiki/API:Search"""
    if len(request.query["srsearch"]) > 300:
        return {"error": {"code": "cirrussearch-query-too-long", "info": "too long"}}
    rows = [
        {"ns": 0, "title": f"Page {n}", "pageid": n, "snippet": "a <b>b</b>"} for n in range(20)
    ]
    return {"batchcomplete": True, "query": {"search": rows[: int(request.query["srlimit"])]}}


def custom(request):
    """GPT Researcher's custom retriever."""
    return [{"url": url, "raw_content": f"Text of {url}"} for url in URLS]


class Ddgs:
    """Stands in for the client of the package `ddgs`."""

    def __init__(self, timeout):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def text(self, query, *, max_results, **options):
        return [{"title": "T", "href": url, "body": "B"} for url in URLS]


def make_engine(name, web, http, tmp_path, monkeypatch):
    web.route("/search", tavily if name == "tavily" else searxng)
    web.route("/w/api.php", wikipedia)
    web.route("/custom", custom)
    if name == "ddgs":
        monkeypatch.setattr(pytest.importorskip("ddgs"), "DDGS", Ddgs)
    for n in range(5):
        (tmp_path / f"dam {n}.md").write_text(f"# Dam {n}\n\nThe dam at Orla is {n} m high.")
    options = {
        "searxng": {"url": web.url()},
        "tavily": {"url": web.url(), "api_key": "key"},
        "wikipedia": {"url": web.url("/w/api.php")},
        "http": {"url": web.url("/custom")},
        "ddgs": {},
        "folder": {"index": ":memory:"},
    }
    given = {"http": http, "paths": [tmp_path]}
    return registry.build("search", name, options[name], **given)


@pytest.fixture
async def web():
    async with FakeWeb() as server:
        yield server


@pytest.fixture
async def http():
    async with Http(allow_hosts=["127.0.0.1"]) as client:
        yield client


@pytest.mark.parametrize("name", registry.names("search"))
async def test_search_engines(name, web, http, tmp_path, monkeypatch):
    engine = make_engine(name, web, http, tmp_path, monkeypatch)
    hits = await check_search_engine(engine, "how high is the dam", limit=3)
    assert len(hits) == 3
    if holds := getattr(engine, "holds", None):
        held = [hit for hit in hits if holds(hit)]
        for hit in held:
            await check_page_reader(
                engine, hit, missing=Source("https://example.net/", engine=name)
            )
        assert held or name == "tavily"


@pytest.mark.parametrize("name", registry.names("readers"))
async def test_page_readers(name, web, http):
    web.page("/dam", ARTICLE)
    reader = registry.build("readers", name, {}, http=http)
    page = await check_page_reader(
        reader, Source(web.url("/dam")), missing=Source(web.url("/nothing"))
    )
    assert "92 m high" in page.text


@pytest.mark.parametrize("name", registry.names("exporters"))
def test_exporters(name):
    data = check_exporter(registry.build("exporters", name, {}))
    assert "412" in data.decode("utf-8", "replace")


@pytest.mark.parametrize("name", registry.names("llms"))
async def test_language_models(name):
    script = ScriptedLLM(lambda prompt: "<think>hm</think>yes")
    async with FakeOpenAI(script) as server:
        options = {"base_url": server.base_url, "api_key": "key"}
        llm = registry.build("llms", name, options, model="fake-model")
        done = await check_llm(llm)
        if close := getattr(llm, "close", None):
            await close()
        assert done.text == "yes"
        assert server.bodies[0]["model"] == "fake-model"


async def test_the_fake_endpoint_carries_schema_errors_and_faults():
    """Faults come first; a provider's errors become statuses; the schema reaches the double."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    script = ScriptedLLM({"a": "b"}, RateLimited("slow", retry_after=3), ContextTooLong("too long"))
    async with (
        FakeOpenAI(script, models=["m1", "m2"], faults=[FakePage("", 500), None]) as server,
        Http() as http,
    ):

        async def ask():
            from aiohttp import ClientSession

            body = {
                "model": "m1",
                "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
                "max_tokens": 9,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": schema},
                },
            }
            async with (
                ClientSession() as session,
                session.post(f"{server.base_url}/chat/completions", json=body) as r,
            ):
                return r.status, r.headers, await r.text()

        assert (await ask())[0] == 500
        status, _, text = await ask()
        assert status == 200
        assert '\\"a\\": \\"b\\"' in text
        assert script.prompts == [Prompt("m1", "s", "u", schema, "n", 9)]
        status, headers, _ = await ask()
        assert (status, headers["Retry-After"]) == (429, "3")
        status, _, text = await ask()
        assert (status, "context_length_exceeded" in text) == (400, True)
        listed = await http.get_json(f"{server.base_url}/models", trusted=True)
        assert [m["id"] for m in listed["data"]] == ["m1", "m2"]
        assert server.hits["/v1/chat/completions"] == 4
        script.check()


async def test_the_fake_web_turns_pages_delays_hangs_and_chunks(web, http):
    """What the client's own tests rely on."""
    with pytest.raises(RuntimeError, match="async with"):
        FakeWeb().url("/x")
    await FakeWeb().__aexit__(None, None, None)  # never entered: nothing to close
    web.page("/turn", "first", "last")

    async def later(request):
        return FakePage(b"bytes", media_type="", headers={"X": "y"})

    web.route("/made", later)
    web.page("/chunked", FakePage("x" * 10, chunked=True, delay=0.01))
    web.page("/hangs", FakePage(hangs=True))
    bodies = [(await http.get(web.url("/turn"))).body for _ in range(3)]
    assert bodies == [b"first", b"last", b"last"]
    made = await http.get(web.url("/made"))
    assert (made.body, made.headers["x"]) == (b"bytes", "y")
    chunked = await http.get(web.url("/chunked"))
    assert (chunked.body, "content-length" in chunked.headers) == (b"x" * 10, False)
    from deep_research.core.errors import ProviderTimeout

    with pytest.raises(ProviderTimeout):
        await http.get(web.url("/hangs"), timeout=0.05)
    assert web.hits["/turn"] == 3


@pytest.mark.parametrize("kind", registry.KINDS)
def test_loading_plugins_prints_nothing_and_configures_no_logging(kind, capsys):
    """A terminal may not take it, and stdout belongs to the report."""
    import logging

    before = list(logging.getLogger().handlers)
    for name in registry.names(kind):
        registry.plugin(kind, name)
    assert capsys.readouterr() == ("", "")
    assert logging.getLogger().handlers == before


def test_plugins_are_where_the_project_says():
    """An entry point that leads nowhere would be found by users first."""
    package = Path(sys.modules["deep_research"].__file__).parent
    for kind in registry.KINDS:
        for name in registry.names(kind):
            module = registry.address(kind, name).partition(":")[0]
            assert (package.parent / f"{module.replace('.', '/')}.py").exists(), name
