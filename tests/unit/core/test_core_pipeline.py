"""The standard researcher: search, choose, read, learn; what fails is told, not raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from deep_research.core.budget import Budget
from deep_research.core.errors import PageUnreadable, ProviderUnavailable, RateLimited
from deep_research.core.events import Kind
from deep_research.core.model import (
    Brief,
    Failure,
    Findings,
    Learning,
    Page,
    Query,
    ResearchNode,
    Source,
)
from deep_research.core.pipeline import Lesson, Pipeline, teach, unread_first
from deep_research.core.seams import Scope


def hits(*urls: str) -> list[Source]:
    return [Source(f"https://{url}/", rank=i) for i, url in enumerate(urls)]


@dataclass
class Pupil:
    """A `Learner` that learns the first words of each page."""

    pages: list[str] = field(default_factory=list)
    mishaps: tuple[Failure, ...] = ()
    wanted: tuple[str, ...] = ()

    def choose(
        self, node: ResearchNode, brief: Brief, found: Sequence[Sequence[Source]]
    ) -> Sequence[Source]:
        return unread_first(node, found)

    async def learn(
        self, node: ResearchNode, brief: Brief, pages: Sequence[Page], scope: Scope
    ) -> Lesson:
        self.pages = [p.source.url for p in pages]
        self.wanted = node.query.texts
        return Lesson(tuple(Learning(p.text) for p in pages), (Query("next"),), self.mishaps)


def investigate(
    virtual: Any,
    kit: Any,
    outside: Any,
    *texts: str,
    per_query: int = 2,
    budget: Budget | None = None,
) -> tuple[Findings, Pupil, Any]:
    pupil, stream = Pupil(), kit.Stream()
    node = ResearchNode(Query(texts[0], also=texts[1:]), (3,))
    scope = Scope(node.path, budget or Budget())
    pipeline = Pipeline(outside, pupil, stream, per_query)
    return virtual(pipeline.investigate(node, Brief("Q"), scope)), pupil, stream


def test_all_texts_are_searched_and_the_best_pages_read(virtual: Any, kit: Any) -> None:
    outside = kit.FakeOutside(
        {"a": hits("1.x", "2.x", "3.x"), "b": hits("4.x", "1.x", "5.x")},
        {f"https://{i}.x/": f"text {i}" for i in range(1, 6)},
    )
    found, pupil, stream = investigate(virtual, kit, outside, "a", "b")
    assert outside.searched == ["a", "b"]
    assert pupil.pages == ["https://1.x/", "https://4.x/", "https://2.x/", "https://3.x/"]
    assert found.read == ("1.x", "4.x", "2.x", "3.x")
    assert found.follow_ups == (Query("next"),)
    assert not found.failures
    assert [e.data for e in stream.of(Kind.SEARCHED)] == [
        {"query": "a", "hits": 3},
        {"query": "b", "hits": 3},
    ]
    (event,) = stream.of(Kind.LEARNED)
    assert (event.path, event.data["learnings"], event.data["follow_ups"]) == ((3,), 4, ["next"])


def test_a_search_that_fails_is_told_and_the_others_count(virtual: Any, kit: Any) -> None:
    outside = kit.FakeOutside(
        {"a": RateLimited("slow down"), "b": hits("1.x")}, {"https://1.x/": "text"}
    )
    found, _, _ = investigate(virtual, kit, outside, "a", "b")
    assert found.failures == (Failure("rate_limited", "slow down", (3,)),)
    assert len(found.learnings) == 1


def test_if_no_search_answers_the_first_error_is_raised(virtual: Any, kit: Any) -> None:
    outside = kit.FakeOutside({"a": RateLimited("first"), "b": ProviderUnavailable("second")})
    with pytest.raises(RateLimited, match="first"):
        investigate(virtual, kit, outside, "a", "b")


def test_nothing_to_read_means_nothing_to_learn(virtual: Any, kit: Any) -> None:
    """The learner is not even asked (S6)."""
    outside = kit.FakeOutside({"a": hits("1.x")}, {"https://1.x/": PageUnreadable("empty")})
    found, pupil, stream = investigate(virtual, kit, outside, "a")
    assert found == Findings(failures=(Failure("page_unreadable", "https://1.x/: empty", (3,)),))
    assert pupil.pages == []
    assert not stream.of(Kind.LEARNED)
    assert investigate(virtual, kit, kit.FakeOutside(), "a")[0] == Findings()


def test_what_learning_went_on_without_is_told(virtual: Any, kit: Any) -> None:
    mishap = Failure("context_too_long", "one page was left out", (3,))
    node, stream, pupil = ResearchNode(Query("a"), (3,)), kit.Stream(), Pupil(mishaps=(mishap,))
    pages = [kit.page("one", "https://1.x/"), kit.page("said by a tool", "tool:lookup")]
    found = virtual(
        teach(
            pupil,
            node,
            Brief("Q"),
            pages,
            scope=Scope((3,)),
            failures=(Failure("timeout", "slow"),),
            emit=stream,
            also=("b",),
        )
    )
    assert [f.kind for f in found.failures] == ["timeout", "context_too_long"]
    assert stream.of(Kind.WARNING)[0].data == {
        "message": "one page was left out",
        "kind": "context_too_long",
    }
    assert pupil.wanted == ("a", "b"), "other searches say what is wanted of the pages, too"
    assert node.query == Query("a")
    assert found.read == ("1.x",), "what a tool said has no address"


def test_what_was_read_is_kept_when_learning_fails(virtual: Any, kit: Any) -> None:
    class Dunce(Pupil):
        async def learn(self, *_: Any) -> Lesson:
            raise RateLimited("slow down")

    node = ResearchNode(Query("a"), (3,))
    outside = kit.FakeOutside({"a": hits("1.x", "2.x")}, {"https://1.x/": "one"})
    with pytest.raises(RateLimited):
        virtual(Pipeline(outside, Dunce(), kit.Stream()).investigate(node, Brief("Q"), Scope((3,))))
    assert node.findings.read == ("1.x",)
    assert [f.kind for f in node.findings.failures] == ["unavailable"]


def test_the_first_look_reads_for_one_subject_however_it_is_worded(virtual: Any, kit: Any) -> None:
    outside = kit.FakeOutside({"a": hits("1.x", "2.x"), "b": hits("3.x", "4.x")}, {})
    pipeline = Pipeline(outside, Pupil(), kit.Stream(), 1)
    virtual(pipeline.investigate(ResearchNode(Query("a", also=("b",))), Brief("Q"), Scope()))
    assert outside.asked_for == ["https://1.x/", "https://3.x/"], "one, and one in its place"


def test_dead_pages_are_made_up_for_by_the_next_best_once(virtual: Any, kit: Any) -> None:
    urls = [f"{i}.x" for i in range(9)]
    outside = kit.FakeOutside({"a": hits(*urls)}, {"https://4.x/": "four", "https://6.x/": "six"})
    found, pupil, _ = investigate(virtual, kit, outside, "a", per_query=4)
    assert outside.asked_for == [f"https://{i}.x/" for i in range(8)]
    assert pupil.pages == ["https://4.x/", "https://6.x/"]
    assert len(found.failures) == 6


def test_most_pages_read_is_enough(virtual: Any, kit: Any) -> None:
    urls = [f"{i}.x" for i in range(9)]
    pages = {f"https://{i}.x/": f"text {i}" for i in (0, 1, 2)}
    outside = kit.FakeOutside({"a": hits(*urls)}, pages)
    investigate(virtual, kit, outside, "a", per_query=4)
    assert len(outside.asked_for) == 4


def test_no_more_pages_than_the_budget_pays(virtual: Any, kit: Any) -> None:
    urls = [f"{i}.x" for i in range(9)]
    outside = kit.FakeOutside({"a": hits(*urls)}, {})
    found, _, _ = investigate(virtual, kit, outside, "a", per_query=4, budget=Budget({"pages": 3}))
    assert len(outside.asked_for) == 3
    assert [f.kind for f in found.failures] == ["budget", *["unavailable"] * 3, "budget"]
    assert "1 of 4 pages not read" in found.failures[0].message


def test_the_same_text_at_two_addresses_is_one_page(virtual: Any, kit: Any) -> None:
    outside = kit.FakeOutside(
        {"a": hits("1.x", "2.x")}, {"https://1.x/": "same", "https://2.x/": "same"}
    )
    assert investigate(virtual, kit, outside, "a")[1].pages == ["https://1.x/"]


def test_what_ancestors_read_and_crowded_hosts_come_last() -> None:
    node = ResearchNode(Query("q"), read=frozenset({"old.x"}))
    first = hits("old.x", "a.x/1", "a.x/2", "a.x/3", "b.x")
    files = [Source(f"file:///docs/{i}.txt") for i in range(3)]
    order = [
        s.url for s in unread_first(node, [first, files, [Source("http://a.x/1")]], per_host=2)
    ]
    assert order == [
        "file:///docs/0.txt",
        "http://a.x/1",
        "file:///docs/1.txt",
        "https://a.x/2/",
        "file:///docs/2.txt",
        "https://b.x/",
        "https://a.x/3/",
        "https://old.x/",
    ]
    assert unread_first(node, []) == []
