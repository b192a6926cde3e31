"""Names are found by how they are written, in several scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.extractive import names


def found(text):
    return [n.text for n in names.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a son of Ermengarde of Tours and Lothair I.", ["Ermengarde of Tours", "Lothair I"]),
        ("It was carried by Apollo 11 in 1969.", ["Apollo 11"]),
        ("in 1969 Daniel left", ["Daniel"]),
        ("held at the 2018 Winter Olympics", ["2018 Winter Olympics"]),
        ("written by E. B. White, who", ["E. B. White"]),
        ("the alloy Veltran-7 is", ["Veltran-7"]),
        ("Akira Kurosawa's 1950 film Rashomon", ["Akira Kurosawa", "Rashomon"]),
        ("However, it rained in April.", []),
        ("In March 2004 the rain came.", []),
        ('the song "Yesterday Noon" ran', ["Yesterday Noon"]),
        ("he said “no more” and left", []),
        ("фильм снял Андрей Тарковский в Москве", ["Андрей Тарковский", "Москве"]),
        ("他毕业于北京大学，并在《时代周刊》工作", ["北京大学", "时代周刊"]),
        ("新海誠はコミックス・ウェーブで働く", ["コミックス・ウェーブ"]),
        ("the the of", []),
        ("", []),
    ],
)
def test_names_are_found_as_written(text, expected):
    assert found(text) == expected


def test_a_run_of_capitals_without_end_is_no_name():
    """A hostile page must not turn into a search text of hundreds of words."""
    assert found("Aa " * 300) == []


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("Brother (Pearl Jam song)", ("brother",)),
        ("Baure, Nigeria", ("baure nigeria", "baure")),
        ("Hank Snow - Wikipedia", ("hank snow wikipedia", "hank snow")),
        ("God's Gift to Women", ("god gift to women",)),
        ("H4, the watch (1759), of brass", ("h4 the watch 1759 of brass", "h4")),
        ("John Harrison (1693-1776), maker", ("john harrison 1693 1776 maker", "john harrison")),
        ("", ()),
        ("Yeşim Ustaoğlu", ("yesim ustaoglu",)),
    ],
)
def test_titles_name_their_subject(title, keys):
    assert names.title_keys(title) == keys


def test_within_compares_whole_words():
    assert names.within("snow", "hank snow died")
    assert not names.within("now", "hank snow died")
    assert not names.within("", "hank snow")


@given(st.text(max_size=300))
def test_any_text_gives_names_that_stand_in_it(text):
    """Whatever a page says: no exception, and spans that lie inside the text."""
    for name in names.find(text):
        assert 0 <= name.start < name.end <= len(text) + len(name.text)
        assert name.text.strip()
