"""A request as it is meant, before redirects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from deep_research.core import urls
from deep_research.core.errors import Refused


@dataclass(slots=True)
class Request:
    """What is sent where, and how much may come back: `max_bytes` bytes in `timeout` seconds.

    `trusted` lifts the check of the address, as long as no redirect leads elsewhere; `api` tells
    that a program answers, not a page.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    max_bytes: int
    timeout: float
    data: bytes | None = None
    trusted: bool = False
    api: bool = False

    def shown(self, url: str) -> str:
        """Return `url` as messages show it: what is asked of an API, and its key, is left out."""
        return url.partition("?")[0] if self.api else url

    @property
    def foreign(self) -> Mapping[str, str]:
        """What another host may see of the headers: no key."""
        return {k: v for k, v in self.headers.items() if k == "Accept"}


def address(url: str, params: Mapping[str, str] | None = None) -> str:
    """Normalise `url` with `params` added to its query. Raises `Refused` if it is none."""
    try:
        parts = urls.split(url)
    except ValueError as error:
        raise Refused(str(error)) from error
    if params:
        query = "&".join(filter(None, (parts.query, urlencode(params))))
        parts = parts._replace(query=query)
    return str(parts)


def redirected(url: str, location: str) -> str:
    """Return where `url` redirects to. Raises `Refused` if that is no address."""
    try:
        return urls.join(url, location)
    except ValueError as error:
        raise Refused(f"{url} redirects to no usable address: {location[:200]!r}") from error
