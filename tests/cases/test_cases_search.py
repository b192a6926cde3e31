"""Whatever a search service answers: usable hits are used, everything else is named and survived."""

import json

import pytest

from deep_research.core.model import Source
from deep_research.testing import FakePage, FakeSearch

FACT = "The Zephyr bridge at Orlin is 4,321 metres long."


def page(text: str = FACT, title: str = "Zephyr bridge") -> str:
    return f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"


def hit(web, **more):
    return {"href": web.url("/page"), "title": "Zephyr", "body": "A bridge.", **more}


def as_json(value, media_type="application/json", encoding="utf-8"):
    return FakePage(
        json.dumps(value, ensure_ascii=False).encode(encoding, "surrogatepass"),
        media_type=media_type,
    )


USED = {
    "S2-results": lambda w: {"results": [hit(w)]},
    "S2-data-results": lambda w: {"status": 200, "data": {"results": [hit(w)]}},
    "S2-web-results": lambda w: {"web": {"results": [hit(w)]}},
    "S2-organic_results": lambda w: {"organic_results": [hit(w)], "meta": {}},
    "S2-documents": lambda w: {"documents": [hit(w)]},
    "S2-elastic": lambda w: {"hits": {"total": 1, "hits": [{"_id": 1, "_source": hit(w)}]}},
    "S2-one-hit-bare": hit,
    "S2-error-beside-results": lambda w: {"error": "one shard failed", "results": [hit(w)]},
    "S3-among-junk": lambda w: [
        None, {}, {"url": None}, {"href": ""}, {"title": "x"}, 5, ["x"], True, "no address", hit(w),
    ],
    "S3-text": lambda w: [w.url("/page")],
    "S3-link": lambda w: [{"link": w.url("/page")}],
    "S3-capital-keys": lambda w: [{"URL": w.url("/page"), "Title": "Zephyr"}],
    "S3-no-title": lambda w: [{"url": w.url("/page"), "title": None, "body": None}],
    "S3-odd-fields": lambda w: [hit(w, title=["a", 3], body={"x": 1}, published_date=True)],
    "S3-numbers": lambda w: [hit(w, title=7, body=7.5, date=1e300)],
    "S3-markup": lambda w: [hit(w, title="<b>Zephyr</b> &amp; <script>x</script>", body="<i>b</i>")],
    "S3-dates": lambda w: [hit(w, published_date="the day before yesterday")],
    "S3-huge-text": lambda w: [hit(w, body="word " * 400_000)],
    "S3-lone-surrogate": lambda w: as_json([hit(w, title="a\ud800b")]),
    "S8-blanks-around": lambda w: [hit(w, href=f"  {w.url('/page')} \n")],
    "S8-capital-scheme": lambda w: [hit(w, href=w.url("/page").replace("http", "HTTP"))],
    "S8-no-scheme": lambda w: [hit(w, href=w.url("/page").removeprefix("http://"))],
    "S8-two-slashes": lambda w: [hit(w, href=w.url("/page").removeprefix("http:"))],
    "S8-escaped-ampersand": lambda w: [hit(w, href=w.url("/page?a=1&amp;b=2"))],
    "S8-user-and-password": lambda w: [hit(w, href=w.url("/page").replace("//", "//me:secret@"))],
    "S8-markdown-link": lambda w: [hit(w, href=f"[page]({w.url('/page')})")],
    "S-bom": lambda w: FakePage(b"\xef\xbb\xbf" + json.dumps([hit(w)]).encode()),
    "S-utf-16": lambda w: as_json([hit(w)], encoding="utf-16"),
    "S-latin-1": lambda w: as_json(
        [hit(w, title="Café")], "application/json; charset=latin-1", "latin-1"
    ),
    "S-called-html": lambda w: as_json([hit(w)], "text/html"),
    "S-nan": lambda w: as_json([hit(w, score=float("nan"))]),
    "S-429-then-hits": lambda w: (FakePage("", 429, headers={"Retry-After": "1"}), [hit(w)]),
    "S-503-then-hits": lambda w: (FakePage("", 503), [hit(w)]),
}  # fmt: skip


@pytest.mark.parametrize("case", USED)
async def test_usable_hits_are_used(surf, case):
    found = await surf({"/page": page()}, hits=USED[case])
    assert FACT in found.body
    assert [url.partition("?")[0] for url in found.cited] == ["/page"]
    assert "secret" not in found.body + found.failures + json.dumps(found.cited)


NOTHING = {
    "S1-null": (FakePage("null"), ""),
    "S1-204": (FakePage("", 204), ""),
    "S6-empty-list": ([], ""),
    "S6-empty-results": ({"results": []}, ""),
    "S6-empty-and-ok": ({"message": "ok", "results": []}, ""),
    "S2-error": ({"error": "query too long"}, "query too long"),
    "S2-error-object": ({"error": {"code": 7, "message": "quota used up"}}, "quota used up"),
    "S2-errors": ({"errors": [{"message": "bad field"}]}, "bad field"),
    "S2-error-with-empty-results": ({"error": "quota used up", "results": []}, "quota used up"),
    "S2-string": (FakePage('"hello"'), "expected a list of results"),
    "S2-number": (FakePage("42"), "expected a list of results"),
    "S2-other": ({"hello": "world"}, "holds no list of results"),
    "S3-nothing-usable": ([None, {}, {"url": None}, "/page", {"href": "mailto:a@b.example"}], "none with a usable"),
    "S4-empty-body": (FakePage(""), "answered no JSON"),
    "S4-captcha-page": (FakePage("<html><title>Captcha</title>Are you human?</html>"), "no JSON"),
    "S4-cut-off": (FakePage('[{"href": "http://127.0'), "no JSON"),
    "S4-deep": (FakePage("[" * 100_000), "no JSON"),
    "S5-401": (FakePage({"error": "bad key"}, 401), "auth: http: "),
    "S5-403": (FakePage("", 403), "check search.http.headers"),
    "S5-404": (FakePage("", 404), "answered 404"),
    "S5-422": (FakePage({"detail": [{"msg": "q is too long"}]}, 422), "q is too long"),
    "S5-429-for-ever": (FakePage("", 429), "slow down (429)"),
    "S5-429-for-an-hour": (FakePage("", 429, headers={"Retry-After": "3600"}), "slow down (429)"),
    "S5-500-for-ever": (FakePage("", 500), "answered 500"),
    "S5-redirect-to-a-private-address": (FakePage("", 302, headers={"Location": "http://10.0.0.1/"}), "no public"),
    "S7-hangs": (FakePage(hangs=True), "did not answer in time"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTHING)
async def test_an_engine_that_brings_nothing_is_named(surf, case):
    """The run ends after its first level, invents nothing, and its report says what failed."""
    answer, reason = NOTHING[case]
    found = await surf(
        {}, hits=(answer,), depth=3, breadth=3, **{"search.http.timeout": 0.2, "reading.stall": 5.0}
    )
    assert found.report.status in {"nothing_found", "failed"}
    assert found.cited == []
    assert found.report.learnings == ()
    assert not found.report.tree.children, "there is nothing to go deeper on"
    shown = (found.folder / "report.md").read_text("utf-8")
    if reason:
        assert reason in found.failures + found.report.stop_reason
        assert reason.split()[0] in shown.replace("\\", "")
    else:
        assert found.report.stop_reason == "no_evidence"
        assert found.failures == ""
    outage = {"S5-401", "S5-403", "S5-429-for-ever", "S5-500-for-ever", "S7-hangs"}
    assert case not in outage or found.report.status == "failed"


async def test_an_engine_without_hits_costs_no_model_call(surf, monkeypatch):
    """S6: what has not been found is not asked about."""
    from deep_research.testing import FakeOpenAI, Reply, ScriptedLLM

    brief = {"scope": "", "language": "en", "outline": [], "queries": ["Zephyr bridge length"]}
    plan = {"queries": [{"query": "Zephyr bridge Orlin", "goal": "x"}]}
    llm = ScriptedLLM(
        Reply(brief, step="brief", times=None),
        Reply(plan, step="plan", times=None),
        Reply({"queries": []}, times=None),
    )
    async with FakeOpenAI(llm) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        found = await surf({}, hits=[], **{"models.base_url": endpoint.base_url, "llm": "fake"})
    assert found.report.status == "nothing_found"
    assert not {"learnings", "section", "outline"} & {p.name for p in llm.prompts}


REFUSED = [
    "file:///etc/passwd", "/etc/x.pdf", "C:\\x.pdf", "ftp://a.example/x", "javascript:alert(1)", "data:text/plain,x",
    "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://[::ffff:10.0.0.1]/",
    "http://0x0a000001/", "http://2130706433:1/", "http://0/", "http://192.168.0.1:8080/x", "about:blank",
    "http://127.0.0.1:99999/", "http://", "mailto:a@b.example", "x" * 9000,
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED, ids=lambda url: f"S10-{url[:30]}")
async def test_addresses_that_must_not_be_read_are_not(surf, url):
    """S10: beside a good hit they are left out, whatever they are."""
    port = "2130706433:1"  # this machine, and not the port that is allowed
    found = await surf(
        {"/page": page()},
        hits=lambda web: [{"href": url, "title": "Zephyr bridge at Orlin"}, hit(web)],
        **({"network.allow_hosts": lambda web: web.url()[7:]} if port in url else {}),
    )
    assert found.cited == ["/page"]
    assert [r.path for r in found.web.requests if r.path != "/-search"] == ["/page"]


async def test_as_many_pages_as_asked_for_and_each_once(surf):
    """S8: a hundred hits, most of them the same page in other spellings."""
    spelt = (
        "/page",
        "/page/",
        "/page#a",
        "/page?utm_source=b",
        "/page?gclid=1#x",
        "/./page",
        "/x/../page",
    )
    found = await surf(
        {"/page": page(), **{f"/{n}": page(f"Pier {n} is {n} metres high.") for n in range(60)}},
        hits=lambda web: [{"href": web.url(p)} for p in (*spelt, *(f"/{n}" for n in range(60)))],
        **{"reading.pages_per_query": 3, "search.results": 20},
    )
    assert found.web.hits["/page"] == 1
    assert found.report.usage.pages <= 6


async def test_one_page_for_every_query_is_read_once(surf):
    """S9: the engine that always gives the same ten: one fetch each, and the tree comes to an end."""
    text = f"{FACT} Ada Brook built it with Tom Hale for the Orlin Harbour Board in May 1998."
    found = await surf(
        {f"/p{n}": page(f"{text} Pier {n} came last.") for n in range(10)}, depth=3, breadth=3
    )
    assert FACT in found.body
    assert all(found.web.hits[f"/p{n}"] <= 1 for n in range(10))
    assert found.report.usage.searches <= 3 * 13


@pytest.mark.parametrize("setting", ["search.include_domains", "search.exclude_domains"])
async def test_domains_are_kept_to_at_every_level(surf, setting):
    """S12: the engine does not know of the filter; what it brings is filtered afterwards."""
    domain = "localhost" if "exclude" in setting else "127.0.0.1"
    link = "It was built by Ada Brook, who was born in Torvik."
    found = await surf(
        {
            "/page": page(f"{FACT} {link}"),
            "/other": page(f"{FACT} {link}", title="Zephyr bridge 2"),
        },
        hits=lambda web: [
            {"href": web.url("/other").replace("127.0.0.1", "localhost"), "title": "Zephyr bridge"},
            hit(web),
        ],
        depth=2,
        breadth=2,
        **{setting: domain, "network.allow_hosts": "127.0.0.1,localhost"},
    )
    assert found.cited == ["/page"]
    assert found.web.hits["/other"] == 0


QUERIES = {
    "S13-5000-characters": "How long is the Zephyr bridge at Orlin, "
    + "and why is it so " * 300
    + "?",
    "S13-operators": 'How long is the "Zephyr bridge" -site:x OR (Orlin) AND NOT filetype:pdf ~ * + ?',
    "S13-lines": "How long\nis the\r\nZephyr bridge\tat Orlin?",
    "S13-emoji": "How long is the Zephyr bridge 🌉 at Orlin 👷🏽‍♀️?",
    "S13-zero-width": "How long is the Zephyr\u200b bridge at Or\u00adlin?",
    "S13-sql": "How long is the Zephyr bridge at Orlin'; DROP TABLE pages;-- ?",
    "S13-template": "How long is the Zephyr bridge at Orlin? {query} %s ${HOME} {{7*7}} \\n",
    "S13-html": "How long is the <b>Zephyr bridge</b> at Orlin? <script>alert(1)</script>",
    "S13-ampersands": "How long is the Zephyr bridge at Orlin? &q=other&format=xml#x %00 %zz +",
    "S13-combining": "How long is the Zéphyr bridge at Orlin?",
    "S13-control": "How long is the Zephyr bridge at Orlin?\x07\x1b[31m",
}


@pytest.mark.parametrize("case", QUERIES)
async def test_any_question_can_be_asked(surf, case):
    """One printable line of bounded length reaches the engine, in the argument it belongs to."""
    found = await surf(question=QUERIES[case])
    assert FACT in found.body
    for request in found.web.requests:
        if request.path == "/-search":
            assert set(request.query) == {"query"}
            assert request.query["query"].isprintable()
            assert len(request.query["query"]) <= 500


class Engines:
    """Two engines of one's own beside each other."""

    def __init__(self, *engines):
        self.engines = {engine.name: engine for engine in engines}

    def __call__(self, name, *_rest, **_options):
        return self.engines[name]


@pytest.fixture
def engines(monkeypatch):
    """Let runs search with these doubles, by name."""
    from types import SimpleNamespace

    from deep_research import app, registry, wiring

    known = SimpleNamespace(names=registry.names, build=registry.build, address=lambda *_: "")
    monkeypatch.setattr(app, "registry", known)

    def use(*doubles):
        made = Engines(*doubles)
        monkeypatch.setattr(wiring, "make_engine", lambda name, *_: made(name))
        monkeypatch.setattr(app, "resolve_engines", lambda _: tuple(made.engines))

    return use


def broken(answer):
    def search(_query):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return FakeSearch(name="broken", answers=search)


class Slow(FakeSearch):
    """Never answers."""

    async def search(self, query, *, limit):
        import asyncio

        await asyncio.Event().wait()


BAD = {
    "S1-none": broken(None),
    "S2-tuple-of-junk": broken((None, 3, "x")),
    "S2-dict": broken({"results": []}),
    "S2-string": broken("hello"),
    "S2-generator": broken(iter([])),
    "S3-source-without-address": broken([Source("")]),
    "S11-bug": broken(ZeroDivisionError("division by zero")),
    "S11-import-error": broken(ImportError("no module named x")),
    "S11-os-error": broken(OSError(24, "Too many open files")),
    "S7-hangs": Slow(name="broken"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_engine_beside_a_good_one_costs_nothing(surf, engines, monkeypatch, case):
    """S11: the run uses what the other found; the failure is a warning, and in no finding."""
    from functools import partial

    from deep_research import wiring
    from deep_research.runtime.guard import Timeouts

    monkeypatch.setattr(wiring, "Timeouts", partial(Timeouts, search=0.05))

    def good(web):
        return FakeSearch({web.url("/page"): FACT}, name="good")

    def both(web):
        engines(BAD[case], good(web))
        return []

    found = await surf({"/page": page()}, hits=both)
    assert found.report.status == "complete"
    assert FACT in found.body
    if case != "S1-none":
        assert "broken" in found.warnings


async def test_snippets_alone_are_no_sources(surf):
    """No page can be read: what the engine says about them is not cited."""
    found = await surf(
        {"/page": FakePage("", 404), "/b": FakePage("", 410)},
        hits=lambda web: [hit(web, body=FACT), hit(web, href=web.url("/b"), body=FACT)],
    )
    assert found.report.status == "nothing_found"
    assert FACT not in found.body
    assert "answered 404" in found.failures


async def test_text_that_comes_with_the_hit_is_the_page(surf):
    """The endpoint's `raw_content` is read instead of the address, and quotes point into it."""
    found = await surf(
        {"/page": FakePage("", 404)}, hits=lambda web: [hit(web, raw_content=f"{FACT} It is old.")]
    )
    assert found.cited == ["/page"]
    assert found.web.hits["/page"] == 0


async def test_names_with_other_letters_are_dialled_in_their_plain_form(surf):
    """An IDN host: not there, so a failure that names it; nothing crashes."""
    found = await surf(
        {"/page": page()}, hits=lambda web: [{"href": "http://bücher.invalid/x"}, hit(web)]
    )
    assert found.cited == ["/page"]
    assert "xn--bcher-kva.invalid/x cannot be reached" in found.failures


async def test_keys_in_the_endpoints_arguments_are_not_told(surf, monkeypatch):
    """The endpoint's address holds a key; no message, event or file repeats it."""
    found = await surf(
        {}, hits=(FakePage("", 500),), **{"search.http.url": lambda web: web.url("/-search?api_key=SECRET1"),
           "search.http.args": {"token": "SECRET2"}, "search.http.headers": {"X-Key": "SECRET3"}}
    )  # fmt: skip
    assert found.web.requests[0].headers["X-Key"] == "SECRET3"
    for file in found.folder.rglob("*"):
        if file.is_file():
            assert "SECRET" not in file.read_text("utf-8"), file
