"""Pages that hold nothing and send the reader elsewhere: a meta refresh, a frame set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deep_research.core import urls

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_MARKED: Final = re.compile(r"http-equiv\s*=\s*[\"']?refresh|<i?frame\b", re.IGNORECASE)
# https://html.spec.whatwg.org/multipage/semantics.html#attr-meta-http-equiv-refresh
_REFRESH: Final = re.compile(
    r"\s*(\d+)(?:\.\d*)?\s*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"'\s]+)", re.IGNORECASE
)
_SOON: Final = 15  # seconds: a page that stays longer is meant to be read
_MENUS: Final = re.compile(r"nav|menu|head|top|toc|index|banner|foot|\bad", re.IGNORECASE)
_START: Final = 100_000


def elsewhere(body: bytes, url: str) -> str:
    """Return the address that an HTML page sends its readers on to, or ''.

    Args:
        body: The page's bytes.
        url: Its own address, against which the other is resolved.
    """
    head = body[:_START].decode("latin-1")  # addresses are ASCII
    if not _MARKED.search(head):
        return ""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(head, "lxml")
    try:
        target = urls.canonical(urls.join(url, _refresh(soup) or _frame(soup)))
    except ValueError:
        return ""
    return "" if target == urls.canonical(url) or target.startswith("file:") else target


def _refresh(soup: BeautifulSoup) -> str:
    for tag in soup.find_all("meta"):
        if str(tag.get("http-equiv", "")).strip().lower() == "refresh":
            match = _REFRESH.match(str(tag.get("content", "")))
            if match and int(match[1][:4]) <= _SOON:
                return match[2]
    return ""


def _frame(soup: BeautifulSoup) -> str:
    """The frame that holds the page itself: none of those that are called menu and the like."""
    frames = [f for f in soup.find_all(["frame", "iframe"]) if str(f.get("src", "")).strip()]
    told = [f for f in frames if not _MENUS.search(f"{f.get('name', '')} {f['src']}")]
    return str((told or frames)[-1]["src"]).strip() if frames else ""
