"""Rows of tables become sentences that can be understood by themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.plugins.readers.extract import extract
from deep_research.plugins.readers.tables import table_text, unfold


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([["Name", "Density"], ["Veltran", "4.2"]], "Name: Veltran; Density: 4.2."),
        ([["Born", "1900"], ["Died", "1950"]], "Born: 1900.\nDied: 1950."),
        ([["", "2022", "2023"], ["Sales", "4", "5"]], "Sales; 2022: 4; 2023: 5."),
        ([["Year", "Place", "Men"], ["1707", "Scilly", ""]], "Year: 1707; Place: Scilly."),
        ([["1", "2", "3"], ["4", "5", "6"]], "| 1 | 2 | 3 |\n| 4 | 5 | 6 |"),
        ([["lone", "row"], ["", ""]], "| lone | row |"),
        ([], ""),
    ],
)
def test_tables_without_a_marked_head(rows: list[list[str]], text: str) -> None:
    assert table_text(rows) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Before\n| Clock | Rate |\n|---|--:|\n| H4 | 0.2 s |\n| K1 | a\\|b |\nAfter",
            "Before\nClock: H4; Rate: 0.2 s.\nClock: K1; Rate: a|b.\nAfter",
        ),
        ("Clock | Rate\n--- | ---\nH4 | 0.2", "Clock: H4; Rate: 0.2."),
        ("| a | b |\n|---|---|\n| | |", "| a | b |"),
        ("| a | b |\n|---|---|", "| a | b |\n|---|---|"),
        ("```\n| a | b |\n|---|---|\n| c | d |\n```", "```\n| a | b |\n|---|---|\n| c | d |\n```"),
        ("| a | b |\n| c | d |", "| a | b |\n| c | d |"),
        ("no table", "no table"),
    ],
)
def test_markdown_tables(text: str, expected: str) -> None:
    assert unfold(text) == expected
    assert extract(text.encode(), media_type="text/markdown").text == expected


@given(st.text(alphabet="|-: ab\n`\\", max_size=80))
def test_nothing_but_rules_and_bars_gets_lost(text: str) -> None:
    assert set("ab") & set(text) <= set(unfold(text).lower())
