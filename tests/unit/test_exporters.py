"""Report formats: the JSON shape, Markdown for people, HTML in which nothing from a page runs (R5)."""

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.errors import ConfigError
from deep_research.core.model import (
    Decision,
    Evidence,
    Failure,
    Learning,
    Query,
    ResearchNode,
    Source,
    Status,
    Usage,
)
from deep_research.core.report import (
    Citation,
    Claim,
    Conflict,
    Reference,
    Report,
    Round,
    RunStatus,
    Section,
    Spent,
    Support,
)
from deep_research.plugins.exporters.html import HtmlExporter
from deep_research.plugins.exporters.json import JsonExporter, as_dict, parse
from deep_research.plugins.exporters.markdown import MarkdownExporter

GOLDEN = Path(__file__).parents[1] / "golden"
QUOTE = 'the "clock" <b>lost</b> 5 s'
EVIDENCE = Evidence(
    Source("https://a.org/x", "H4 & friends", published="1761-11-18"),
    "ff00",
    QUOTE,
    10,
    37,
    "2026-01-01T00:00:00+00:00",
    "p. 3",
)
LATER = replace(EVIDENCE, quote="it worked", start=400, end=409, mark="p. 7")


def report(**changes) -> Report:
    """A report with something in every field."""
    tree = ResearchNode(
        Query("clocks", "how good", ("watches",)),
        decision=Decision((Query("H4"),)),
        children=[
            ResearchNode(
                Query("H4"),
                (0,),
                status=Status.FAILED,
                failure=Failure("timeout", "late", (0,)),
                usage=Usage(1),
            )
        ],
        status=Status.DONE,
    )
    made = Report(
        run="r1",
        question="How good was H4?",
        status=RunStatus.COMPLETE,
        stop_reason="depth",
        body="## Trial\n\nH4 lost 5 s [1]. It worked [1]. Others doubt it [2].",
        sections=(Section("Trial", "H4 lost 5 s [1]."),),
        claims=(
            Claim("H4 lost 5 s", "Trial", Support.VERIFIED, (Citation(1, QUOTE, 10, 37),)),
            Claim(
                "It worked",
                "Trial",
                Support.PARTIAL,
                (Citation(1, "it worked", 400, 409),),
                ("1762",),
            ),
        ),
        references=(
            Reference(
                1,
                "https://a.org/x",
                "H4 & friends",
                "1761-11-18",
                "2026-01-01T00:00:00+00:00",
                "ff00",
            ),
            Reference(2, "file:///d/b%20c.txt", "", "", "", "ee"),
        ),
        learnings=(Learning("lost 5 s", (EVIDENCE, LATER), (0,)), Learning("loose")),
        conflicts=(Conflict(Learning("5 s", (EVIDENCE,)), Learning("9 s"), "seconds", True),),
        gaps=("price",),
        failures=(Failure("unavailable", "gone", (1,)),),
        tree=tree,
        usage=Usage(3, 100, 50, 1_234_567, 4, 5, 6.5),
        spent=(
            Spent("decide", "planner", "strong|er_1", 1, 60, 10, 1_234_000),
            Spent("learn", "reader", "cheap", 2, 40, 40, 567),
        ),
        rounds=(
            Round(
                1, 2, 0.5, "research", ("a price", "*why*."), ("H4 price", "H4 cost"), "", "Go on."
            ),
            Round(2, 0, 0.0, "report", stop="no_gain"),
        ),
        notes=("Written *plainly*.",),
        config_digest="abc",
        version="0.1.0",
    )
    return replace(made, **changes)


# --- golden files -----------------------------------------------------------


def test_names_can_be_copied_and_mean_nothing():
    """CommonMark: an underscore inside a word begins no emphasis, at its edge it may."""
    note = "set network.allow_hosts, TAVILY_API_KEY and _x_, not *y*"
    made = Report("r", "Q?", RunStatus.COMPLETE, "", notes=(note,))
    text = MarkdownExporter().export(made).decode()
    assert "*set network.allow_hosts, TAVILY_API_KEY and \\_x\\_, not \\*y\\**" in text


@pytest.mark.parametrize(
    ("body", "question", "code"),
    [
        ("Die Uhr ist in der Stadt und das ist gut.", "Why?", "de"),
        ("", "時計とは何ですか", "ja"),
        ("", "", "en"),
    ],
)
def test_the_page_says_its_language(body, question, code):
    made = Report("r", question, RunStatus.COMPLETE, "", body=body)
    assert f'<html lang="{code}">' in HtmlExporter().export(made).decode()


@pytest.mark.parametrize("exporter", [JsonExporter(), MarkdownExporter(), HtmlExporter()])
def test_golden(exporter):
    """Any change of a format is seen. UPDATE_GOLDEN=1 writes the files anew."""
    file = GOLDEN / f"report.{exporter.suffix}"
    made = exporter.export(report())
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_bytes(made)
    assert made.decode() == file.read_text("utf-8")


# --- JSON --------------------------------------------------------------------


def test_the_documented_shape():
    """Every key of the contract is there, under its name."""
    data = json.loads(JsonExporter().export(report()))
    assert set(data) >= {
        "schema", "run", "question", "status", "stop_reason", "body", "sections", "claims", "references",
        "learnings", "conflicts", "gaps", "failures", "tree", "usage", "spent", "rounds",
        "config_digest", "version",
    }  # fmt: skip
    assert data["schema"] == 1
    assert set(data["claims"][0]) >= {"text", "section", "support", "citations"}
    assert data["claims"][0]["citations"] == [
        {"reference": 1, "quote": QUOTE, "start": 10, "end": 37}
    ]
    assert set(data["references"][0]) == {"n", "url", "title", "published", "fetched_at", "sha256"}
    assert data["learnings"][0]["path"] == [0]
    assert set(data["learnings"][0]["evidence"][0]) >= {"url", "sha256", "quote", "start", "end"}
    assert data["failures"] == [{"path": [1], "kind": "unavailable", "message": "gone"}]
    assert set(data["tree"]) >= {"query", "goal", "path", "status", "decision", "children"}
    assert data["tree"]["children"][0]["status"] == "failed"
    assert data["usage"] == {
        "llm_calls": 3, "input_tokens": 100, "output_tokens": 50, "cost_usd": 1.234567,
        "searches": 4, "pages": 5, "seconds": 6.5,
    }  # fmt: skip
    assert data["spent"][1] == {
        "step": "learn", "role": "reader", "model": "cheap", "calls": 2,
        "input_tokens": 40, "output_tokens": 40, "cost_usd": 0.000567,
    }  # fmt: skip
    assert data["rounds"][1] == {
        "n": 2, "learnings": 0, "news": 0.0, "verdict": "report", "gaps": [], "delegated": [],
        "stop": "no_gain", "reason": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tree": None},
        {"usage": Usage(cost=None)},
        {"spent": (Spent("learn", "reader", "m", 1, 2, 3, None),), "rounds": ()},
        {
            "status": RunStatus.NOTHING_FOUND,
            "body": "",
            "claims": (),
            "references": (),
            "learnings": (),
        },
        {"question": "\ud800 中文"},
    ],
)
def test_round_trip(changes):
    made = report(**changes)
    back = parse(JsonExporter().export(made))
    assert as_dict(back) == as_dict(made)
    assert replace(back, tree=None) == replace(made, tree=None)


def test_an_unknown_cost_is_null():
    spent = (Spent("learn", "reader", "m", 1, 2, 3, None),)
    data = as_dict(report(usage=Usage(cost=None), spent=spent))
    assert data["usage"]["cost_usd"] is None
    assert data["spent"][0]["cost_usd"] is None


def test_one_of_the_first_reports_is_read():
    """It has no table of usage and no rounds, and tells of no conflict whether it is settled."""
    data = as_dict(report())
    del data["spent"], data["rounds"], data["conflicts"][0]["settled"]
    back = parse(json.dumps(data))
    assert (back.spent, back.rounds, back.conflicts[0].settled) == ((), (), False)
    assert back.usage == report().usage


@pytest.mark.parametrize("key", ["spent", "rounds"])
@pytest.mark.parametrize("damage", [3, [3], [{}], None])
def test_a_damaged_table(key, damage):
    data = {**as_dict(report()), key: damage}
    with pytest.raises(ConfigError, match="is not a report"):
        parse(json.dumps(data))


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"schema": 2}', b'{"schema": 1}', b'{"schema": 1, "run": 3}', b"\xff"],
)
def test_what_is_no_report_is_said_to_be_none(data):
    with pytest.raises(ConfigError, match="is not a report"):
        parse(data)


def test_a_damaged_report():
    data = as_dict(report())
    data["claims"] = [3]
    with pytest.raises(ConfigError, match="is not a report"):
        parse(json.dumps(data))


# --- Markdown ----------------------------------------------------------------


def markdown(**changes) -> str:
    return MarkdownExporter().export(report(**changes)).decode()


def test_markdown():
    assert markdown() == (
        "# How good was H4?\n\n"
        "*Written \\*plainly\\*.*\n\n"
        "## Trial\n\nH4 lost 5 s [1]. It worked [1]. Others doubt it [2].\n\n"
        "## References\n\n"
        "1. H4 & friends. <https://a.org/x> (1761-11-18; p. 3, p. 7)\n"
        "2. file:///d/b%20c.txt. <file:///d/b%20c.txt>\n\n"
        "## How it went\n\n"
        "1. 2 learnings, 50% new. Missing: a price; \\*why\\*. Next: H4 price; H4 cost. Why: Go on.\n"
        "2. 0 learnings. Ended: no gain.\n\n"
        "## Usage\n\n"
        "| Step | Model | Calls | Tokens in | Tokens out | Cost |\n"
        "| --- | --- | --: | --: | --: | --: |\n"
        "| decide | strong\\|er_1 | 1 | 60 | 10 | $1.2340 |\n"
        "| learn | cheap | 2 | 40 | 40 | $0.0006 |\n"
        "| Total |  | 3 | 100 | 50 | $1.2346 |\n"
    )


def test_one_round_is_not_told_and_without_a_model_there_is_no_table():
    text = markdown(rounds=report().rounds[:1], spent=())
    assert "How it went" not in text
    assert "Usage" not in text
    page = html(rounds=report().rounds[:1], spent=())
    assert "How it went" not in page
    assert "<table" not in page


def test_one_unknown_price_leaves_the_total_unknown():
    rows = (Spent("learn", "reader", "", 1, 2, 3, None), Spent("plan", "planner", "m", 1, 2, 3, 40))
    text = markdown(spent=rows)
    assert "| learn | unknown | 1 | 2 | 3 | unknown |\n" in text
    assert "| plan | m | 1 | 2 | 3 | $0.0000 |\n" in text
    assert text.endswith("| Total |  | 2 | 4 | 6 | unknown |\n")


def test_large_numbers_can_be_read():
    rows = (Spent("learn", "reader", "m", 1200, 3_400_000, 56_000, 12_345_678),)
    assert "| m | 1,200 | 3,400,000 | 56,000 | $12.3457 |" in markdown(spent=rows)


def test_what_a_model_says_of_a_round_is_one_line_of_bounded_length():
    """It may be long, of several lines, and Markdown."""
    said = "[x](javascript:1)\n## Evil " + "word " * 500
    rounds = (Round(1, 1, 1.0, "research", (said,) * 2, (said,), "", said), report().rounds[1])
    (line,) = [
        x for x in markdown(rounds=rounds).splitlines() if x.startswith("1. 1 learning, 100%")
    ]
    assert len(line) < 1500
    assert r"\[x\](javascript:1) ## Evil" in line


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (RunStatus.PARTIAL, "> Partial: research ended early (deadline)."),
        (RunStatus.NOTHING_FOUND, "> Nothing was found (deadline)."),
        (RunStatus.FAILED, "> Failed (deadline)."),
        (RunStatus.CANCELLED, "> Interrupted: written from what was there (deadline)."),
    ],
)
def test_how_it_ended_is_said(status, line):
    assert line in markdown(status=status, stop_reason="deadline")


def test_an_empty_report_still_says_something():
    empty = {"body": " ", "references": (), "claims": (), "notes": (), "stop_reason": ""}
    empty |= {"spent": (), "rounds": ()}
    text = markdown(status=RunStatus.NOTHING_FOUND, failures=(), **empty)
    assert text == "# How good was H4?\n\n> Nothing was found.\n"


def test_an_empty_report_names_what_failed():
    failures = tuple(Failure("timeout", f"page <{n}> hung", ()) for n in range(7))
    empty = {"body": "", "references": (), "claims": (), "status": RunStatus.NOTHING_FOUND}
    text = markdown(stop_reason="no_evidence", failures=failures, **empty)
    assert "> Nothing was found (no evidence)." in text
    assert "- page \\<4\\> hung\n- 2 more" in text
    page = html(failures=failures, **empty)
    assert "<li>page &lt;0&gt; hung</li>" in page
    assert "References" not in page
    assert "hung" not in markdown(failures=failures), (
        "where there is a report, it is not in the way"
    )


def test_titles_and_addresses_cannot_break_out_of_their_line():
    hostile = Reference(1, "https://a/<x>\n y", "T\n## [x](javascript:1) <script>", "", "", "")
    last = markdown(references=(hostile,), rounds=(), spent=()).splitlines()[-1]
    assert last == r"1. T ## \[x\](javascript:1) \<script\>. <https://a/%3Cx%3E%0A%20y>"


# --- HTML --------------------------------------------------------------------


class Tags(HTMLParser):
    """Collects the elements and the addresses of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.addresses: list[str] = []
        self.titles: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name in ("href", "src", "action"):
                self.addresses.append(value)
            if name == "title":
                self.titles.append(value)


def html(**changes) -> str:
    return HtmlExporter().export(report(**changes)).decode()


def test_citations_link_to_references_and_show_the_quote():
    page = html()
    tags = Tags(page)
    assert tags.addresses == ["#r1", "#r1", "#r2", "https://a.org/x", "file:///d/b%20c.txt"]
    assert tags.titles == [f"verified: “{QUOTE}”", "partial: “it worked”"]
    assert 'class="cite partial"' in page
    assert "<h2>Trial</h2>" in page
    assert "1761-11-18 · p. 3, p. 7 · https://a.org/x" in page


def test_a_number_that_is_no_reference_stays_text():
    page = html(body="As in [7] and [2].")
    assert 'As in [7] and <a class="cite" href="#r2">[2]</a>.' in page


def test_usage_and_rounds_on_the_page():
    page = html()
    assert "<li>2 learnings, 50% new. Missing: a price; *why*. Next: H4 price;" in page
    assert '<td>decide</td><td>strong|er_1</td><td class="number">1</td>' in page
    assert '<tfoot><tr><td>Total</td><td></td><td class="number">3</td>' in page


def test_status_and_notes():
    page = html(status=RunStatus.PARTIAL, stop_reason="budget")
    assert '<p class="status">Partial: research ended early (budget).</p>' in page
    assert '<p class="note">Written *plainly*.</p>' in page


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "<https://evil.example>",
    "[1]: https://evil.example\n\n[1]",
    "[1](https://evil.example)",
    "<svg/onload=alert(1)>\n\n<style>*{}</style>",
    '" onmouseover="alert(1)',
    "&lt;script&gt;",
    "```html\n<script>1</script>\n```",
    "$title ${body}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_a_page_runs_or_is_fetched(text):
    """In whatever field it comes."""
    page = html(
        question=text,
        body=text,
        notes=(text,),
        stop_reason=text,
        status=RunStatus.PARTIAL,
        references=(
            Reference(1, "javascript:alert(1)", text, text, "", "ff00"),
            Reference(2, f"https://a.org/?{text}", text, "", "", ""),
        ),
        claims=(Claim("x", "s", Support.UNSUPPORTED, (Citation(1, text, 0, 1),)),),
        run=text,
        spent=(Spent(text, text, text, 1, 2, 3, 4),),
        rounds=(Round(1, 1, 1.0, text, (text,), (text,), "", text), Round(2, 0, 0, "", stop=text)),
    )
    tags = Tags(page)
    allowed = {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "a", "ol", "li", "br",
        "small", "footer", "code", "pre", "table", "thead", "tbody", "tfoot", "tr", "th", "td",
    }  # fmt: skip
    assert set(tags.names) <= allowed
    assert tags.names.count("style") == 1
    assert all(a.startswith(("#r", "https://a.org/")) for a in tags.addresses)
    assert not re.search(r"url\(|@import", page)


@given(st.text(alphabet="[](){}<>!`*_#\n\\&\"'1ajscript:/.- ", max_size=80))
def test_any_body_is_tame(body):
    tags = Tags(html(body=body, references=(Reference(1, "https://a.org", "t", "", "", ""),)))
    assert not {"script", "img", "iframe"} & set(tags.names)
    assert set(tags.addresses) <= {"#r1", "https://a.org"}


def test_tables_and_lists_are_rendered():
    page = html(body="| a | b |\n|---|---|\n| 1 | 2 [1] |\n\n- x\n- y")
    assert "<td>2 <a" in page
    assert "<li>x</li>" in page
