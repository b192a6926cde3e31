"""JSON and XML to text that reads like text: what a value is called, then the value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from .document import Document
from .markup import tidy, visible_text

_PROSE: Final = 60  # characters from which a value is a paragraph of its own
_DEEPEST: Final = 100


def json_text(text: str) -> str:
    """Lay JSON out: a line `name: value` for a short value, a paragraph for a long one.

    Broken JSON stays as it is.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    out: list[str] = []
    for name, value in _leaves(data):
        shown = value if isinstance(value, str) else json.dumps(value)
        if len(shown) < _PROSE:
            out.append(f"{name}: {shown}" if name else shown)
        else:
            out.extend(("", f"{name}:" if name else "", "", _readable(shown), ""))
    return "\n".join(out).strip()


def _leaves(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of all single values in order; members of a list are called as it is."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _leaves(inner, str(key), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _leaves(inner, name, depth + 1)
    else:
        yield name, value


def read_xml(text: str, media_type: str) -> Document:
    """Extract the text of XML; markup inside a text, as feeds have it, is read as markup."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(text, "xml")
    title = soup.find("title")
    name = " ".join(title.get_text().split()) if title else ""
    parts = (_readable(part) for part in soup.strings)
    return Document(tidy("\n".join(parts)), name, media_type=media_type)


def _readable(text: str) -> str:
    return visible_text(text) if "</" in text or "<p>" in text or "<br" in text else text
