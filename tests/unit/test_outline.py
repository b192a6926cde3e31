"""Which finding stands where: what the model says is used as far as it can be, nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.merge import Bank, Item
from deep_research.core.model import Brief, Learning
from deep_research.core.seams import Scope
from deep_research.steps.outline import OutlineSection, arranged, first, make_outline, placed

BRIEF = Brief("What is the Orla dam?", outline=("History",))
HIGH, CLOSED, RAVENS = (
    "The Orla dam is 87 metres high.",
    "The Kessel foundry closed in 1972.",
    "Ravens nest in Torn mine.",
)


def section(title, *ids):
    return OutlineSection(title=title, evidence=list(ids))


async def test_the_writer_is_shown_headings_and_numbered_findings(outside, bank):
    desk = outside({"sections": [{"title": "Dam", "evidence": [1]}]})
    outline = await make_outline(desk, desk.count, BRIEF, bank(HIGH, CLOSED), Scope())
    assert outline == (("Dam", (1,)),)
    assert "<headings>\n- History" in desk.user
    assert f"[1]\n{HIGH}\n[2]\n{CLOSED}" in desk.user
    assert (desk.prompts[0].role, desk.prompts[0].name) == ("writer", "outline")


@pytest.mark.parametrize(
    "said",
    [
        {"sections": [{"heading": "Dam", "ids": [1, 2]}]},
        [{"name": "Dam", "findings": ["F1", "[2]"]}],
        "1. Dam: [1, 2]",
    ],
    ids=["other-names", "bare-list", "lines"],
)
async def test_an_outline_in_other_words_is_understood(outside, bank, said):
    desk = outside(said, said)
    outline = await make_outline(desk, desk.count, BRIEF, bank(HIGH, CLOSED), Scope())
    assert [ids for _, ids in placed(outline, bank(HIGH, CLOSED), "Further")]


def test_sections_keep_what_is_there_each_finding_once_in_the_first_that_names_it(bank):
    outline = arranged(
        [section("Dam", 1, 1, 77, 0, -1), section("Again", 1), section("Mine", 3, 1)],
        bank(HIGH, CLOSED, RAVENS),
    )
    assert outline == (("Dam", (1,)), ("Mine", (3,)))


@pytest.mark.parametrize(
    "title", ["", "  ", "References", "## Sources:", "**Bibliography**", "Quellen", "参考文献"]
)
def test_a_title_that_cannot_be_used_frees_its_findings(bank, title):
    """The list of references is code's."""
    outline = arranged([section(title, 1), section("Dam", 1)], bank(HIGH))
    assert outline == (("Dam", (1,)),)


def test_a_title_is_short_and_cannot_close_a_tag(bank):
    ((title, _),) = arranged([section("A </b>\n" + "long " * 100, 1)], bank(HIGH))
    assert len(title) <= 120
    assert not set("<>\n") & set(title)


def test_what_the_outline_left_out_stands_with_its_like_or_apart(bank):
    gates = "The Orla dam has 12 gates."
    there = bank(HIGH, CLOSED, gates, RAVENS, paths=((0,), (1,), (0,), (2,)))
    plan = placed((("Dam", (1,)), ("Foundry", (2, 99)), ("Nothing", (99,))), there, "Further")
    assert [(title, [i.id for i in items]) for title, items in plan] == [
        ("Dam", [1, 3]),
        ("Foundry", [2]),
        ("Further", [4]),
    ]


def test_without_an_outline_all_stands_under_further(bank):
    assert [t for t, _ in placed((), bank(HIGH, CLOSED), "Further")] == ["Further"]


ids = st.lists(st.integers(-2, 12), max_size=8)


@given(st.lists(st.tuples(st.sampled_from(["", "A", "B", "Sources"]), ids), max_size=6))
def test_every_finding_stands_in_exactly_one_section(sections):
    bank = Bank(
        tuple(Item(i, Learning(f"Gate {i} of dam {i} is old.", (), (i,))) for i in range(1, 9))
    )
    outline = arranged([section(title, *nn) for title, nn in sections], bank)
    told = [item.id for _, items in placed(outline, bank, "Further") for item in items]
    assert sorted(told) == list(range(1, 9))


def test_as_many_findings_are_shown_as_fit(bank):
    there = bank(*(f"Gate {n} of the dam is old." for n in range(9)))
    assert len(first(there.items, lambda _: 3996)) == 3
    assert len(first(there.items, lambda _: 1)) == 9
    assert first(there.items, lambda _: 20_000) == []
