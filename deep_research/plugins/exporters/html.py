"""`report.html`: one file that opens anywhere; it fetches nothing and runs nothing."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from deep_research.core.report import Claim, Reference, Report, Support
from deep_research.extractive.language import detect

from ._page import PAGE
from ._parts import USAGE, marks_of, round_lines, status_line, troubles, usage_rows

_CITATION = re.compile(r"\[(\d+)\]")
_WEB = re.compile(r"^(https?|file)://", re.IGNORECASE)


class HtmlExporter:
    """The report as one HTML page: light and dark, printable, quotes shown where they are cited."""

    suffix = "html"

    def export(self, report: Report) -> bytes:
        """Return the file's bytes."""
        page = PAGE.substitute(
            language=detect(report.body or report.question),
            title=escape(" ".join(report.question.split())),
            status=_paragraph("status", status_line(report)),
            notes="\n".join(_paragraph("note", note) for note in report.notes),
            body=_failed(troubles(report)) or _Body(report).render(),
            references=_references(report),
            rounds=_rounds(round_lines(report)),
            usage=_usage(usage_rows(report)),
            facts=escape(_facts(report)),
        )
        return page.encode("utf-8", "replace")


class _Body:
    """Renders the report's Markdown: HTML off, images as text, [n] as links with the quote."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._numbers = {reference.n for reference in report.references}
        self._claims: dict[int, deque[Claim]] = defaultdict(deque)
        for claim in report.claims:
            for n in dict.fromkeys(citation.reference for citation in claim.citations):
                self._claims[n].append(claim)

    def render(self) -> str:
        from markdown_it import MarkdownIt

        markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        # The body cites by number only: an address inside it came from a page and is shown as text.
        markdown.disable(["image", "link", "autolink", "reference"])
        markdown.add_render_rule("text", lambda _, tokens, index, *__: self._text(tokens, index))
        return str(markdown.render(self._report.body))

    def _text(self, tokens: Sequence[Any], index: int) -> str:
        """Escape a run of text and turn its [n] into links; the numbers must be references."""
        parts = []
        at = 0
        text: str = tokens[index].content
        for match in _CITATION.finditer(text):
            if int(match[1]) in self._numbers:
                parts += [escape(text[at : match.start()]), self._citation(int(match[1]))]
                at = match.end()
        return "".join(parts) + escape(text[at:])

    def _citation(self, n: int) -> str:
        """Each [n] stands for the next claim that cites n; the report lists claims in its order."""
        claims = self._claims[n]
        if not claims:
            return f'<a class="cite" href="#r{n}">[{n}]</a>'
        claim = claims.popleft() if len(claims) > 1 else claims[0]
        quotes = " … ".join(c.quote for c in claim.citations if c.reference == n)
        doubt = "" if claim.support is Support.VERIFIED else f" {claim.support}"
        label = f"{claim.support}: “{' '.join(quotes.split())}”"
        return f'<a class="cite{doubt}" href="#r{n}" title="{escape(label)}">[{n}]</a>'


def _paragraph(kind: str, text: str) -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if text else ""


def _failed(troubles: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in troubles)
    return f"<p>What failed on the way:</p>\n<ul>{items}</ul>" if items else ""


def _references(report: Report) -> str:
    if not report.references:
        return ""
    items = "\n".join(_reference(r, marks_of(report, r)) for r in report.references)
    return f"<h2>References</h2>\n<ol>\n{items}\n</ol>"


def _reference(reference: Reference, marks: str) -> str:
    title = escape(" ".join(reference.title.split()) or reference.url)
    url = escape(reference.url)
    link = (
        f'<a href="{url}" rel="noreferrer noopener nofollow">{title}</a>'
        if _WEB.match(reference.url)
        else title
    )
    facts: Iterable[str] = (reference.published[:10], marks, reference.url)
    small = " · ".join(escape(fact) for fact in facts if fact)
    return f'<li id="r{reference.n}" value="{reference.n}">{link}<br><small>{small}</small></li>'


def _rounds(told: Sequence[str]) -> str:
    items = "\n".join(f"<li>{escape(text)}</li>" for text in told)
    return f"<h2>How it went</h2>\n<ol>\n{items}\n</ol>" if items else ""


def _usage(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    *steps, total = ("".join(_cells("td", row)) for row in rows)
    body = "\n".join(f"<tr>{cells}</tr>" for cells in steps)
    return (
        f'<h2>Usage</h2>\n<table class="usage">\n<thead><tr>{"".join(_cells("th", USAGE))}</tr>'
        f"</thead>\n<tbody>\n{body}\n</tbody>\n<tfoot><tr>{total}</tr></tfoot>\n</table>"
    )


def _cells(tag: str, row: Sequence[str]) -> Iterator[str]:
    """Render a row of the usage table: two cells of words, then numbers."""
    for i, text in enumerate(row):
        kind = ' class="number"' if i > 1 else ""
        yield f"<{tag}{kind}>{escape(text)}</{tag}>"


def _facts(report: Report) -> str:
    usage = report.usage
    parts = [
        f"{len(report.references)} references",
        f"{usage.pages} pages read",
        f"{usage.searches} searches",
        f"{usage.llm_calls} model calls",
        f"{usage.seconds:.0f} s",
    ]
    return f"Run {report.run} · {' · '.join(parts)}"
