"""From an address to a page: what the reader makes of an answer."""

import asyncio
from datetime import UTC, datetime

import pytest

from deep_research.core.errors import PageUnreadable, ProviderTimeout, ProviderUnavailable
from deep_research.core.model import Source
from deep_research.plugins.readers import web as web_module
from deep_research.plugins.readers.web import WebReader
from deep_research.runtime.answers import Response

PAGE = (
    "<html><head><title>Of rivers</title><meta property='article:published_time' content='2024-03-05'></head>"
    f"<body><p>{'The Ossa is 212 km long. ' * 20}</p></body></html>"
).encode()


class Fake:
    """Answers with what it was given, as the HTTP client would."""

    def __init__(
        self,
        body: bytes = PAGE,
        *,
        url: str = "",
        error: Exception | None = None,
        truncated: bool = False,
        **headers: str,
    ) -> None:
        self.body, self.url, self.error, self.truncated = body, url, error, truncated
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    async def get(self, url: str, *, accept: str) -> Response:
        assert "text/html" in accept
        if self.error:
            raise self.error
        return Response(self.url or url, 200, self.headers, self.body, self.truncated)


def reader(fake: Fake, **settings: object) -> WebReader:
    return WebReader(fake, clock=lambda: datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), **settings)


async def test_the_page_carries_the_final_address_and_fills_what_the_hit_lacks() -> None:
    fake = Fake(
        url="https://b.org/final?utm_source=x&id=1", content_type="text/html; charset=utf-8"
    )
    page = await reader(fake).read(Source("https://a.org/start", snippet="s", engine="e", rank=3))
    assert page.source == Source("https://b.org/final?id=1", "Of rivers", "s", "e", 3, "2024-03-05")
    assert page.fetched_at == "2024-01-02T03:04:05+00:00"
    assert page.media_type == "text/html"
    assert page.text.startswith("The Ossa is 212 km long.")


async def test_title_and_date_of_the_hit_are_kept() -> None:
    page = await reader(Fake()).read(Source("https://a.org/", title="Hit", published="2020-01-01"))
    assert (page.source.title, page.source.published) == ("Hit", "2020-01-01")


async def test_the_declared_charset_is_used() -> None:
    body = "<p>Река Осса имеет длину 212 км и впадает в море.</p>".encode("koi8-r")
    page = await reader(Fake(body, content_type="text/html; charset=KOI8-R")).read(
        Source("https://a.org/")
    )
    assert page.text == "Река Осса имеет длину 212 км и впадает в море."


async def test_an_unreadable_page_names_its_address_and_reason() -> None:
    with pytest.raises(PageUnreadable, match=r"^https://a\.org/ is an image, not text$"):
        await reader(Fake(b"GIF89a...", content_type="image/gif")).read(Source("https://a.org/"))
    with pytest.raises(PageUnreadable, match="larger than the limit"):
        await reader(Fake(b"%PDF-1.7", truncated=True)).read(Source("https://a.org/x.pdf"))


async def test_errors_of_fetching_come_through() -> None:
    with pytest.raises(ProviderUnavailable):
        await reader(Fake(error=ProviderUnavailable("down"))).read(Source("https://a.org/"))


async def test_parsing_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(web_module.asyncio, "to_thread", slow)
    with pytest.raises(ProviderTimeout, match=r"took more than 0\.01 s to parse"):
        await reader(Fake(), parse_seconds=0.01).read(Source("https://a.org/"))


async def test_the_longest_text_is_kept_to() -> None:
    assert len((await reader(Fake(), max_chars=100).read(Source("https://a.org/"))).text) <= 100


class Signposts:
    """Pages that send their readers on, by address."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        self.pages, self.asked = pages, []

    async def get(self, url: str, *, accept: str) -> Response:
        self.asked.append(url)
        return Response(url, 200, {"content-type": "text/html"}, self.pages[url])


def sign(to: str, text: str = "") -> bytes:
    return f"<meta http-equiv='refresh' content='0;url={to}'><p>{text}".encode()


@pytest.mark.parametrize("text", ["", "You are sent on."])
async def test_a_page_that_only_sends_on_is_left_for_the_other(text: str) -> None:
    web = Signposts({"http://a/1": sign("2", text), "http://a/2": sign("3"), "http://a/3": PAGE})
    page = await reader(web).read(Source("http://a/1"))
    assert page.source.url == "http://a/3"
    assert "212 km" in page.text


@pytest.mark.parametrize("last", ["1", "4"])
async def test_sending_on_has_an_end(last: str) -> None:
    pages = {f"http://a/{n}": sign(str(n + 1), "On.") for n in range(1, 9)}
    web = Signposts({**pages, "http://a/3": sign(last)})
    with pytest.raises(PageUnreadable, match="only sends its readers on"):
        await reader(web).read(Source("http://a/1"))
    assert len(web.asked) == 3


async def test_a_page_with_text_of_its_own_is_not_left() -> None:
    web = Signposts({"http://a/1": sign("2") + PAGE})
    assert (await reader(web).read(Source("http://a/1"))).source.url == "http://a/1"
