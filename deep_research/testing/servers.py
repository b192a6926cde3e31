"""Servers on the loopback address, so that the real clients can be tried without the world."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from deep_research.core.errors import ContextTooLong, ProviderError, RateLimited
from deep_research.core.ports import LLM, Prompt

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


Fault = FakePage
"""What a `FakeOpenAI` answers instead of a completion, for instance `Fault({"error": …}, 429)`."""


class FakeOpenAI(FakeWeb):
    """An OpenAI-compatible endpoint that passes prompts on to a `LLM` double.

    An async context manager as `FakeWeb`.

    Wire format: https://platform.openai.com/docs/api-reference/chat/create.

    Args:
        llm: Answers; it sees the system and user text, the schema and, as the role, the model's
            name.
        models: What `GET /v1/models` lists.
        faults: Answers of the first requests, before the model is asked; None lets one request
            through.

    Attributes:
        bodies: The JSON of all chat requests.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        models: Iterable[str] = ("fake-model",),
        faults: Iterable[FakePage | None] = (),
    ) -> None:
        super().__init__()
        self.bodies: list[dict[str, Any]] = []
        self._llm, self._faults = llm, deque(faults)
        listed = [{"id": name, "object": "model", "owned_by": "test"} for name in models]
        self.route("/v1/chat/completions", self._chat)
        self.page("/v1/models", {"object": "list", "data": listed})

    @property
    def base_url(self) -> str:
        """What a client is given as `base_url`."""
        return self.url("/v1")

    async def _chat(self, request: Request) -> FakePage:
        body = request.json()
        self.bodies.append(body)
        fault = self._faults.popleft() if self._faults else None
        if fault is not None:
            return fault
        try:
            done = await self._llm.complete(_prompt(body))
        except ProviderError as error:
            return _error(error)
        usage = {
            "prompt_tokens": done.input_tokens,
            "completion_tokens": done.output_tokens,
            "total_tokens": done.input_tokens + done.output_tokens,
        }
        message = {"role": "assistant", "content": done.text}
        choice = {"index": 0, "message": message, "finish_reason": done.finish}
        return FakePage(
            {
                "id": f"chatcmpl-{len(self.bodies)}",
                "object": "chat.completion",
                "created": 0,
                "model": body.get("model", ""),
                "choices": [choice],
                "usage": usage,
            }
        )


def _prompt(body: Mapping[str, Any]) -> Prompt:
    """Read a chat request back into the prompt it was made from."""
    texts: dict[str, list[str]] = {}
    for message in body.get("messages", []):
        texts.setdefault(message.get("role", "user"), []).append(str(message.get("content", "")))
    form = (body.get("response_format") or {}).get("json_schema") or {}
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or 2000
    return Prompt(
        role=str(body.get("model", "")),
        system="\n".join(texts.get("system", []) + texts.get("developer", [])),
        user="\n".join(texts.get("user", [])),
        schema=form.get("schema"),
        name=form.get("name", "answer"),
        max_tokens=int(limit),
    )


def _error(error: ProviderError) -> FakePage:
    status = 429 if isinstance(error, RateLimited) else 500
    code = None
    if isinstance(error, ContextTooLong):
        status, code = 400, "context_length_exceeded"
    detail = {"message": str(error), "type": error.kind, "param": None, "code": code}
    wait = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return FakePage({"error": detail}, status, headers=wait)
