"""Bytes to a document: the bytes themselves say what they are, then the declared type. No I/O."""

from __future__ import annotations

import csv
import json
import logging
import re
from functools import cache
from typing import Final

from deep_research.core.errors import PageUnreadable
from deep_research.core.text import shorten

from .charset import decode
from .document import Document, seen
from .markup import HTML, read_markup
from .pdf import read_pdf
from .tables import is_head, row_text, unfold
from .trees import json_text, read_xml
from .walls import find_wall
from .word import is_docx, read_docx

# First bytes, as in https://mimesniff.spec.whatwg.org/ and for the rest in the formats themselves
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\x00", "an image"),
    (b"MM\x00*", "an image"),
    (b"\x00\x00\x01\x00", "an image"),
    (b"RIFF", "sound, film or an image"),
    (b"ID3", "sound"),
    (b"OggS", "sound or film"),
    (b"fLaC", "sound"),
    (b"\x1aE\xdf\xa3", "film"),
    (b"FLV\x01", "film"),
    (b"\x1f\x8b", "a compressed file"),
    (b"BZh", "a compressed file"),
    (b"\xfd7zXZ\x00", "a compressed file"),
    (b"7z\xbc\xaf\x27\x1c", "an archive"),
    (b"Rar!", "an archive"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x00asm", "a program"),
    (b"wOF", "a font"),
    (b"SQLite format 3", "a database"),
)
_REFUSED: Final = re.compile(r"(image|audio|video|font|model)/.*")
_HTML_START: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*"
    r"<(?:!doctype html|html|head|body|title|meta|script|style|h1|div|p|table)\b",
    re.IGNORECASE | re.DOTALL,
)
_MARKUP_TYPES: Final = frozenset({HTML, "application/xhtml+xml"})
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_DATED: Final = re.compile(
    r"^\W*(?:published|date|updated)\W*[:=]\W*(\d{4}-\d{2}-\d{2})\b",
    re.IGNORECASE | re.MULTILINE,
)
_NO_TITLE: Final = re.compile(
    r"(?:binder|document|dokument|untitled|unbenannt|slide|presentation|new)[\s\d_-]*"
    r"|untitled document|powerpoint presentation|microsoft \w+ - .*"
    r"|\(?(?:anonymous|unspecified)\)?",
    re.IGNORECASE,
)
"""What programs write where a title is missing."""
_HEADING: Final = re.compile(r"\s*#{1,2}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_MOST_CONTROLS: Final = 0.03  # share of control characters; chance bytes have 0.1
_LARGEST_MARKUP: Final = 8_000_000  # characters; more takes the parsers minutes


def extract(
    body: bytes,
    *,
    media_type: str = "",
    charset: str = "",
    url: str = "",
    cut: bool = False,
    max_chars: int = 2_000_000,
) -> Document:
    """Return the text in `body`: HTML, PDF, Word, Markdown, JSON, XML, CSV or plain text.

    Args:
        body: The bytes of a page or file.
        media_type: As declared, or guessed from a file's name; a hint only.
        charset: As declared; a hint only.
        url: Helps to find a page's date.
        cut: Whether `body` is not all there is.
        max_chars: Longest text; the rest is dropped.

    Raises:
        PageUnreadable: Nothing there that can be read, and why.
    """
    _silence()
    try:
        document = _document(body, media_type, charset, url, cut=cut, max_chars=max_chars)
    except PageUnreadable:
        raise
    except Exception as error:  # parsers fail on hostile input in any way there is
        raise PageUnreadable(
            f"cannot be parsed: {type(error).__name__} {shorten(str(error), 150)}"
        ) from error
    # Marks are offsets into the text as it stands; who sets them has cleaned it.
    text = document.text if document.marks else seen(document.text)
    text = text.encode("utf-8", "replace").decode()[:max_chars].rstrip()
    if not text.strip():
        raise PageUnreadable("has no text")
    wall = find_wall(text, document.title) if document.media_type == HTML else ""
    if wall:
        raise PageUnreadable(f"is a wall, not a page: {wall}")
    marks = tuple((at, label) for at, label in document.marks if at < len(text))
    title = seen(document.title)
    title = "" if _NO_TITLE.fullmatch(title) else title
    return Document(text, title, document.published, marks, document.media_type)


def _document(
    body: bytes, media_type: str, charset: str, url: str, *, cut: bool, max_chars: int
) -> Document:
    if not body.strip():
        raise PageUnreadable("is empty")
    if b"%PDF-" in body[:1024]:
        _whole(cut=cut)
        return read_pdf(body, max_chars)
    if body.startswith(b"PK\x03\x04"):
        _whole(cut=cut)
        if not is_docx(body):
            raise PageUnreadable("is a zip archive or an Office file other than Word")
        return read_docx(body)
    kind = next((kind for magic, kind in _MAGIC if body.startswith(magic)), "")
    if kind or body[4:8] == b"ftyp":
        raise PageUnreadable(f"is {kind or 'film or sound'}, not text")
    start = decode(body[:2000], charset, markup=True, cut=True)
    markup = media_type in _MARKUP_TYPES or bool(_HTML_START.match(start))
    if _REFUSED.fullmatch(media_type) and not markup:
        raise PageUnreadable(f"is {media_type}, not text")
    text = decode(body, charset, markup=markup or "xml" in media_type, cut=cut)
    if markup and not _is_json(text):
        return read_markup(text[:_LARGEST_MARKUP], url)
    text = text.strip("\x00")
    if len(_CONTROL.findall(text[:4000])) > _MOST_CONTROLS * len(text[:4000]):
        raise PageUnreadable("is a binary file")
    return _plain(text, media_type)


def _plain(text: str, media_type: str) -> Document:
    media_type = (
        media_type
        if "/" in media_type and media_type != "application/octet-stream"
        else "text/plain"
    )
    text = re.sub(r"\r\n?", "\n", text)
    if media_type.endswith("json") or _is_json(text):
        kind = media_type if media_type.endswith("json") else "application/json"
        return Document(json_text(text), media_type=kind)
    if media_type.endswith(("/xml", "+xml")) or text.lstrip().startswith("<?xml"):
        return read_xml(text, media_type)
    if media_type in {"text/csv", "text/tab-separated-values"}:
        return Document(_table(text), media_type=media_type)
    lines = (_CONTROL.sub("", line).rstrip() for line in text.split("\n"))
    plain = unfold(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n"))
    heading = (
        _HEADING.search(plain[:2000])
        if media_type in {"text/markdown", "text/x-markdown"}
        else None
    )
    dated = _DATED.search(plain[:1000])
    return Document(
        plain, heading[1] if heading else "", dated[1] if dated else "", media_type=media_type
    )


def _is_json(text: str) -> bool:
    """Tell whether a text of another type is JSON all the same."""
    start, end = text.lstrip()[:1], text.rstrip()[-1:]
    if start + end not in {"{}", "[]"}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _table(text: str) -> str:
    """Rows of a table; where its first row names the columns, each row stands by itself."""
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:20_000], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    try:
        rows = [[" ".join(c.split()) for c in row] for row in csv.reader(text.split("\n"), dialect)]
    except csv.Error:
        return text.strip()
    rows = [row for row in rows if any(row)]
    if len(rows) > 1 and is_head(rows[0]):
        return "\n".join(row_text(rows[0], row) for row in rows[1:])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _whole(*, cut: bool) -> None:
    if cut:
        raise PageUnreadable("is larger than the limit and cannot be read in part")


@cache
def _silence() -> None:
    """Keep the parsers' complaints off the terminal where no logging is set up; others get them."""
    for name in ("pypdf", "trafilatura", "htmldate", "charset_normalizer", "courlan", "bs4"):
        logging.getLogger(name).addHandler(logging.NullHandler())
