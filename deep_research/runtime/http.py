"""The one door to the web: public addresses only, within bounds of size, time and number.

With `resolver` the only module of the runtime that knows aiohttp
(https://docs.aiohttp.org/en/stable/client_reference.html).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from deep_research.core import urls
from deep_research.core.errors import (
    PageUnreadable,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    Refused,
)
from deep_research.core.text import shorten

from .addresses import AllowList
from .answers import Response, page, parsed, read_body
from .requests import Request, address, redirected
from .resolver import PublicResolver, private

USER_AGENT: Final = "Mozilla/5.0 (compatible; deep-research)"
PER_HOST: Final = 4
LONGEST_WAIT: Final = 5.0
"""Seconds: the longest pause before a page is tried again, whatever Retry-After says."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class Http:
    """Fetches pages and asks search APIs: an async context manager, one per event loop.

    Args:
        allow_hosts: Private hosts that may be dialled, see `AllowList`; all others must be public.
        user_agent: Sent with each request.
        per_host: Requests that one host gets at a time; the rest wait their turn. None is
            `PER_HOST`, and no limit for hosts that the user has named. Trusted calls never wait.
        timeout: Seconds for one answer with all of its redirects, waiting for a turn not counted.
        idle: Seconds without a byte (or a connection) after which an answer is given up.
        max_bytes: Largest body, counted after decompression; the rest is not read.
        max_redirects: Hops that are followed.
        trust_env: Whether HTTP_PROXY and its like are obeyed; a proxy resolves names itself,
            so only literal addresses can be refused then.
        retry_delay: Seconds before a page is tried once more, where the server does not say.
        resolver: Replaces the system's name resolution; its answers are filtered all the same.

    Raises:
        ConfigError: An entry of `allow_hosts` cannot be understood.
    """

    def __init__(
        self,
        *,
        allow_hosts: Collection[str] = (),
        user_agent: str = USER_AGENT,
        per_host: int | None = None,
        timeout: float = 20.0,
        idle: float = 8.0,
        max_bytes: int = 10_000_000,
        max_redirects: int = 5,
        trust_env: bool = False,
        retry_delay: float = 1.0,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._allowed = AllowList(allow_hosts)
        self._user_agent = user_agent
        self._per_host = per_host
        self._timeout = timeout
        self._idle = idle
        self._max_bytes = max_bytes
        self._max_redirects = max_redirects
        self._trust_env = trust_env
        self._retry_delay = retry_delay
        self._resolver = resolver
        # Trusted calls have connections of their own: none is lent to a call that must be checked.
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._permits: dict[str, asyncio.Semaphore] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        for trusted in list(self._sessions):
            await self._sessions.pop(trusted).close()

    async def get(
        self,
        url: str,
        *,
        accept: str = "*/*",
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - also shortens the waits inside
    ) -> Response:
        """Fetch a page, following redirects; tried once more after 429, 5xx or a broken connection.

        `headers` are sent to the address itself, not to where it redirects.

        Raises:
            Refused: The address, or one that it redirects to, must not be dialled.
            RateLimited: 429 twice.
            ProviderUnavailable: No connection, or 5xx twice.
            ProviderTimeout: No full answer in time.
            PageUnreadable: Any other status than 2xx, a redirect loop, broken HTTP.
        """
        request = Request(
            "GET",
            address(url, params),
            {"Accept": accept, **(headers or {})},
            max_bytes or self._max_bytes,
            timeout or self._timeout,
        )
        try:
            return page(await self._follow(request))
        except (RateLimited, ProviderUnavailable) as error:
            if isinstance(error.__cause__, aiohttp.ClientConnectorError):
                raise
            wait = self._retry_delay if error.retry_after is None else error.retry_after
        await asyncio.sleep(min(wait, LONGEST_WAIT))
        return page(await self._follow(request))

    async def get_json(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        trusted: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - also shortens the waits inside
    ) -> Any:  # noqa: ANN401 - JSON is anything
        """Ask an API and parse its JSON; tried once.

        `trusted`: a person configured this address, so it may be private. `headers` (a key, for
        instance) do not follow a redirect to another host. Raises as `get`, but for the status as
        `answers.parsed`: AuthFailed on 401 and 403, BadAnswer for what is no JSON.
        """
        sent = {"Accept": "application/json", **(headers or {})}
        seconds = timeout or self._timeout
        request = Request("GET", address(url, params), sent, self._max_bytes, seconds, api=True)
        request.trusted = trusted
        return parsed(await self._follow(request))

    async def post_json(
        self,
        url: str,
        payload: object,
        *,
        headers: Mapping[str, str] | None = None,
        trusted: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - also shortens the waits inside
    ) -> Any:  # noqa: ANN401 - JSON is anything
        """Send `payload` as JSON and parse the answer; as `get_json`, but follows no redirect."""
        fixed = {"Accept": "application/json", "Content-Type": "application/json"}
        request = Request(
            "POST",
            address(url),
            {**fixed, **(headers or {})},
            self._max_bytes,
            timeout or self._timeout,
            json.dumps(payload).encode(),
            trusted,
            api=True,
        )
        return parsed(await self._follow(request))

    async def _follow(self, request: Request) -> Response:
        """Send `request` and follow its redirects; every hop is checked anew."""
        loop = asyncio.get_running_loop()
        # Cookies live as long as this request: no page can depend on another.
        jar = aiohttp.CookieJar(unsafe=True)
        url, left, first = request.url, request.timeout, urls.split(request.url)[:3]
        for _ in range(self._max_redirects + 1):
            home = urls.split(url)[:3] == first
            self._check(url, trusted=request.trusted and home)
            async with self._turn(url, own=request.trusted and home):
                started = loop.time()
                response = await self._send(request, url, jar, left, home=home)
                left -= loop.time() - started
            location = response.headers.get("location")
            if location is None or response.status not in _REDIRECTS or request.method != "GET":
                return response
            target = redirected(url, location)
            if target == url and "set-cookie" not in response.headers:
                break
            url = target
        raise PageUnreadable(
            f"{request.url} redirects in circles or more than {self._max_redirects} times"
        )

    async def _send(
        self, request: Request, url: str, jar: aiohttp.CookieJar, seconds: float, *, home: bool
    ) -> Response:
        """Make one request; a literal address has been checked, a name is when it resolves."""
        target, shown = URL(url, encoded=True), request.shown(url)
        try:
            async with (
                asyncio.timeout(max(seconds, 0.0)),
                self._session(trusted=request.trusted and home).request(
                    request.method,
                    target,
                    data=request.data,
                    headers=request.headers if home else request.foreign,
                    cookies=jar.filter_cookies(target),
                    allow_redirects=False,
                ) as answer,
            ):
                jar.update_cookies(answer.cookies, target)
                encoding = answer.headers.get("Content-Encoding", "")
                chunks = answer.content.iter_any()
                body, truncated = await read_body(chunks, encoding, request.max_bytes)
                fields = {name.lower(): value for name, value in answer.headers.items()}
                return Response(url, answer.status, fields, body, truncated)
        except TimeoutError as error:
            raise ProviderTimeout(f"{shown} did not answer in time") from error
        except aiohttp.ClientResponseError as error:
            raise PageUnreadable(
                f"{shown} answered broken HTTP: {shorten(error.message, 200)}"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise ProviderUnavailable(f"{shown} cannot be reached: {_detail(error)}") from error

    def _check(self, url: str, *, trusted: bool) -> None:
        parts = urls.split(url)
        if parts.scheme not in urls.PORTS:
            raise Refused(f"{url} is no http or https address")
        port = parts.port or urls.PORTS[parts.scheme]
        name = parts.host.strip("[]")
        literal = ":" in name or name.replace(".", "").isdigit()
        if literal and not trusted and not self._allowed.permits(name, port):
            raise private(f"{url}: {name}")

    def _turn(self, url: str, *, own: bool) -> AbstractAsyncContextManager[object]:
        """Wait for a turn with a host; one that the user has named is the user's to load."""
        parts = urls.split(url)
        port = parts.port or urls.PORTS[parts.scheme]
        if own or (self._per_host is None and self._allowed.holds(parts.host, port)):
            return nullcontext()
        permits = asyncio.Semaphore(self._per_host or PER_HOST)
        return self._permits.setdefault(urls.host(url), permits)

    def _session(self, *, trusted: bool) -> aiohttp.ClientSession:
        if trusted not in self._sessions:
            resolver = self._resolver or aiohttp.ThreadedResolver()
            if not trusted:
                resolver = PublicResolver(resolver, self._allowed)
            self._sessions[trusted] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=resolver, limit=0),
                headers={"User-Agent": self._user_agent, "Accept-Encoding": "gzip, deflate"},
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._idle, sock_read=self._idle
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # done here, so that a small body cannot grow without bound
                trust_env=self._trust_env,
                max_field_size=32_768,
                max_line_size=32_768,
            )
        return self._sessions[trusted]


def _detail(error: Exception) -> str:
    """Say why in the system's words, where there are any."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    words = (isinstance(cause, OSError) and cause.strerror) or str(cause)
    return shorten(words, 200) or type(error).__name__
