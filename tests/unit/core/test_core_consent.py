"""Nothing is searched for that a person has not agreed to, and no branch goes round it."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.consent import Consent
from deep_research.core.model import Decision, Query
from deep_research.core.ports import Proposal, Verdict

ASKED = (Query("Ashford"), Query("Barnsley"), Query("Corby"))
EDITED = Query("Ashford mayor")


def decided(
    virtual: Any, consent: Consent, decision: Decision, breadth: int = 9, affordable: int = 9
) -> Decision:
    return virtual(consent.allowed((1,), decision, breadth=breadth, affordable=affordable))


def test_without_an_approver_everything_is_approved(virtual: Any) -> None:
    assert virtual(Consent().of((), ASKED)) == ASKED


def test_the_person_is_told_where_what_and_why(virtual: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover()
    assert virtual(Consent(approver).of((1, 0), ASKED, "a gap")) == ASKED
    assert approver.asked == [Proposal((1, 0), ASKED, "a gap")]


def test_nobody_is_asked_about_nothing(virtual: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover()
    assert virtual(Consent(approver).of((), ())) == ()
    assert approver.asked == []


def test_a_rejection_ends_the_run_and_nobody_is_asked_again(virtual: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover(lambda _: Verdict(ASKED, rejected=True))
    stop = asyncio.Event()
    consent = Consent(approver, stop)
    assert virtual(consent.of((), ASKED)) == ()
    assert stop.is_set()
    assert (consent.rejected, consent.refusal) == (True, "rejected")
    assert virtual(consent.of((1,), ASKED)) == ()
    assert len(approver.asked) == 1
    lonely = Consent(kit.ScriptedApprover(lambda _: Verdict(rejected=True)))
    assert virtual(lonely.of((), ASKED)) == ()


def test_what_was_agreed_while_another_branch_was_rejected_is_void(virtual: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover(
        lambda p: Verdict(p.queries, rejected=p.path == (0,)),
        seconds=lambda path: 1.0 + path[0],
    )
    consent = Consent(approver, asyncio.Event())

    async def main() -> list[tuple[Query, ...]]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(consent.of((i,), ASKED)) for i in range(2)]
        return [task.result() for task in tasks]

    assert virtual(main()) == [(), ()]


def test_what_a_person_drops_is_gone_and_what_is_edited_is_taken(virtual: Any, kit: Any) -> None:
    approver = kit.ScriptedApprover(lambda p: Verdict((EDITED, *p.queries[2:])))
    got = decided(virtual, Consent(approver), Decision(ASKED, reason="why"))
    assert got == Decision((EDITED, ASKED[2]), reason="why")
    assert approver.asked[0].reason == "why"


def test_agreeing_to_nothing_stops_here_only(virtual: Any, kit: Any) -> None:
    consent = Consent(kit.ScriptedApprover(lambda _: Verdict()))
    got = decided(virtual, consent, Decision(ASKED, queued=(EDITED,)), breadth=2)
    assert got == Decision(stop="not_approved", queued=(ASKED[2], EDITED))
    assert not consent.rejected


def test_a_person_who_adds_more_than_there_is_room_for_has_the_rest_queued(
    virtual: Any, kit: Any
) -> None:
    consent = Consent(kit.ScriptedApprover(lambda p: Verdict((*p.queries, EDITED))))
    got = decided(virtual, consent, Decision(ASKED), breadth=2)
    assert (got.delegate, got.queued) == (ASKED[:2], (EDITED, ASKED[2]))
    got = decided(virtual, consent, Decision(ASKED[:1]), affordable=1)
    assert (got.delegate, got.queued) == (ASKED[:1], (EDITED,))


def test_why_a_decision_is_cut(virtual: Any) -> None:
    """Breadth cuts silently, the end of the tree and of the money say so."""
    consent = Consent()
    assert decided(virtual, consent, Decision(ASKED), breadth=2) == Decision(
        ASKED[:2], queued=ASKED[2:]
    )
    assert decided(virtual, consent, Decision(ASKED), breadth=0).stop == "depth"
    assert decided(virtual, consent, Decision(ASKED, "mine"), breadth=0).stop == "mine"
    assert decided(virtual, consent, Decision(stop="answered"), breadth=0).stop == "answered"
    assert decided(virtual, consent, Decision(ASKED), affordable=2).stop == "budget"
    assert decided(virtual, consent, Decision(ASKED), breadth=2, affordable=2).stop == ""
    assert decided(virtual, consent, Decision(), affordable=0) == Decision()


@given(
    wanted=st.integers(0, 6),
    breadth=st.integers(0, 4),
    affordable=st.integers(0, 4),
    queued=st.integers(0, 2),
)
def test_nothing_that_was_delegated_is_lost(
    wanted: int, breadth: int, affordable: int, queued: int, virtual: Any
) -> None:
    decision = Decision(
        tuple(Query(f"w{i}") for i in range(wanted)),
        queued=tuple(Query(f"q{i}") for i in range(queued)),
    )
    got = decided(virtual, Consent(), decision, breadth, affordable)
    assert (*got.delegate, *got.queued) == (*decision.delegate, *decision.queued)
    assert len(got.delegate) == min(wanted, breadth, affordable)
    assert bool(got.stop) is (
        min(wanted, affordable) < min(wanted, breadth) or 0 == breadth < wanted
    )
