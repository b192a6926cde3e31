"""Quotes are found where they stand, and carry what they say and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deep_research.core.evidence import best_excerpt, find_quote, grounded, missing, support
from deep_research.core.passages import split
from deep_research.core.report import Support

PAGE = (
    "The tower costs 50 million. Its of\ufb01ce is well-\nknown — “really” — for Vel\u00adtran-\n7 and "
    "inter-\nnational cafe\u0301s, 1.5 km away.\n她来了。人口为500万。"
)


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("The tower costs 50 million.", "The tower costs 50 million."),
        ("  the TOWER\ncosts 50   million ", "The tower costs 50 million"),
        ("...tower costs 50 million…", "tower costs 50 million"),
        ("“tower costs 50 million.”", "tower costs 50 million."),
        ("office is well-known", "of\ufb01ce is well-\nknown"),
        ("office is wellknown", "of\ufb01ce is well-\nknown"),
        ("known - 'really' - for", "known — “really” — for"),
        ("for Veltran-7 and", "for Vel\u00adtran-\n7 and"),
        ("international cafés", "inter-\nnational cafe\u0301s"),
        ("人口为500万", "人口为500万"),
        ("人口", "人口"),
        ("1.5 km", "1.5 km"),
    ],
)
def test_a_quote_is_found_whatever_its_spelling(quote: str, there: str) -> None:
    span = find_quote(PAGE, quote)
    assert span is not None
    assert PAGE[span[0] : span[1]] == there


@pytest.mark.parametrize(
    "quote",
    [
        "tower costs 5",
        "tower costs 50 m",
        "ower costs",
        "costs 60 million",
        "Vel tran-42",
        "1.",
        "5 km",
        "1",
        "of\u017f",
        "",
        " \n",
        "…",
        "\u00ad",
    ],
)
def test_other_words_and_cut_numbers_are_not_found(quote: str) -> None:
    assert find_quote(PAGE, quote) is None


def test_a_later_whole_match_is_found() -> None:
    assert find_quote("costs 50. Costs 5.", "costs 5") == (10, 17)
    assert find_quote("o\ufb01 of", "OF") == (3, 5), "half a ligature is no letter"


WORDS = st.lists(
    st.sampled_from(
        [
            "the",
            "Tower",
            "5",
            "1,843",
            "well-known",
            "o\ufb01ce",
            "“said”",
            "—",
            "é",
            "人口",
            "Δ",
            "ß",
        ]
    ),
    min_size=1,
    max_size=12,
)
SPACE = st.sampled_from([" ", "\n", "\u00a0", "  ", "\t\n"])


@given(words=WORDS, data=st.data())
def test_offsets_point_at_the_quote(words: list[str], data: st.DataObject) -> None:
    """However a page spaces its words, what is between the offsets is the quote again."""
    text = "".join(w + data.draw(SPACE) for w in words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = " ".join(words[first : last + 1]).upper()
    assume(any(c.isalnum() for c in quote))
    span = find_quote(text, quote)
    assert span is not None
    found = text[span[0] : span[1]]
    again = find_quote(quote, found)
    assert again is not None
    assert not quote[: again[0]].strip("“”—\"' ")


@given(text=st.text(), quote=st.text())
def test_any_text_gives_a_span_or_none(text: str, quote: str) -> None:
    span = find_quote(text, quote)
    assert span is None or 0 <= span[0] < span[1] <= len(text)


SAME = [
    ("It cost 5 million dollars.", "It cost $5 million."),
    ("It cost 5 million dollars.", "It cost USD 5,000,000."),
    ("It cost $5m.", "It cost 5 million dollars."),
    ("Growth was 12 percent.", "Growth was 12%."),
    ("Growth was 12 %.", "Growth was 12 per cent."),
    ("It opened on 9 May 2021.", "It opened on 2021-05-09."),
    ("It opened on 2021-05-09.", "It opened on May 9, 2021."),
    ("It weighs 5 kg.", "It weighs 5 kilograms."),
    ("It weighs 1,843 kg.", "It weighs 1843 kg."),
    ("Founded in 1990 by Bob Stone.", "Bob Stone founded it in 1990 with others."),
    ("In 1990 building began.", "From 1990 work went on; building began."),
    ("The 12 dead people.", "12 victims: all these people are dead."),
    ("It is 5 metres high.", "Height (m): 5"),
]
OTHER = [
    ("It cost 5 million dollars.", "It cost 5 million euros.", "5 million dollars"),
    ("It cost $5 million.", "It cost £5 million.", "$5 million"),
    ("It cost 5 million dollars.", "It cost 5 billion dollars.", "5 million dollars"),
    ("It cost 5 dollars.", "It cost $5 million.", "5"),
    ("It weighs 5 kg.", "It weighs 5 tonnes.", "5 kg"),
    ("It weighs 6 kg.", "It weighs 5 kg.", "6"),
    ("It grew by 12%.", "It grew by 12.", "12%"),
    ("It was -5 degrees Celsius.", "It was 5 degrees Celsius.", "-5"),
    ("It opened on 9 May 2021.", "It opened on 9 June 2021.", "May"),
    ("It was built by Bob Stone.", "It was built by Ann Stone.", "Bob Stone"),
    ("There were 12 apples.", "There were 12 oranges.", "12 apples"),
]


@pytest.mark.parametrize(("sentence", "quote"), SAME)
def test_the_same_said_otherwise_is_carried(sentence: str, quote: str) -> None:
    assert missing(sentence, [quote]) == ()


@pytest.mark.parametrize(("sentence", "quote", "gone"), OTHER)
def test_what_the_quote_does_not_say_is_named(sentence: str, quote: str, gone: str) -> None:
    assert gone in missing(sentence, [quote])
    assert support(sentence, [quote])[0] is not Support.VERIFIED


def test_context_needs_no_quote() -> None:
    sentence = "Veltran-7 was tested in 1990 by Bob Stone."
    assert missing(sentence, ["It was tested."]) == ("7", "1990", "Veltran-7", "Bob Stone")
    assert missing(sentence, ["It was tested."], "Bob Stone on Veltran-7 in 1990") == ()


def test_a_word_that_opens_a_sentence_is_no_name() -> None:
    assert missing("Researchers tested it.", ["It was tested."]) == ()
    assert missing("(Researchers tested it.", ["It was tested."]) == ()


@given(
    a=st.integers(2, 10**6), b=st.integers(2, 10**6), unit=st.sampled_from(["", " km", " percent"])
)
def test_never_verified_when_a_number_is_missing(a: int, b: int, unit: str) -> None:
    assume(a != b)
    sentence = f"The tower of the old harbour town is {a}{unit} high."
    quote = f"The tower of the old harbour town is {b}{unit} high."
    assert support(sentence, [quote])[0] is Support.UNSUPPORTED
    assert support(sentence, [quote, sentence]) == (Support.VERIFIED, ())


def test_support_needs_words_in_common() -> None:
    tower = "The tower in the harbour was rebuilt after the flood."
    assert support(tower, [tower])[0] is Support.VERIFIED
    assert support(tower, ["A tower stood there."])[0] is Support.PARTIAL
    assert support(tower, ["Bananas are yellow."])[0] is Support.UNSUPPORTED
    assert support(tower, [])[0] is Support.UNSUPPORTED
    assert (
        support("The tower is tall.", ["Bananas."], "Is the tower tall?")[0] is Support.UNSUPPORTED
    )
    assert support("It is.", ["So it is."])[0] is Support.UNSUPPORTED
    assert support("It is.", ["Bananas."])[0] is Support.VERIFIED


def excerpts(kit: Any, *texts: str) -> list[Any]:
    return split([kit.page(text, f"https://{i}.example/") for i, text in enumerate(texts)])


def test_the_nearest_sentence_has_all_numbers(kit: Any) -> None:
    pool = excerpts(
        kit,
        "Iron melts at 1811 kelvin in air.",
        "Iron melts at 1538 degrees in air.",
        "Copper is red and soft.",
    )
    best = best_excerpt("In air iron melts at 1538 degrees.", pool)
    assert best is pool[1]
    assert best_excerpt("In air iron melts at 99 degrees.", pool) is None
    assert best_excerpt("Tin is white.", pool) is None


def test_a_learning_is_bound_to_the_sentences_it_points_at(kit: Any) -> None:
    pool = excerpts(kit, "Iron melts at 1811 kelvin.", "Copper melts at 1358 kelvin.")
    (found,) = grounded("Iron  melts at 1811 K.", [pool[0]], pool, "")
    assert (found.text, [e.quote for e in found.evidence]) == (
        "Iron melts at 1811 K.",
        ["Iron melts at 1811 kelvin."],
    )


def test_a_wrong_pointer_is_mended(kit: Any) -> None:
    pool = excerpts(kit, "Iron melts at 1811 kelvin.", "Copper melts at 1358 kelvin.")
    for pointed in ([pool[1]], []):
        (found,) = grounded("Iron melts at 1811 kelvin.", pointed, pool, "")
        assert [e.quote for e in found.evidence] == ["Iron melts at 1811 kelvin."]


def test_if_nothing_carries_the_text_the_sentences_speak_for_themselves(kit: Any) -> None:
    pool = excerpts(kit, "Iron melts at 1811 kelvin.", "Copper melts at 1358 kelvin.")
    found = grounded("Iron melts at 9999 kelvin.", pool, pool, "")
    assert [(x.text, [e.quote for e in x.evidence]) for x in found] == [
        ("Iron melts at 1811 kelvin.", ["Iron melts at 1811 kelvin."]),
        ("Copper melts at 1358 kelvin.", ["Copper melts at 1358 kelvin."]),
    ]
    assert grounded("Iron melts at 9999 kelvin.", [], pool, "") == ()
    assert grounded("", [], pool, "") == ()
    (bare,) = grounded("", pool[:1] * 2, pool, "")
    assert len(bare.evidence) == 1


@pytest.mark.parametrize(
    ("sentence", "judged"),
    [
        ("Der Turm Orla wurde 1921 von Ann Stone gebaut und ist 30 Meter hoch.", Support.VERIFIED),
        ("Der Turm Orla wurde 1922 von Ann Stone gebaut und ist 30 Meter hoch.", Support.PARTIAL),
        ("Der Turm Orla wurde 1921 von Bob Brown gebaut und ist 30 Meter hoch.", Support.PARTIAL),
        ("Башня построена в 1921 году, её высота 30 метров.", Support.VERIFIED),
        ("Башня построена в 1927 году.", Support.UNSUPPORTED),
        ("塔高30米，建于1921年。", Support.VERIFIED),
        ("Она очень красива.", Support.PARTIAL),
        ("Diese Straße führt durch viele kleine schöne Orte dahin.", Support.UNSUPPORTED),
        ("Always buy tickets online and bring the ones you like.", Support.UNSUPPORTED),
    ],
)
def test_another_language_is_judged_by_numbers_and_names(sentence: str, judged: Support) -> None:
    quote = "The Orla tower is 30 metres high; it was built in 1921 by Ann Stone, who lived there."
    assert support(sentence, [quote])[0] is judged


def test_a_copied_text_is_bound_to_the_words_it_copies(kit: Any) -> None:
    """Across sentences, in other dashes and spacing; a few words prove nothing."""
    pool = excerpts(kit, "Iron melts at 1811 kelvin. It boils at 3134 kelvin.", "Tin is soft.")
    (found,) = grounded("melts at  1811 kelvin. It boils at 3134", [], pool, "")
    assert [e.quote for e in found.evidence] == ["melts at 1811 kelvin. It boils at 3134"]
    (short,) = grounded("Tin is", [], pool, "")
    assert [e.quote for e in short.evidence] == ["Tin is soft."]
