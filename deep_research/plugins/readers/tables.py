"""Rows of tables as sentences, so that each can be understood, found and quoted by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

_NUMBER: Final = re.compile(r"[-+\d.,%/:\s]+")
_YEAR: Final = re.compile(r"(?:1[5-9]|20)\d\d")
_PAIR: Final = 2
_CELLS: Final = re.compile(r"(?<!\\)\|")
# https://github.github.com/gfm/#delimiter-row; with one column at least one pipe has to be there
_RULE: Final = re.compile(r"\s*(?=.*\|)\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")

Row = Sequence[str]


def is_head(row: Row) -> bool:
    """Tell whether the first row of a table names its columns: all do, differently, in words."""
    return (
        len(row) > 1
        and all(row)
        and len(set(row)) == len(row)
        and not any(map(_NUMBER.fullmatch, row))
    )


def row_text(head: Row, row: Row) -> str:
    """Write one row as 'Head: cell; head: cell.'; empty cells are left out."""
    cells = zip_longest(head, row, fillvalue="")
    said = "; ".join(f"{h}: {c}" if h else c for h, c in cells if c).rstrip(".")
    return f"{said[:1].upper()}{said[1:]}."


def table_text(rows: Sequence[Row]) -> str:
    """Write the rows of a table that does not say which of them is its head, one a line.

    Two columns without numbers in the second are taken for names and values.
    """
    rows = [row for row in rows if any(row)]
    if len(rows) < _PAIR:
        return _bars(rows)
    head, *body = rows
    if all(len(row) == _PAIR for row in rows) and not _counts(head, body):
        return "\n".join(row_text(row[:1], row[1:]) for row in rows)
    worded = [
        f"year {cell}" if n and _YEAR.fullmatch(cell) else cell for n, cell in enumerate(head)
    ]
    if is_head([worded[0] or "name", *worded[1:]]):
        return "\n".join(row_text(head, row) for row in body)
    return _bars(rows)


def _counts(head: Row, body: Sequence[Row]) -> bool:
    """Tell whether the second column holds numbers under words."""
    named = not any(map(str.isdigit, head[1]))
    return named and all(any(map(str.isdigit, row[1])) for row in body)


def _bars(rows: Sequence[Row]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def unfold(text: str, write: Callable[[Sequence[Row]], str] | None = None) -> str:
    """Write the rows of Markdown tables (https://github.github.com/gfm/#tables-extension-).

    Lines inside a fence are code; all that is no table stays as it is.

    Args:
        text: Lines of Markdown.
        write: Writes the rows of one table; None takes the first, above the rule, for its head.
    """
    return "\n".join(_unfolded(text.split("\n"), write or _headed)) if "|" in text else text


def _unfolded(lines: Sequence[str], write: Callable[[Sequence[Row]], str]) -> Iterator[str]:
    code = False
    at = 0
    while at < len(lines):
        code ^= bool(_FENCE.match(lines[at]))
        end = at + 1 if code else _table_end(lines, at)
        if end > at + _PAIR:
            rows = [_cells(row) for row in lines[at:end] if not _RULE.fullmatch(row)]
            yield write([row for row in rows if any(row)])
        else:
            yield from lines[at:end]
        at = end


def _table_end(lines: Sequence[str], at: int) -> int:
    """Return the line behind the table that begins at `at`; the next line if none does."""
    end = at + 1
    rule = lines[end] if end < len(lines) else ""
    width = len(_cells(lines[at]))
    if "|" in lines[at] and _RULE.fullmatch(rule) and width == len(_cells(rule)) > 1:
        while end < len(lines) and "|" in lines[end]:
            end += 1
    return end


def _headed(rows: Sequence[Row]) -> str:
    return "\n".join(row_text(rows[0], row) for row in rows[1:]) or _bars(rows)


def _cells(line: str) -> list[str]:
    bare = re.sub(r"^\||(?<!\\)\|$", "", line.strip())
    return [" ".join(cell.replace("\\|", "|").split()) for cell in _CELLS.split(bare)]
