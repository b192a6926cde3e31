"""What OpenAI-compatible endpoints say when they refuse, as our errors.

Wordings come from bug reports on OpenAI, Azure, Anthropic, Gemini, Mistral, Groq, Ollama,
LM Studio, llama.cpp, vLLM, TGI and litellm; they are matched loosely because they change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from deep_research.core.errors import (
    AuthFailed,
    ContextTooLong,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
)
from deep_research.core.text import shorten
from deep_research.runtime.answers import retry_after

_OVERFLOW: Final = re.compile(
    r"context.?length|context.?window|context.?size|context limit|context the overflows"
    r"|maximum model length|max(?:imum)?.model.len|prompt is too long|prompt too long"
    r"|input is too long|input (?:token count|length|tokens?)[^.]{0,40}exceed"
    r"|exceeds? the maximum number of tokens|too many (?:input )?tokens"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)"
    r"|max_(?:completion_)?tokens must be at least 1, got -|range of input length"
    r"|string_above_max_length|string too long|request (?:entity )?too large|payload too large"
    r"|max_new_tokens.{0,20}must be|inputs` must have less than|prompt contains \d+ tokens"
)
_LIMITS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\+ \d+ > (\d{3,})",
        r"n_ctx\W{1,4}(\d{3,})",
        r"context (?:length|window|size|limit)[^\d.>]{0,40}?(\d{3,})",
        r"> ?(\d{3,}) maximum",
        r"maximum number of tokens allowed \(?(\d{3,})",
        r"maximum model length of (\d{3,})",
        r"(\d{3,}) maximum context",
        r"must be <= ?(\d{3,})",
        r"less than (\d{3,}) tokens",
        r"\[1, ?(\d{3,})\]",
    )
)
_TOO_LARGE_FOR_A_MINUTE: Final = re.compile(r"limit:? (\d+)\D{1,40}requested:? (\d+)")
_WAIT: Final = re.compile(
    r"(?:try again|retry) (?:in|after) "
    r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)(ms|s\b| ?sec))?"
)
_GONE_QUOTA: Final = ("insufficient_quota", "billing_hard_limit", "credit balance is too low")
_RAN_OUT: Final = re.compile(
    r"could not finish the message because|(?:max_\w*tokens|output limit) (?:was|were) reached"
)
_PASSING: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY})
_SHOWN: Final = 300
_TAG: Final = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with an error.

    Attributes:
        status: HTTP status, or what the body gives as one.
        message: The provider's words.
        details: The whole body as text: codes and counts stand there.
        headers: Response headers.
    """

    status: int
    message: str
    details: str = ""
    headers: Mapping[str, str] | None = None

    @property
    def words(self) -> str:
        """Everything said, in lower case and without thousands separators."""
        text = f"{self.message} {self.details}".lower()
        return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)


def translate(refusal: Refusal, who: str, key_name: str) -> ProviderError:
    """Return the error that a refusal means.

    Args:
        refusal: What came back.
        who: Model and address, for people.
        key_name: Environment variable that holds the key.
    """
    status, words, wait = refusal.status, refusal.words, wait_asked(refusal)
    said = f"{who}: {shorten(refusal.message, _SHOWN) or 'no reason given'} ({status})"
    limit = overflow(refusal)
    error = ProviderError(said)
    if limit is not None:
        error = ContextTooLong(said, limit=limit or None)
    elif status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        error = AuthFailed(f"{said}; is the key in {key_name} right?")
    elif status == HTTPStatus.TOO_MANY_REQUESTS and any(w in words for w in _GONE_QUOTA):
        error = ProviderError(f"{said}; the account has no credit left")
    elif status == HTTPStatus.TOO_MANY_REQUESTS:
        error = RateLimited(said, retry_after=wait)
    elif status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT):
        error = ProviderTimeout(said, retry_after=wait)
    elif status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING:
        error = ProviderUnavailable(said, retry_after=wait)
    return error


def overflow(refusal: Refusal) -> int | None:
    """Return the tokens that fit if the prompt was too long (0 if not stated), else None.

    A 429 is a rate limit, unless this one request alone asks for more than a minute allows: waiting
    does not mend that. Gemini's quota messages speak of token counts too and are no overflow.
    """
    words, status = refusal.words, refusal.status
    minute = _TOO_LARGE_FOR_A_MINUTE.search(words)
    if minute and int(minute[2]) > int(minute[1]) and "used" not in minute[0]:
        return int(minute[1])
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return _limit(words)
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return None
    return _limit(words) if _OVERFLOW.search(words) and "quota" not in words else None


def ran_out(refusal: Refusal) -> bool:
    """Tell whether a reasoning model used up the answer's length before it said anything.

    OpenAI answers so with 400 instead of an empty answer that ends by 'length'. The words name
    max_tokens, but no parameter is refused.
    """
    return refusal.status == HTTPStatus.BAD_REQUEST and bool(_RAN_OUT.search(refusal.words))


def wait_asked(refusal: Refusal) -> float | None:
    """Return the seconds that the service asked to wait: by header, else in words."""
    headers = {k.lower(): v for k, v in (refusal.headers or {}).items()}
    milliseconds = retry_after(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    seconds = retry_after(headers.get("retry-after"))
    if seconds is not None:
        return seconds
    match = _WAIT.search(refusal.words)
    if not match or not any(match.groups()):
        return None
    hours, minutes, count, unit = match.groups()
    last = float(count or 0) / (1000 if unit == "ms" else 1)
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + last


def _limit(words: str) -> int:
    return next((int(m[1]) for m in (p.search(words) for p in _LIMITS) if m), 0)


def words_of(error: Any) -> str:  # noqa: ANN401 - openai is imported lazily
    """Return the provider's words in the SDK's error: they stand under many names, or bare."""
    body, target = error.body, error.response.headers.get("location")
    if target:
        return f"sends on to {target}, use that address"
    for key in ("message", "detail", "error", "msg"):
        if isinstance(body, dict) and body.get(key):
            found = body[key]
            return found if isinstance(found, str) else json.dumps(found)
    text = body if isinstance(body, str) and body else str(error.response.text)
    return _TAG.sub(" ", text) if text.lstrip().startswith("<") else text
