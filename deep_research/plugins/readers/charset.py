"""Bytes to text, never mojibake: what is declared is believed only as far as the bytes agree.

Labels as in the Encoding Standard (https://encoding.spec.whatwg.org/#names-and-labels), in which
'iso-8859-1' means windows-1252, for instance; the search for a <meta> as in the HTML Standard
(https://html.spec.whatwg.org/multipage/parsing.html, "prescan a byte stream").
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What a label means on the web, where Python's codec of that name is narrower.
_MEANT: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_LABELS: Final = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-gbk": "gb18030",
    "x-x-big5": "big5hkscs",
    "ks_c_5601-1989": "cp949",
    "windows-949": "cp949",
    "windows-874": "cp874",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "unicode-1-1-utf-8": "utf-8",
    "x-user-defined": "cp1252",
}
# Codecs that are no character encodings of the web.
_NOT_TEXT: Final = re.compile(
    r"utf[-_]?7|idna|punycode|.*escape|undefined|mbcs|oem|cp65001|.*codec"
)
_PRESCAN: Final = 32_768
_META = re.compile(
    rb"<!--.*?(?:-->|\Z)|<meta(?=[\s/])((?:\"[^\"]*\"|'[^']*'|[^>\"'])*)>",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"([^\s/=\"'>]+)\s*(?:=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]*)))?")
_CONTENT = re.compile(r"charset\s*=\s*(?:\"([^\"]+)\"|'([^']+)'|([^\s;\"']+))", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"']")
# Traces of a wrong decoding, each with how much one of them says.
_TRACES: Final = (
    (10, re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")),  # controls, holes
    (1, re.compile("[\uff61-\uff9f]")),  # half-width kana
    (3, re.compile("[\u0430-\u045f][\u0400-\u042f]")),  # Cyrillic capitals inside words
    (
        3,
        re.compile(
            "[a-z][\u0400-\u045f\u4e00-\u9fff](?=[a-z])|[a-z][\u0400-\u045f]|[\u0400-\u045f][a-z]"
        ),
    ),
    (
        3,
        re.compile(
            "(?<=[^\\W\\d_])[\xa1-\xac\xae-\xb6\xb8-\xbf\xd7\xf7‚„†‡‰‹“”•™›€](?=[^\\W\\d_])"
        ),
    ),
)
_LATIN: Final = re.compile("[\u00c0-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192]")
_CYRILLIC: Final = re.compile("[\u0400-\u042f]"), re.compile("[\u0430-\u045f]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_SUSPECT: Final = 0.2
_SAMPLE: Final = 100_000
_NOT_ASCII: Final = 0x80


def decode(body: bytes, declared: str = "", *, markup: bool = False, cut: bool = False) -> str:
    """Return the text of `body`.

    In this order: a byte order mark; valid UTF-8; the first declaration whose decoding is possible
    and plausible; UTF-8 with the odd stray byte; statistics. So a wrong declaration spoils nothing.

    Args:
        body: The bytes.
        declared: The charset of the Content-Type header, or ''.
        markup: Whether to look for <meta charset> and an XML declaration.
        cut: Whether the end may be missing, so that the last character may be incomplete.
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(name, errors="replace")
    labels = [declared, *(meta_charsets(body) if markup else ())]
    names = list(dict.fromkeys(name for name in map(codec, labels) if name))
    stateful = [n for n in names if n.startswith("iso2022") and b"\x1b" in body]
    stateful += ["iso2022_jp"] if b"\x1b$B" in body else []
    for name in [*stateful, _wide(body) or "utf-8", *names]:
        text = _strict(body, name, cut=cut)
        if text is not None and (name in {"utf-8", *stateful} or _oddity(text) < _SUSPECT):
            return text
    return _guessed(body, names)


def codec(label: str) -> str:
    """Return Python's name for a charset label as the web means it, or '' if there is none."""
    name = label.strip().strip("\"'").lower()
    if not name or not name.isascii() or _NOT_TEXT.fullmatch(name):
        return ""
    if name in _LABELS:
        return _LABELS[name]
    try:
        found = codecs.lookup(re.sub(r"^(?:x-)?windows-?(?=\d)|^x-cp", "cp", name))
    except (LookupError, ValueError):
        return ""
    if not getattr(found, "_is_text_encoding", True) or _NOT_TEXT.fullmatch(found.name):
        return ""
    return _MEANT.get(found.name, found.name)


def meta_charsets(body: bytes) -> list[str]:
    """Return the labels that the markup itself declares, in order; UTF-16 there means UTF-8."""
    head = body[:_PRESCAN]
    found = [m[1].decode() for m in [_XML.match(head)] if m]
    for match in _META.finditer(head):
        given: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(match[1] or b""):
            given.setdefault(
                name.decode("latin-1").lower(), (double or single or bare).decode("latin-1")
            )
        if given.get("charset", "").strip():
            found.append(given["charset"].strip())
        elif given.get("http-equiv", "").lower() == "content-type":
            content = _CONTENT.search(given.get("content", ""))
            found.extend(next(filter(None, content.groups())) for _ in [0] if content)
    return ["utf-8" if label.lower().startswith("utf-16") else label for label in found]


def _oddity(text: str) -> float:
    """Return how unlikely `text` is what was meant: 0 is fine, from `_SUSPECT` on it is not."""
    sample = text[:_SAMPLE]
    foreign = "".join(c for c in sample if not c.isascii())
    if not foreign:
        return 0.0
    odd = sum(weight * len(trace.findall(sample)) for weight, trace in _TRACES)
    # Western text has few accents; a page full of them was written in another script.
    accents = len(_LATIN.findall(foreign))
    odd += accents if accents > 0.35 * len(_LETTER.findall(sample)) else 0
    # KOI8-R and windows-1251 taken for each other turn small letters into capitals.
    capital, small = (len(kind.findall(foreign)) for kind in _CYRILLIC)
    odd += capital if capital > small else 0
    return odd / len(foreign)


def _guessed(body: bytes, names: list[str]) -> str:
    from bs4.dammit import UnicodeDammit
    from charset_normalizer import from_bytes

    # Pages of UTF-8 with a stray byte are common; one such byte does not make them another charset.
    lenient = body.decode("utf-8", errors="replace")
    if lenient.count("\ufffd") * 20 < sum(not c.isascii() for c in lenient):
        mended = UnicodeDammit.detwingle(body)
        return mended.decode("utf-8", errors="replace")
    best = from_bytes(body[:_SAMPLE]).best()
    guess = codec(best.encoding) if best is not None else ""
    # Statistics know scripts well and European charsets badly: traces tell those apart.
    sample = body[:_SAMPLE]
    european = sum(byte >= _NOT_ASCII for byte in sample) < 0.2 * len(sample)
    order = ["cp1252", "iso8859-2", "cp1250", guess] if european else [guess, "cp1252"]
    texts = [body.decode(name, errors="replace") for name in [*order, *names] if name]
    return min(texts, key=_oddity)


def _strict(body: bytes, name: str, *, cut: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)().decode(body, final=not cut)
    except (UnicodeError, LookupError):
        return None


def _wide(body: bytes) -> str:
    """Recognise UTF-16 without a mark: every other byte of Latin text is 0."""
    head = body[:1000]
    half = len(head) // 2
    if half and head[1::2].count(0) > 0.7 * half and not head[0::2].count(0):
        return "utf-16-le"
    if half and head[0::2].count(0) > 0.7 * half and not head[1::2].count(0):
        return "utf-16-be"
    return ""
