"""Servers on the loopback address, so that the real clients can be tried without the world."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from aiohttp import web


@dataclass(frozen=True, slots=True)
class FakePage:
    """One answer of a `FakeWeb`.

    Attributes:
        body: Text (sent as UTF-8) or bytes; anything else becomes JSON.
        status: HTTP status.
        media_type: The Content-Type header; '' sends none; None is HTML for text and JSON for the
            rest.
        headers: Further headers.
        delay: Seconds before the answer.
        hangs: Whether the answer never comes.
        chunked: Whether the body comes without a Content-Length.
    """

    body: Any = ""
    status: int = 200
    media_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hangs: bool = False
    chunked: bool = False

    @property
    def content(self) -> bytes:
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    @property
    def content_type(self) -> str:
        """The Content-Type header, '' for none."""
        if self.media_type is not None:
            return self.media_type
        is_text = isinstance(self.body, str | bytes)
        return "text/html; charset=utf-8" if is_text else "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        """Parse the body."""
        return json.loads(self.body)


Handler = Callable[[Request], Any]
"""Answers a request: a `FakePage` or its body; may be a coroutine function."""


class FakeWeb:
    """A small web on 127.0.0.1; use it as an async context manager.

        async with FakeWeb() as web:
            web.page("/a", "<p>Hello")
            web.page("/busy", FakePage(status=429), FakePage("at last"))
            web.url("/a")

    Attributes:
        hits: Path → number of requests.
        requests: All requests, in the order of their arrival.
    """

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()
        self.requests: list[Request] = []
        self._routes: dict[str, deque[FakePage] | Handler] = {}
        self._runner: web.ServerRunner | None = None
        self._closing = asyncio.Event()
        self._base = ""

    def page(self, path: str, *answers: Any) -> None:  # noqa: ANN401 - bodies are anything
        """Answer `path` with these pages in turn, the last one for ever.

        An answer is a `FakePage`, or its body.
        """
        self._routes[path] = deque(_page(answer) for answer in answers)

    def route(self, path: str, handler: Handler) -> None:
        """Answer `path` by a function."""
        self._routes[path] = handler

    def url(self, path: str = "") -> str:
        """Return the URL of a path; only once the server runs."""
        if not self._base:
            raise RuntimeError("a fake server has no address before `async with`")
        return f"{self._base}{path}"

    async def __aenter__(self) -> Self:
        from aiohttp import web

        server = web.Server(self._answer)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self._base = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, incoming: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        body = await incoming.read()
        request = Request(
            incoming.method, incoming.path, dict(incoming.query), dict(incoming.headers), body
        )
        self.requests.append(request)
        self.hits[request.path] += 1
        page = await self._choose(request)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if page.hangs else page.delay):
                await self._closing.wait()  # a server that closes does not wait for its answers
        headers = dict(page.headers)
        if page.content_type:
            headers.setdefault("Content-Type", page.content_type)
        if not page.chunked:
            return web.Response(body=page.content, status=page.status, headers=headers)
        response = web.StreamResponse(status=page.status, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(incoming)
        await response.write(page.content)
        await response.write_eof()
        return response

    async def _choose(self, request: Request) -> FakePage:
        route = self._routes.get(request.path)
        if route is None:
            return FakePage("not found", 404)
        if isinstance(route, deque):
            return route.popleft() if len(route) > 1 else route[0]
        answer = route(request)
        return _page(await answer if asyncio.iscoroutine(answer) else answer)


def _page(answer: Any) -> FakePage:  # noqa: ANN401 - bodies are anything
    return answer if isinstance(answer, FakePage) else FakePage(answer)
