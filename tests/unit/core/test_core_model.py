"""The nouns: small promises of plain data."""

from __future__ import annotations

import inspect

import pytest

from deep_research.core import errors
from deep_research.core.events import Event, Kind
from deep_research.core.model import (
    Failure,
    Findings,
    Learning,
    Query,
    ResearchNode,
    Shape,
    Status,
    Usage,
)
from deep_research.core.report import Report, RunStatus
from deep_research.core.seams import Scope


def test_a_query_has_all_of_its_texts_the_main_one_first() -> None:
    assert Query("a", "why", ("b", "c")).texts == ("a", "b", "c")


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (Shape(4, 2), 12),
        (Shape(4, 3), 28),
        (Shape(6, 3), 60),
        (Shape(1, 3), 3),
        (Shape(4, 0), 0),
        (Shape(5, 1), 5),
        (Shape(4, 3, min_breadth=1), 20),
    ],
)
def test_sizes(shape: Shape, size: int) -> None:
    assert shape.size() == size


def test_room_is_what_can_still_be_asked() -> None:
    assert Shape(4, 1).room == 8
    assert Shape(4, 0).room == 0
    assert Shape(4, 1, per_branch=1).room == 4


def test_usage_adds_up_and_an_unknown_cost_stays_unknown() -> None:
    total = Usage(seconds=5.0)
    total.add(Usage(1, 20, 3, 400, 5, 6, seconds=7.0))
    total.add(Usage(1, 20, 3, 400, 5, 6, seconds=7.0))
    assert total == Usage(2, 40, 6, 800, 10, 12, seconds=5.0)
    total.add(Usage(cost=None))
    total.add(Usage(cost=5))
    assert total.cost is None


def test_children_get_what_their_ancestors_know() -> None:
    root = ResearchNode(Query("root", also=("more",)), known=(Learning("old"),), asked=("before",))
    root.findings = Findings((Learning("new"),), read=("page",))
    one, two = root.branch((Query("a", also=("b",)), Query("c")))
    assert (one.path, two.path) == ((0,), (1,))
    assert [x.text for x in one.known] == ["old", "new"]
    assert one.asked == two.asked == ("before", "root", "more", "a", "b", "c")
    assert one.read == {"page"}
    assert one.status is Status.PENDING


def test_walking_goes_parents_first_siblings_in_order() -> None:
    root = ResearchNode(Query("root"))
    first, _ = root.branch((Query("a"), Query("b")))
    first.branch((Query("c"),))
    assert [n.path for n in root.walk()] == [(), (0,), (0, 0), (1,)]


def test_a_failure_outlives_its_exception() -> None:
    failure = Failure.of(errors.RateLimited("slow down", retry_after=3.0), (1, 0))
    assert failure == Failure("rate_limited", "slow down", (1, 0))


KINDS = {
    c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__
}


def test_every_error_is_of_one_family_drawn_in_the_docstring() -> None:
    assert errors.__doc__ is not None
    assert all(issubclass(c, errors.DeepResearchError) for c in KINDS)
    for kind in KINDS - {errors.DeepResearchError}:
        (line,) = (x for x in errors.__doc__.splitlines() if f" {kind.__name__} " in x)
        assert f" {kind.kind} " in line
        assert f" {'yes' if kind.retryable else 'no'} " in line
    assert len({c.kind for c in KINDS}) == len(KINDS)


def test_errors_say_what_they_know() -> None:
    assert errors.ProviderError("down").retry_after is None
    assert errors.RateLimited("x", retry_after=2.0).retry_after == 2.0
    assert errors.ContextTooLong("x", limit=4096).limit == 4096
    assert str(errors.AuthFailed("set KEY")) == "set KEY"


def test_events_and_reports_start_empty() -> None:
    event = Event(Kind.WARNING)
    assert (event.path, event.data, event.n, event.at, event.run) == ((), {}, 0, 0.0, "")
    report = Report("r", "Q", RunStatus.FAILED, "why")
    assert (report.body, report.claims, report.tree, report.usage) == ("", (), None, Usage())
    assert Scope().usage is not Scope().usage
