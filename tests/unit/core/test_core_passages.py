"""Which sentences are shown: the relevant ones, in page order, within the limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.passages import quote_at, select, split


def tokens(text: str) -> int:
    return len(text.split())


def shown(
    pages: list[Any], wanted: str, limit: int = 1000, skip: frozenset[str] = frozenset()
) -> list[str]:
    return [e.text for e in select(pages, {wanted: 1.0}, limit=limit, count=tokens, skip=skip)]


TEXT = (
    "The harbour is old. Its tower is 300 metres high. Bananas are yellow fruits. "
    "Cats sleep a lot at noon. The tower was built by Ann Stone."
)


def test_what_shares_nothing_with_the_question_is_left_out(kit: Any) -> None:
    found = shown([kit.page(TEXT)], "Who built the tower?")
    assert "The tower was built by Ann Stone." in found
    assert "Its tower is 300 metres high." in found
    assert "Bananas are yellow fruits." in found, "a neighbour rides along"
    other = kit.page("Nothing here is of use. Cats sleep a lot at noon.", "https://b.example/")
    assert not {e for e in shown([kit.page(TEXT), other], "tower") if e.startswith("Nothing")}


def test_the_best_go_first_into_a_small_limit_and_come_in_page_order(kit: Any) -> None:
    found = shown([kit.page(TEXT)], "built tower", limit=22)
    assert found == ["Its tower is 300 metres high.", "The tower was built by Ann Stone."]


def test_a_heading_is_no_sentence(kit: Any) -> None:
    page = kit.page("## The tower and its builders\n\nThe tower was built by Ann Stone.")
    assert [e.text for e in split([page])] == ["The tower was built by Ann Stone."]


def test_a_number_counts(kit: Any) -> None:
    page = kit.page("The tower is rather high indeed. The tower is 300 metres high.")
    assert shown([page], "tower high", limit=12) == ["The tower is 300 metres high."]


def test_a_title_counts(kit: Any) -> None:
    plain = kit.page("The melting point is very high.", "https://a.example/", "Copper")
    named = kit.page("A melting point is quite high.", "https://b.example/", "Veltran")
    assert shown([plain, named], "melting point Veltran", limit=10) == [
        "A melting point is quite high."
    ]


def test_if_nothing_is_relevant_pages_are_read_from_the_top(kit: Any) -> None:
    found = shown([kit.page(TEXT)], "quantum gravity", limit=20)
    assert found == ["The harbour is old.", "Its tower is 300 metres high."]


def test_copies_on_other_pages_are_kept_with_the_first(kit: Any) -> None:
    one = kit.page(TEXT)
    two = kit.page("Copied: it's here.\n\nIts tower is  300 metres HIGH.", "https://b.example/")
    again = replace(two, source=replace(two.source, url="https://c.example/"))
    (hit,) = (e for e in split([one, two, again]) if e.text.startswith("Its tower"))
    places = hit.evidence()
    assert [p.source.url for p in places] == ["https://a.example/", "https://b.example/"]
    assert [p.quote for p in places] == [
        "Its tower is 300 metres high.",
        "Its tower is  300 metres HIGH.",
    ]
    assert two.text[places[1].start : places[1].end] == places[1].quote


def test_known_quotes_are_not_shown_again(kit: Any) -> None:
    quote = "The tower was built by Ann Stone."
    assert quote not in shown([kit.page(TEXT)], "built tower", skip=frozenset({quote}))
    assert shown([kit.page(quote)], "tower", skip=frozenset({quote})) == []
    respaced = quote.replace(" ", "\n").upper()
    assert shown([kit.page(respaced)], "tower", skip=frozenset({quote})) == []


def test_scraps_are_no_sentences_but_short_cjk_ones_are(kit: Any) -> None:
    assert [e.text for e in split([kit.page("Menu. Home.\n\n她来了。")])] == ["她来了。"]
    assert shown([], "tower") == []


def test_a_quote_bears_the_mark_of_its_place(kit: Any) -> None:
    page = replace(kit.page(TEXT), marks=((0, "p. 1"), (20, "p. 2"), (500, "p. 3")))
    assert [quote_at(page, at, at + 3).mark for at in (0, 19, 20, 60)] == [
        "p. 1",
        "p. 1",
        "p. 2",
        "p. 2",
    ]
    assert quote_at(kit.page(TEXT), 0, 3).mark == ""


WORDS = st.lists(
    st.sampled_from(["tower", "harbour", "300", "high", "cats", "The", "end.", "more.", "\n\n"]),
    max_size=60,
).map(" ".join)


@given(texts=st.lists(WORDS, max_size=4), wanted=WORDS, limit=st.integers(0, 80))
def test_the_limit_holds_the_order_is_the_pages_and_offsets_are_exact(
    texts: list[str], wanted: str, limit: int, kit: Any
) -> None:
    pages = [kit.page(text, f"https://{i}.example/") for i, text in enumerate(texts)]
    found = select(pages, {wanted: 1.0, "tower": 0.5}, limit=limit, count=tokens)
    assert sum(tokens(e.text) for e in found) <= limit
    places = [(pages.index(e.page), e.start) for e in found]
    assert places == sorted(places)
    for excerpt in found:
        for item in excerpt.evidence():
            text = next(p.text for p in pages if p.sha256 == item.sha256)
            assert text[item.start : item.end] == item.quote
