"""Numbers with scale and unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.quantities import quantities, regrouped, spoken_dates


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("$5 million", "5000000", "dollar"),
        ("5,000,000 dollars", "5000000", "dollar"),
        ("5 million US dollars", "5000000", "dollar"),
        ("USD 5m", "5000000", "dollar"),
        ("€5.25bn", "5250000000", "euro"),
        ("5.25 billion euros", "5250000000", "euro"),
        ("¥500", "500", "yen"),
        ("500万", "5000000", ""),
        ("-5 million", "-5000000", ""),
        ("12%", "12", "%"),
        ("12 percent", "12", "%"),
        ("12 per cent", "12", "%"),
        ("1790 K", "1790", "kelvin"),
        ("20 degrees Celsius", "20", "celsius"),
        ("20 °C", "20", "celsius"),
        ("5 km²", "5", "square km"),
        ("5 square kilometres", "5", "square km"),
        ("7 cubic metres", "7", "cubic m"),
        ("7 m³", "7", "cubic m"),
        ("a 300-metre tower", "300", "m"),
        ("9 May", "9", ""),
        ("the 20th century", "20", ""),
        ("it is 5. Kilograms", "5", ""),
        ("5 of the", "5", ""),
        ("12 apples", "12", "appl"),
        ("1.2.3 million", "1.2.3", ""),
    ],
)
def test_value_and_unit(text: str, value: str, unit: str) -> None:
    found = quantities(text)[0]
    assert (found.value, found.unit) == (value, unit)


def test_what_is_shown_is_what_was_written() -> None:
    shown = [q.shown for q in quantities("It cost $5 million in 1990, or 12 % more.")]
    assert shown == ["$5 million", "1990", "12 %"]


@given(text=st.text() | st.text(st.sampled_from("5 .,-$€%kmillion\n"), max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    assert all(q.number and q.value for q in quantities(text))


def test_iso_dates_are_spoken() -> None:
    assert spoken_dates("on 2021-05-09 or 2021-13-09") == "on 9 May 2021 or 2021-13-09"


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("from 2021-05 on", "from May 2021 on"),
        ("2021-05-09T10:00:00Z", "9 May 2021"),
        ("am 9.5.2021 und", "am 9 May 2021 und"),
        ("于2021年5月9日通车", "于9 May 2021 通车"),
        ("2021년 5월에", "May 2021 에"),
        ("version 1.2.3", "version 1.2.3"),
        ("pages 2021-99", "pages 2021-99"),
        ("2010-2012", "2010-2012"),
    ],
)
def test_dates_of_other_forms_are_spoken(text: str, spoken: str) -> None:
    assert spoken_dates(text) == spoken


def test_groups_of_three_are_one_number_where_the_other_text_has_it_so() -> None:
    text = "1.250 m, 1 250 m, 3.141 and 12 300"
    assert regrouped(text, {"1250"}) == "1250 m, 1250 m, 3.141 and 12 300"
