"""PDF to text, page by page, with pypdf (https://pypdf.readthedocs.io/)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from io import BytesIO
from typing import Any, Final

from deep_research.core.errors import PageUnreadable
from deep_research.core.text import shorten

from .document import Document, seen

_MAX_PAGES: Final = 2000
_OUTER: Final = 2  # lines at the top of a page, and at its foot, that may be running ones
_FEWEST: Final = 3  # pages that show a running line
_SHORT: Final = 80
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]\n(?=[^\W\d_A-Z])")
_SOFT = re.compile("\u00ad")
_BLANKS = re.compile(r"[ \t\u00a0]+")
_ENDS: Final = (".", "!", "?", ":", ";", "。", "！", "？", "…", "”", '"')
_DATE = re.compile(r"D?:?((?:19|20)\d\d)(\d\d)(\d\d)", re.ASCII)


def read_pdf(body: bytes, max_chars: int) -> Document:
    """Extract the text of a PDF; pages are marked 'p. 1', 'p. 2', … by position in the file.

    Stops after the page in which `max_chars` is reached. A page that cannot be read is left out.

    Raises:
        PageUnreadable: A password, no pages, no text (scanned), or too broken to open.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    try:
        reader = PdfReader(BytesIO(body), strict=False)
        locked = reader.is_encrypted and not reader.decrypt("")
        count = 0 if locked else len(reader.pages)
    except DependencyError as error:
        raise PageUnreadable(
            "the PDF is encrypted with AES; it takes `pip install cryptography`"
        ) from error
    except Exception as error:  # the parser fails on broken files in any way there is
        raise PageUnreadable(f"the PDF is broken: {shorten(str(error), 150)}") from error
    if locked:
        raise PageUnreadable("the PDF asks for a password")
    parts: list[str] = []
    marks: list[tuple[int, str]] = []
    size = 0
    for number, text in enumerate(_texts(reader, min(count, _MAX_PAGES), max_chars), start=1):
        if text:
            marks.append((size, f"p. {number}"))
            parts.append(text)
            size += len(text) + 2
    if not parts:
        raise PageUnreadable(
            "the PDF has no pages" if not count else "the PDF has no text: scanned or drawn"
        )
    title, made = _about(reader)
    return Document("\n\n".join(parts), title, _iso(made), tuple(marks), "application/pdf")


def _texts(reader: Any, count: int, max_chars: int) -> list[str]:  # noqa: ANN401 - imported late
    printed: list[str] = []
    size = 0
    while len(printed) < count and size <= max_chars:
        printed.append(_page_text(reader, len(printed)))
        size += len(printed[-1])
    return [joined(text) for text in without_running_lines(printed)]


def _page_text(reader: Any, number: int) -> str:  # noqa: ANN401 - pypdf is imported late
    try:
        return str(reader.pages[number].extract_text()).replace("\r", "\n")
    except Exception:  # noqa: BLE001 - one bad page among good ones is left out
        return ""


def without_running_lines(printed: Sequence[str]) -> list[str]:
    """Drop headers, footers and page numbers: the outer lines that most pages have in common.

    Numbers in short lines count as equal. A page that holds nothing else is left as it is.
    """
    pages = [[line for line in text.split("\n") if line.strip()] for text in printed]
    filled = sum(map(bool, pages))
    common = Counter(key for lines in pages for key in {_running(x) for x in _outer(lines)})
    running = {key for key, n in common.items() if n >= _FEWEST and n > filled / 2}
    return [
        _trimmed(text, running) if running & set(map(_running, _outer(lines))) else text
        for text, lines in zip(printed, pages, strict=True)
    ]


def _outer(lines: Sequence[str]) -> Sequence[str]:
    return [*lines[:_OUTER], *lines[_OUTER:][-_OUTER:]]


def _running(line: str) -> str:
    bare = " ".join(line.split()).casefold()
    return re.sub(r"\d+", "#", bare) if len(bare) <= _SHORT else bare


def _trimmed(text: str, running: set[str]) -> str:
    lines = text.split("\n")
    filled = [n for n, line in enumerate(lines) if line.strip()]
    outer = {*filled[:_OUTER], *filled[-_OUTER:]}
    gone = {n for n in outer if _running(lines[n]) in running}
    kept = [line for n, line in enumerate(lines) if n not in gone]
    return "\n".join(kept) if any(line.strip() for line in kept) else text


def _about(reader: Any) -> tuple[str, str]:  # noqa: ANN401 - pypdf is imported late
    try:
        info = reader.metadata or {}
        return " ".join(str(info.get("/Title") or "").split()), str(info.get("/CreationDate") or "")
    except Exception:  # noqa: BLE001 - a page without a title is still a page
        return "", ""


def joined(text: str) -> str:
    """Join the printed lines of a page to paragraphs and heal hyphenation.

    An empty line ends a paragraph, and so does a line that ends a sentence and is much shorter than
    the widest.
    """
    text = seen(text.replace("\r", "\n"))
    lines = [_BLANKS.sub(" ", line).strip() for line in text.split("\n")]
    width = max(map(len, lines), default=0)
    out: list[str] = []
    for line in lines:
        short = len(line) < 0.75 * width and line.endswith(_ENDS)
        out.append(f"{line}\n" if line else "\n")
        if short:
            out.append("\n")
    page = _HYPHEN.sub("", "".join(out))
    paragraphs = (" ".join(p.split("\n")).strip() for p in re.split(r"\n{2,}", _SOFT.sub("", page)))
    return "\n\n".join(p for p in paragraphs if p)


def _iso(made: str) -> str:
    """Read the day of a PDF date like D:20240131120000+01'00' (ISO 32000-1, 7.9.4)."""
    match = _DATE.match(made)
    if not match:
        return ""
    try:
        return date(int(match[1]), int(match[2]), int(match[3])).isoformat()
    except ValueError:
        return ""
