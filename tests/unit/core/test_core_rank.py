"""BM25: the formula by hand, and its order."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.rank import Ranker


def test_the_formula_by_hand() -> None:
    """Two texts of 2 and 4 terms; 'iron' stands once in the first only."""
    ranker = Ranker(["iron ore", "tin lead zinc gold"], k1=1.2, b=0.6)
    idf = log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    weight = idf * 1 * (1.2 + 1) / (1 + 1.2 * (1 - 0.6 + 0.6 * 2 / 3))
    assert ranker.scores({"iron": 2.0}) == [pytest.approx(2 * weight), 0]


def test_rare_words_and_short_texts_count_more() -> None:
    texts = ["the iron", "the iron of a long long story of other things", "common common iron rare"]
    scores = Ranker(texts).scores({"iron": 1.0})
    assert scores[0] > scores[2] > scores[1] > 0
    assert Ranker(texts).scores({"iron rare": 1.0})[2] > scores[2]


def test_empty_texts_and_queries_score_nothing() -> None:
    assert Ranker([]).scores({"iron": 1.0}) == []
    assert Ranker(["", "the of"]).scores({"iron": 1.0}) == [0, 0]
    assert Ranker(["iron"]).scores({}) == [0]


@given(
    texts=st.lists(st.text(st.sampled_from("ab c"), max_size=12), max_size=6),
    query=st.text(st.sampled_from("ab c"), max_size=12),
)
def test_scores_are_never_negative_and_repeating_a_query_word_changes_nothing(
    texts: list[str], query: str
) -> None:
    ranker = Ranker(texts)
    scores = ranker.scores({query: 1.0})
    assert all(s >= 0 for s in scores)
    assert ranker.scores({f"{query} {query}": 1.0}) == scores
