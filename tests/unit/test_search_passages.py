"""Passages tile the text; queries of any kind become safe full-text expressions."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.plugins.search._passages import (
    best_passage,
    match_expression,
    passages,
    searchable,
)

TEXTS = st.lists(
    st.sampled_from(["word ", "Sentence ends. ", "\n\n", "\n", "量子", "。", "x" * 300, " "]),
    max_size=200,
).map("".join)


@given(TEXTS)
def test_passages_are_the_text_without_gaps_or_overlaps(text):
    spans = passages(text)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(600 <= b - a <= 1400 for a, b in spans[:-1])
    assert all(0 < b - a <= 1400 for a, b in spans)


@pytest.mark.parametrize(
    ("unit", "ending"),
    [
        ("One line of words that goes on.\n\n", "\n\n"),
        ("One line of words that goes on.\n", "\n"),
        ("One sentence of some words. ", ". "),
        ("这是一个句子。", "。"),
        ("words " * 5, " "),
    ],
)
def test_a_passage_ends_at_the_strongest_boundary_near_1000(unit, ending):
    text = unit * 300
    first = passages(text)[0]
    assert text[: first[1]].endswith(ending)
    assert abs(first[1] - 1000) < 60


def test_a_text_without_any_boundary_is_cut_at_1000():
    assert passages("x" * 3000)[0] == (0, 1000)
    assert passages("") == []


def test_the_best_passage_is_the_one_that_answers():
    text = (
        ("Filler about nothing much. " * 60)
        + "The dam is 92 m high. "
        + ("More filler here. " * 60)
    )
    assert "92 m" in best_passage(text, "how high is the dam")
    assert best_passage("", "x") == ""


def test_expressions_quote_every_word():
    assert match_expression('title:foo OR "bar" NEAR(baz) -qux*') == (
        '"title" OR "foo" OR "bar" OR "near" OR "baz" OR "qux" OR "title foo"'
    )
    assert match_expression("the height of the dam") == '"height" OR "dam"'
    assert match_expression("the of") == '"the" OR "of"'
    assert match_expression("KX-7 engine") == '"kx" OR "7" OR "engine" OR "kx 7"'
    assert match_expression(" ?!* \x00 ") == ""


def test_cjk_becomes_pairs_and_single_characters():
    assert match_expression("量子计算") == '"量 子" OR "子 计" OR "计 算"'
    assert match_expression("山 and 서울") == '"山" OR "서 울"'
    assert searchable("量子x") == " 量  子 x"
    assert searchable("ＡＢＣ") == "abc"
    assert searchable("plain") == "plain"


@given(st.text(max_size=80))
def test_no_query_breaks_the_full_text_engine(query):
    expression = match_expression(query)
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE words USING fts5(title, body)")
        if expression:
            db.execute("SELECT * FROM words WHERE words MATCH ?", (expression,)).fetchall()
    finally:
        db.close()
