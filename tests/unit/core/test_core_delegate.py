"""From follow-ups to branches: nothing twice, what is new first, leftovers ride along."""

from __future__ import annotations

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.delegate import choose, fresh, pack, split, why_stop
from deep_research.core.model import Decision, Findings, Learning, Query, ResearchNode, Shape
from deep_research.core.text import same_query


def queries(*texts: str) -> list[Query]:
    return [Query(t, f"goal of {t}") for t in texts]


def test_fresh_drops_blanks_and_repetitions() -> None:
    found = fresh(queries(" density of  Iron", "", "Iron density", "cost of Tin"), ["costs of Tin"])
    assert found == [Query("density of Iron", "goal of  density of  Iron")]


def test_what_names_something_new_leads_and_the_rest_rides_along() -> None:
    wanted = queries(
        "history of Ashford", "mayor of Barnsley", "rivers of Corby", "who is Dora Egg"
    )
    branches = choose(wanted, asked=["Ashford"], breadth=2, per_branch=2)
    assert [b.texts for b in branches] == [
        ("mayor of Barnsley", "who is Dora Egg"),
        ("rivers of Corby",),
    ]
    assert branches[0].goal == "goal of mayor of Barnsley goal of who is Dora Egg"


def test_old_names_fill_up_what_is_free_but_do_not_ride_along() -> None:
    wanted = queries("history of Ashford", "prices in Ashford", "mayor of Barnsley")
    branches = choose(wanted, asked=["Ashford"], breadth=2, per_branch=2)
    assert [b.texts for b in branches] == [("mayor of Barnsley",), ("history of Ashford",)]


def test_what_names_something_new() -> None:
    """Of a query without a name most terms have to be unknown; scripts without capitals count."""
    wanted = queries("北京的历史", "price of tin", "tin price history", "Ashford", "weather today")
    new, old = split(wanted, asked=["price of tin in Ashford", "北京"])
    assert [q.text for q in new] == ["北京的历史", "weather today"]
    assert [q.text for q in old] == ["price of tin", "tin price history", "Ashford"]


def test_of_two_that_name_the_same_new_thing_only_the_first_is_new() -> None:
    new, old = split(queries("mayor of Corby", "rivers of Corby"), asked=[])
    assert ([q.text for q in new], [q.text for q in old]) == (
        ["mayor of Corby"],
        ["rivers of Corby"],
    )


WORDS = st.lists(st.sampled_from(["Ashford", "Corby", "tin", "7", "price"]), max_size=4)
TEXTS = st.lists(WORDS.map(" ".join), max_size=9)


@given(texts=TEXTS, asked=TEXTS, breadth=st.integers(1, 4), per_branch=st.integers(1, 3))
def test_never_more_than_allowed_and_never_the_same_twice(
    texts: list[str], asked: list[str], breadth: int, per_branch: int
) -> None:
    branches = choose(queries(*texts), asked=asked, breadth=breadth, per_branch=per_branch)
    assert len(branches) <= breadth
    assert all(1 <= len(b.texts) <= per_branch for b in branches)
    told = [t for b in branches for t in b.texts]
    for i, text in enumerate(told):
        assert not any(same_query(text, other) for other in (*told[:i], *asked))


SIZED = st.lists(st.tuples(WORDS.map(" ".join), st.integers(1, 3), st.floats(0, 1)), max_size=8)


def sized(parts: list[tuple[str, int, float]], most: int) -> list[Query]:
    """Queries of one to `most` texts; what rides along is like nothing else."""
    return [
        Query(text, f"goal {i}", tuple(f"extra{i}{k} topic" for k in range(min(n, most) - 1)), gain)
        for i, (text, n, gain) in enumerate(parts)
    ]


@given(parts=SIZED, asked=TEXTS, breadth=st.integers(0, 4), per_branch=st.integers(1, 3))
def test_packing_loses_nothing_doubles_nothing_and_fills_few_branches(
    parts: list[tuple[str, int, float]], asked: list[str], breadth: int, per_branch: int
) -> None:
    wanted = fresh(sized(parts, per_branch), asked)
    branches, rest = pack(
        sized(parts, per_branch), asked=asked, breadth=breadth, per_branch=per_branch
    )
    told = sorted(t for b in (*branches, *rest) for t in b.texts)
    assert told == sorted(t for q in wanted for t in q.texts)
    assert len(branches) <= breadth
    assert all(1 <= len(b.texts) <= per_branch for b in branches)
    total = sum(len(b.texts) for b in branches)
    if per_branch <= 2 or all(len(q.texts) == 1 for q in wanted):
        assert len(branches) == ceil(total / per_branch), "the fewest that can be"
        assert not rest or total > (breadth - 1) * per_branch, "what is left over has no place"
    if all(len(q.texts) == 1 for q in wanted):
        assert [q.text for q in rest] == [q.text for q in wanted[total:]], "the last are left over"
        sizes = [len(b.texts) for b in branches]
        assert max(sizes, default=0) - min(sizes, default=0) <= 1, "filled evenly"
    for branch in branches:
        assert branch.gain == max(q.gain for q in wanted if set(q.texts) <= set(branch.texts))


@given(parts=SIZED, asked=TEXTS)
def test_splitting_parts_what_is_fresh(
    parts: list[tuple[str, int, float]], asked: list[str]
) -> None:
    new, old = split(sized(parts, 3), asked)
    found = fresh(sized(parts, 3), asked)
    assert sorted(map(repr, (*new, *old))) == sorted(map(repr, found))
    assert new == [q for q in found if q in new], "the order stays"
    assert old == [q for q in found if q in old]


def test_large_queries_go_first_so_that_no_branch_is_wasted() -> None:
    wanted = [Query("Corby"), Query("Ashford"), Query("Barnsley", also=("Egham",))]
    branches, rest = pack(wanted, asked=[], breadth=2, per_branch=2)
    assert [b.texts for b in branches] == [("Barnsley", "Egham"), ("Corby", "Ashford")]
    assert rest == ()


def test_three_of_four_thirds_do_not_fit_and_one_is_left_over() -> None:
    wanted = [Query(f"Town {n}", also=(f"also{n} x",)) for n in (11, 12, 13)]
    branches, rest = pack(wanted, asked=[], breadth=2, per_branch=3)
    assert [b.text for b in branches] == ["Town 11", "Town 12"]
    assert [q.text for q in rest] == ["Town 13"]


def test_a_branch_more_than_the_texts_need_is_opened_where_two_do_not_fit_one() -> None:
    wanted = [Query(f"Town {n}", also=(f"also{n} x",)) for n in (11, 12, 13)]
    branches, rest = pack(wanted, asked=[], breadth=3, per_branch=3)
    assert [b.text for b in branches] == ["Town 11", "Town 12", "Town 13"]
    assert rest == ()


def test_a_query_too_large_for_a_branch_has_one_for_itself() -> None:
    """A person may have added search texts to it."""
    wanted = [Query("Corby", also=("a", "b", "c")), Query("Ashford")]
    branches, rest = pack(wanted, asked=[], breadth=3, per_branch=2)
    assert [b.text for b in branches] == ["Corby", "Ashford"]
    assert rest == ()


def node(*, path: tuple[int, ...] = (0,), known: tuple[str, ...] = ()) -> ResearchNode:
    found = Findings((Learning("Iron is grey."),), (Query("more"),))
    return ResearchNode(Query("q"), path, tuple(map(Learning, known)), findings=found)


def test_why_a_fixed_tree_stops() -> None:
    deep, flat = Shape(2, 2), Shape(2, 0)
    assert why_stop(node(), deep) is None
    assert why_stop(node(), flat) == Decision(stop="depth")
    assert why_stop(node(known=("Iron is grey.",)), deep) == Decision(stop="saturated")
    quiet = node()
    quiet.findings = Findings((Learning("Iron is grey."),))
    assert why_stop(quiet, deep) == Decision(stop="no_follow_ups")
    nothing = node()
    nothing.findings = Findings(follow_ups=(Query("more"),))
    assert why_stop(nothing, deep) == Decision(stop="saturated")
    root = node(path=())
    root.findings = Findings()
    assert why_stop(root, deep) is None


def test_one_new_thing_asked_for_in_four_ways_does_not_crowd_out_another() -> None:
    texts = [
        "Orla dam figures",
        "Orla dam history of the site",
        "Orla dam cost and money",
        "Kessel foundry",
    ]
    chosen = choose([Query(t) for t in texts], asked=["valley"], breadth=2, per_branch=2)
    assert [q.texts for q in chosen] == [("Orla dam figures",), ("Kessel foundry",)]
