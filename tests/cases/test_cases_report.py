"""What a report may say, and what its citations point at."""

import json
import re

import pytest

from deep_research.plugins.exporters.json import parse
from deep_research.testing import FakePage, FakeWeb

DOC = (
    "# Sund bridge\n\n"
    "The Sund bridge opened on 14 March 1891 and is 1,250 metres long.\n\n"
    "Building it cost 2.4 million crowns, of which the town of Torvik paid 35 percent.\n\n"
    "Traffic grew by 12.5 percentage points between 1900 and 1905.\n\n"
    "Ida Kell designed the bridge for Olaf Brun, who did not live to see it.\n\n"
    "The bridge stands 19.8 km north of Torvik, at 7 °C on average.\n"
)
QUESTION = "What is known about the Sund bridge?"
BRIDGE = {"bridge.md": DOC}

CARRIED = {
    "R3-same": "The Sund bridge opened on 14 March 1891.",
    "R3-iso-date": "The Sund bridge opened on 1891-03-14.",
    "R3-us-date": "The Sund bridge opened on March 14, 1891.",
    "R3-month": "The Sund bridge opened in March 1891.",
    "R3-year": "The Sund bridge opened in 1891.",
    "R3-separator": "The Sund bridge is 1250 metres long.",
    "R3-spelling": "The Sund bridge is 1,250 meters long.",
    "R3-unit-sign": "The Sund bridge is 1,250 m long.",
    "R3-scale": "Building the Sund bridge cost 2,400,000 crowns.",
    "R3-percent-sign": "Torvik paid 35% of the cost of building it.",
    "R3-two-quotes": "The Sund bridge, 1,250 metres long, was designed by Ida Kell for Olaf Brun.",
    "R3-two-numbers": "It opened in 1891 and cost 2.4 million crowns, of which Torvik paid 35 percent.",
    "R3-bold": "The **Sund bridge** opened in *1891*.",
    "R3-quoted": "The Sund bridge “is 1,250 metres long”.",
    "R3-no-space-unit": "The bridge stands 19.8km north of Torvik.",
    "R3-minus-zero": "Traffic grew by 12.50 percentage points between 1900 and 1905.",
}
NOT_CARRIED = {
    "R4-year": ("The Sund bridge opened in 1892.", "1892"),
    "R4-day": ("The Sund bridge opened on 15 March 1891.", "15"),
    "R4-iso-day": ("The Sund bridge opened on 1891-03-15.", "15"),
    "R4-month": ("The Sund bridge opened on 14 May 1891.", "May"),
    "R4-digits": ("The Sund bridge is 1,520 metres long.", "1520"),
    "R4-factor": ("The Sund bridge is 12,500 metres long.", "12500"),
    "R4-decimals": ("The bridge stands 198 km north of Torvik.", "198"),
    "R4-unit": ("The bridge stands 19.8 miles north of Torvik.", "19.8 miles"),
    "R4-feet": ("The Sund bridge is 1,250 feet long.", "1,250 feet"),
    "R4-temperature": ("The bridge stands at 7 °F on average.", "7 °F"),
    "R4-currency": ("Building the Sund bridge cost 2.4 million dollars.", "dollars"),
    "R4-scale": ("Building the Sund bridge cost 2.4 billion crowns.", "billion"),
    "R4-percent": ("Torvik paid 53 percent of the cost.", "53"),
    "R4-points": ("Traffic grew by 12.5 percent between 1900 and 1905.", "12.5 percent"),
    "R4-rounded": ("The Sund bridge is about 1,300 metres long.", "1300"),
    "R4-name": ("Nils Holm designed the bridge for Olaf Brun.", "Nils Holm"),
    "R4-place": ("The bridge stands 19.8 km north of Oslo.", "Oslo"),
    "R4-added-number": ("Ida Kell designed the bridge at the age of 52.", "52"),
    "R4-range": ("Traffic grew by 12.5 percentage points between 1900 and 1915.", "1915"),
}


def writing(*sentences, ids=None):
    """A writer that says these sentences, each with all findings as evidence, and insists on them."""

    def section(asked):
        numbers = ids or [n for n, _ in asked.lines]
        return {"sentences": [{"text": s, "evidence": numbers, "paragraph": 1} for s in sentences]}

    def again(asked):
        said = re.search(r"<sentence>\n(.*)\n", asked.user)
        return {"text": said[1], "evidence": [n for n, _ in asked.lines]}

    return {"section": section, "rewrite": again}


def claim_of(done, sentence):
    wanted = " ".join(re.findall(r"\w+", sentence))
    claims = {" ".join(re.findall(r"\w+", c.text)): c for c in done.report.claims}
    return claims[wanted]


@pytest.mark.parametrize("sentence", CARRIED.values(), ids=CARRIED)
async def test_the_same_said_otherwise(lab, sentence):
    """Another spelling of what the source says is verified, and cites the words that say it."""
    done = await lab(writing(sentence), docs=BRIDGE, question=QUESTION)
    done.check()
    claim = claim_of(done, sentence)
    assert (claim.support, claim.missing) == ("verified", ())
    assert claim.citations
    assert done.endpoint.count("rewrite") == 0
    assert "supported" not in done.markdown


@pytest.mark.parametrize(("sentence", "gone"), NOT_CARRIED.values(), ids=NOT_CARRIED)
async def test_something_else_said(lab, sentence, gone):
    """What the source does not say is said again once, then marked; and the finding itself is there."""
    done = await lab(writing(sentence), docs=BRIDGE, question=QUESTION)
    done.check()
    claim = claim_of(done, sentence)
    assert claim.support in ("partial", "unsupported")
    assert any(gone.replace(",", "") in m.replace(",", "") for m in claim.missing)
    assert done.endpoint.count("rewrite") == 1
    line = next(x for x in done.markdown.splitlines() if sentence[:20] in x)
    assert "supported" in line
    verified = " ".join(c.text for c in done.report.claims if c.support == "verified")
    assert "1,250 metres" in verified
    assert "2.4 million crowns" in verified
    assert "Ida Kell designed" in verified


SCRIPTS = {
    "R7-german": "Die Sund-Brücke wurde am 14. März 1891 eröffnet und ist 1.250 Meter lang.",
    "R7-french": "Le pont de Sund, long de 1 250 mètres, a été inauguré le 14 mars 1891.",
    "R7-russian": "Мост Сунд открыт 14 марта 1891 года, его длина составляет 1250 метров.",
    "R7-chinese": "松德大桥于1891年3月14日通车，全长1250米。",
    "R7-japanese": "スンド橋は1891年3月14日に開通し、全長は1250メートルである。",
    "R7-arabic": "افتتح جسر سوند في 14 مارس 1891 ويبلغ طوله 1250 مترا.",
    "R7-hindi": "सुंड पुल 14 मार्च 1891 को खुला और 1250 मीटर लंबा है।",
    "R7-hebrew": "גשר סונד נפתח ב-14 במרץ 1891 ואורכו 1250 מטר.",
}


@pytest.mark.parametrize("sentence", SCRIPTS.values(), ids=SCRIPTS)
async def test_a_report_in_another_language(lab, sentence):
    """A sentence in another language than its source is checked by its numbers, and comes out whole."""
    done = await lab(writing(sentence), docs=BRIDGE, question=QUESTION)
    done.check()
    claim = claim_of(done, sentence)
    assert claim.citations
    assert (claim.support, claim.missing) == ("verified", ())
    wrong = sentence.replace("1891", "1897")
    done = await lab(writing(wrong), docs=BRIDGE, question=QUESTION)
    assert claim_of(done, wrong).support != "verified"


SOURCES = {
    "R7-russian": (
        "Мост Сунд открыт 14 марта 1891 года. Его длина составляет 1250 метров.",
        "Когда открыт мост Сунд?",
    ),
    "R7-chinese": ("松德大桥于1891年3月14日通车。该桥全长1250米。", "松德大桥何时通车？"),
    "R7-japanese": (
        "スンド橋は1891年に開通した。全長は1250メートルである。",
        "スンド橋はいつ開通したか",
    ),
    "R7-korean": (
        "순드 다리는 1891년에 개통되었다. 길이는 1250미터이다.",
        "순드 다리는 언제 개통되었는가?",
    ),
    "R7-arabic": ("افتتح جسر سوند في عام 1891. ويبلغ طوله 1250 مترا.", "متى افتتح جسر سوند؟"),
    "R7-greek": (
        "Η γέφυρα Σουντ άνοιξε το 1891. Έχει μήκος 1250 μέτρα.",
        "Πότε άνοιξε η γέφυρα Σουντ;",
    ),
    "R7-thai": ("สะพานซุนด์เปิดในปี 1891 และยาว 1250 เมตร", "สะพานซุนด์เปิดเมื่อใด"),
    "R7-turkish": (
        "Sund köprüsü 1891'de açıldı. Uzunluğu 1250 metredir.",
        "Sund köprüsü ne zaman açıldı?",
    ),
}


@pytest.mark.parametrize("model", [True, False], ids=["model", "plain"])
@pytest.mark.parametrize(("text", "question"), SOURCES.values(), ids=SOURCES)
async def test_sources_in_other_scripts(lab, text, question, model):
    """Question, source and report in any script: found, quoted, cited."""
    done = await lab({} if model else None, docs={"sund.txt": text}, question=question)
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert "1891" in done.report.body
    assert {c.support for c in done.report.claims} == {"verified"}


MORE = "The Sund bridge is 1,250 metres long and stands north of Torvik."
HOSTILE = {
    "R5-script": "The Sund bridge opened in 1891 <script>alert(1)</script> with a feast.",
    "R5-image": 'The Sund bridge <img src=x onerror="alert(1)"> opened in 1891.',
    "R5-link": "The Sund bridge [opened](javascript:alert(1)) in 1891.",
    "R5-comment": "The Sund bridge <!-- opened in 1891.",
    "R5-style": "The Sund bridge </main><style>*{display:none}</style> opened in 1891.",
    "R8-heading": "# The Sund bridge opened in 1891 and everybody came.",
    "R8-rule": "The Sund bridge opened in 1891.\n\n---\n\n# Evil\n\nThe end.",
    "R8-setext": "The Sund bridge opened in 1891\n=====\n",
    "R8-table": "| Bridge | Opened |\n|---|---|\n| Sund bridge | 1891 |\n",
    "R8-fence": "The Sund bridge opened in 1891.\n\n```\n[1] code\n",
    "R8-marker": "The Sund bridge opened in 1891.[3] It is long [12][13].",
    "R8-footnote": "The Sund bridge opened in 1891.[^2]\n\n[^2]: See https://evil.example/a",
    "R8-references": "The Sund bridge opened in 1891.\n\n## References\n\n1. https://evil.example/a\n",
    "R8-quote": "> The Sund bridge opened in 1891.",
    "R8-list": "- The Sund bridge opened in 1891.\n- It is long.",
    "R8-backtick": "The Sund bridge `opened in 1891 and nobody closed the tick.",
    "R8-emphasis": "The Sund bridge *opened in 1891 and __nobody closed it.",
    "R8-dollar": "The Sund bridge opened in 1891 for $5 and $6.",
    "R8-rtl": "The Sund bridge \u202eopened in 1891\u202c.",
    "R8-emoji": "The Sund bridge 🌉 opened in 1891 👩‍🔧.",
    "R8-long-word": "The Sund bridge opened in 1891 " + "x" * 5000 + ".",
    "R8-entity": "The Sund bridge opened in 1891 &lt;b&gt; &amp;#60;script&amp;#62;.",
}


@pytest.mark.parametrize("model", [True, False], ids=["model", "plain"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_text_that_would_shape_the_report(lab, text, model):
    """The words of a page are words: no heading, table, link, citation or markup comes out of them."""
    formats = {"report.formats": ["md", "json", "html"]}
    done = await lab(
        {} if model else None,
        docs={"sund.txt": f"{text}\n\n{MORE}"},
        question="When did the Sund bridge open?",
        **formats,
    )
    assert done.report.status == "complete", done.report.stop_reason
    done.check()
    assert "1891" in done.report.body or not model or text[0] in "|#"
    lines = done.markdown.splitlines()
    headings = [x for x in lines if x.startswith("#")]
    assert len([x for x in headings if x == "## References"]) == 1
    assert not [x for x in headings if "Evil" in x]
    assert not any(
        x.startswith(("```", "|", "<", "---", "===", ">", "[^"))
        for x in lines
        if "Researched" not in x
    )
    page = (done.folder / "report.html").read_text("utf-8").partition("<body>")[2]
    assert not re.search(
        r"<(?:script|img|style|b)\b|<!--|javascript:alert\(1\)\"|href=\"javascript", page
    )
    assert not re.search(r'href="[^"#]*evil', page)
    assert parse((done.folder / "report.json").read_bytes()).body == done.report.body


TITLES = {
    "R9-bar": "Sund | bridge | 1891",
    "R9-bracket": "Sund [bridge](https://evil.example) ]",
    "R9-newline": "Sund\n  bridge",
    "R9-script": "<script>alert(1)</script> Sund bridge",
    "R9-entity": "Sund &amp; bridge &lt;1891&gt;",
    "R9-empty": "",
    "R9-blank": "   ",
    "R9-long": "Sund bridge " * 400,
    "R9-emoji": "🌉 Sund bridge",
    "R9-quotes": 'The "Sund" bridge\'s',
    "R9-backslash": "Sund \\ bridge \\",
    "R9-star": "*Sund* _bridge_ `x`",
    "R9-untitled": None,
}


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
async def test_title_of_a_reference(lab, monkeypatch, title):
    """A reference has one line, with the page's title as plain text, or its address."""
    head = "" if title is None else f"<title>{title}</title>"
    body = "".join(f"<p>{p}</p>" for p in DOC.split("\n\n")[1:])
    async with FakeWeb() as web:
        web.page(
            "/bridge", f"<html><head>{head}</head><body><article>{body}</article></body></html>"
        )
        url = web.url("/bridge")
        web.page("/search", {"results": [{"url": url, "title": "", "content": "Sund bridge 1891"}]})
        done = await lab(
            {},
            docs={},
            question=QUESTION,
            **{
                "search.engines": ["searxng"],
                "search.searxng.url": web.url(),
                "network.allow_hosts": ["127.0.0.1"],
                "report.formats": ["md", "json", "html"],
            },
        )
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    [reference] = done.report.references
    assert reference.url == url
    last = done.markdown.rstrip().splitlines()[-1]
    assert last.startswith("1. ")
    assert url in last
    assert len(last) < 600
    assert not re.search(r"(?<!\\)\]\(", last)
    assert "<script" not in (done.folder / "report.html").read_text("utf-8")


DOUBLES = {
    "R2-fragment": ("/a", "/a#part"),
    "R2-tracking": ("/a", "/a?utm_source=x"),
    "R2-slash": ("/a", "/a/"),
    "R2-case-of-host": ("/a", "{HOST}/a"),
    "R2-redirect": ("/a", "/moved"),
    "R2-same-text": ("/a", "/copy"),
}


@pytest.mark.parametrize(("one", "two"), DOUBLES.values(), ids=DOUBLES)
async def test_one_page_under_two_addresses(lab, one, two):
    """R2: is read once, or cited once: never twice in the list."""
    page = (
        "<html><title>Sund</title><article>"
        + "".join(f"<p>{p}</p>" for p in DOC.split("\n\n")[1:])
        + "</article></html>"
    )
    async with FakeWeb() as web:
        for path in ("/a", "/a/", "/copy"):
            web.page(path, page)
        web.page("/moved", FakePage("", 301, headers={"Location": "/a"}))
        urls = [
            web.url(one),
            two.replace("{HOST}", web.url().upper()) if "{HOST}" in two else web.url(two),
        ]
        hits = [{"url": u, "title": "Sund", "content": "Sund bridge"} for u in urls]
        web.page("/search", {"results": hits})
        done = await lab(
            {},
            docs={},
            question=QUESTION,
            **{
                "search.engines": ["searxng"],
                "search.searxng.url": web.url(),
                "network.allow_hosts": ["127.0.0.1"],
            },
        )
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert len(done.report.references) == 1


CONFLICTS = {
    "R10-newer": (
        "As of 2015, the Sund ferry carried 310 people a day.",
        "As of 2021, the Sund ferry carried 450 people a day.",
        "450",
    ),
    "R10-older-first": (
        "As of 2021, the Sund ferry carried 450 people a day.",
        "As of 2015, the Sund ferry carried 310 people a day.",
        "450",
    ),
    "R10-same-year": (
        "In 2021 the Sund ferry carried 310 people a day.",
        "In 2021 the Sund ferry carried 450 people a day.",
        None,
    ),
    "R10-undated": (
        "The Sund ferry carries 310 people a day.",
        "The Sund ferry carries 450 people a day.",
        None,
    ),
}


@pytest.mark.parametrize("model", [True, False], ids=["model", "plain"])
@pytest.mark.parametrize(("first", "second", "preferred"), CONFLICTS.values(), ids=CONFLICTS)
async def test_sources_that_disagree(lab, first, second, preferred, model):
    """Both sides are shown and cited, the newer one as current."""
    done = await lab(
        {} if model else None,
        docs={"a.txt": first, "b.txt": second},
        question="How many people does the Sund ferry carry a day?",
    )
    done.check()
    [conflict] = done.report.conflicts
    if preferred:
        assert preferred in conflict.preferred.text
    assert "310" in done.report.body
    assert "450" in done.report.body
    claims = [c for c in done.report.claims if c.support == "conflicting"]
    assert len({c.reference for x in claims for c in x.citations}) == 2
    assert len(done.report.references) == 2


NO_CONFLICTS = {
    "R10-other-years": (
        "In 2015 the Sund ferry carried 310 people a day.",
        "In 2021 the Sund ferry carried 450 people a day.",
    ),
    "R10-other-thing": (
        "The Sund ferry carries 310 people a day.",
        "The Brun ferry carries 450 people a day.",
    ),
    "R10-spelling": (
        "The Sund ferry cost 1,500,000 crowns.",
        "The Sund ferry cost 1.5 million crowns.",
    ),
    "R10-date-spelling": (
        "The Sund ferry sailed first on 2021-03-14.",
        "The Sund ferry sailed first on 14 March 2021.",
    ),
    "R10-precision": (
        "The Sund ferry sailed first in March 2021.",
        "The Sund ferry sailed first on 14 March 2021.",
    ),
}


@pytest.mark.parametrize(("first", "second"), NO_CONFLICTS.values(), ids=NO_CONFLICTS)
async def test_sources_that_do_not_disagree(lab, first, second):
    """Other years, other things and other spellings are no conflict."""
    done = await lab(
        {}, docs={"a.txt": first, "b.txt": second}, question="What is known about the Sund ferry?"
    )
    done.check()
    assert done.report.conflicts == ()


BUDGETS = {
    "calls": (5, lambda u: u.llm_calls),
    "tokens": (5000, lambda u: u.input_tokens + u.output_tokens),
    "pages": (1, lambda u: u.pages),
    "searches": (1, lambda u: u.searches),
}


@pytest.mark.parametrize("name", BUDGETS)
async def test_budget(lab, name):
    """B1: never exceeded; there is a report from what was found, and it says why it ended."""
    most, used = BUDGETS[name]
    done = await lab({}, depth=3, breadth=4, **{f"budget.{name}": most})
    done.check()
    assert used(done.report.usage) <= most
    assert done.report.status in ("partial", "nothing_found")
    assert "budget" in done.report.stop_reason
    assert "udget" in done.markdown


async def test_budget_of_money(lab):
    """B1: with a price, a hundredth of a dollar is not exceeded."""
    prices = {"models.prices": {"fake-model": [10.0, 30.0]}, "budget.cost": 0.15}
    done = await lab({}, llm="openai:fake-model", depth=3, breadth=4, **prices)
    done.check()
    assert 0 < done.report.usage.cost <= 150_000
    assert done.report.status in ("partial", "nothing_found")


async def test_writing_that_fails_altogether(lab):
    """M33, G37: an empty report is never handed out as a whole one: the findings stand in it."""
    done = await lab({"outline": "", "section": "", "rewrite": ""}, reach="outline")
    done.check()
    assert "built in 1874" in done.report.body
    done = await lab({"outline": FakePage("", 500), "section": FakePage("", 500)}, reach="outline")
    done.check()
    assert "built in 1874" in done.report.body
    assert done.warnings
    assert json.loads((done.folder / "report.json").read_text())["body"] == done.report.body
