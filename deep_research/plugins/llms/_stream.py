"""A completion put together from server-sent events: some servers stream although nobody asked.

Format: https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any


def read_stream(text: str) -> Mapping[str, Any] | None:
    """Return the completion that server-sent events add up to, or None if `text` holds none."""
    whole: dict[str, Any] = {}
    message = _Message()
    finish = None
    for event in _events(text):
        whole |= {k: v for k, v in event.items() if v is not None}
        if isinstance(event.get("response"), dict):  # of the responses API: the last has it all
            whole |= event["response"]
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict) and isinstance(choice.get("delta"), dict):
            message.add(choice["delta"])
            finish = choice.get("finish_reason") or finish
    if not whole:
        return None
    if message.began:
        whole["choices"] = [{"message": message.whole(), "finish_reason": finish}]
    return whole


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("data:"):
            with suppress(ValueError, RecursionError):
                event = json.loads(line.removeprefix("data:"), strict=False)
                if isinstance(event, dict):
                    yield event


class _Message:
    """A message that grows by deltas."""

    def __init__(self) -> None:
        self.began = False
        self._content: list[str] = []
        self._notes: list[Any] = []
        self._calls: list[tuple[object, dict[str, Any]]] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        self.began = True
        if isinstance(delta.get("content"), str):
            self._content.append(delta["content"])
        notes, calls = delta.get("annotations"), delta.get("tool_calls")
        self._notes += notes if isinstance(notes, list) else []
        for part in calls if isinstance(calls, list) else ():
            if isinstance(part, dict):
                self._add_call(part, part.get("function"))
        self._add_call({"index": "before there were tools"}, delta.get("function_call"))

    def _add_call(self, part: Mapping[str, Any], function: object) -> None:
        """Add a fragment to its call: by index, else by id, else to the last one."""
        if not isinstance(function, dict):
            return
        call_id, name = part.get("id"), function.get("name")
        index = part.get("index", call_id)
        call = next((c for i, c in reversed(self._calls) if index in (None, i)), None)
        # Gemini gives each of several calls the index 0
        another = call and name and call_id and call["id"] and call["id"] != call_id
        if call is None or another:
            call = {"id": call_id, "function": {"name": name, "arguments": ""}}
            self._calls.append((index, call))
        call["id"] = call["id"] or call_id
        call["function"]["name"] = call["function"]["name"] or name
        given = function.get("arguments")
        call["function"]["arguments"] += (
            given if isinstance(given, str) else json.dumps(given) if given else ""
        )

    def whole(self) -> dict[str, Any]:
        return {
            "content": "".join(self._content),
            "annotations": self._notes,
            "tool_calls": [call for _, call in self._calls],
        }
