"""What one endpoint understands: learned from its refusals, remembered for the next call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from deep_research.core.ports import Prompt

from ._lessons import ToolLessons, has_functions
from ._turns import tool_list, turn_messages

_FORMATS: Final = ("json_schema", "json_object", "text")
_ROLES: Final = ("system", "developer", "user")
_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_FORMAT_WORDS: Final = (
    "response_format", "json_schema", "json_object", "json mode", "structured output", "grammar",
    "guided", "json schema", "schema",
)  # fmt: skip
_ROLE_WORDS: Final = (
    "messages[0].role", "system role", "developer role", "role 'system'", "role 'developer'",
    "roles must alternate", "system message", "developer message", "system prompt",
    "instruction is not enabled", "unexpected role", "invalid role",
)  # fmt: skip
_MOST: Final = re.compile(
    r"(?:at most|maximum(?: value)?(?: of| is|:)?|less than or equal to|<=|up to|\[1, ?) ?(\d{2,7})"
)
_SHOW: Final = "\n\nAnswer with one JSON object alone, of this JSON schema:\n"

Request = dict[str, Any]


class Dialect:
    """Builds requests for one endpoint and model.

    Args:
        limit_name: How the longest answer is called, 'max_tokens' or 'max_completion_tokens'.
        options: Further parameters: temperature, reasoning_effort and whatever the user set. One
            that is refused is left out from then on.

    Attributes:
        tools: What the endpoint taught about tools.
    """

    def __init__(self, limit_name: str, options: Mapping[str, Any]) -> None:
        self.tools = ToolLessons()
        self._options = {k: v for k, v in options.items() if v is not None}
        self._not_with_tools: set[str] = set()
        self._format, self._role = _FORMATS[0], _ROLES[0]
        self._limit_name: str | None = limit_name
        self._refused_limits: set[str] = set()
        self._most: int | None = None

    def request(self, prompt: Prompt, model: str, max_tokens: int) -> Request:
        """Return the body of a chat completion; where tools are offered, no format is asked for.

        Wire format: https://platform.openai.com/docs/api-reference/chat/create
        """
        body: Request = {"model": model, "messages": self._messages(prompt), **self._options}
        if self._limit_name:
            body[self._limit_name] = min(max_tokens, self._most or max_tokens)
        if prompt.tools:
            body = {k: v for k, v in body.items() if k not in self._not_with_tools}
            own = body.get("tools")  # the provider's, for instance its web search
            body["tools"] = [*(own if isinstance(own, list) else ()), *tool_list(prompt.tools)]
        elif prompt.schema is not None and self._format != "text":
            body["response_format"] = {"type": self._format}
            if self._format == "json_schema":
                name = re.sub(r"[^\w-]", "_", prompt.name, flags=re.ASCII)[:64] or "answer"
                shape = {"name": name, "strict": True, "schema": prompt.schema}
                body["response_format"]["json_schema"] = shape
        return body

    def _messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        user, turns = prompt.user, turn_messages(prompt, self.tools.style)
        if prompt.schema is not None and not prompt.tools and self._format != "json_schema":
            user += _SHOW + json.dumps(prompt.schema, ensure_ascii=False)
        if not prompt.system:
            return [{"role": "user", "content": user}, *turns]
        if self._role == "user":
            return [{"role": "user", "content": f"{prompt.system}\n\n{user}"}, *turns]
        return [
            {"role": self._role, "content": prompt.system},
            {"role": "user", "content": user},
            *turns,
        ]

    def learn(self, words: str, sent: Request) -> bool:
        """Take a refusal in: leave out, rename or lower what it names.

        Args:
            words: What was said, in lower case.
            sent: The request that was refused; other calls may have learned meanwhile.

        Returns:
            Whether another try with a new request makes sense.
        """
        return (
            self.tools.learn(words, sent)
            or self._learn_limit(words, sent)
            or self._learn_format(words, sent)
            or self._learn_role(words, sent)
            or self._learn_option(words, sent)
            or self.tools.unexplained(words, sent)
        )

    def ignored(self, sent: Request, text: str) -> None:
        """Take in that a schema brought no JSON at all: from now on the prompt shows it."""
        form = sent.get("response_format", {}).get("type")
        if form == self._format == _FORMATS[0] and text and "{" not in text and "[" not in text:
            self._format = _FORMATS[1]

    def _learn_limit(self, words: str, sent: Request) -> bool:
        name = next((n for n in _LIMITS if n in sent), None)
        if name is None or not any(n in words for n in _LIMITS):
            return False
        most = _MOST.search(words)
        if most and int(most[1]) < sent[name]:
            self._most = int(most[1])
            return True
        other = _LIMITS[1 - _LIMITS.index(name)]
        if self._limit_name == name:
            self._refused_limits.add(name)
            known = name == _LIMITS[0] or other in words
            # both refused: the provider's own limit has to do
            self._limit_name = other if known and other not in self._refused_limits else None
        return True

    def _learn_format(self, words: str, sent: Request) -> bool:
        form = sent.get("response_format", {}).get("type")
        if form is None or not any(w in words for w in _FORMAT_WORDS):
            return False
        if self._format == form:
            self._format = _FORMATS[_FORMATS.index(form) + 1]
        return True

    def _learn_role(self, words: str, sent: Request) -> bool:
        role = sent["messages"][0]["role"]
        if role == _ROLES[-1] or not any(w in words for w in _ROLE_WORDS):
            return False
        if self._role == role:
            self._role = _ROLES[_ROLES.index(role) + 1]
        return True

    def _learn_option(self, words: str, sent: Request) -> bool:
        named = [o for o in sent if o in self._options or o not in _OWN]
        refused = [o for o in named if any(_says(words, w) for w in (o, *_ABOUT.get(o, ())))]
        if has_functions(sent) and re.search(r"\b(?:tools?|functions?)\b", words):
            self._not_with_tools.update(refused)
        else:
            for option in refused:
                self._options.pop(option, None)
        return bool(refused)


_OWN: Final = frozenset({"model", "messages", "response_format", "tools", *_LIMITS})
_ABOUT: Final = {
    "reasoning_effort": ("reasoning effort", "reasoning.effort", "support thinking", "think value"),
}


def _says(words: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None
