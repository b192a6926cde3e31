"""Numbers are code's: in order of first use, without gaps, and only for what was offered."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.citations import Renderer, adopt, bare
from deep_research.core.merge import Bank
from deep_research.core.report import Conflict, Support
from deep_research.core.seams import DraftSection, Sentence


def rendered(bank: Bank, *drafts: DraftSection, question: str = "Q") -> Any:
    renderer = Renderer(bank, question)
    for draft in drafts:
        renderer.section(draft)
    renderer.conflicts("Disagreements", bank.conflicts)
    return renderer.result


def test_numbers_follow_first_use(kit: Any) -> None:
    bank = kit.bank("Iron is grey.", "Copper is red.", "Tin is white.")
    sentences = [Sentence("Tin is white.", (3,)), Sentence("Iron is grey.", (1,))]
    result = rendered(bank, kit.draft(*sentences, title="Metals"))
    assert result.body == "## Metals\n\nTin is white. [1] Iron is grey. [2]"
    assert [r.n for r in result.references] == [1, 2]
    assert [r.sha256 for r in result.references] == [
        bank.items[i].learning.evidence[0].sha256 for i in (2, 0)
    ]


@given(
    cited=st.lists(st.lists(st.integers(0, 8), max_size=4), max_size=8),
)
def test_there_are_no_gaps_and_nothing_that_was_not_offered(
    cited: list[list[int]], kit: Any
) -> None:
    """R1, R2: ids 0, 7 and 8 do not exist."""
    bank = kit.bank(*(f"Metal number {i} is grey." for i in range(1, 7)))
    drafts = [kit.draft(*(Sentence("Metals are grey.", tuple(ids)) for ids in cited))]
    result = rendered(bank, *drafts)
    used = [int(n) for n in re.findall(r"\[(\d+)\]", result.body)]
    first = list(dict.fromkeys(used))
    assert first == list(range(1, len(result.references) + 1))
    offered = {e.sha256 for item in bank.items for e in item.learning.evidence}
    assert {r.sha256 for r in result.references} <= offered
    assert {c.reference for claim in result.claims for c in claim.citations} == set(used)


def test_equal_pages_are_one_reference(kit: Any) -> None:
    one, two = (
        kit.evidence("Iron is grey. Tin is white."),
        kit.evidence("Iron is grey. Tin is white."),
    )
    bank = kit.bank(kit.learning("Iron is grey.", one), kit.learning("Tin is white.", two))
    result = rendered(bank, kit.draft("Iron is grey.", "Tin is white."))
    assert result.body.count("[1]") == 2
    assert len(result.references) == 1
    assert result.references[0].title == "https://a.example/"


def test_every_quote_a_sentence_needs_is_cited(kit: Any) -> None:
    """Two sentences of one page carry the figures; a copy elsewhere adds one more page, no more."""
    text = "Iron melts at 1811 kelvin. It boils at 3134 kelvin."
    page = kit.page(text)
    from deep_research.core.passages import quote_at

    quotes = [quote_at(page, 0, 26), quote_at(page, 27, len(text))]
    copies = [kit.evidence("Iron melts at 1811 kelvin.", f"https://{i}.example/") for i in "bcd"]
    for i, copy in enumerate(copies):
        copies[i] = type(copy)(copy.source, f"{i}" * 64, copy.quote, copy.start, copy.end)
    sentence = "Iron melts at 1811 and boils at 3134 kelvin."
    bank = kit.bank(kit.learning(sentence, quotes[0], *copies, quotes[1]))
    (claim,) = rendered(bank, kit.draft(sentence)).claims
    assert claim.support is Support.VERIFIED
    assert [(c.reference, c.quote) for c in claim.citations] == [
        (1, quotes[0].quote),
        (2, copies[0].quote),
        (1, quotes[1].quote),
    ]


def test_what_the_quotes_do_not_carry_is_marked(kit: Any) -> None:
    bank = kit.bank("Iron melts at 1811 kelvin.")
    sentences = ("Iron melts at 1811 dollars.", "Iron melts at 9 kelvin.", "Iron melts.")
    result = rendered(bank, kit.draft(*(Sentence(s, (1,)) for s in sentences)))
    assert [c.support for c in result.claims] == ["partial", "unsupported", "verified"]
    assert result.claims[0].missing == ("1811 dollars",)
    assert result.claims[1].missing == ("9 kelvin",) or result.claims[1].missing == ("9",)
    assert "dollars. [1] *(partly supported)*" in result.body
    assert "9 kelvin. [1] *(not supported by the cited words)*" in result.body
    assert result.body.endswith("Iron melts. [1]")


def test_title_and_question_need_no_quote(kit: Any) -> None:
    quote = kit.evidence("It melts at 1790 kelvin.", title="Veltran-7")
    bank = kit.bank(kit.learning("It melts at 1790 kelvin.", quote))
    result = rendered(
        bank,
        kit.draft("Asked by Ann Stone: Veltran-7 melts at 1790 kelvin."),
        question="Ann Stone asks",
    )
    assert result.claims[0].support is Support.VERIFIED


def test_what_a_model_writes_as_a_citation_is_none(kit: Any) -> None:
    bank = kit.bank("Iron is grey.")
    text = "Iron [7] is grey [1, 2] (https://evil.example/x) 【3†source】, see\n[here](http://e.example)."
    result = rendered(bank, kit.draft(text, Sentence("[9] But\nstill."), title="A [4]\n## B"))
    assert result.body == "## A ## B\n\nIron is grey, see here. [1] But still."
    assert [c.text for c in result.claims] == ["Iron is grey, see here."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://a.example/x.", "See https://a.example/x."),
        ("See <https://a.example/x>.", "See <https://a.example/x>."),
        ("See https://b.example/.", "See."),
        ("![alt](https://a.example/i.png) image", "alt image"),
        ("plain [text] and a[i]", "plain (text) and a(i)"),
        ("x [ 7 ] y [S3] ［7］", "x ( 7 ) y (S3) (7)"),
        ("[Source](//evil.example 'x')", "(Source)(//evil.example 'x')"),
    ],
)
def test_an_address_stays_only_if_it_is_quoted(text: str, expected: str) -> None:
    assert bare(text, ["Look at https://a.example/x for more."]) == expected


@given(st.text() | st.text(st.sampled_from("[]()<>1, 【】†http://x.!"), max_size=60))
def test_no_marker_survives(text: str) -> None:
    assert not re.search(r"\[\d+\]", bare(bare(text)))


def test_sentences_without_numbers_may_connect_others_must_be_carried(kit: Any) -> None:
    bank = kit.bank("Iron is grey.", "Iron melts at 1811 kelvin.")
    loose = Sentence("Metals differ a lot.", (), 3)
    assert adopt(loose, bank, "Q") is loose
    assert adopt(Sentence("Iron melts at 1811 kelvin.", (), 3), bank, "Q") == Sentence(
        "Iron melts at 1811 kelvin.", (2,), 3
    )
    assert adopt(Sentence("Iron melts at 99 kelvin."), bank, "Q") is None


def test_a_connecting_sentence_names_nothing_new(kit: Any) -> None:
    bank = kit.bank("The tower was built by Ann Stone.", "Iron is grey.")
    told = Sentence("All of this goes back to Ann Stone and to Old Ashford.")
    assert adopt(told, bank, "What became of Old Ashford?") is told
    assert adopt(Sentence("All of this goes back to Bob Stone."), bank, "Q") is None


def test_paragraphs_are_kept_and_long_ones_are_cut(kit: Any) -> None:
    bank = kit.bank("Iron is grey.")
    sentences = [Sentence(f"S{'x' * i}.", (), i // 8) for i in range(10)]
    (section,) = rendered(bank, kit.draft(*sentences)).sections
    assert [len(p.split()) for p in section.text.split("\n\n")] == [6, 2, 2]


def test_an_empty_section_is_left_out(kit: Any) -> None:
    assert rendered(kit.bank("Iron is grey."), kit.draft()).sections == []


def conflicting(
    kit: Any, old_page: str = "https://old.example/", published: str = "2010-01-01"
) -> Bank:
    new = kit.learning(
        "Iron melts at 1811 kelvin.", kit.evidence("1811", "https://new.example/", "2023-01-01")
    )
    old = kit.learning("Iron melts at 1790 kelvin.", kit.evidence("1790", old_page, published))
    bank = kit.bank(new)
    return Bank(bank.items, (Conflict(new, old, "newer"),), (new, old))


def test_a_conflict_shows_both_sides_the_preferred_first(kit: Any) -> None:
    result = rendered(conflicting(kit), kit.draft("Iron melts at 1811 kelvin."))
    assert result.sections[-1].title == "Disagreements"
    assert result.sections[-1].text == (
        "- Iron melts at 1811 kelvin. [1] A source of 2010 gives 1790. [2]"
    )
    claim = result.claims[-1]
    assert claim.support is Support.CONFLICTING
    assert [c.quote for c in claim.citations] == ["1811", "1790"]


def test_an_undated_source_is_another_source(kit: Any) -> None:
    result = rendered(conflicting(kit, published=""))
    assert "Another source gives 1790. [2]" in result.sections[0].text


def test_a_page_at_odds_with_itself_is_no_conflict_and_no_reference(kit: Any) -> None:
    bank = kit.bank("Iron melts at 1811 kelvin.")
    learning = bank.items[0].learning
    other = kit.learning("Iron melts at 1790 kelvin.", *learning.evidence)
    result = rendered(Bank((), (Conflict(learning, other, ""),)))
    assert not result.sections
    assert not result.references


def test_a_conflict_of_words_has_another_value(kit: Any) -> None:
    one, two = kit.learning("Iron is 5 grey."), kit.learning("Iron is red.")
    result = rendered(Bank((), (Conflict(one, two, ""),)))
    assert "gives another value." in result.sections[0].text
