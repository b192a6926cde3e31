"""A person in the loop: what their functions may do to a run (nothing), and what their answers mean (H1-H3)."""

import asyncio
import contextvars
import threading
from collections import UserString
from dataclasses import replace

import looptime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.errors import ConfigError
from deep_research.core.events import Kind
from deep_research.core.model import Query
from deep_research.core.ports import Proposal, Verdict
from deep_research.runtime.approval.aside import call_aside
from deep_research.runtime.approval.patient import Patient, hook_of
from deep_research.runtime.approval.verdicts import answers_of, verdict_of

KELL = Query("Ida Kell engineer", "who Ida Kell was", ("Kell lighthouses",), 0.5)
LAMP = Query("Marram lamp range", "how far it shone")
PROPOSAL = Proposal((1,), (KELL, LAMP), "two gaps")
QUESTIONS = ["Which kettle?", "Until when?"]


def no_warning(text):
    raise AssertionError(text)


def verdict(answer):
    return verdict_of(answer, PROPOSAL, no_warning)


class TestVerdict:
    @pytest.mark.parametrize("answer", [True, "approve", "APPROVE", " Approve\n"])
    def test_all_of_it(self, answer):
        assert verdict(answer) == Verdict((KELL, LAMP))

    @pytest.mark.parametrize("answer", [False, "reject", "Reject"])
    def test_none_of_it_and_the_end(self, answer):
        assert verdict(answer).rejected
        assert verdict(answer).queries == ()

    def test_no_answer(self):
        assert verdict(None) is None

    @pytest.mark.parametrize(
        "answer",
        [
            *("yes", "no", "ok?", "", "not enough cost data", "I know", "don't reject", "approved"),
            *(1, 0, 1.0, {}, {"queries": []}, {KELL}, Ellipsis, KELL, UserString("approve")),
            *(b"approve", [KELL, 3], [None], [["a"]], ["", " \t"], [Query(3)], [Query("a", None)]),
            *(Query("a", "b", ["c"]), [Query("a", "b", ["c"])], [Query("a", "b", (3,))]),
            *(Verdict("approve"), Verdict(rejected="no"), Verdict(reason=None), Verdict({KELL})),
        ],
        ids=repr,
    )
    def test_nothing_else_is_an_answer(self, answer):
        with pytest.raises(ConfigError, match=r"is no (answer|query)|must be a list|are blank"):
            verdict_of(answer, PROPOSAL, lambda _: None)

    def test_some(self):
        assert verdict([LAMP]) == verdict((LAMP,)) == Verdict((LAMP,))
        assert verdict(["marram LAMP range"]) == Verdict((LAMP,)), "a known text keeps its goal"
        assert verdict([]) == Verdict()

    def test_changed(self):
        assert verdict(["  Kell\x1b[31m\nborn "]) == Verdict(
            (Query("Kell [31m born", "Kell [31m born"),)
        )
        changed = replace(KELL, goal=" when\n", also=("", "a\tb"))
        assert verdict([changed]) == Verdict((replace(KELL, goal="when", also=("a b",)),))

    def test_repeated_and_blank_ones_are_none(self):
        assert verdict(["x", "", "X", LAMP]).queries == (Query("x", "x"), LAMP)

    def test_no_more_than_were_proposed(self):
        told = []
        got = verdict_of(["a", "b", "c"], PROPOSAL, told.append)
        assert [q.text for q in got.queries] == ["a", "b"]
        assert told == ["3 queries came back and 2 had been proposed: the first 2 count"]

    def test_a_verdict_is_checked_too(self):
        assert verdict(Verdict(["a"], reason="so")) == Verdict((Query("a", "a"),), reason="so")
        assert verdict(Verdict((KELL,), rejected=True)) == Verdict(rejected=True)

    @given(
        st.none() | st.booleans() | st.integers() | st.text() | st.binary()
        | st.lists(st.text() | st.none() | st.builds(Query, st.text(), st.text()))
        | st.builds(Verdict, st.lists(st.text()), st.booleans() | st.none(), st.text())
    )  # fmt: skip
    def test_whatever_comes_back_is_a_fitting_verdict_or_an_error(self, answer):
        """Only True and 'approve' approve what was proposed; what is searched for can be shown."""
        try:
            got = verdict_of(answer, PROPOSAL, lambda _: None)
        except ConfigError:
            return
        assert (got is None) == (answer is None)
        if got:
            assert len(got.queries) <= 2
            assert all(q.text and q.text.isprintable() for q in got.queries)
            assert not (got.rejected and got.queries)
        if got == Verdict(PROPOSAL.queries):
            assert answer is True or answer.strip().lower() == "approve"


class TestAnswers:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            (None, ()),
            ([], ()),
            (["", None], ()),
            (["red", "1911"], ("red", "1911")),
            (("red",), ("red", "")),
            (["", " the\n end\x00"], ("", "the end")),
            ({"Until when?": "1911"}, ("", "1911")),
            ({}, ()),
        ],
    )
    def test_one_per_question(self, answer, expected):
        assert answers_of(answer, QUESTIONS, no_warning) == expected

    def test_one_text_for_one_question(self):
        assert answers_of("red", QUESTIONS[:1], no_warning) == ("red",)

    @pytest.mark.parametrize("answer", ["red", 3, True, [1], b"ab", {"Until when?": 3}, {"red"}])
    def test_nothing_else_is_an_answer(self, answer):
        with pytest.raises(ConfigError, match=r"is no answer|is one text for 2 questions"):
            answers_of(answer, QUESTIONS, no_warning)

    def test_too_many(self):
        told = []
        assert answers_of(["a", "b", "c"], QUESTIONS, told.append) == ("a", "b")
        assert answers_of({"Who?": "a", QUESTIONS[0]: "b"}, QUESTIONS, told.append) == ("b", "")
        assert told == ["3 answers to 2 questions: the first ones count", "'Who?' was not asked"]


class TestHook:
    def test_a_function_or_an_object_with_the_method(self):
        patient = Patient(print)
        assert hook_of(None, "approve") is None
        assert hook_of(print, "approve") is print
        assert hook_of(patient, "approve") == patient.approve

    def test_what_cannot_be_called_is_named(self):
        with pytest.raises(ConfigError, match="approve = True: must be a function, or have"):
            hook_of(True, "approve")


class TestAside:
    async def test_an_async_hook_runs_in_the_loop(self):
        class Asks:
            async def __call__(self, given):
                return given, threading.current_thread()

        assert await call_aside(Asks(), 1) == (1, threading.current_thread())

    async def test_a_plain_hook_does_not_block_the_loop(self):
        free = threading.Event()
        mark = contextvars.ContextVar("mark")
        mark.set("here")

        def asks(given):
            assert free.wait(5)
            return given, mark.get(), threading.current_thread().daemon

        asyncio.get_running_loop().call_soon(free.set)
        assert await call_aside(asks, 1) == (1, "here", True)

    async def test_what_a_plain_hook_returns_may_be_awaitable(self):
        assert await call_aside(lambda given: asyncio.sleep(0, given), 1) == 1

    async def test_errors_come_through(self):
        def stops(_given):
            raise StopIteration("mine")

        with pytest.raises(RuntimeError):  # as for every coroutine
            await call_aside(stops, 1)

    def test_a_hook_that_never_returns_holds_up_nothing(self):
        """Neither the caller's end, nor its loop's, nor, later, the thread's own."""
        free, done = threading.Event(), []

        def asks(_given):
            done.append(threading.current_thread())
            free.wait(5)

        async def main():
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await call_aside(asks, 1)

        asyncio.run(main())
        free.set()
        done[0].join(5)
        assert not done[0].is_alive()

    async def test_an_answer_that_comes_too_late_is_dropped(self):
        free, done = threading.Event(), []

        def asks(_given):
            done.append(threading.current_thread())
            free.wait(5)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await call_aside(asks, 1)
        free.set()
        done[0].join(5)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def virtually(coroutine):
    """Run in virtual time, so that waiting costs none."""
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0)) as runner:
        return runner.run(coroutine)


def patient(approve=None, clarify=None, **settings):
    events = []
    return Patient(events.append, approve=approve, clarify=clarify, **settings), events


def warnings(events):
    return [e.data["message"] for e in events if e.kind is Kind.WARNING]


class TestPatient:
    async def test_what_is_asked_and_answered_is_told(self):
        async def asks(proposal):
            assert proposal == PROPOSAL
            return [LAMP]

        asked, events = patient(asks)
        assert await asked.approve(PROPOSAL) == Verdict((LAMP,))
        lamp = {"query": LAMP.text, "goal": LAMP.goal, "also": []}
        kell = {"query": KELL.text, "goal": KELL.goal, "also": ["Kell lighthouses"]}
        assert [(e.kind, e.path, e.data) for e in events] == [
            (
                Kind.APPROVAL,
                (1,),
                {"state": "asked", "queries": [kell, lamp], "reason": "two gaps"},
            ),
            (
                Kind.APPROVAL,
                (1,),
                {
                    "state": "decided",
                    "approved": [lamp],
                    "rejected": False,
                    "unanswered": "",
                    "reason": "",
                },
            ),
        ]

    @pytest.mark.parametrize(
        ("policy", "expected", "times"),
        [
            ("approve", Verdict(PROPOSAL.queries, reason="no answer"), 2),
            ("stop", Verdict(reason="no answer"), 1),
            ("reject", Verdict(rejected=True, reason="no answer"), 1),
        ],
    )
    async def test_no_answer_follows_the_policy(self, policy, expected, times):
        """To stop or to reject holds for the rest of the run; it is said once."""
        calls = []
        asked, events = patient(calls.append, unanswered=policy)
        assert await asked.approve(PROPOSAL) == expected
        assert await asked.approve(PROPOSAL) == expected
        assert len(calls) == times
        assert warnings(events) == [f"approve: no answer, so approval.unanswered holds: {policy}"]
        decided = [e.data["unanswered"] for e in events if e.data.get("state") == "decided"]
        assert decided == [policy, policy]

    async def test_nobody_to_ask(self):
        asked, events = patient()
        assert await asked.approve(PROPOSAL) == Verdict(reason="nobody is there to be asked")
        assert await asked.clarify(QUESTIONS) == ()
        assert warnings(events) == [
            "approve: nobody is there to be asked, so approval.unanswered holds: stop",
            "clarify: nobody is there to be asked",
        ]

    async def test_an_answer_that_means_nothing_is_none_and_is_explained(self):
        asked, events = patient(lambda _: "not enough cost data")
        assert (await asked.approve(PROPOSAL)).queries == ()
        assert warnings(events)[0].startswith(
            "approve: 'not enough cost data' is no answer: return True"
        )
        asked, events = patient(clarify=lambda _: "red")
        assert await asked.clarify(QUESTIONS) == ()
        assert warnings(events) == [
            "clarify: 'red' is one text for 2 questions: return a list",
        ]

    def test_h3_an_approver_who_never_answers(self):
        async def asks(_given):
            await asyncio.Event().wait()

        async def main():
            asked, events = patient(asks, asks, seconds=30)
            loop = asyncio.get_running_loop()
            assert await asked.clarify(QUESTIONS) == ()
            assert loop.time() == 30
            assert await asked.approve(PROPOSAL) == Verdict(reason="no answer within 30 s")
            assert loop.time() == 60
            assert await asked.approve(PROPOSAL) == Verdict(reason="no answer within 30 s")
            assert loop.time() == 60, "after that nobody is asked any more"
            return warnings(events)

        assert virtually(main()) == [
            "clarify: no answer within 30 s",
            "approve: no answer within 30 s, so approval.unanswered holds: stop",
        ]

    def test_one_question_at_a_time_and_each_has_its_time(self):
        open_now, most = [], []

        async def asks(proposal):
            open_now.append(proposal)
            most.append(len(open_now))
            await asyncio.sleep(20)
            open_now.pop()
            return True

        async def main():
            asked, events = patient(asks, asks, seconds=30)
            async with asyncio.TaskGroup() as group:
                for i in range(3):
                    group.create_task(asked.approve(replace(PROPOSAL, path=(i,))))
                group.create_task(asked.clarify(QUESTIONS))
            assert asyncio.get_running_loop().time() == 80
            states = [(e.data["state"], e.path) for e in events if e.kind is Kind.APPROVAL]
            return most, states

        most, states = virtually(main())
        assert most == [1, 1, 1, 1]
        assert states == [(state, (i,)) for i in range(3) for state in ("asked", "decided")]

    def test_who_waits_behind_a_rejection_is_not_asked(self):
        calls = []

        async def asks(proposal):
            calls.append(proposal.path)
            await asyncio.sleep(1)
            return False

        async def main():
            asked, events = patient(asks)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(asked.approve(PROPOSAL)) for _ in range(3)]
            assert [t.result().rejected for t in tasks] == [True] * 3
            assert {e.data["unanswered"] for e in events if e.data["state"] == "decided"} == {""}

        virtually(main())
        assert calls == [(1,)]

    @pytest.mark.parametrize(
        "error",
        [
            *(ValueError("mine"), TimeoutError("its own"), asyncio.CancelledError(), SystemExit(3)),
            *(ConfigError("not yours"), ExceptionGroup("some", [KeyError("k")])),
        ],
        ids=repr,
    )
    @pytest.mark.parametrize("plain", [False, True])
    async def test_an_error_of_the_hook_is_no_answer(self, error, plain):
        def asks(_given):
            raise error

        async def asks_async(_given):
            raise error

        hook = asks if plain else asks_async
        asked, events = patient(hook, hook, seconds=5)
        assert await asked.clarify(QUESTIONS) == ()
        assert (await asked.approve(PROPOSAL)).queries == ()
        assert warnings(events) == [
            f"clarify: the function failed: {error!r}",
            f"approve: the function failed: {error!r}",
            "approve: no answer, so approval.unanswered holds: stop",
        ]

    @pytest.mark.parametrize("swallows", [False, True])
    def test_a_stopped_run_ends_the_question_at_once(self, swallows):
        """Also where the hook swallows the cancellation, which was not meant for it."""

        async def asks(_proposal):
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                if not swallows:
                    raise
            return True

        async def main():
            asked, events = patient(asks)
            task = asyncio.create_task(asked.approve(PROPOSAL))
            asyncio.get_running_loop().call_later(3, task.cancel)
            await asyncio.wait([task])
            assert task.cancelled()
            assert asyncio.get_running_loop().time() == 3
            assert [e.data["state"] for e in events] == ["asked"]

        virtually(main())

    async def test_clarified(self):
        asked, events = patient(clarify=lambda questions: {questions[1]: " in 1911 "})
        assert await asked.clarify(QUESTIONS) == ("", "in 1911")
        assert [(e.kind, e.data) for e in events] == [
            (Kind.CLARIFICATION, {"state": "asked", "questions": QUESTIONS}),
            (Kind.CLARIFICATION, {"state": "decided", "answers": ["", "in 1911"]}),
        ]
