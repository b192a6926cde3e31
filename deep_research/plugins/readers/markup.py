"""HTML to text: the main text by trafilatura, or by BeautifulSoup where that finds too little.

Blocks are parted by blank lines, list items and table rows stand on lines of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deep_research.core.errors import PageUnreadable
from deep_research.core.text import fold

from .document import Document
from .tables import table_text, unfold

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

HTML: Final = "text/html"
_SPACE = re.compile(r"\s+")
_ITEM = re.compile(r"\s*(?:[-*•]\s|\d{1,3}[.)]\s|\||\s{2})")
_LONE_CELL = re.compile(r"\| ([^|]{60,}) \|")
_RULE = re.compile(r"\s*\|?(?:\s*:?-{3,}:?\s*\|)+\s*")
_LEFT_OVER: Final = re.compile(
    r"(?:advertisements?|share this(?: article| story)?|read more|see more|click here.*|sign up"
    r"|subscribe(?: now| today)?|print article|order reprints|follow us.*|don[’']t miss|thank you"
    r"|copyright (?:©|\(c\)|\d{4}).*|©\s*(?:\d{4}|copyright).*|.*\ball rights reserved\b.*"
    r"|loading\W*|an error has occurred.*|this copy is for your personal.*"
    r"|get the latest updates right in your inbox.*|skip to (?:main )?content|back to top)[.:!]?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d")
_ENOUGH: Final = 250  # weight of text below which the main text is compared with the whole page
_MOST: Final = 0.5
_MOST_PIECES: Final = 20_000  # of text; in more than that the extractors search for minutes
_MANY_LINKS: Final = 10
_CHUNK: Final = 400  # characters: an article's parts are longer than teasers


_DROPPED: Final = (
    "script",
    "style",
    "template",
    "svg",
    "math",
    "iframe",
    "object",
    "head",
    "nav",
    "footer",
    "aside",
    "form",
    "button",
    "select",
    "textarea",
)
_BLOCKS: Final = (
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    "pre",
    "figure",
    "figcaption",
    "address",
    "details",
    "summary",
    "dt",
    "dd",
    "hr",
)
_SHOWN: Final = (
    "//body//text()[not(ancestor::script or ancestor::style or ancestor::noscript"
    " or ancestor::template)]"
)
# What nobody sees is no text to cite, and a place to hide orders to a model in.
_HIDDEN: Final = (
    "//body//*[@hidden or contains(translate(@style, ' DISPLAYNOE', 'displaynoe'), 'display:none')]"
)
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


def read_markup(markup: str, url: str = "") -> Document:
    """Extract the main text of an HTML page; `text` is '' where there is none.

    Library errors on hostile pages come through: the caller translates them.

    Raises:
        PageUnreadable: There are links only.
    """
    from trafilatura import load_html
    from trafilatura.metadata import extract_metadata

    tree = load_html(markup)
    if tree is None:
        return Document(visible_text(markup), media_type=HTML)
    # Only dates in marked places: a year somewhere in the text is no date of publication.
    dates = {"extensive_search": False, "original_date": True}
    known = extract_metadata(tree, url or None, dates, True)
    title = known.title or next(iter(tree.xpath("//head/title/text()")), "")
    title = _SPACE.sub(" ", title).strip()
    for hidden in tree.xpath(_HIDDEN):
        hidden.drop_tree()
    text = _without(title, _main_text(tree))
    if weight(text) < _ENOUGH:
        visible = visible_text(markup)
        text = text if weight(text) > _MOST * weight(visible) else visible
    date = known.date or ""
    published = date if _ISO.fullmatch(date) else ""
    return Document(text, title, published, media_type=HTML)


def _main_text(tree: HtmlElement) -> str:
    from trafilatura import extract

    shown = [" ".join(text.split()) for text in tree.xpath(_SHOWN)]
    if len(shown) > _MOST_PIECES:
        return tidy("\n".join(shown))
    whole = sum(map(len, shown))
    links = [len(" ".join(a.text_content().split())) for a in tree.iter("a")]
    linked = sum(links)
    if len(links) >= _MANY_LINKS and linked > 0.98 * whole:  # the rest are bars between them
        raise PageUnreadable("holds nothing but links")
    _join_chunks(tree)
    text = extract(tree, fast=True, include_comments=False) or ""
    if len(text) > 0.9 * whole and linked > 0.4 * whole:
        # Not found but dumped, menus and all: the slower way compares several extractors.
        slow = extract(tree, include_comments=False) or ""
        text = slow if len(slow) >= _ENOUGH else text
    # It marks a head by a rule, and may take the first of many names at the side for one.
    return tidy(unfold(text, table_text))


def _without(title: str, text: str) -> str:
    """Drop the headline from the top of a long text: it is the page's title, no sentence of it."""
    top, _, rest = text.partition("\n\n")
    return rest if fold(top) in {fold(title), ""} and weight(rest) > 2 * _ENOUGH else text


def _join_chunks(tree: HtmlElement) -> None:
    """Bring the parts of an article, split over containers of one class, into the first of them."""
    groups: dict[tuple[object, ...], dict[HtmlElement, int]] = {}
    for paragraph in tree.iter("p"):
        parent = paragraph.getparent()
        article = (
            next(parent.iterancestors("article", "main"), None) if parent is not None else None
        )
        if article is not None and parent.get("class"):
            sizes = groups.setdefault((article, parent.tag, parent.get("class")), {})
            sizes[parent] = sizes.get(parent, 0) + len(paragraph.text_content())
    for sizes in groups.values():
        first, *rest = sizes
        if not rest or sum(sizes.values()) < _CHUNK * len(sizes):
            continue
        for chunk in rest:
            if first not in chunk.iterancestors():
                first.extend(list(chunk))


def visible_text(markup: str) -> str:
    """Return what a browser shows outside menus and forms; if nothing, what <noscript> says."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(markup, "lxml")
    for tag in soup.find_all(_DROPPED):
        tag.decompose()
    for tag in soup.select('[hidden], [style*="display:none"], [style*="display: none"]'):
        tag.decompose()
    for tag in soup.find_all("br"):
        tag.insert_before("\n")
    for tag in soup.find_all("tr"):
        tag.insert(0, "\n| ")
    for tag in soup.find_all("li"):
        tag.insert(0, "\n- ")
    for tag in soup.find_all(["td", "th"]):
        tag.append(" | ")
    for tag in soup.find_all(_BLOCKS):
        tag.insert_before("\n")
        tag.append("\n")
    asides = [tag.extract().get_text() for tag in soup.find_all("noscript")]
    return tidy(soup.get_text()) or tidy("\n".join(asides))


def tidy(text: str) -> str:
    """Part blocks by blank lines, keep lists and tables together, drop a site's small print."""
    kept: list[str] = []
    for raw in text.splitlines():
        line = raw.rstrip()
        bare = _SPACE.sub(" ", line).strip()
        if cell := _LONE_CELL.fullmatch(bare):
            bare = line = cell[1]  # a row of one long cell is layout
        if not bare or _RULE.fullmatch(line) or _LEFT_OVER.fullmatch(bare):
            continue
        item = bool(_ITEM.match(line))
        together = item and bool(kept) and bool(line.startswith("  ") or _ITEM.match(kept[-1]))
        indent = line[: len(line) - len(line.lstrip())].replace("\t", "    ") if item else ""
        kept += [] if not kept else ["\n" if together else "\n\n"]
        kept.append(indent + bare)
    return "".join(kept).strip()


def weight(text: str) -> int:
    """Count characters, a CJK one as three: it says as much as three letters do."""
    return len(text) + 2 * len(_CJK.findall(text))
