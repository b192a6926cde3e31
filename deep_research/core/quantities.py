"""Numbers and what they count: '$5 million', '5,000,000 dollars' and 'USD 5m' are the same."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .text import NUMBER, STOPWORDS, fold, numbers, stem

_SCALES: Final = {
    same: power
    for power, all_of_it in {
        2: "hundr",
        3: "thousand",
        4: "万 萬",
        5: "lakh",
        6: "million millionen millone mio",
        7: "crore",
        8: "亿 億",
        9: "billion bn milliard milliarden",
        12: "trillion 兆",
    }.items()
    for same in all_of_it.split()
}
"""Stem of a word behind a number → power of ten."""
_SCALES_OF_MONEY: Final = {"k": 3, "m": 6, "b": 9}

_MEASURES: Final = {
    same: unit
    for unit, all_of_it in {
        "%": "% percent pct",
        "dollar": "$ dollar usd",
        "euro": "€ euro eur",
        "pound": "£ pound gbp",
        "yen": "¥ yen jpy yuan cny",
        "rupee": "₹ rupee inr",
        "franc": "franc chf",
        "celsius": "°c celsiu celsius",
        "fahrenheit": "°f fahrenheit",
        "kelvin": "k kelvin",
        "km": "km kilometer kilometr",
        "m": "m meter metr",
        "cm": "cm centimeter centimetr",
        "mm": "mm millimeter millimetr",
        "mile": "mile mil mi",
        "foot": "ft foot feet",
        "kg": "kg kilogram kilogramm",
        "g": "g gram gramm",
        "tonne": "t ton tonn",
        "litre": "l liter litr",
        "second": "s second sec",
        "minute": "min minut",
        "hour": "h hour",
        "day": "day",
        "week": "week",
        "month": "month",
        "year": "year yr",
        "w": "w watt",
        "kw": "kw kilowatt",
        "mw": "mw megawatt",
        "gw": "gw gigawatt",
        "v": "v volt",
        "hz": "hz hertz",
        "pa": "pa pascal",
        "j": "j joul",
    }.items()
    for same in all_of_it.split()
}
"""Stem or sign → the one name of a unit of measure."""

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_NOT_UNITS: Final = frozenset((*(fold(m) for m in _MONTHS), "st", "nd", "rd", "th"))
_BEFORE = re.compile(r"(?:([$€£¥₹])|\b(USD|EUR|GBP|JPY|CNY|CHF|INR))\s?$")
_AFTER = re.compile(
    r"[^\S\n]?-?(?:U\.?S\.?\s|degrees?\s|per(?=\s?cent))?\s?"
    r"(?P<power>square\s|cubic\s)?(?P<unit>[%$€£¥₹]|°\s?[CF]\b|[万萬亿億兆]|[^\W\d_²³]+(?:/[^\W\d_²³]+)?)"
    r"(?P<raised>[²³])?",
    re.IGNORECASE,
)
_DATES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>[0-3]\d)(?:T[\d:.]+Z?)?\b",
        r"(?<![\d-])(?P<year>[12]\d{3})-(?P<month>\d\d)(?![\w-])",
        r"(?<![\d.])(?P<day>[0-3]?\d)\.\s?(?P<month>[01]?\d)\.\s?(?P<year>[12]\d{3})(?!\d)",
        r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월](?:\s?(?P<day>\d{1,2})\s?[日일号])?",
    )
)
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ .]\d{3})+(?![\d.,]*\d)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts.

    Attributes:
        number: As written, in the spelling of `numbers`.
        value: The number with 'million' and the like multiplied in.
        unit: The name of its measure, else the stem of the word behind it, or ''.
        measured: Whether `unit` is a known unit of measure or currency.
        shown: Number, scale and unit as the text has them.
    """

    number: str
    value: str
    unit: str
    measured: bool
    shown: str


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text in order, each with its scale and unit."""
    return tuple(_quantity(text, match) for match in NUMBER.finditer(text))


def spoken_dates(text: str) -> str:
    """Write dates out, so that they can be compared.

    '2021-05-09', '9.5.2021' and '2021年5月9日' become '9 May 2021', '2021-05' 'May 2021'.
    """

    def spoken(match: re.Match[str]) -> str:
        month = int(match["month"])
        if not 1 <= month <= len(_MONTHS):
            return match[0]
        day = match.groupdict().get("day")
        apart = " " if text[match.end() : match.end() + 1].isalnum() else ""
        return f"{f'{int(day)} ' if day else ''}{_MONTHS[month - 1]} {match['year']}{apart}"

    for form in _DATES:
        text = form.sub(spoken, text)
    return text


def regrouped(text: str, values: Collection[str]) -> str:
    """Write '1.250' and '1 250' as '1250' where `values` have that: it may be either."""

    def one(match: re.Match[str]) -> str:
        digits = re.sub(r"\D", "", match[0])
        return digits if digits in values else match[0]

    return _GROUPED.sub(one, text)


def _quantity(text: str, match: re.Match[str]) -> Quantity:
    number = numbers(match.group())[0]
    end, power, word = _following(text, match.end())
    before = _BEFORE.search(text[max(0, match.start() - 5) : match.start()])
    scale = _SCALES.get(word) or (_SCALES_OF_MONEY.get(word, 0) if before else 0)
    if scale:
        end, power, word = _following(text, end)
    if before:
        word = (before[1] or before[2]).lower()
    unit = _MEASURES.get(word, word)
    shown = f"{before.group().strip() if before else ''}{text[match.start() : end]}".strip()
    return Quantity(number, _scaled(number, scale), power + unit, word in _MEASURES, shown)


def _following(text: str, at: int) -> tuple[int, str, str]:
    """Return end, power ('square ' or '') and stem of the unit behind `at`; '' if none."""
    match = _AFTER.match(text, at)
    if not match:
        return at, "", ""
    raw = fold(match["unit"]).replace(" ", "")
    if raw == "cent" and "per" in match.group().lower():
        raw = "percent"
    if raw in STOPWORDS or raw in _NOT_UNITS:
        return at, "", ""
    raised = {"²": "square ", "³": "cubic ", None: ""}[match["raised"]]
    power = (match["power"] or "").lower() or raised
    return match.end(), power.strip() + " " * bool(power), stem(raw)


def _scaled(number: str, scale: int) -> str:
    if not scale or not re.fullmatch(r"-?\d+(\.\d+)?", number):
        return number
    whole, _, part = number.partition(".")
    part = part.ljust(scale, "0")
    return numbers(f"{whole}{part[:scale]}.{part[scale:]}0")[0]
