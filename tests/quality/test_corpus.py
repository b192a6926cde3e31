"""The example corpus is what its description promises: small, mixed, and chained over three hops."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from deep_research.core.text import terms

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "examples" / "corpus"
FILES = sorted(path for path in CORPUS.iterdir() if path.is_file())
QUESTION = "How was the longitude problem solved?"

# What the question finds by its words; what only these name; what only the second hop names.
FIRST = ("longitude-problem.md", "longitude-act.md", "clock-or-moon.html")
SECOND = {
    "john-harrison.html": "John Harrison",
    "h4-watch.md": "H4",
    "larcum-kendall.md": "Larcum Kendall",
    "nevil-maskelyne.md": "Nevil Maskelyne",
    "tobias-mayer.md": "Tobias Mayer",
    "nautical-almanac.md": "Nautical Almanac",
    "scilly-wrecks-1967.md": "Cloudesley Shovell",
    "hadley-octant.md": "John Hadley",
}
THIRD = {
    "grasshopper-escapement.md": ("grasshopper", "john-harrison.html"),
    "gridiron-pendulum.md": ("gridiron", "john-harrison.html"),
    "bimetallic-strip.md": ("bimetallic strip", "john-harrison.html"),
    "caged-roller-bearing.md": ("caged roller bearing", "john-harrison.html"),
    "lignum-vitae.md": ("lignum vitae", "john-harrison.html"),
    "rupert-gould.html": ("Rupert Gould", "john-harrison.html"),
    "bounty-and-k2.md": ("HMS Bounty", "larcum-kendall.md"),
    "cook-second-voyage.md": ("James Cook", "larcum-kendall.md"),
    "arnold-and-earnshaw.md": ("Thomas Earnshaw", "larcum-kendall.md"),
    "schiehallion.md": ("Schiehallion", "nevil-maskelyne.md"),
    "mary-edwards.md": ("Mary Edwards", "nautical-almanac.md"),
}
OFF_TOPIC = ("sourdough.md",)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def text_of(name: str) -> str:
    raw = (CORPUS / name).read_text(encoding="utf-8")
    if not name.endswith(".html"):
        return raw
    parser = _Text()
    parser.feed(raw)
    return " ".join(parser.parts)


def test_number_and_formats():
    kinds = [path.suffix for path in FILES]
    assert 18 <= len(FILES) <= 26
    assert {kind: kinds.count(kind) for kind in (".html", ".csv", ".txt")} == {
        ".html": 3,
        ".csv": 1,
        ".txt": 1,
    }
    assert kinds.count(".md") == len(FILES) - 5


def test_every_document_is_placed():
    placed = {*FIRST, *SECOND, *THIRD, *OFF_TOPIC}
    others = {"scilly-tercentenary-2007.txt", "pitcairn-settlers-1934.md", "timekeepers.csv"}
    assert {path.name for path in FILES} == placed | others


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix != ".csv"], ids=lambda p: p.name)
def test_prose_has_a_title_a_date_and_a_fair_length(path):
    text = text_of(path.name)
    assert 150 <= len(text.split()) <= 450
    assert re.search(r"Published: \d{4}-\d{2}-\d{2}", text)
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith({".md": "# ", ".html": "<!DOCTYPE html>", ".txt": ""}[path.suffix])
    assert "\t" not in text


def test_table_is_regular():
    rows = list(csv.reader(text_of("timekeepers.csv").splitlines()))
    assert len(rows) >= 8
    assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.parametrize("name", FIRST)
def test_first_hop_holds_the_words_of_the_question(name):
    assert set(terms(QUESTION)) <= set(terms(text_of(name)))


@pytest.mark.parametrize("path", [p for p in FILES if p.name not in FIRST], ids=lambda p: p.name)
def test_nothing_else_shares_a_word_with_the_question(path):
    assert not set(terms(QUESTION)) & set(terms(text_of(path.name)))


@pytest.mark.parametrize(("name", "subject"), SECOND.items())
def test_second_hop_is_named_by_the_first(name, subject):
    assert subject in text_of(name)
    assert any(subject in text_of(first) for first in FIRST)


@pytest.mark.parametrize(("name", "chain"), THIRD.items())
def test_third_hop_is_named_by_the_second_and_never_by_the_first(name, chain):
    subject, named_by = chain
    assert subject.lower() in text_of(name).lower().replace("\n", " ")
    assert subject in text_of(named_by)
    assert not any(subject in text_of(first) for first in FIRST)


@pytest.mark.parametrize(
    ("older", "newer", "sentence"),
    [
        (
            "scilly-wrecks-1967.md",
            "scilly-tercentenary-2007.txt",
            r"The disaster of 1707 cost the lives of (?:about|at least) ([\d,]+) men",
        ),
        (
            "pitcairn-settlers-1934.md",
            "bounty-and-k2.md",
            r"Of the people who landed on Pitcairn, (\d+) were women",
        ),
        (
            "rupert-gould.html",
            "john-harrison.html",
            r"John Harrison finished H3, his third machine, in (\d+)",
        ),
    ],
)
def test_three_pairs_disagree_and_are_dated(older, newer, sentence):
    values, dates = [], []
    for name in (older, newer):
        text = text_of(name)
        found = re.search(sentence, text)
        dated = re.search(r"Published: (\S+)", text)
        assert found is not None
        assert dated is not None
        values.append(found.group(1))
        dates.append(dated.group(1))
    assert values[0] != values[1]
    assert dates[0] < dates[1]


@pytest.mark.parametrize("name", OFF_TOPIC)
def test_off_topic_documents_name_nothing_of_the_chain(name):
    text = text_of(name).lower()
    subjects = [*SECOND.values(), *(subject for subject, _ in THIRD.values())]
    assert not [s for s in subjects if re.search(rf"\b{re.escape(s.lower())}\b", text)]


def test_question_is_the_one_that_is_described():
    assert QUESTION in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
