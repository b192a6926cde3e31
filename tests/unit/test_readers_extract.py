"""What comes out of HTML, PDF, Word and text, and what is refused, with the reason."""

import contextlib
import io
import logging
import zipfile
from datetime import UTC, datetime

import docx
import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.errors import PageUnreadable
from deep_research.plugins.readers import extract as extract_module
from deep_research.plugins.readers import markup as markup_module
from deep_research.plugins.readers import word as word_module
from deep_research.plugins.readers.document import Document
from deep_research.plugins.readers.extract import extract
from deep_research.plugins.readers.markup import tidy, visible_text
from deep_research.plugins.readers.pdf import joined

PARAGRAPH = "The Veltran bridge was opened in 1931 and carries the coast road over the river Ossa near Halden. "
FACT = "北京市2023年末常住人口为2185.8万人，比上年末增加1.5万人，其中城镇人口1919.8万人。"


BLOCKED = """Sorry, you have been blocked. You are unable to access example.org. This website is using a security service
to protect itself from online attacks. The action you just performed triggered the security solution. There are several
actions that could trigger this block including submitting a certain word or phrase."""
CONSENT = """We value your privacy. We and our 812 partners store and access information on a device, such as unique IDs in
cookies, to process personal data. Accept all. Reject all. Manage options."""


def html(body: str, title: str = "The Veltran bridge", head: str = "") -> bytes:
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>".encode()


def article(text: str = PARAGRAPH * 5) -> str:
    menu = "<nav><ul><li><a href=/>Home</a></li><li><a href=/news>News</a></li></ul></nav>"
    return f"{menu}<article><h1>The Veltran bridge</h1><p>{text}</p></article><footer>© 2024 Imprint</footer>"


def pdf(*pages: str, title: str = "", made: str = "", password: str = "") -> bytes:
    """A PDF with one line of text per line of each page."""
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    for text in pages:
        page = writer.add_blank_page(612, 792)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        lines = "".join(f"({line}) Tj T*\n" for line in text.split("\n"))
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 14 TL 50 750 Td\n{lines}ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(stream)
    if title or made:
        writer.add_metadata({"/Title": title, "/CreationDate": made})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def word(*, title: str = "", text: str = "First paragraph.") -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Heading", 1)
    document.add_paragraph(text)
    document.add_paragraph("An item", style="List Bullet")
    document.add_paragraph("", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, value in zip(
        (c for row in table.rows for c in row.cells),
        ("Name", "Density", "Veltran", "4.2"),
        strict=True,
    ):
        cell.text = value
    document.add_paragraph("Last paragraph.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


# --- HTML ---


def test_an_article_comes_without_menu_and_footer_but_with_title_and_date() -> None:
    head = '<meta property="article:published_time" content="2024-03-05T10:00:00Z">'
    got = extract(html(article(), head=head), media_type="text/html")
    assert PARAGRAPH.strip() in got.text
    assert "Home" not in got.text
    assert "Imprint" not in got.text
    assert (got.title, got.published, got.media_type) == (
        "The Veltran bridge",
        "2024-03-05",
        "text/html",
    )


def test_headings_lists_and_tables_are_lines_of_text() -> None:
    body = article(
        PARAGRAPH * 3 + "</p><h2>Dates</h2><ul><li>Built 1929</li><li>Opened 1931</li></ul>"
        "<table><tr><th>Part</th><th>Length</th></tr><tr><td>Span</td><td>412 m</td></tr></table><p>"
        + PARAGRAPH
        * 3
    )
    text = extract(html(body)).text
    assert "\n\nDates\n\n- Built 1929\n- Opened 1931\n" in text
    assert "Part: Span; Length: 412 m." in text


def test_an_article_in_pieces_comes_whole() -> None:
    """Containers of one class with advertisements between them are one article."""
    paragraphs = [
        "".join(f"<p>Part {n}. {i} {PARAGRAPH * 8}</p>" for i in range(3)) for n in range(3)
    ]
    pieces = "<div>Buy!</div>".join(
        f'<div class="g"><div class="body x">{p}</div></div>' for p in paragraphs
    )
    text = extract(
        html(
            f"<main><article><header><h1>The Veltran bridge</h1></header>{pieces}</article></main>"
        )
    ).text
    assert [text.count(f"Part {n}.") for n in range(3)] == [3, 3, 3]


def test_teasers_of_one_class_are_left_where_they_are() -> None:
    teasers = "".join(f'<div class="t"><p>Teaser {n}</p></div>' for n in range(9))
    assert "Teaser 8" in extract(html(f"<main><article>{teasers}</article></main>")).text


def test_nested_containers_of_one_class_stay_nested() -> None:
    inner = "".join(f"<p>Inner {n}. {PARAGRAPH * 4}</p>" for n in range(4))
    outer = f'<article><div class="b"><p>Outer. {PARAGRAPH * 6}</p><div class="b">{inner}</div></div></article>'
    text = extract(html(outer)).text
    assert text.index("Outer.") < text.index("Inner 0.") < text.index("Inner 3.")


def test_a_page_of_menus_is_not_dumped(monkeypatch: pytest.MonkeyPatch) -> None:
    """When everything was taken and most of it is links, the slower way decides."""
    import trafilatura

    ways: list[bool] = []

    def fake(tree: object, *, fast: bool = False, include_comments: bool) -> str:
        ways.append(fast)
        return "x" * 5000 if fast else PARAGRAPH * 3

    monkeypatch.setattr(trafilatura, "extract", fake)
    links = "".join(f"<li><a href=/{n}>Some other story number {n}</a></li>" for n in range(90))
    assert extract(html(f"<ul>{links}</ul><p>{PARAGRAPH}</p>")).text == (PARAGRAPH * 3).strip()
    assert ways == [True, False]


def test_a_short_chinese_page_is_kept() -> None:
    got = extract(html(f"<p>{FACT}</p>", title="北京"))
    assert got.text == FACT


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("", ""),
        ("\n  Two\n lines ", "Two lines"),
        ("<b>Bold</b> title", "Bold title"),
        ("A &amp; B", "A & B"),
    ],
)
def test_titles(title: str, expected: str) -> None:
    got = extract(html(f"<p>{PARAGRAPH * 4}</p>", title=title))
    assert got.title.replace("<b>", "").replace("</b>", "") == expected


def test_the_headline_is_the_title_and_not_the_first_sentence_of_a_long_page() -> None:
    body = f"<article><h1>The Veltran bridge</h1>{''.join(f'<p>{PARAGRAPH * 3} Note {n}.</p>' for n in range(4))}</article>"
    got = extract(html(body))
    assert got.title == "The Veltran bridge"
    assert got.text.startswith("The Veltran bridge was opened")


@pytest.mark.parametrize(
    "attributes", ['width="100%"', 'height="auto"', 'width="409.5px"', "width"]
)
def test_odd_image_sizes_do_not_matter(attributes: str) -> None:
    assert "1931" in extract(html(article(f"<img {attributes} src=x> {PARAGRAPH * 4}"))).text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n ",
        html(""),
        html("<script>render()</script>"),
        html("<div id=root></div><style>p{}</style>"),
        html("<img src=x>"),
    ],
)
def test_a_page_without_text_is_unreadable(body: bytes) -> None:
    with pytest.raises(PageUnreadable, match=r"empty|no text"):
        extract(body, media_type="text/html")


def test_hidden_text_is_no_text() -> None:
    body = html(f"<p>{FACT}</p><p hidden>secret one</p><div style='display:none'>secret two</div>")
    assert "secret" not in visible_text(body.decode())


def test_deeply_nested_markup_does_not_crash() -> None:
    assert "1931" in extract(html("<div>" * 5000 + PARAGRAPH * 4 + "</div>" * 5000)).text


def test_a_parser_that_fails_makes_the_page_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Document:
        raise ZeroDivisionError("a bug in a parser")

    monkeypatch.setattr(extract_module, "read_markup", broken)
    with pytest.raises(PageUnreadable, match="ZeroDivisionError a bug in a parser"):
        extract(html(article()))


def test_what_the_parser_rejects_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import trafilatura

    monkeypatch.setattr(trafilatura, "load_html", lambda _: None)
    assert markup_module.read_markup("<p>One line").text == "One line"


@settings(max_examples=40, deadline=None)
@given(
    st.text(alphabet="<>/abp div=\"'&;!-\n\x00é", max_size=200),
    st.sampled_from(["text/html", "", "text/xml", "application/json", "text/csv"]),
)
def test_no_text_crashes(text: str, media_type: str) -> None:
    with contextlib.suppress(PageUnreadable):
        extract(text.encode(), media_type=media_type)


def test_tidy_keeps_blocks_items_and_indentation() -> None:
    assert tidy(
        "One\n\n\nTwo\n- a\n  - b\n|---|---|\n| x |\nAdvertisement\ncode:\n    x = 1\n"
    ) == ("One\n\nTwo\n\n- a\n  - b\n| x |\n\ncode:\n    x = 1")


def test_visible_text_of_lists_tables_and_lines() -> None:
    text = visible_text(
        "<h1>T</h1><p>a<b>b</b><br>c</p><ul><li>x<li>y</ul><table><tr><td>1</td><td>2</td></tr></table><nav>menu</nav>"
    )
    assert text == "T\n\nab\n\nc\n\n- x\n- y\n| 1 | 2 |"


# --- walls ---


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("App", "You need to enable JavaScript to run this app.", "JavaScript"),
        (
            "",
            "JavaScript is disabled in this browser. Please switch to a supported browser to continue.",
            "JavaScript",
        ),
        ("Just a moment...", "Enable JavaScript and cookies to continue", "robots"),
        (
            "",
            "Checking your browser before accessing example.org. Please allow up to 5 seconds. Ray ID: 7f3",
            "robots",
        ),
        ("Attention Required! | Cloudflare", BLOCKED, "robots"),
        (
            "Access Denied",
            "You don't have permission to access this page on this server. Reference #18.2d.",
            "robots",
        ),
        ("Consent", CONSENT, "cookies"),
        (
            "",
            "Wir verwenden Cookies, um Inhalte zu personalisieren. Alle akzeptieren. Einstellungen.",
            "cookies",
        ),
        (
            "",
            "Please log in to continue. Password. Forgot your password? Create an account.",
            "log-in",
        ),
        (
            "The bridge",
            "This story is for subscribers only. Subscribe to continue reading. Already a subscriber? Log in.",
            "subscription",
        ),
    ],
)
def test_walls_are_recognised(title: str, text: str, kind: str) -> None:
    body = "".join(f"<p>{part}.</p>" for part in text.split(". "))
    with pytest.raises(PageUnreadable, match=f"wall.*{kind}"):
        extract(html(f"<div>{body}</div>", title=title))


def test_a_noscript_wall_is_named() -> None:
    with pytest.raises(PageUnreadable, match=r"wall.*JavaScript"):
        extract(
            html(
                "<div id=root></div><noscript>Please enable JavaScript to use this site.</noscript>"
            )
        )


@pytest.mark.parametrize(
    "text",
    [
        PARAGRAPH * 3 + "</p><p>We use cookies. Accept all cookies. Cookie settings.",
        "The Halden Post reported 10 million subscribers and 3 million members in 2023.",
        "An HTTP cookie is a small block of data that a web server leaves in a browser. Lou Montulli invented it in 1994.",
        "JavaScript is a programming language that Brendan Eich wrote in ten days in 1995.",
        "CAPTCHA tests were described in 2003 by von Ahn, Blum, Hopper and Langford.",
        PARAGRAPH * 3 + "</p><p>Subscribe to read more. Already a subscriber? Log in.",
    ],
)
def test_articles_that_speak_of_such_things_are_kept(text: str) -> None:
    assert extract(html(f"<article><p>{text}</p></article>")).text


def test_a_long_text_is_no_wall_whatever_it_says() -> None:
    assert extract(
        html("".join(f"<p>Please log in to continue, said number {n}.</p>" for n in range(200)))
    ).text


# --- PDF ---


def test_pdf_pages_are_marked_and_lines_joined() -> None:
    got = extract(
        pdf("The Veltran bridge was ope-\nned in 1931 and it still\nstands.", "", "Second part."),
        media_type="text/html",
    )
    assert got.text == "The Veltran bridge was opened in 1931 and it still stands.\n\nSecond part."
    assert got.marks == ((0, "p. 1"), (got.text.index("Second"), "p. 3"))
    assert got.media_type == "application/pdf"


def test_pdf_running_lines_and_page_numbers_are_dropped() -> None:
    facts = ["The bridge was opened.", "It carries a road.", "A tram runs on it.", "It is old."]
    pages = [f"THE REPORT\n{fact}\nPage {n} of 4" for n, fact in enumerate(facts, start=1)]
    assert extract(pdf(*pages)).text == "\n\n".join(facts)
    assert "THE REPORT" in extract(pdf(*pages[:2])).text
    assert extract(pdf(*["Draft"] * 3)).text == "Draft\n\nDraft\n\nDraft"


def test_pdf_title_and_date() -> None:
    got = extract(pdf("Text.", title=" A  title ", made="D:20240229120000+01'00'"))
    assert (got.title, got.published) == ("A title", "2024-02-29")


@pytest.mark.parametrize("made", ["D:20240231", "yesterday", "D:2024"])
def test_pdf_dates_that_are_none(made: str) -> None:
    assert extract(pdf("Text.", title="T", made=made)).published == ""


def test_pdf_stops_at_the_longest_text() -> None:
    got = extract(pdf(*[f"Page number {n} has some words." for n in range(30)]), max_chars=100)
    assert len(got.text) <= 100
    assert all(at < len(got.text) for at, _ in got.marks)


def test_pdf_with_an_empty_password_is_read_and_others_are_not() -> None:
    assert extract(_owner_only()).text == "Open text."
    with pytest.raises(PageUnreadable, match="password"):
        extract(pdf("Closed text.", password="x"))


def _owner_only() -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Open text.")))
    writer.encrypt("", "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (pdf(), "no pages"),
        (pdf("", ""), "no text"),
        (b"%PDF-1.7\nnot really\n", "broken"),
        (pdf("Some text.")[:300], "broken|no pages|no text"),
    ],
)
def test_pdfs_without_text(body: bytes, reason: str) -> None:
    with pytest.raises(PageUnreadable, match=reason):
        extract(body)


def test_pdf_with_a_broken_table_of_offsets_is_read() -> None:
    body = pdf("Found all the same.")
    at = body.rindex(b"startxref")
    assert extract(body[:at] + b"startxref\n999999\n%%EOF").text == "Found all the same."


def test_pdf_encrypted_with_aes_says_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    from pypdf.errors import DependencyError

    def missing(*_: object, **__: object) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(pypdf, "PdfReader", missing)
    with pytest.raises(PageUnreadable, match="cryptography"):
        extract(b"%PDF-1.7 ...")


def test_pdf_parts_that_fail_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = pypdf.PageObject.extract_text, []

    def sometimes(self: pypdf.PageObject) -> str:
        calls.append(1)
        if len(calls) == 1:
            raise KeyError("/Font")
        return real(self)

    monkeypatch.setattr(pypdf.PageObject, "extract_text", sometimes)
    monkeypatch.setattr(pypdf.PdfReader, "metadata", property(lambda _: 1 / 0))
    got = extract(pdf("Lost.", "Kept.", title="T"))
    assert (got.text, got.marks, got.title) == ("Kept.", ((0, "p. 2"),), "")


def test_lines_of_a_printed_page() -> None:
    page = "A long line that fills the width of this column\nand goes on here.\nA new paragraph begins with this long line and\nends.\n\nFin\u00ad\nal co\u00adda."
    assert joined(page) == (
        "A long line that fills the width of this column and goes on here.\n\n"
        "A new paragraph begins with this long line and ends.\n\nFinal coda."
    )


def test_parsers_do_not_write_to_the_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    body = pdf("Text.")
    extract(body.replace(b"endobj", b"endobk", 1))
    assert capfd.readouterr().err == ""


# --- Word and text ---


def test_word_files() -> None:
    got = extract(word(title=" A  title"), media_type="application/octet-stream")
    assert (
        got.text
        == "Heading\n\nFirst paragraph.\n\n- An item\n\nName: Veltran; Density: 4.2.\n\nLast paragraph."
    )
    assert got.title == "A title"


def test_a_word_file_is_as_old_as_its_last_change_and_not_as_its_template() -> None:
    assert extract(word()).published == ""
    document = docx.Document(io.BytesIO(word()))
    document.core_properties.modified = datetime(2024, 2, 3, tzinfo=UTC)
    out = io.BytesIO()
    document.save(out)
    assert extract(out.getvalue()).published == "2024-02-03"


@pytest.mark.parametrize("title", ["Binder1", "Untitled", "Document1", "Microsoft Word - x.doc"])
def test_titles_that_programs_make_up_are_none(title: str) -> None:
    assert extract(word(title=title)).title == ""
    assert extract(pdf("Text.", title=title)).title == ""


def test_a_word_file_that_would_burst_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_module, "_MAX_UNPACKED", 1000)
    with pytest.raises(PageUnreadable, match="too large"):
        extract(word())


def test_a_word_file_without_a_date_has_none() -> None:
    document = docx.Document(io.BytesIO(word()))
    for element in list(document.core_properties._element):
        document.core_properties._element.remove(element)
    out = io.BytesIO()
    document.save(out)
    assert extract(out.getvalue()).published == ""


def _zip(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("body", "media_type", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n....", "text/html", "an image"),
        (b"\xff\xd8\xff\xe0....", "", "an image"),
        (b"GIF89a..", "image/gif", "an image"),
        (b"....ftypmp42....", "video/mp4", "film or sound"),
        (b"anything", "video/webm", "video/webm"),
        (b"<svg></svg>", "image/svg+xml", "image/svg"),
        (b"\x1f\x8b\x08....", "text/plain", "compressed"),
        (b"\xd0\xcf\x11\xe0....", "application/msword", "old Office"),
        (_zip("xl/workbook.xml"), "application/zip", "zip archive"),
        (b"PK\x03\x04 no archive", "", "zip archive"),
        (_zip("word/document.xml"), "", "cannot be parsed"),
        (bytes(range(32)) * 9, "application/octet-stream", "binary"),
    ],
)
def test_what_is_no_text_is_refused_by_its_bytes(body: bytes, media_type: str, reason: str) -> None:
    with pytest.raises(PageUnreadable, match=reason):
        extract(body, media_type=media_type)


@pytest.mark.parametrize("body", [pdf("Text."), word()])
def test_half_a_pdf_or_word_file_is_refused(body: bytes) -> None:
    with pytest.raises(PageUnreadable, match="larger than the limit"):
        extract(body, cut=True)


@pytest.mark.parametrize(
    ("body", "media_type", "expected"),
    [
        (b"One.\r\n\r\n\r\n\r\nTwo.  \r\n", "text/plain", "One.\n\nTwo."),
        (b"Just text", "", "Just text"),
        (b"Just text", "application/octet-stream", "Just text"),
        (
            b'{"a":[1,"\xc3\xa9",null],"b":{"c":true}}',
            "application/json",
            "a: 1\na: é\na: null\nc: true",
        ),
        (b'["x", "y"]', "text/html", "x\ny"),
        (
            b'{"text": "<p>' + b"Long. " * 20 + b'</p>"}',
            "text/plain",
            "text:\n\n" + ("Long. " * 20).strip(),
        ),
        (b"[not json]", "text/plain", "[not json]"),
        (b"padded\x00\x00\x00", "text/plain", "padded"),
        (b'{"a":', "application/json", '{"a":'),
        (b"name;density\nVeltran;4.2\n\n", "text/csv", "Name: Veltran; density: 4.2."),
        (b"Veltran;4.2\nOrlat;3.9\n", "text/csv", "| Veltran | 4.2 |\n| Orlat | 3.9 |"),
        (b"a,b,c\n1,,3\n,,\n", "text/csv", "A: 1; c: 3."),
        (b"only one column", "text/csv", "| only one column |"),
        (b"a\tb\n1\t2\n", "text/tab-separated-values", "A: 1; b: 2."),
        (b"# Title\n\nText.", "text/markdown", "# Title\n\nText."),
    ],
)
def test_text_formats(body: bytes, media_type: str, expected: str) -> None:
    assert extract(body, media_type=media_type).text == expected


def test_a_table_that_is_none_stays_text() -> None:
    field = b'"' + b"x" * 140_000 + b'"'
    assert extract(b"a,b\n" + field + b",1\n", media_type="text/csv").text.startswith("a,b\n")


@pytest.mark.parametrize("media_type", ["application/xml", "application/rss+xml", ""])
def test_xml_and_feeds(media_type: str) -> None:
    body = b'<?xml version="1.0" encoding="koi8-r"?><rss><channel><title>News</title><item>\xee\xcf\xd7\xcf\xd3\xd4\xd8 \xc4\xce\xd1</item></channel></rss>'
    got = extract(body, media_type=media_type)
    assert (got.title, got.text) == ("News", "News\n\nНовость дня")


def test_xml_without_a_title() -> None:
    assert extract(b"<?xml version='1.0'?><a><b>text</b></a>", media_type="text/xml").title == ""


def test_markdown_titles() -> None:
    assert extract(b"# A title #\n\nText.", media_type="text/markdown").title == "A title"
    assert extract(b"Text only.", media_type="text/markdown").title == ""


def test_html_that_is_served_as_text_is_html() -> None:
    assert extract(html(article()), media_type="text/plain").media_type == "text/html"


def test_the_longest_text_is_kept_to() -> None:
    assert len(extract(b"word " * 1000, max_chars=100).text) <= 100


def test_lone_surrogates_do_not_reach_the_text() -> None:
    assert extract(rb'{"a": "\ud800"}', media_type="application/json").text.encode()
