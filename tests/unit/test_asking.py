"""Questions on a terminal and behind a pipe: which words count, and what a person sees meanwhile."""

import asyncio
import io
import os
import pty
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest

from deep_research.cli.asking import Asking
from deep_research.cli.console import Lines
from deep_research.cli.live import Live
from deep_research.cli.typed import Typed
from deep_research.core.events import Event, Kind
from deep_research.core.model import Query
from deep_research.core.ports import Proposal, Verdict

KELL = Query("Ida Kell engineer", "who she was", ("Kell lighthouses",))
LAMP = Query("Marram lamp", "how far it shone")
ROCK = Query("Marram rock", "Marram rock")
PROPOSAL = Proposal((0, 1), (KELL, LAMP, ROCK), "three gaps")
HINT = "what counts: approve, drop N ..., edit N NEW TEXT, reject, help"


def asked(*lines, proposal=PROPOSAL, **settings):
    """(verdict, what was shown) of a script that answers with these lines."""
    out = io.StringIO()
    typed = Typed(io.StringIO("".join(f"{line}\n" for line in lines)))
    asking = Asking(typed, out, nullcontext, **settings)
    return asyncio.run(asking.approve(proposal)), out.getvalue()


class TestWords:
    @pytest.mark.parametrize("word", ["approve", "a", "yes", "y", " YES \t", "Approve"])
    def test_approve(self, word):
        assert asked(word)[0] == Verdict((KELL, LAMP, ROCK))

    @pytest.mark.parametrize("word", ["reject", "r", "REJECT"])
    def test_reject(self, word):
        assert asked(word)[0] == Verdict(rejected=True, reason="rejected")

    @pytest.mark.parametrize(
        "line",
        [
            *("not enough cost data", "I know", "ok?", "ok", "", "  ", "no", "n", "yes please"),
            *("approve all", "reject 2", "yesterday", "a b", "approved", "help me", "\x1b[A", "真"),
        ],
    )
    def test_everything_else_is_asked_again(self, line):
        verdict, shown = asked(line, "y")
        assert verdict == Verdict((KELL, LAMP, ROCK))
        assert HINT in shown
        assert asked(line)[0] is None, "nothing is guessed where no more comes"

    @pytest.mark.parametrize("word", ["help", "?"])
    def test_help(self, word):
        verdict, shown = asked(word, "r")
        assert verdict.rejected
        assert "drop 2 3         leave these out" in shown

    def test_several_commands_and_the_list_after_each(self):
        verdict, shown = asked("drop 1", "edit 3  who kept \x07 the rock", "drop 9", "yes")
        new = "who kept the rock"
        assert verdict == Verdict((LAMP, Query(new, new)))
        lists = shown.split("> ")
        assert "  1  Ida Kell engineer\n       for: who she was\n       also: Kell lig" in lists[0]
        assert "  3  Marram rock\napprove, drop" in lists[0], (
            "a goal that says the same is not shown"
        )
        assert "  1  " not in lists[2]
        assert "  2  Marram lamp\n       for: how far it shone\n  3  Marram rock\n" in lists[1 + 0]
        assert "  3  who kept the rock\n" in lists[2]

    @pytest.mark.parametrize(
        ("line", "left"),
        [
            ("drop 2", (KELL, ROCK)),
            ("drop 2 3", (KELL,)),
            ("DROP 3,2", (KELL,)),
            ("drop 2, 2", (KELL, ROCK)),
        ],
    )
    def test_drop(self, line, left):
        assert asked(line, "y")[0] == Verdict(left)

    def test_numbers_never_move(self):
        assert asked("drop 1", "drop 2", "y")[0] == Verdict((ROCK,))

    def test_none_left_plans_nothing_more(self):
        verdict, shown = asked("drop 3", "drop 1 2")
        assert verdict == Verdict(reason="all dropped")
        assert "nothing left: no more is searched for here" in shown

    @pytest.mark.parametrize(
        ("line", "says"),
        [
            ("drop", "drop: say which number (1, 2, 3); nothing dropped"),
            ("drop all", "drop: 'all' is no number of the list (1, 2, 3); nothing dropped"),
            ("drop 1 4", "drop: '4' is no number of the list (1, 2, 3); nothing dropped"),
            ("drop -1", "drop: '-1' is no number"),
            ("drop ２", "drop: '２' is no number"),
            (f"drop {'9' * 5000}", "is no number"),
            ("edit", "edit: say which number (1, 2, 3); nothing changed"),
            ("edit 4 x", "edit: '4' is no number of the list (1, 2, 3); nothing changed"),
            ("edit 2", "edit: say what to search for in place of number 2"),
            ("edit 2 \x00", "edit: say what to search for in place of number 2"),
        ],
    )
    def test_numbers_that_are_none(self, line, says):
        verdict, shown = asked(line, "y")
        assert verdict == Verdict((KELL, LAMP, ROCK))
        assert says in shown

    def test_no_answer_is_none(self):
        assert asked()[0] is None
        assert asked("drop 2")[0] is None


class TestShown:
    def test_what_is_asked(self):
        shown = asked("y", seconds=90, unanswered="reject")[1]
        assert shown.startswith("To be searched for below query 1.2: three gaps\n  1  Ida")
        assert "reject, help (within 90 s; no answer: reject)\n> y\n" in shown
        root = replace(PROPOSAL, path=(), reason="")
        assert asked("y", proposal=root)[1].startswith("To be searched for\n  1  ")
        assert "help (no answer: stop)\n" in asked("y", proposal=root)[1]

    def test_nothing_commands_the_terminal(self):
        evil = "a\x1b[2Jb\u202ec\nd\x07"
        query = Query(evil, evil + "!", (evil,))
        shown = asked("\x1b]0;x\x07", "y", proposal=Proposal((), (query,), evil))[1]
        assert set(filter(lambda c: not c.isprintable(), shown)) == {"\n"}
        assert shown.count("a [2Jb c d") == 4


def clarified(text):
    out = io.StringIO()
    asking = Asking(Typed(io.StringIO(text)), out, nullcontext, seconds=5)
    return list(asyncio.run(asking.clarify(["Which \x1bkettle?", "When?", "Why?"]))), out.getvalue()


class TestClarify:
    def test_in_turn(self):
        answers, shown = clarified("the red one \n\nbecause")
        assert answers == ["the red one", "", "because"]
        assert "(within 5 s; Enter leaves one open, Ctrl-D the rest)" in shown
        assert "  1  Which kettle?\n> the red one\n  2  When?\n> \n  3" in shown

    @pytest.mark.parametrize(("text", "expected"), [("", []), ("red\n", ["red"])])
    def test_the_end_of_input_leaves_the_rest_open(self, text, expected):
        assert clarified(text)[0] == expected


@contextmanager
def pipe():
    """(stream to read from, function that writes bytes into it, function that ends it)."""
    out, into = os.pipe()
    ends = [into]

    def end():
        while ends:
            os.close(ends.pop())

    with os.fdopen(out, encoding="utf-8") as stream:
        yield stream, lambda data: os.write(into, data), end
        end()


async def reader_ended():
    """Wait until the thread that reads has handed over what it read."""
    for thread in threading.enumerate():
        if thread.name == "standard input":
            thread.join(5)
    await asyncio.sleep(0)


class TestTyped:
    async def test_lines_of_a_pipe(self):
        with pipe() as (stream, write, end):
            typed = Typed(stream)
            write("ä\r\n\nhal".encode())
            assert [await typed.line() for _ in range(2)] == ["ä", ""]
            write(b"f \xff\nrest")
            end()
            assert [await typed.line() for _ in range(4)] == ["half �", "rest", None, None]

    async def test_a_line_that_nobody_waits_for_any_more_is_a_scripts_next(self):
        with pipe() as (stream, write, _):
            typed = Typed(stream)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await typed.line()
            write(b"one\ntwo\n")
            await reader_ended()
            assert [await typed.line() for _ in range(2)] == ["one", "two"]

    async def test_a_reader_is_shared_by_the_next_who_waits(self):
        with pipe() as (stream, write, _):
            typed = Typed(stream)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await typed.line()
            waiting = asyncio.create_task(typed.line())
            await asyncio.sleep(0)
            write(b"one\n")
            assert await waiting == "one"
            assert typed._rest == b""

    async def test_a_person_who_answers_too_late_answered_another_question(self):
        ours, theirs = pty.openpty()
        with os.fdopen(theirs, encoding="utf-8") as stream:
            typed = Typed(stream)
            assert typed.person
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await typed.line()
            os.write(ours, b"yes\n")
            await reader_ended()
            waiting = asyncio.create_task(typed.line())
            await asyncio.sleep(0)
            os.write(ours, b"no\n")
            assert await waiting == "no"
            waiting = asyncio.create_task(typed.line())
            await asyncio.sleep(0)
            os.write(ours, b"\x04")
            assert await waiting is None
            os.close(ours)
            assert await typed.line() is None, "a terminal that is gone is the end of input"

    def test_a_loop_that_is_closed_is_told_nothing(self):
        with pipe() as (stream, write, _):
            typed = Typed(stream)

            async def main():
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await typed.line()

            asyncio.run(main())
            (reader,) = [t for t in threading.enumerate() if t.name == "standard input"]
            write(b"late\n")
            reader.join(5)
            assert not reader.is_alive()

    @pytest.mark.parametrize("kind", ["none", "closed", "refuses", "unreadable"])
    async def test_no_input_at_all(self, kind):
        class Refuses(io.StringIO):
            def readline(self):
                raise OSError("not in this test")

        class Unreadable(io.StringIO):
            def fileno(self):
                return -1

        closed = io.StringIO("x")
        closed.close()
        streams = {"closed": closed, "refuses": Refuses(), "unreadable": Unreadable()}
        stream = streams.get(kind)
        typed = Typed(stream)
        assert await typed.line() is None
        assert not typed.person


class TestTerminal:
    async def test_a_question_that_is_given_up_leaves_the_cursor_on_a_new_line(self):
        with pipe() as (stream, _, _):
            out = io.StringIO()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await Asking(Typed(stream), out, nullcontext).approve(PROPOSAL)
            assert out.getvalue().endswith("\n> \n")

    async def test_what_was_typed_is_not_written_again(self):
        ours, theirs = pty.openpty()
        out = io.StringIO()
        with os.fdopen(theirs, encoding="utf-8") as stream:
            asking = Asking(Typed(stream), out, nullcontext)
            assert not asking.person, "nobody sees the questions"
            os.write(ours, b"y\n")
            assert await asking.approve(PROPOSAL) == Verdict((KELL, LAMP, ROCK))
            out.isatty = lambda: True
            assert asking.person
        os.close(ours)
        assert out.getvalue().endswith("\n> ")


APPROVAL = {"queries": [{"query": "a", "goal": "", "also": []}], "reason": ""}
EVENTS = (
    Event(Kind.RUN_STARTED, data={"question": "Why?", "breadth": 2, "depth": 2, "nodes": 7}),
    Event(Kind.CLARIFICATION, data={"state": "asked", "questions": ["a", "b"]}),
    Event(Kind.CLARIFICATION, data={"state": "decided", "answers": ["", "x"]}),
    Event(Kind.APPROVAL, (0,), {"state": "asked", **APPROVAL}),
    Event(
        Kind.APPROVAL, (0,),
        {"state": "decided", "approved": [], "rejected": False, "unanswered": "stop"},
    ),
    Event(
        Kind.APPROVAL, (1,),
        {"state": "decided", "approved": [{}, {}], "rejected": False, "unanswered": ""},
    ),
    Event(
        Kind.APPROVAL, (),
        {"state": "decided", "approved": [], "rejected": True, "unanswered": ""},
    ),
)  # fmt: skip


class TestMeanwhile:
    """What goes on while a question stands is told after it."""

    def test_in_lines(self):
        said = []
        lines = Lines(said.append)
        for event in EVENTS:
            lines.emit(event)
        assert [line.partition("] ")[2] for line in said[1:]] == [
            "0   waits for answers to 2 questions",
            "0   answered 1 question",
            "1   waits for approval of 1 query",
            "1   approved 0 queries (no answer: stop)",
            "2   approved 2 queries",
            "0   rejected",
        ]

    def test_lines_are_held(self):
        said = []
        lines = Lines(said.append)
        with lines.held():
            lines.emit(Event(Kind.WARNING, data={"message": "slow"}))
            lines.line("stopping")
            assert said == []
        assert [line[-13:] for line in said] == ["warning: slow", "stopping"]
        with pytest.raises(KeyError), lines.held():
            lines.line("kept")
            raise KeyError
        assert said[-1] == "kept"

    def test_the_tree_is_wiped_and_comes_back(self):
        out = io.StringIO()
        live = Live(out, colour=False, size=lambda: (60, 20), every=0.001)
        with live:
            for event in EVENTS[:2]:
                live.emit(event)
            live.line("before")
            assert "Why? waits for an answer" in out.getvalue()
            with live.held():
                place = out.tell()
                assert out.getvalue().endswith("\x1b[2F\x1b[J")
                live.emit(Event(Kind.WARNING, data={"message": "slow"}))
                over = threading.Event()
                over.wait(0.02)  # several drawings' time
                assert out.tell() == place, "the terminal is the question's"
            shown = out.getvalue()[place:]
            assert shown.startswith("warning: slow\n0/0 queries")
        assert out.getvalue().endswith("\x1b[J")

    def test_the_tree_shows_who_waits_and_what_came_of_it(self):
        out = io.StringIO()
        live = Live(out, colour=False, size=lambda: (60, 20))
        for event in EVENTS:
            live.emit(event)
        assert "Why? answered 1 question\n" in out.getvalue()
        assert "1   approved 0 queries (no answer: stop)\n" in out.getvalue()
        assert "waits for approval" not in out.getvalue(), "the tree and the question show that"
        assert out.getvalue().endswith("Why? rejected\n")
