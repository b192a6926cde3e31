"""The door to the web, against loopback servers that behave as badly as real ones."""

import asyncio
import contextlib
import gzip
import json
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    ConfigError,
    PageUnreadable,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    Refused,
)
from deep_research.core.model import Source
from deep_research.plugins.readers.web import WebReader
from deep_research.runtime.answers import retry_after
from deep_research.runtime.http import Http

DATA = Path(__file__).parents[2] / "../shared/data/url"
Answer = bytes | Callable[[str], bytes]


def reply(status: str = "200 OK", body: bytes = b"hello", **headers: str) -> bytes:
    """A whole HTTP answer; header names are written with underscores."""
    fields = {"Content-Length": str(len(body)), "Content-Type": "text/plain", "Connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


class Server:
    """Answers the n-th request with the n-th answer, the last one for ever, and remembers what it was asked."""

    def __init__(self, *answers: bytes, hold: asyncio.Event | None = None) -> None:
        self.answers, self.hold = list(answers), hold
        self.requests: list[str] = []
        self.active = self.peak = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.active += 1
        self.peak = max(self.peak, self.active)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (
                    int(x[16:])
                    for x in head.split("\r\n")
                    if x.lower().startswith("content-length: ")
                ),
                0,
            )
            self.requests.append(head + (await reader.readexactly(length)).decode())
            if self.hold:
                await self.hold.wait()
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            writer.write(answer)
            await writer.drain()
        self.active -= 1
        writer.close()


@contextlib.asynccontextmanager
async def serving(handler: Callable[..., Awaitable[None]]) -> AsyncIterator[str]:
    """Serve on a free port of the loopback; yields the base address."""
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await handler(reader, writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


def http(**settings: object) -> Http:
    """A client that may dial the loopback and does not wait before trying again."""
    return Http(**{"allow_hosts": ["127.0.0.1"], "retry_delay": 0.0, **settings})


async def fetch(*answers: bytes, **settings: object) -> tuple[object, Server]:
    """Get one page from a server with `answers`; returns the response or the error, and the server."""
    server = Server(*answers)
    async with serving(server) as base, http(**settings) as client:
        try:
            return await client.get(base + "/page?x=1"), server
        except ProviderError as error:
            return error, server


class Names(AbstractResolver):
    """Resolves names from a table; counts the questions."""

    def __init__(self, **table: list[str]) -> None:
        self.table, self.asked = table, 0

    async def resolve(
        self, host: str, port: int = 0, family: int = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        name = host.partition(".")[0]
        if name not in self.table:
            raise OSError(None, "no such host")
        return [
            ResolveResult(
                hostname=host,
                host=ip,
                port=port,
                family=socket.AF_INET6 if ":" in ip else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for ip in self.table[name]
        ]

    async def close(self) -> None:
        pass


async def test_a_page_comes_with_its_address_type_charset_and_bytes() -> None:
    response, server = await fetch(
        reply(body="é".encode(), Content_Type='Text/HTML; charset="UTF-8"')
    )
    assert (response.status, response.body, response.truncated) == (200, "é".encode(), False)
    assert (response.media_type, response.charset) == ("text/html", "UTF-8")
    assert response.url.endswith("/page?x=1")
    assert "User-Agent: Mozilla/5.0 (compatible; deep-research)" in server.requests[0]
    assert "Accept-Encoding: gzip, deflate" in server.requests[0]


async def test_a_response_without_content_type_has_none() -> None:
    response, _ = await fetch(reply(Content_Type=""))
    assert (response.media_type, response.charset) == ("", "")


async def test_parameters_and_headers_are_sent() -> None:
    server = Server(reply())
    async with serving(server) as base, http() as client:
        await client.get(base + "/s?a=1", params={"q": "rivers & lakes"}, headers={"X-Key": "k"})
    assert server.requests[0].startswith("GET /s?a=1&q=rivers+%26+lakes HTTP/1.1")
    assert "X-Key: k" in server.requests[0]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("404 Not Found", PageUnreadable),
        ("410 Gone", PageUnreadable),
        ("403 Forbidden", PageUnreadable),
        ("401 Unauthorized", PageUnreadable),
        ("300 Choose", PageUnreadable),
        ("429 Too Many", RateLimited),
        ("500 Oops", ProviderUnavailable),
        ("503 Busy", ProviderUnavailable),
    ],
)
async def test_status_becomes_an_error(status: str, kind: type[ProviderError]) -> None:
    error, server = await fetch(reply(status))
    assert type(error) is kind
    assert status[:3] in str(error)
    assert len(server.requests) == (2 if error.retryable else 1)


@pytest.mark.parametrize(
    "first", [reply("429 Slow"), reply("500 Oops"), reply("503 Busy", Retry_After="0"), b""]
)
async def test_a_page_is_tried_once_more(first: bytes) -> None:
    response, server = await fetch(first, reply(body=b"second"))
    assert response.body == b"second"
    assert len(server.requests) == 2


async def test_retry_after_is_obeyed_but_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("deep_research.runtime.http.asyncio.sleep", sleep)
    await fetch(reply("429 Slow", Retry_After="3"), reply())
    await fetch(reply("503 Busy", Retry_After="3600"), reply())
    await fetch(reply("500 Oops"), reply(), retry_delay=1.0)
    assert [seconds for seconds in waits if seconds] == [3.0, 5.0, 1.0]


async def test_a_cloudflare_challenge_is_a_wall() -> None:
    error, _ = await fetch(reply("403 Forbidden", Cf_Mitigated="challenge"))
    assert "wall" in str(error)
    assert type(error) is PageUnreadable


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
    ],
)
def test_retry_after_values(value: str | None, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_retry_after_as_a_date_counts_from_now() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 95 < (retry_after(later) or 0) <= 100


# --- size and encoding ---


async def test_a_large_body_is_cut_at_the_cap() -> None:
    response, _ = await fetch(reply(body=b"x" * 5000), max_bytes=1000)
    assert (len(response.body), response.truncated) == (1000, True)


async def test_a_chunked_body_without_length_is_cut_while_streaming() -> None:
    chunk = b"1000\r\n" + b"y" * 0x1000 + b"\r\n"
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 200
    response, _ = await fetch(answer, max_bytes=10_000)
    assert (len(response.body), response.truncated) == (10_000, True)


async def test_a_compressed_bomb_is_capped_after_decompression() -> None:
    bomb = gzip.compress(b"0" * 50_000_000, mtime=0)
    response, _ = await fetch(reply(body=bomb, Content_Encoding="gzip"), max_bytes=20_000)
    assert (len(response.body), response.truncated) == (20_000, True)


def _raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"text", mtime=0)),
        ("x-gzip", gzip.compress(b"text", mtime=0)),
        ("deflate", zlib.compress(b"text")),
        ("deflate", _raw_deflate(b"text")),
        ("identity", b"text"),
        ("gzip", gzip.compress(b"text", mtime=0) + b"\0\0junk"),
    ],
)
async def test_encodings_that_servers_use(encoding: str, body: bytes) -> None:
    response, _ = await fetch(reply(body=body, Content_Encoding=encoding))
    assert (response.body, response.truncated) == (b"text", False)


async def test_a_compressed_stream_that_breaks_off_keeps_what_came() -> None:
    text = json.dumps(list(range(20_000))).encode()
    whole = gzip.compress(text, mtime=0)
    response, _ = await fetch(reply(body=whole[: len(whole) // 2], Content_Encoding="gzip"))
    assert response.truncated
    assert len(response.body) > 1000
    assert text.startswith(response.body)


async def test_a_compressed_stream_that_turns_to_rubbish_keeps_what_came() -> None:
    text = json.dumps(list(range(200_000))).encode()
    whole = bytearray(gzip.compress(text, mtime=0))
    whole[len(whole) // 2 :] = b"\xff" * (len(whole) - len(whole) // 2)
    response, _ = await fetch(reply(body=bytes(whole), Content_Encoding="gzip"))
    assert response.truncated
    assert text[:100_000] == response.body[:100_000]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "utf-8", "none", "gzip, identity"])
async def test_what_is_not_compressed_at_all_is_taken_as_it_comes(encoding: str) -> None:
    body = b"\xffplain text" * 20
    response, _ = await fetch(reply(body=body, Content_Encoding=encoding))
    assert (response.body, response.truncated) == (body, False)


async def test_what_is_not_compressed_is_taken_in_pieces_too() -> None:
    body = b"\xffplain text" * 20_000
    response, _ = await fetch(reply(body=body, Content_Encoding="deflate"))
    assert response.body == body


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip"])
async def test_a_compression_that_nobody_asked_for_is_refused(encoding: str) -> None:
    error, _ = await fetch(reply(body=b"..", Content_Encoding=encoding))
    assert type(error) is PageUnreadable
    assert encoding in str(error)


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        ('["é"]'.encode("latin-1"), "application/json; charset=latin-1", ["é"]),
        ('["é"]'.encode(), "application/json; charset=nonsense", ["é"]),
        ('["é"]'.encode(), "application/json; charset=ascii", ["é"]),
        ('["é"]'.encode("utf-16"), "application/json", ["é"]),
    ],
)
async def test_json_in_the_charset_that_is_declared(
    body: bytes, content_type: str, expected: list[str]
) -> None:
    server = Server(reply(body=body, Content_Type=content_type))
    async with serving(server) as base, Http() as client:
        assert await client.get_json(base, trusted=True) == expected


async def test_an_api_without_content_says_nothing() -> None:
    server = Server(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    async with serving(server) as base, Http() as client:
        assert await client.get_json(base, trusted=True) is None


async def test_errors_of_an_api_do_not_show_what_was_asked() -> None:
    async with Http() as client:
        with pytest.raises(ProviderUnavailable, match=r"/s cannot be reached: connection refused"):
            await client.get_json("http://127.0.0.1:1/s", params={"key": "SECRET"}, trusted=True)


async def test_a_status_beyond_http_is_not_tried_again() -> None:
    error, server = await fetch(reply("999 No Robots"))
    assert type(error) is PageUnreadable
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        reply(Content_Length="abc"),
        b"HTTP/1.1 200 OK\r\nBad header\r\n\r\n",
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
    ],
)
async def test_broken_http_is_an_unreadable_page(answer: bytes) -> None:
    error, _ = await fetch(answer)
    assert type(error) is PageUnreadable


async def test_a_body_that_breaks_off_is_tried_again_and_then_unavailable() -> None:
    error, server = await fetch(reply(body=b"part", Content_Length="100"))
    assert type(error) is ProviderUnavailable
    assert len(server.requests) == 2


# --- time ---


async def test_silence_is_a_timeout() -> None:
    async with serving(Server(reply(), hold=asyncio.Event())) as base, http(idle=0.03) as client:
        with pytest.raises(ProviderTimeout):
            await client.get(base)


async def test_a_drip_is_a_timeout_as_a_whole() -> None:
    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        writer.close()

    async with serving(drip) as base, http(timeout=0.05) as client:
        with pytest.raises(ProviderTimeout):
            await client.get(base)


async def test_a_dead_port_is_unavailable_and_not_tried_again() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with http(retry_delay=60.0) as client:
        with pytest.raises(ProviderUnavailable, match="cannot be reached"):
            await client.get(f"http://127.0.0.1:{port}/")


# --- redirects ---


async def test_redirects_are_followed_and_the_last_address_counts() -> None:
    response, server = await fetch(
        reply("301 Moved", Location="/a/b"),
        reply("302 Found", Location="../c?d=é"),
        reply(body=b"end"),
    )
    assert response.body == b"end"
    assert response.url.endswith("/c?d=%C3%A9")
    assert len(server.requests) == 3


async def test_a_redirect_loop_is_an_error() -> None:
    error, server = await fetch(reply("302 Found", Location="/page?x=1"))
    assert type(error) is PageUnreadable
    assert len(server.requests) == 1


async def test_too_many_redirects_are_an_error() -> None:
    error, server = await fetch(*(reply("302 Found", Location=f"/{n}") for n in range(9)))
    assert type(error) is PageUnreadable
    assert len(server.requests) == 6


async def test_a_cookie_set_by_a_redirect_is_sent_back_and_forgotten_afterwards() -> None:
    server = Server(
        reply("302 Found", Location="/", Set_Cookie="seen=1"), reply(body=b"in"), reply()
    )
    async with serving(server) as base, http() as client:
        assert (await client.get(base)).body == b"in"
        await client.get(base)
    assert "Cookie: seen=1" in server.requests[1]
    assert "Cookie" not in server.requests[2]


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2/",
        "http://10.0.0.5/",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "ftp://example.org/",
        "javascript:alert(1)",
        "http://2130706434/",
        "//127.0.0.3/",
    ],
)
async def test_a_redirect_to_where_nobody_may_go_is_refused(target: str) -> None:
    error, server = await fetch(reply("302 Found", Location=target))
    assert type(error) is Refused
    assert len(server.requests) == 1


async def test_a_redirect_without_a_location_is_an_unreadable_page() -> None:
    error, _ = await fetch(reply("302 Found"))
    assert type(error) is PageUnreadable


async def test_a_key_does_not_follow_a_redirect_to_another_host() -> None:
    there = Server(reply(body=b"{}"))
    async with serving(there) as other:
        here = Server(reply("302 Found", Location=other + "/x"))
        async with serving(here) as base, http() as client:
            assert await client.get_json(base, headers={"Authorization": "Bearer secret"}) == {}
    assert "secret" in here.requests[0]
    assert "secret" not in there.requests[0]


# --- addresses ---


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost./",
        "http://[::1]/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://2130706433/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://[::ffff:10.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[64:ff9b::10.0.0.1]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://example.org@127.0.0.1/",
        "http://0/",
        "http://%31%32%37.0.0.1/",
        "http://１２７.0.0.1/",
        "http://224.0.0.1/",
        "https://192.168.1.1:8443/",
        "http://100.64.0.1/",
        "http://[2001::1]/",
        "http://[::]/",
        "http://[::127.0.0.1]/",
        "http:\\\\127.0.0.1/",
    ],
)
async def test_private_addresses_are_refused_in_every_spelling(url: str) -> None:
    async with Http(resolver=Names(localhost=["127.0.0.1"])) as client:
        with pytest.raises(Refused):
            await client.get(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "/etc/passwd",
        "C:\\x.pdf",
        "ftp://a.org/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "http://",
        "http://a b/",
        "http://[::1",
        "http://a:99999/",
        "http://[fe80::1%25eth0]/",
        "http://a..b/",
        "http://1.2.3.4.5/",
        "file:///etc/passwd",
    ],
)
async def test_what_is_no_web_address_is_refused(url: str) -> None:
    async with Http() as client:
        with pytest.raises(Refused):
            await client.get(url)


@pytest.mark.skipif(not DATA.exists(), reason="the shared vectors are not here")
async def test_the_published_vectors_are_refused() -> None:
    vectors = json.loads((DATA / "ssrf_addresses.json").read_text())
    addresses = vectors["must_block_ips"] + [
        n.partition("/")[0] for n in vectors["must_block_networks"]
    ]
    urls = [f"http://[{a}]/" if ":" in a else f"http://{a}/" for a in addresses]
    literal = json.loads((DATA / "ip_literal_vectors.json").read_text())
    urls += [v["input"] for v in literal if v["private"]]
    async with Http() as client:
        for url in urls:
            with pytest.raises(Refused):
                await client.get(url)


async def test_a_public_name_with_a_private_address_is_refused_and_so_is_its_rebinding() -> None:
    names = Names(inner=["10.0.0.1", "::1"], both=["127.0.0.1"])
    async with Http(resolver=names) as client:
        with pytest.raises(Refused, match=r"inner\.example is 10\.0\.0\.1"):
            await client.get("http://inner.example/")
    async with serving(Server(reply())) as base, http(resolver=names) as client:
        port = base.rpartition(":")[2]
        assert (await client.get(f"http://both.example:{port}/")).status == 200


async def test_of_several_addresses_only_the_public_ones_are_dialled() -> None:
    names = Names(mixed=["10.0.0.1", "127.0.0.1"])
    async with serving(Server(reply())) as base, http(resolver=names) as client:
        assert (await client.get(f"http://mixed.example:{base.rpartition(':')[2]}/")).status == 200


async def test_an_unknown_name_is_unavailable() -> None:
    async with Http(resolver=Names()) as client:
        with pytest.raises(ProviderUnavailable):
            await client.get("http://nowhere.example/")
    async with Http(resolver=Names(empty=[])) as client:
        with pytest.raises(ProviderUnavailable):
            await client.get("http://empty.example/")


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        ("127.0.0.1", True),
        ("127.0.0.0/8", True),
        ("127.0.0.1:{port}", True),
        ("local.example", True),
        ("local.example:{port}", True),
        ("127.0.0.1:1", False),
        ("local.example:1", False),
        ("10.0.0.0/8", False),
        ("other.example", False),
        ("::1", False),
        ("127.0.0.1:80", False),
    ],
)
async def test_allowed_hosts_may_be_dialled(entry: str, *, allowed: bool) -> None:
    async with serving(Server(reply())) as base:
        port = base.rpartition(":")[2]
        hosts = [entry.format(port=port)]
        async with Http(allow_hosts=hosts, resolver=Names(local=["127.0.0.1"])) as client:
            if allowed:
                assert (await client.get(f"http://local.example:{port}/")).status == 200
            else:
                with pytest.raises(Refused):
                    await client.get(f"http://local.example:{port}/")


@pytest.mark.parametrize("entry", ["", "a b", "10.0.0.0/99", "http://x:y:z"])
def test_a_wrong_allow_list_names_the_entry(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"network\.allow_hosts"):
        Http(allow_hosts=[entry])


async def test_a_mapped_address_counts_as_what_it_maps() -> None:
    async with http() as client:
        client._check("http://[::ffff:127.0.0.1]/", trusted=False)
        client._check("http://[::ffff:8.8.8.8]/", trusted=False)
        client._check("http://[64:ff9b::8.8.8.8]/", trusted=False)
        client._check("http://[2606:4700::1]/", trusted=False)


# --- APIs ---


async def test_a_trusted_api_may_be_private_and_others_may_not() -> None:
    server = Server(reply(body=b'{"a": [1]}'))
    async with serving(server) as base, Http() as client:
        assert await client.get_json(base, params={"q": "x"}, trusted=True) == {"a": [1]}
        with pytest.raises(Refused):
            await client.get_json(base)


async def test_trust_ends_where_a_redirect_leaves() -> None:
    server = Server(reply("302 Found", Location="http://127.0.0.9/"))
    async with serving(server) as base, Http() as client:
        with pytest.raises(Refused):
            await client.get_json(base, trusted=True)


async def test_json_is_posted() -> None:
    server = Server(reply(body=b"[]"))
    async with serving(server) as base, Http() as client:
        assert (
            await client.post_json(base + "/s", {"q": "é"}, headers={"X-Key": "k"}, trusted=True)
            == []
        )
    assert server.requests[0].startswith("POST /s HTTP/1.1")
    assert "Content-Type: application/json" in server.requests[0]
    assert json.loads(server.requests[0].rpartition("\r\n")[2]) == {"q": "é"}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reply("401 No", b"bad key"), AuthFailed),
        (reply("403 No"), AuthFailed),
        (reply("400 Bad", b"no q"), ProviderError),
        (reply("302 Found", Location="/x"), ProviderError),
        (reply("429 Slow"), RateLimited),
        (reply("502 Oops"), ProviderUnavailable),
        (reply(body=b"<html>"), BadAnswer),
        (reply(body=b""), BadAnswer),
        (reply(body=b"\xff\xfe\xff"), BadAnswer),
        (reply(body=b"[" * 100_000), BadAnswer),
    ],
)
async def test_api_errors(answer: bytes, kind: type[ProviderError]) -> None:
    server = Server(answer)
    async with serving(server) as base, Http() as client:
        with pytest.raises(ProviderError) as caught:
            await client.post_json(base, {}, trusted=True)
    assert type(caught.value) is kind
    assert len(server.requests) == 1


# --- permits and life ---


async def test_one_host_gets_so_many_requests_at_a_time() -> None:
    hold = asyncio.Event()
    server = Server(reply(), hold=hold)
    async with serving(server) as base, http(per_host=2) as client, asyncio.TaskGroup() as group:
        for n in range(6):
            group.create_task(client.get(f"{base}/{n}"))
        await asyncio.sleep(0.05)
        hold.set()
    assert (server.peak, len(server.requests)) == (2, 6)


def test_two_event_loops_one_after_the_other() -> None:
    async def once() -> bytes:
        response, _ = await fetch(reply())
        return response.body

    assert [asyncio.run(once()) for _ in range(2)] == [b"hello", b"hello"]


async def test_a_closed_client_opens_again() -> None:
    async with serving(Server(reply())) as base, http() as client:
        await client.get(base)
        await client.close()
        assert (await client.get(base)).status == 200


async def test_a_page_is_read_through_the_real_door() -> None:
    body = "<meta charset=koi8-r><title>Осса</title><p>Река Осса имеет длину 212 км и впадает в море.".encode(
        "koi8-r"
    )
    server = Server(
        reply("302 Found", Location="/final?utm_source=x"),
        reply(body=body, Content_Type="text/html"),
    )
    async with serving(server) as base, http() as client:
        page = await WebReader(client).read(Source(base + "/start"))
    assert page.text == "Река Осса имеет длину 212 км и впадает в море."
    assert (page.source.url, page.source.title) == (base + "/final", "Осса")


async def test_the_systems_names_work_too() -> None:
    async with serving(Server(reply())) as base, http() as client:
        assert (await client.get(f"http://localhost:{base.rpartition(':')[2]}/")).status == 200
