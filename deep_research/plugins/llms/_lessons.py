"""What refusals teach about tools: how an endpoint wants them sent, or that it takes none.

Wordings come from bug reports on OpenAI, Azure, Mistral, DeepSeek, Gemini, Groq, xAI, OpenRouter,
Bedrock, Ollama, LM Studio, llama.cpp, vLLM, mlx-lm and litellm.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ._turns import BLANKS, PLAIN_ID, Style

_TOOLS: Final = (
    r"(?<![\w-])(?:tools?|tool[ _-](?:use|usage|choice|call(?:s|ing)?)|functions"
    r"|function[ _-]call(?:s|ing)?)(?![\w-])"
)
_REFUSED: Final = re.compile(
    r"(?:(?:\bnot|n't|\bno) (?:[\w-]+ ){0,4}?(?:support|accept|allow|implement)\w*"
    r"|\bunsupported|\bunknown (?:param|field|arg)\w*|\bunrecogni[sz]ed|\bextra inputs?"
    rf"|\bunexpected keyword)[^.;]{{0,40}}?{_TOOLS}"
    rf"|{_TOOLS}[^.;]{{0,60}}?(?:\bnot (?:\w+ ){{0,2}}?"
    r"(?:support|enabled|permitted|allowed|implement|available|accepted)"
    r"|\brequires? --|unsupported|\bdisabled)"
    r"|\[\"body\", ?\"tools\""
)
_TOOL_ROLE: Final = re.compile(
    r"\btool['\"`]? (?:role\b|is not\b)|\brole[s:=]* ?['\"`]?tool\b"
    r"|messages\W{1,4}[1-9]\d*\W{1,4}role"
)
_ROLE: Final = re.compile(r"\broles?\b")
_SYSTEM_ROLE: Final = re.compile(r"(?<!optional )\bsystem|developer|messages\[0\]")
_TEMPLATE: Final = re.compile(r"jinja|chat.?template|raise_exception|template ?error")
_IDS: Final = re.compile(r"tool.?call ids? .{0,80}?(?:length|alphanumeric|a-z)")
_EITHER: Final = re.compile(r"either content or tool.?calls")
_BLANK: Final = re.compile(
    r"content\b[^.]{0,80}?(?:null|none|\bnil\b|string|empty|blank)"
    r"|(?:null|nil|empty|blank|missing)\b[^.]{0,40}?content"
)
_SIGNATURE: Final = re.compile(r"thought.?signature")
_MENTIONED: Final = re.compile(r"\btools?\b|\btool_\w+|\bfunctions?\b|reasoning_content")

Request = dict[str, Any]


class ToolLessons:
    """What one endpoint taught about tools.

    Attributes:
        style: How it wants turns.
        refused: Whether it takes no tools at all.
    """

    def __init__(self) -> None:
        self.style = Style()
        self.refused = False

    def learn(self, words: str, sent: Request) -> bool:
        """Take in a refusal that is about tools or turns.

        Args:
            words: What was said, in lower case.
            sent: The request that was refused; other calls may have learned meanwhile.

        Returns:
            Whether it was one.
        """
        if not has_functions(sent):
            return False
        if any(m["role"] == "tool" for m in sent["messages"]) and self._learn_turns(words, sent):
            return True
        # an effort that is refused beside tools is the effort's fault
        if _REFUSED.search(words) and "reasoning_effort" not in words:
            return self._give_up()
        return bool(_TEMPLATE.search(words) and not _SYSTEM_ROLE.search(words)) and self._give_up()

    def unexplained(self, words: str, sent: Request) -> bool:
        """Take in a refusal from which nothing else was learned: do templates fail for tools?"""
        return has_functions(sent) and bool(_TEMPLATE.search(words)) and self._give_up()

    def _learn_turns(self, words: str, sent: Request) -> bool:
        style = self.style
        calling = [m for m in sent["messages"] if m.get("tool_calls")]
        if "reasoning_content" in words:
            style.told = True
            return True
        if _SIGNATURE.search(words):
            style.signed = True
            return not any("extra_content" in c for c in _calls(calling)) or self._give_up()
        if _IDS.search(words):
            style.plain_ids = True
            return not all(PLAIN_ID.fullmatch(c["id"]) for c in _calls(calling)) or self._give_up()
        if _EITHER.search(words):
            style.either = True
            return any(m["content"] not in BLANKS for m in calling) or self._give_up()
        blanks = [m["content"] for m in calling if m["content"] in BLANKS]
        if blanks and _BLANK.search(words):
            tried = BLANKS.index(blanks[0])
            style.blank = max(style.blank, min(tried + 1, len(BLANKS) - 1))
            return style.blank > tried or self._give_up()
        refused = _TOOL_ROLE.search(words) or (
            _ROLE.search(words) and not _SYSTEM_ROLE.search(words)
        )
        return bool(refused) and self._give_up()

    def _give_up(self) -> bool:
        self.refused = True
        return True


def _calls(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield from message["tool_calls"]


def has_functions(sent: Mapping[str, Any]) -> bool:
    """Tell whether a request offers tools of ours; a provider's own may stand there too."""
    tools = sent.get("tools")
    return isinstance(tools, list) and any("function" in tool for tool in tools)


def about_tools(words: str) -> bool:
    """Tell whether a refusal mentions tools or calls at all."""
    return _MENTIONED.search(words) is not None


def failed_generation(details: str) -> str | None:
    """Return the call that a model wrote and its server could not read, None if this is no such.

    Format: https://console.groq.com/docs/tool-use (code 'tool_use_failed').
    """
    try:
        body = json.loads(details)
    except (ValueError, RecursionError):
        return None
    error = body.get("error", body) if isinstance(body, dict) else None
    words = error.get("failed_generation") if isinstance(error, dict) else None
    return words if isinstance(words, str) and words.strip() else None
