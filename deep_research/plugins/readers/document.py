"""What the extractors bring, whatever the format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_UNSEEN: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class Document:
    """Text of a document.

    Attributes:
        text: All that is readable; blocks are parted by blank lines.
        title: '' if the document does not say.
        published: ISO date, or ''.
        marks: (offset, label) of places inside the text, as in `Page`.
        media_type: What the document turned out to be.
    """

    text: str
    title: str = ""
    published: str = ""
    marks: tuple[tuple[int, str], ...] = ()
    media_type: str = "text/plain"


def seen(text: str) -> str:
    """Return `text` without control characters: they say nothing, and ESC commands terminals."""
    return _UNSEEN.sub("", text)
