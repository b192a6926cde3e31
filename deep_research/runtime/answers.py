"""What an HTTP answer says: a body within bounds, a status as an error, Retry-After as seconds."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    PageUnreadable,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from deep_research.core.text import shorten

_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_EXCERPT: Final = 300
_NO_STATUS: Final = 600  # 999 and the like say "not for robots", not "try again"
_UNICODE: Final = frozenset({"", "utf-8", "utf8", "utf-16", "utf-32"})
_PACKED: Final = frozenset({"gzip", "x-gzip", "deflate"})
_FOREIGN: Final = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})
_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, body decompressed.

    Attributes:
        url: The address that answered, after redirects, normalised.
        status: HTTP status.
        headers: By lower-case name; of repeated ones the last.
        body: At most `max_bytes` bytes.
        truncated: Whether there was more: over the cap, or a compressed stream broke off.
        media_type: For instance 'text/html'; '' where none was sent.
        charset: As declared in Content-Type, not checked; '' where none was.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        match = _CHARSET.search(self.headers.get("content-type", ""))
        return match[1] if match else ""


def retry_after(value: str | None) -> float | None:
    """Read a Retry-After header: seconds, or a date.

    See https://www.rfc-editor.org/rfc/rfc9110#field.retry-after. Returns seconds from now, at
    least 0, or None if there is nothing to read.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def page(response: Response) -> Response:
    """Return `response` if it is a page.

    Raises RateLimited, ProviderUnavailable or PageUnreadable.
    """
    _check(response, response.url)
    if "cf-mitigated" in response.headers:
        # https://developers.cloudflare.com/cloudflare-challenges/ ("Detect a Challenge Page")
        raise PageUnreadable(f"{response.url} stands behind a wall: a Cloudflare challenge")
    if not _is_success(response.status):
        raise PageUnreadable(f"{response.url} answered {response.status}")
    return response


def parsed(response: Response) -> Any:  # noqa: ANN401 - JSON is anything
    """Return the JSON in `response`.

    Raises:
        AuthFailed: 401 or 403.
        RateLimited: 429.
        ProviderUnavailable: 5xx.
        ProviderError: Any other status than 2xx.
        BadAnswer: No JSON.
    """
    shown = response.url.partition("?")[0]  # a key may stand in the query
    _check(response, shown)
    excerpt = shorten(response.body[:_EXCERPT].decode(errors="replace"), _EXCERPT)
    if response.status in {401, 403}:
        raise AuthFailed(f"{shown} answered {response.status}: {excerpt}")
    if not _is_success(response.status):
        raise ProviderError(f"{shown} answered {response.status}: {excerpt}")
    if response.status == HTTPStatus.NO_CONTENT:
        return None
    try:
        return json.loads(_utf8(response))
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"{shown} answered no JSON: {excerpt!r}") from error


def _utf8(response: Response) -> bytes:
    """Return the body as JSON has to come; a few old services declare and send something else."""
    if response.charset.lower() in _UNICODE:
        return response.body
    try:
        return response.body.decode(response.charset).encode()
    except (UnicodeError, LookupError):
        return response.body


def _check(response: Response, shown: str) -> None:
    status, wait = response.status, retry_after(response.headers.get("retry-after"))
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise RateLimited(f"{shown} asks to slow down (429)", retry_after=wait)
    if HTTPStatus.INTERNAL_SERVER_ERROR <= status < _NO_STATUS:
        raise ProviderUnavailable(f"{shown} answered {status}", retry_after=wait)


def _is_success(status: int) -> bool:
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """Read at most `limit` bytes, counted after decompression; also say whether there was more.

    Args:
        chunks: The body as it comes in.
        encoding: The Content-Encoding header, or ''.
        limit: Bytes.

    What says that it is compressed and is not, is taken as it comes, and so is what names no
    compression at all ('utf-8', 'none').

    Raises:
        PageUnreadable: A compression other than gzip and deflate, or several.
    """
    names = [n for n in encoding.lower().replace(" ", "").split(",") if n in _PACKED | _FOREIGN]
    if len(names) > 1 or _FOREIGN.intersection(names):
        raise PageUnreadable(f"a compression that nobody asked for: {encoding.strip()[:40]!r}")
    inflate = _Inflate() if names else None
    body = bytearray()
    async for chunk in chunks:
        if inflate and not inflate.started and "gzip" in names[0] and not _may_be_gzip(chunk):
            inflate = None
        room = limit + 1 - len(body)
        body += inflate.feed(chunk, room) if inflate else chunk[:room]
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), inflate is not None and inflate.broken


def _may_be_gzip(start: bytes) -> bool:
    return start[:2] == _GZIP[: len(start)]


class _Inflate:
    """Decompresses gzip and deflate in steps, never more than asked for; keeps what breaks off."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: finds out whether gzip or zlib
        self.started = self._raw = self._failed = self._plain = False

    @property
    def broken(self) -> bool:
        return self.started and not self._plain and (self._failed or not self._stream.eof)

    def feed(self, data: bytes, room: int) -> bytes:
        """Return at most `room` bytes more; what does not fit is lost."""
        if self._plain:
            return data[:room]
        if self._failed or self._stream.eof:
            return b""
        try:
            out = self._stream.decompress(data, room)
        except zlib.error:
            return self._mended(data, room)
        self.started = True
        return out

    def _mended(self, data: bytes, room: int) -> bytes:
        """Try "deflate" without the zlib header, as some servers have it; then no compression."""
        self._failed = self.started
        if not self.started:
            self._plain, self._raw = self._raw, True
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        return self.feed(data, room)
