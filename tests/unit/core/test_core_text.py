"""Reading by rule: sentences, numbers, names, stems, likeness."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core import text as t

ANY = st.text(max_size=300) | st.text(st.sampled_from(" \nAaz.,!?-5。語é“'"), max_size=300)


def cut(text: str) -> list[str]:
    return [text[a:b] for a, b in t.sentences(text)]


@given(text=ANY, times=st.integers(1, 12))
def test_sentences_cover_all_but_white_space_and_never_overlap(text: str, times: int) -> None:
    text *= times
    end = 0
    for a, b in t.sentences(text):
        assert end <= a < b
        assert text[a:b] == text[a:b].strip()
        assert b - a <= 600
        assert not text[end:a].strip()
        end = b
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith paid 3.5 million. He left.", ["Dr. Smith paid 3.5 million.", "He left."]),
        ("It ended, e.g. in 1990. Then", ["It ended, e.g. in 1990.", "Then"]),
        ("J. R. Smith came. He left.", ["J. R. Smith came.", "He left."]),
        ("See No. 5 and etc. more. End.", ["See No. 5 and etc. more.", "End."]),
        ('He said "No!" Then he left.', ['He said "No!"', "Then he left."]),
        ("It rose.[3] It fell.[12][b] End", ["It rose.[3]", "It fell.[12][b]", "End"]),
        ("她来了。他走了！好吗？", ["她来了。", "他走了！", "好吗？"]),
        ("Title\n\nText goes\non here.", ["Title", "Text goes\non here."]),
        ("Items:\n- one\n- two\n1. three", ["Items:", "- one", "- two", "1. three"]),
        ("Wait... there is more.", ["Wait... there is more."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_an_overlong_sentence_is_cut_between_words() -> None:
    text = "word " * 300
    assert all(piece.split()[-1] == "word" for piece in cut(text))
    assert len(cut("x" * 1500)) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,843 and 1\u202f843 and 1\u00a0843 and 1843", ["1843"] * 4),
        ("1.843.000 or 1,843,000", ["1843000"] * 2),
        ("2.50 and 2,5 and 2.5", ["2.5"] * 3),
        ("1.234,50 and 1,234.50", ["1234.5"] * 2),
        ("-5 and −5 and +5 and -15", ["-5", "-5", "5", "-15"]),
        ("10-20 and 1939–1945", ["10", "20", "1939", "1945"]),
        (".5 and 0.50 and x.5", ["0.5", "0.5", "5"]),
        ("007 and 0 and 0.0 and 00", ["7", "0", "0", "0"]),
        ("In 1990. Or 12, then", ["1990", "12"]),
        ("人口为500万", ["500"]),
        ("５００ and ٣٤", ["500", "34"]),
        ("Veltran-42, F16 and v2", ["42"]),
        ("1.2.3", ["1.2.3"]),
        ("none", []),
    ],
)
def test_numbers_come_in_one_spelling(text: str, expected: list[str]) -> None:
    assert t.numbers(text) == expected


@given(value=st.integers(-(10**9), 10**9))
def test_separators_do_not_change_a_number(value: int) -> None:
    spellings = {f"{value}", f"{value:,}", f"{value:,}".replace(",", "\u202f")}
    assert {tuple(t.numbers(f"It is {s}.")) for s in spellings} == {(str(value),)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the Bank of England. In Paris", ["Bank of England", "Paris"]),
        ("the Bank of England.\nParis", ["Bank of England", "Paris"]),
        ("Bank of England\nParis", ["Bank of England", "Paris"]),
        ("by J. R. Smith in St. Maurice", ["J. R. Smith", "St. Maurice"]),
        ("J.R.R. Tolkien", ["J.R.R. Tolkien"]),
        ("vitamin C. In Paris", ["C", "Paris"]),
        ("The Veltran-7 of Łódź", ["Veltran-7 of Łódź"]),
        ("In the Ministry of the Interior", ["Ministry of the Interior"]),
        ("Queen of the", ["Queen"]),
        ("Vincent van Gogh & van", ["Vincent van Gogh"]),
        ("Іван Франко жив", ["Іван Франко"]),
        ("In it", []),
        ("lower case only", []),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert t.names(text) == expected


@given(text=ANY)
def test_a_name_never_spans_a_line_or_the_end_of_a_sentence(text: str) -> None:
    for name in t.names(text):
        assert "\n" not in name
        assert name in " ".join(text.split())


PAIRS = [
    ("city", "cities"),
    ("make", "makes", "making"),
    ("melt", "melts", "melted", "melting"),
    ("building", "buildings", "build", "builds"),
    ("class", "classes"),
    ("use", "uses"),
    ("tree", "trees"),
    ("agree", "agrees", "agreed"),
    ("box", "boxes"),
    ("gas", "gases"),
    ("die", "dies"),
    ("king", "kings"),
    ("process", "processes", "processing"),
]


@pytest.mark.parametrize("words", PAIRS)
def test_forms_of_one_word_have_one_stem(words: tuple[str, ...]) -> None:
    stems = {t.stem(w) for w in words}
    assert len(stems) == 1
    assert {t.stem(s) for s in stems} == stems


def test_other_scripts_keep_their_words() -> None:
    assert t.stem("города") == "города"
    assert t.words("Größe Ａ Veltran-7 人口500") == (
        "grosse",
        "a",
        "veltran",
        "7",
        "人",
        "口",
        "500",
    )
    assert t.terms("What are the melting points of ores") == ("melt", "point", "ore")


@given(a=ANY, b=ANY)
def test_likeness_is_symmetric_and_bounded(a: str, b: str) -> None:
    assert 0.0 <= t.likeness(a, b) == t.likeness(b, a) <= 1.0
    assert t.likeness(a, a) == 1.0


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("melting point of Veltran-7", "Veltran-7 melting points", True),
        ("density of Veltran-7", "density of Veltran-42", False),
        ("Population Of Paris", "what is the population of paris", True),
        ("history of Paris in 1990", "history of Paris in 1991", False),
        (
            "who paid workers for the long new railway line bridge repair job at Ashford",
            "who paid workers for the long new railway line bridge repair job at Barnsley",
            False,
        ),
        ("the", "The", True),
        ("a", "cats", False),
    ],
)
def test_which_queries_are_the_same(a: str, b: str, same: bool) -> None:
    assert t.same_query(a, b) is same
    assert t.same_query(b, a) is same


def test_unique_keeps_the_first_of_each() -> None:
    queries = ["  density of  iron ", "", "iron density", "melting point of iron", "cost of iron"]
    assert t.unique(queries, asked=["costs of iron"]) == [
        "density of iron",
        "melting point of iron",
    ]


@given(text=ANY, limit=st.integers(0, 60))
def test_shorten_keeps_the_limit(text: str, limit: int) -> None:
    short = t.shorten(text, limit)
    assert len(short) <= max(limit, 1)
    assert short == " ".join(text.split()) or short.endswith("…")


def test_shorten_cuts_between_words() -> None:
    assert t.shorten("one two, three four", 10) == "one two…"


@given(text=st.text())
def test_no_text_breaks_anything(text: str) -> None:
    results: list[Any] = [
        f(text) for f in (t.sentences, t.fold, t.words, t.terms, t.numbers, t.names)
    ]
    assert all(r is not None for r in results)
    assert all(n.strip("-0123456789.,") == "" and n for n in t.numbers(text))
