"""From tree to bank: what is equal is united, what disagrees is a conflict, the rest stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.merge import fit, merge
from deep_research.core.model import Findings, Learning, Query, ResearchNode


def tree(*learnings: Learning, below: tuple[Learning, ...] = ()) -> ResearchNode:
    root = ResearchNode(Query("Q"), findings=Findings(learnings))
    root.branch((Query("a"),))[0].findings = Findings(below)
    return root


def test_the_bank_is_in_tree_order_with_paths(kit: Any) -> None:
    bank = merge(tree(kit.learning("Iron is grey."), below=(kit.learning("Copper is red."),)))
    assert [(i.id, i.learning.text, i.learning.path) for i in bank.items] == [
        (1, "Iron is grey.", ()),
        (2, "Copper is red.", (0,)),
    ]


def test_what_has_no_evidence_is_kept_but_not_citable(kit: Any) -> None:
    bank = merge(tree(Learning("Iron is grey."), kit.learning("Copper is red.")))
    assert [i.learning.text for i in bank.items] == ["Copper is red."]
    assert [x.text for x in bank.learnings] == ["Iron is grey.", "Copper is red."]


def test_equal_learnings_are_one_with_the_evidence_of_all(kit: Any) -> None:
    first = kit.learning("Iron melts at 1811 kelvin.", kit.evidence("one", "https://a.example/"))
    again = kit.learning("iron  melts at 1811 KELVIN", kit.evidence("two", "https://b.example/"))
    bank = merge(tree(first, below=(again, again)))
    assert len(bank.items) == len(bank.learnings) == 1
    assert [e.quote for e in bank.items[0].learning.evidence] == ["one", "two"]


def test_an_uncitable_learning_gets_the_evidence_of_its_twin(kit: Any) -> None:
    bank = merge(tree(Learning("Iron is grey."), kit.learning("Iron is grey.")))
    assert len(bank.items) == 1


def test_the_same_sentence_told_twice_is_one(kit: Any) -> None:
    quote = kit.evidence("Ann Stone built the harbour tower of Ashford in 1990.")
    one = kit.learning("Ann Stone built the harbour tower of Ashford in 1990.", quote)
    two = kit.learning("The harbour tower of Ashford was built in 1990 by Ann Stone.", quote)
    assert len(merge(tree(one, two)).items) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Italy beat France in the final.", "France beat Italy in the final."),
        ("The drug is effective in adults.", "The drug is not effective in adults."),
        ("The drug works in adults.", "The drug doesn't work in adults."),
        ("Ann Stone built the old tower.", "Bob Stone built the old tower."),
        ("The tower is 300 m high.", "The bridge is 300 m long."),
    ],
)
def test_what_is_only_alike_stays_apart(a: str, b: str, kit: Any) -> None:
    bank = merge(tree(kit.learning(a), kit.learning(b)))
    assert len(bank.items) == 2
    assert not bank.conflicts


def test_the_newer_of_two_values_is_preferred(kit: Any) -> None:
    old = kit.learning("As of 2010, Veltran-7 melts at 1790 kelvin.")
    new = kit.learning("As of 2023, Veltran-7 melts at 1843 kelvin.")
    for pair in ((old, new), (new, old)):
        bank = merge(tree(*pair))
        (conflict,) = bank.conflicts
        assert (conflict.preferred.text, conflict.other.text) == (new.text, old.text)
        assert conflict.reason == "2023 is newer than 2010"
        assert [i.learning.text for i in bank.items] == [new.text]
        assert len(bank.learnings) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("As of 2010, iron is 5 times dearer.", "Iron is 9 times dearer as of 2023."),
        ("In March 2010, the city had 5 parks.", "In May 2023, the city had 9 parks."),
        ("The city had 5 parks as of 2010.", "The city has 9 parks as of 12 May 2023."),
        ("The city has 5 parks as at 2010.", "As of 2023, the city has 9 parks."),
    ],
)
def test_a_learning_may_say_of_when_it_is(old: str, new: str, kit: Any) -> None:
    (conflict,) = merge(tree(kit.learning(new), kit.learning(old))).conflicts
    assert conflict.preferred.text == new


def test_a_newer_page_is_preferred(kit: Any) -> None:
    quotes = {y: kit.evidence(f"{y}", f"https://{y}.example/", f"{y}-05-01") for y in (2010, 2023)}
    old = kit.learning("The city has 5 parks.", quotes[2010])
    new = kit.learning("The city has 9 parks.", quotes[2023])
    (conflict,) = merge(tree(old, new)).conflicts
    assert conflict.preferred.text == new.text


def test_of_the_same_age_the_better_supported_is_preferred(kit: Any) -> None:
    pages = [kit.evidence(f"page {i}", f"https://{i}.example/") for i in range(4)]
    once = kit.learning("The city has 5 parks.", pages[0], replace(pages[0], start=1))
    twice = kit.learning("The city has 9 parks.", *pages[1:3])
    (conflict,) = merge(tree(once, twice)).conflicts
    assert conflict.preferred.text == twice.text
    assert conflict.reason == "2 pages against 1"
    (conflict,) = merge(tree(once, kit.learning("The city has 9 parks.", pages[3]))).conflicts
    assert conflict.preferred.text == once.text
    assert conflict.reason.startswith("same age and support")


def test_of_three_values_one_wins_over_both(kit: Any) -> None:
    texts = [
        f"As of {y}, Veltran-7 melts at {v} kelvin."
        for y, v in ((2010, 1790), (2015, 1800), (2023, 1843))
    ]
    bank = merge(tree(*map(kit.learning, texts)))
    assert [i.learning.text for i in bank.items] == [texts[2]]
    assert {(c.preferred.text, c.other.text) for c in bank.conflicts} == {
        (texts[2], texts[0]),
        (texts[2], texts[1]),
    }


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Veltran-7 melts at 1790 kelvin.", "Veltran-42 melts at 1843 kelvin."),
        ("Apollo 11 carried 3 astronauts home.", "Apollo 12 carried 4 astronauts home."),
        ("The tower is 300 metres high.", "The tower has 108 floors."),
        ("The tower is 300 metres high and 20 wide.", "The tower is 300 metres high and wide."),
        ("Revenue was 5 million dollars in 2019.", "Revenue was 6 million dollars in 2020."),
        ("Ann Stone has 5 sons.", "Bob Stone has 6 sons."),
        ("It is 5.", "It is 6."),
        ("The city has many parks.", "The city has 9 parks."),
    ],
)
def test_what_is_said_of_other_things_is_no_conflict(a: str, b: str, kit: Any) -> None:
    bank = merge(tree(kit.learning(a), kit.learning(b)))
    assert not bank.conflicts
    assert len(bank.items) == 2


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Acme was founded in 1990.", "Acme was founded in 1991."),
        ("The park opened on May 5 in Ashford.", "The park opened on May 7 in Ashford."),
        ("Paris has 2 million people in it.", "Paris has 3 million people in it."),
        ("The population of Paris 11 million.", "The population of Paris 12 million."),
    ],
)
def test_what_gives_one_thing_two_values_is_a_conflict(a: str, b: str, kit: Any) -> None:
    assert len(merge(tree(kit.learning(a), kit.learning(b))).conflicts) == 1


def test_quotes_follow_the_ids_and_unknown_ids_are_ignored(kit: Any) -> None:
    bank = kit.bank("Iron is grey.", "Copper is red.")
    assert [e.quote for e in bank.quotes((2, 99, 1))] == ["Copper is red.", "Iron is grey."]


def words(text: str) -> int:
    return len(text.split())


def test_fitting_protects_what_can_be_cited(kit: Any) -> None:
    loose = [Learning(f"loose number {i}") for i in range(4)]
    cited = kit.learning("cited and old", kit.evidence("x"))
    assert fit([cited, *loose], 15, words) == (cited, *loose[2:])
    assert fit([Learning("far too long " * 9), *loose], 10, words) == tuple(loose[2:])


@given(
    sizes=st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=12),
    limit=st.integers(0, 60),
)
def test_fitting_keeps_limit_and_order(sizes: list[tuple[int, bool]], limit: int, kit: Any) -> None:
    learnings = [
        kit.learning(f"n{i} " * n, kit.evidence("x")) if cited else Learning(f"n{i} " * n)
        for i, (n, cited) in enumerate(sizes)
    ]
    kept = fit(learnings, limit, words)
    assert sum(words(x.text) for x in kept) <= limit
    assert list(kept) == [x for x in learnings if x in kept]
