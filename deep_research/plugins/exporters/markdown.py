"""`report.md`: the report for people, with numbered references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from deep_research.core.report import Reference, Report, RunStatus

from ._parts import USAGE, marks_of, round_lines, status_line, troubles, usage_rows

# An underscore inside a word means nothing (https://spec.commonmark.org/0.31.2/#emphasis-and-strong-emphasis);
# escaped, a name would be wrong where it is copied.
_MEANING = re.compile(r"([\\`*\[\]<>]|(?<![^\W_])_|_(?![^\W_]))")


class MarkdownExporter:
    """The report as Markdown in UTF-8."""

    suffix = "md"

    def export(self, report: Report) -> bytes:
        """Return the file's bytes."""
        text = "\n".join(_lines(report)).rstrip() + "\n"
        return text.encode("utf-8", "replace")


def _lines(report: Report) -> Iterator[str]:
    yield f"# {_one_line(report.question)}"
    yield ""
    if report.status is not RunStatus.COMPLETE:
        yield f"> {_plain(status_line(report))}"
        yield ""
    for note in report.notes:
        yield f"*{_plain(note)}*"
        yield ""
    if failed := troubles(report):
        yield "What failed on the way:"
        yield ""
        yield from (f"- {_plain(text)}" for text in failed)
    if report.body.strip():
        yield report.body.strip()
        yield ""
    if report.references:
        yield "## References"
        yield ""
        for reference in report.references:
            yield f"{reference.n}. {_reference(reference, marks_of(report, reference))}"
        yield ""
    if told := round_lines(report):
        yield "## How it went"
        yield ""
        yield from (f"{n}. {_plain(text)}" for n, text in enumerate(told, 1))
        yield ""
    if rows := usage_rows(report):
        yield "## Usage"
        yield ""
        yield _row(USAGE)
        yield _row(["---", "---", *["--:"] * (len(USAGE) - 2)])
        yield from (_row([_plain(cell) for cell in row]) for row in rows)


def _row(cells: Sequence[str]) -> str:
    """Return one row of a table (https://github.github.com/gfm/#tables-extension-)."""
    text = " | ".join(cell.replace("|", "\\|") for cell in cells)
    return f"| {text} |"


def _reference(reference: Reference, marks: str) -> str:
    title = _plain(reference.title) or _plain(reference.url)
    url = re.sub(r"[\s<>]", lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), reference.url)
    facts = [fact for fact in (reference.published[:10], marks) if fact]
    return f"{title}. <{url}>" + (f" ({_plain('; '.join(facts))})" if facts else "")


def _plain(text: str) -> str:
    """Return text from outside on one line, so that nothing in it is Markdown or HTML."""
    return _MEANING.sub(r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())
