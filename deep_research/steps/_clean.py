"""Cleaning what a language model wrote: reasoning, repetition, characters no text should hold."""

from __future__ import annotations

import html
import json
import re
from typing import Final

_TAGS: Final = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think"
_CLOSED = re.compile(
    rf"<(?P<tag>{_TAGS})\b[^>]*>.*?</(?P=tag)\s*>"
    r"|◁think▷.*?◁/think▷|\[THINK\].*?\[/THINK\]"
    r"|<\|channel\|>\s*(?:analysis|commentary)\b.*?(?:<\|end\|>|(?=<\|channel\|>\s*final))",
    re.DOTALL | re.IGNORECASE,
)
_END = re.compile(rf"</(?:{_TAGS})\s*>|◁/think▷|\[/THINK\]", re.IGNORECASE)
_OPEN = re.compile(
    rf"<(?:{_TAGS})\b[^>]*>|◁think▷|\[THINK\]|<\|channel\|>\s*analysis\b", re.IGNORECASE
)
_SPECIAL = re.compile(r"<\|[a-z_]{2,20}\|>(?:final\b|assistant\b)?", re.IGNORECASE)
_JUNK = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\u200b\u2060\ufffe\uffff]"
    "|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # writing directions, which can hide words
)
_BLANK = re.compile("(?<!\\d)\u00a0|\u00a0(?!\\d)")
_ENTITY = re.compile(r"&(?:[a-zA-Z][a-zA-Z0-9]{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_MARKUP = re.compile(
    r"</?(?:b|i|u|em|strong|mark|code|span|sub|sup|p|br|a|font|div)(?:\s[^<>]*)?/?>"
    r"|(?<!\w)\*\*(?=\S)|(?<=\S)\*\*(?!\w)",
    re.IGNORECASE,
)
_WRITTEN_BREAK = re.compile(r"(?<![:\\/])(?:\\r)?(?:\\n)+(?=[\s\d\-*•A-Z\"]|$)")
_MAX_TRIES: Final = 200
_TAIL: Final = 20_000
_LEAST_REPEAT: Final = 200


def clean(text: str) -> str:
    """Drop control characters and lone surrogates; no-break spaces outside numbers become plain."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _BLANK.sub(" ", _JUNK.sub("", whole))


def tidy(text: str) -> str:
    """Return one text of an answer as it was meant to be read.

    Entities become characters; control characters, tags of inline HTML, bold marks and line breaks
    that were escaped twice go.
    """
    if "&" in text:
        text = _ENTITY.sub(lambda m: html.unescape(m[0]), text)
    if "\\n" in text:
        text = _WRITTEN_BREAK.sub("\n", text)
    return _MARKUP.sub("", clean(text)).strip()


def strip_reasoning(text: str) -> str:
    """Return the answer without the model's reasoning.

    Closed blocks go; before a lone closing tag everything goes (templates often open it in the
    prompt). After a lone opening tag everything goes as well, except JSON that the text ends with:
    some models forget to close before they answer. A text that is JSON as a whole stays as it is.
    """
    text = text.strip()
    if text[:1] in "{[" and _is_json(text):
        return text
    text = _CLOSED.sub("", text)
    if ends := list(_END.finditer(text)):
        text = text[ends[-1].end() :]
    if opened := _OPEN.search(text):
        text = text[: opened.start()].rstrip() or _last_json(text[opened.end() :])
    return _SPECIAL.sub("", text).strip()


def repeated_tail(text: str) -> tuple[str, bool]:
    """Cut a tail that says the same over and over; return the text and whether that was so.

    A tail counts if one piece of any length stands there at least three times in a row (the last
    may be cut off) and the repeats make up at least 200 characters. The first copy stays.
    """
    tail = text[-_TAIL:]
    best, covered = 0, 0
    for period, run in enumerate(_matches(tail[::-1])):
        if period and run >= max(2 * period, _LEAST_REPEAT) and period + run > covered:
            best, covered = period, period + run
    if not best:
        return text, False
    return text[: len(text) - covered + best].rstrip(), True


def _matches(text: str) -> list[int]:
    """For each offset, how long the text from there equals its own beginning (the Z function).

    Gusfield, "Algorithms on Strings, Trees and Sequences", 1997, chapter 1; linear time.
    """
    size = len(text)
    found = [0] * size
    left = right = 0
    for i in range(1, size):
        n = min(found[i - left], right - i) if i < right else 0
        while i + n < size and text[n] == text[i + n]:
            n += 1
        found[i] = n
        if i + n > right:
            left, right = i, i + n
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _last_json(text: str) -> str:
    """Return the JSON that `text` ends with (a code fence may follow), or ''."""
    text = text.rstrip().removesuffix("```").rstrip()
    if text[-1:] not in ("}", "]"):
        return ""
    for n, match in enumerate(re.finditer(r"[\[{]", text)):
        if n >= _MAX_TRIES:
            break
        if _is_json(text[match.start() :]):
            return text[match.start() :]
    return ""
