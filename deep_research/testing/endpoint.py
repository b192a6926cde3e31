"""A language model's endpoint on the loopback address."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from deep_research.core.errors import ContextTooLong, ProviderError, RateLimited, ToolsRefused
from deep_research.core.ports import LLM, Completion, Prompt, Tool, ToolCall, Turn

from .servers import FakePage, FakeWeb, Request

Fault = FakePage
"""What a `FakeOpenAI` answers instead of a completion, for instance `Fault({"error": …}, 429)`."""


class FakeOpenAI(FakeWeb):
    """An OpenAI-compatible endpoint that passes prompts on to a `LLM` double.

    An async context manager as `FakeWeb`.

    Wire format: https://platform.openai.com/docs/api-reference/chat/create.

    Args:
        llm: Answers; it sees the system and user text, the schema, tools, turns and, as the role,
            the model's name.
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
        fault = self._faults.popleft() if self._faults else _unpaired(body)
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
        choice = {"index": 0, "message": _message(done), "finish_reason": done.finish}
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
    messages = list(body.get("messages", []))
    said = [n for n, m in enumerate(messages) if m.get("role") == "assistant"] or [len(messages)]
    texts: dict[str, list[str]] = {}
    for message in messages[: said[0]]:
        texts.setdefault(message.get("role", "user"), []).append(str(message.get("content", "")))
    form = (body.get("response_format") or {}).get("json_schema") or {}
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or 2000
    functions = [tool["function"] for tool in body.get("tools", []) if "function" in tool]
    return Prompt(
        role=str(body.get("model", "")),
        system="\n".join(texts.get("system", []) + texts.get("developer", [])),
        user="\n".join(texts.get("user", [])),
        schema=form.get("schema"),
        name=form.get("name", "answer"),
        max_tokens=int(limit),
        tools=tuple(
            Tool(f["name"], f.get("description", ""), f.get("parameters", {})) for f in functions
        ),
        turns=_turns(messages[said[0] :]),
    )


def _turns(messages: Iterable[Mapping[str, Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for message in messages:
        text = str(message.get("content") or "")
        if message.get("role") == "assistant":
            calls = [(c["id"], c["function"]) for c in message.get("tool_calls", [])]
            turns.append(
                Turn(text, tuple(ToolCall(i, f["name"], f["arguments"]) for i, f in calls))
            )
        else:
            turns[-1] = replace(turns[-1], results=(*turns[-1].results, text))
    return tuple(turns)


def _unpaired(body: Mapping[str, Any]) -> FakePage | None:
    """Refuse as OpenAI does a conversation whose calls are not each answered, next and once."""
    waiting: list[str] = []
    for message in body.get("messages", []):
        if message.get("role") == "tool" and message.get("tool_call_id") in waiting:
            waiting.remove(message["tool_call_id"])
        elif message.get("role") == "tool" or waiting:
            return _refusal(f"tool_calls and tool messages do not pair up at {message}")
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
    return _refusal(f"no tool messages respond to {waiting}") if waiting else None


def _message(done: Completion) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": done.text}
    if done.calls:
        message["content"] = done.text or None
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in done.calls
        ]
    if done.cited:
        message["annotations"] = [
            {"type": "url_citation", "url_citation": {"url": s.url, "title": s.title}}
            for s in done.cited
        ]
    return message


def _refusal(
    message: str, code: str | None = None, kind: str = "invalid_request_error"
) -> FakePage:
    return FakePage({"error": {"message": message, "type": kind, "param": None, "code": code}}, 400)


def _error(error: ProviderError) -> FakePage:
    if isinstance(error, ContextTooLong):
        return _refusal(str(error), "context_length_exceeded", error.kind)
    if isinstance(error, ToolsRefused):
        return _refusal(str(error), None, error.kind)
    status = 429 if isinstance(error, RateLimited) else 500
    detail = {"message": str(error), "type": error.kind, "param": None, "code": None}
    wait = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return FakePage({"error": detail}, status, headers=wait)
