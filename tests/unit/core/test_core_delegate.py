"""From follow-ups to branches: nothing twice, what is new first, leftovers ride along."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.delegate import choose, fresh, why_stop
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


def test_scripts_without_capitals_count_as_new() -> None:
    branches = choose(queries("北京的历史", "lower case"), asked=[], breadth=1, per_branch=2)
    assert [b.texts for b in branches] == [("北京的历史",)]


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
