"""File names that every file system takes."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_RESERVED: Final = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_BYTES: Final = 120


def safe_name(text: str, *, limit: int = 60, default: str = "untitled") -> str:
    """Return a short file name made of `text`: words with dashes between, in any script.

    Device names of Windows, separators, control characters and trailing dots cannot come out.

    Args:
        text: Anything, for instance a question.
        limit: Most characters; the name is also kept below 120 bytes of UTF-8.
        default: Returned where nothing usable is left.
    """
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text))
    name = "-".join(words).lower()[:limit]
    name = name.encode("utf-8", "ignore")[:_BYTES].decode("utf-8", "ignore").strip("-")
    if not name:
        return default
    return f"{name}-" if _RESERVED.match(name) else name
