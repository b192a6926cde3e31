"""Finding the values that a language model's answer may mean, in whatever wrapping they come."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from ._clean import clean, strip_reasoning

_FENCE = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_OPENER = re.compile(r"[\[{]")
LIKE_JSON: Final = re.compile(r"\[\s*[\[{\"'“/\]\d-]|\{\s*[\"'“/}]|\{\s*\w+\s*[:：]")
_FULL_WIDTH: Final = str.maketrans("：，｛｝［］“”„‟＂", ':,{}[]"""""')
_BRACKETS: Final = str.maketrans("｛｝［］", "{}[]")
_QUOTE = re.compile(r'(?<!\\)"')
_MAX_LENGTH: Final = 400_000
_MAX_SNIPPETS: Final = 60
_NESTING: Final = 200
_CLOSERS: Final = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One value that the answer may mean.

    Attributes:
        value: As JSON has it.
        trust: 1.0 as written; less where it had to be mended or guessed.
        cut: Whether the answer broke off and only its complete items are in `value`.
    """

    value: Any
    trust: float = 1.0
    cut: bool = False


def candidates(text: str) -> Iterator[Candidate]:
    """Yield the values in `text`, in their order; none of them need be what was asked for."""
    bare = strip_reasoning(clean(text[:_MAX_LENGTH]))
    text = _plain(bare)
    for whole in dict.fromkeys((bare, text)):
        with suppress(ValueError, RecursionError):
            yield Candidate(json.loads(whole, strict=False))
            return
    for match in _FENCE.finditer(text):
        yield from _snippets(match[1])
    yield from _snippets(text)


def _plain(text: str) -> str:
    """Undo what was done to a whole answer: quotes as entities or escaped, full-width brackets."""
    if '"' not in text and "&quot;" in text:
        text = html.unescape(text)
    if '\\"' in text and not _QUOTE.search(text):
        text = text.replace('\\"', '"')
    return text if _OPENER.search(text) else text.translate(_BRACKETS)


def _snippets(text: str) -> Iterator[Candidate]:
    """Yield each top-level object or list in `text`, then all objects together (NDJSON)."""
    decoder = json.JSONDecoder(strict=False)
    objects: list[Any] = []
    position, broken = 0, False
    for _ in range(_MAX_SNIPPETS):
        match = _OPENER.search(text, position)
        if not match:
            break
        start = match.start()
        try:
            value, position = decoder.raw_decode(text, start)
            found = [Candidate(value)]
        except (ValueError, RecursionError):
            found, position = _broken(text, start)
        yield from (replace(c, trust=c.trust / 2, cut=True) if broken else c for c in found)
        broken = broken or any(c.cut for c in found)
        objects.extend(c.value for c in found[:1] if isinstance(c.value, dict))
    if len(objects) > 1:
        yield Candidate(objects, 0.4 if broken else 0.95, cut=broken)


def _broken(text: str, start: int) -> tuple[list[Candidate], int]:
    """Say what a snippet may mean that is not JSON, and where the next one may begin."""
    if not LIKE_JSON.match(text, start):
        return [], start + 1
    end, kept = _scan(text, start)
    if end is not None:
        values = [Candidate(v, 0.9) for v in mended(text[start:end])]
        return values, end if values else start + 1
    values = [Candidate(v, 0.95, cut=True) for k in kept for v in mended(k)]
    values += [Candidate(v, 0.3, cut=True) for v in mended(text[start:])]
    return values, start + 1


def _scan(text: str, start: int) -> tuple[int | None, list[str]]:
    """Walk from an opening bracket to its closing one.

    Returns the end, or None and what is complete: up to the last item of the outermost open list
    that has one, else up to the last member of the innermost object that has one, brackets closed.
    """
    stack: list[str] = []
    marks: list[int | None] = []  # for each open bracket, the end of its last complete item
    i, size = start, len(text)
    while i < size:
        char = text[i]
        if char == '"':
            i = _string_end(text, i)
            continue
        if char in "[{":
            stack.append(char)
            marks.append(None)
        elif char in "]}":
            if _CLOSERS[stack[-1]] != char:
                return None, []
            stack.pop()
            marks.pop()
            if not stack:
                return i + 1, []
            if stack[-1] == "[":
                marks[-1] = i + 1
        elif char == ",":
            marks[-1] = i
        i += 1
    return None, _complete(text, start, stack, marks)


def _complete(text: str, start: int, stack: list[str], marks: list[int | None]) -> list[str]:
    lists = [n for n, opener in enumerate(stack) if opener == "[" and marks[n]]
    objects = [n for n, opener in enumerate(stack) if opener == "{" and marks[n]]
    level = lists[0] if lists else objects[-1] if objects else None
    if level is None:
        return []
    closing = "".join(_CLOSERS[opener] for opener in reversed(stack[: level + 1]))
    return [text[start : marks[level]].rstrip().rstrip(",") + closing]


def _string_end(text: str, start: int) -> int:
    """The place after the string that begins at `start`, or the end of the text."""
    match = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL).match(text, start)
    return match.end() if match else len(text)


def mended(snippet: str) -> list[Any]:
    """Read almost-JSON: trailing commas, wrong quotes, comments, full-width marks."""
    if snippet.count("[") + snippet.count("{") > _NESTING * 10:
        return []
    import json_repair

    values: list[Any] = []
    for text in dict.fromkeys((snippet, snippet.translate(_FULL_WIDTH))):
        with suppress(Exception):  # foreign code meets hostile text: what it trips over is no JSON
            value = json_repair.loads(text)
            if isinstance(value, dict | list) and value and value not in values:
                values.append(value)
    return values
