"""Any endpoint with OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, LM Studio."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    ConfigError,
    ContextTooLong,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    ToolsRefused,
)
from deep_research.core.ports import Completion, Prompt
from deep_research.core.text import shorten
from deep_research.core.urls import is_private_host
from deep_research.runtime.tokens import count

from ._address import OFFICIAL, is_loopback, mended_address
from ._dialect import Dialect, Request
from ._errors import Refusal, ran_out, translate, words_of
from ._lessons import about_tools, failed_generation, has_functions
from ._reply import Reply, read_error, read_reply
from ._stream import read_stream
from ._turns import spoken

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_TRIES: Final = 10
_LEAST_ROOM: Final = 256
_MARGIN: Final = 1.1
_PER_PROMPT: Final = 20
_PER_MESSAGE: Final = 16
_NOT_HERE: Final = frozenset({404, 405})
_VERSION: Final = "/v1"
_ROUND_KEYS: Final = " \t\r\n\ufeff\u200b'\""
_TEACHING: Final = frozenset({400, 404, 405, 415, 422, 500, 501})
"""Statuses with which endpoints refuse a parameter; llama.cpp and templates say 500."""
_REFUSING: Final = frozenset({400, 404, 422})


class OpenAILLM:
    """One model behind one endpoint. What the endpoint refuses is learned once and remembered.

    Args:
        model: The model's name there; None for the first that the endpoint lists.
        base_url: Address up to and with '/v1'; None for OpenAI's own. What people add or leave
            out (a slash, '/chat/completions', '/v1') is mended.
        api_key: The key; local servers need none.
        key_name: The environment variable that holds the key, for messages.
        timeout: Seconds without a byte before the request is given up.
        temperature: Passed on if set.
        reasoning_effort: Passed on if set ('none', 'low', …).
        context: Tokens that prompt and answer may have together, if known.
        prices: USD per million tokens (in, out). Without them a private address costs nothing and
            any other is unknown.
        extra: Further parameters of the request, as the provider documents them.

    Raises:
        ConfigError: No model is named for an endpoint that lists many.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        key_name: str = "OPENAI_API_KEY",
        timeout: float = 120.0,
        temperature: float | None = None,
        reasoning_effort: str | None = None,
        context: int | None = None,
        prices: tuple[float, float] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        if not model and not base_url:
            raise ConfigError("no model is named: say which of OpenAI's models to use")
        self._base_url = mended_address(base_url or OFFICIAL)
        self._prefix = ""
        self._model, self._key, self._key_name = model, (api_key or "").strip(_ROUND_KEYS), key_name
        self._timeout, self._context = timeout, context
        free = (0.0, 0.0) if is_private_host(self._base_url) else None
        self._prices = prices if prices is not None else free
        options = {"temperature": temperature, "reasoning_effort": reasoning_effort}
        newer = urlsplit(self._base_url).hostname == urlsplit(OFFICIAL).hostname
        self._dialect = Dialect(
            "max_completion_tokens" if newer else "max_tokens", {**options, **(extra or {})}
        )
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def worst_case(self, prompt: Prompt) -> Mapping[str, int]:
        """Bound one call: the prompt's tokens and a tenth, and the longest answer."""
        given, made = math.ceil(self._size(prompt) * _MARGIN), prompt.max_tokens
        cost = self._cost(given, made)
        priced = {} if cost is None else {"cost": cost}
        return {"calls": 1, "tokens": given + made, **priced}

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer `prompt`.

        A refusal that names a parameter is answered by another try without it; a prompt that fits
        only with a shorter answer gets the shorter answer. Nothing else is tried again.

        Raises:
            ToolsRefused: The endpoint takes no tools; once known, nothing is sent.
            ProviderError: One of its kinds; the message names model and address.
        """
        self._check_key()
        model = self._model or await self._first_model()
        sent: Request = {}
        refusal = Refusal(0, "")
        for _ in range(_TRIES):
            if prompt.tools and self._dialect.tools.refused:
                reason = shorten(refusal.message, 200) or "as it said before"
                raise ToolsRefused(f"{self._who(model)} takes no tools: {reason}")
            room = self._room(prompt)
            request = self._dialect.request(prompt, model, room)
            if request == sent:
                break
            sent = request
            outcome = await self._post(sent, room)
            if isinstance(outcome, Reply):
                self._dialect.ignored(sent, outcome.text)
                return self._completion(outcome, prompt, model)
            refusal = outcome
            self._learn(refusal, sent, model)
        raise translate(refusal, self._who(model), self._key_name)

    async def close(self) -> None:
        """Close connections. The next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # --- talking ---

    def _check_key(self) -> None:
        if not self._key and self._base_url == OFFICIAL:
            raise AuthFailed(f"no key for {self._base_url}: set {self._key_name}")
        if not re.fullmatch(r"[!-~]*", self._key):
            raise AuthFailed(f"the key in {self._key_name} has characters that no key has")

    def _learn(self, refusal: Refusal, sent: Request, model: str) -> None:
        """Take in a refusal, or raise it: nothing in it says how to ask otherwise."""
        error = translate(refusal, self._who(model), self._key_name)
        if isinstance(error, ContextTooLong):
            self._context = min(error.limit or 0, self._context or 10**9) or self._context
        elif refusal.status not in _TEACHING or not self._dialect.learn(refusal.words, sent):
            if refusal.status in _REFUSING and has_functions(sent) and about_tools(refusal.words):
                raise ToolsRefused(str(error))  # perhaps these tools only: not remembered
            raise error

    async def _post(self, request: Request, room: int) -> Reply | Refusal:
        """Send a request. Two kinds of refusal hold an answer: one cut off, one with a bad call."""
        body = await self._send("chat/completions", request)
        if not isinstance(body, Refusal):
            reply = read_reply(body)
            if reply is not None:
                return reply
            error = read_error(body)
            if error is None:
                raise BadAnswer(f"{self._who()}: no chat completion: {shorten(str(body), 200)!r}")
            body = Refusal(error[0], error[1], json.dumps(body.get("error")))
        if ran_out(body):
            return Reply("", "length", output_tokens=room)
        said = failed_generation(body.details) if has_functions(request) else None
        return Reply(said, words=said, said=said) if said else body

    async def _first_model(self) -> str:
        body = await self._send("models", None)
        if isinstance(body, Refusal):
            raise translate(body, self._base_url, self._key_name)
        listed = body.get("data") or body.get("models")
        for entry in listed if isinstance(listed, list) else ():
            name = entry.get("id") or entry.get("name") if isinstance(entry, dict) else None
            if isinstance(name, str):
                self._model = name
                return name
        raise ProviderError(f"{self._base_url} lists no model: name one, as in openai:MODEL")

    async def _send(self, path: str, body: Request | None) -> Mapping[str, Any] | Refusal:
        """Make one request; the SDK's errors end here."""
        import openai

        client, prefix = self._connected(), self._prefix
        try:
            if body is None:
                text = await client.get(f"{prefix}/{path}", cast_to=str)
            else:
                text = await client.post(f"{prefix}/{path}", cast_to=str, body=body)
        except openai.APIStatusError as error:
            if error.status_code in _NOT_HERE and not prefix and not urlsplit(self._base_url).path:
                self._prefix = _VERSION
                answered = await self._send(path, body)
                if not isinstance(answered, Refusal) or answered.status not in _NOT_HERE:
                    return answered
                self._prefix = ""
            return Refusal(
                error.status_code, words_of(error), error.response.text, error.response.headers
            )
        except openai.APITimeoutError as error:
            raise ProviderTimeout(f"{self._who()}: no answer within {self._timeout:g} s") from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise ProviderUnavailable(f"cannot reach {self._base_url}: {cause}") from error
        text = text.lstrip("\ufeff")
        try:
            answer = read_stream(text) or json.loads(text, strict=False)
        except (ValueError, RecursionError) as error:
            said = shorten(text, 200)
            raise ProviderUnavailable(f"{self._who()}: no JSON came back: {said!r}") from error
        if not isinstance(answer, dict):
            raise BadAnswer(f"{self._who()}: no chat completion: {shorten(text, 200)!r}")
        return answer

    def _connected(self) -> AsyncOpenAI:
        """Return a client of the running loop; connections of another loop cannot be used."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self._base_url,
                timeout=self._timeout,
                max_retries=0,
                # A key goes where it was meant to go; and a redirected POST arrives as a GET.
                # A proxy in the environment cannot reach this machine.
                http_client=DefaultAsyncHttpxClient(
                    follow_redirects=False, trust_env=not is_loopback(self._base_url)
                ),
            )
        return self._client

    # --- counting ---

    def _completion(self, reply: Reply, prompt: Prompt, model: str) -> Completion:
        given = reply.input_tokens or self._size(prompt)
        made = reply.output_tokens or count(reply.said)
        text, calls = reply.understood(prompt)
        return Completion(
            text=text,
            model=reply.model or model,
            finish=reply.finish,
            input_tokens=given,
            output_tokens=made,
            cost=self._cost(given, made),
            estimated=not (reply.input_tokens and reply.output_tokens),
            calls=calls,
            cited=reply.cited,
        )

    def _size(self, prompt: Prompt) -> int:
        schema = json.dumps(prompt.schema) if prompt.schema is not None else ""
        added = sum(count(text) + _PER_MESSAGE for text in spoken(prompt))
        return count(prompt.system) + count(prompt.user) + count(schema) + added + _PER_PROMPT

    def _room(self, prompt: Prompt) -> int:
        """Tokens for the answer, as asked or as the context leaves."""
        if self._context is None:
            return prompt.max_tokens
        room = self._context - math.ceil(self._size(prompt) * _MARGIN)
        if room < min(_LEAST_ROOM, prompt.max_tokens):
            raise ContextTooLong(
                f"{self._who()}: the prompt leaves no room in {self._context} tokens",
                limit=self._context,
            )
        return min(prompt.max_tokens, room)

    def _cost(self, given: int, made: int) -> int | None:
        """Micro-dollars, rounded up: USD per million tokens is micro-dollars per token."""
        if self._prices is None:
            return None
        return math.ceil(given * self._prices[0] + made * self._prices[1])

    def _who(self, model: str | None = None) -> str:
        return f"{model or self._model or 'model'} at {self._base_url}"
