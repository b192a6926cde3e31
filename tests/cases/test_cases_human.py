"""A person in the loop (H1-H3): whole runs that are approved, changed, rejected, or left without an answer."""

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from deep_research.core.events import Kind

from .conftest import COAST, QUESTION, good

ROOT = Path(__file__).parents[2]
BUILT = "The Marram lighthouse was built in 1874 by the engineer Ida Kell."


def searched(outcome):
    return [e.data["query"] for e in outcome.events if e.kind is Kind.SEARCHED]


def decided(outcome, kind=Kind.APPROVAL):
    return [e.data for e in outcome.events if e.kind is kind and e.data["state"] == "decided"]


# --- approval, with a model ------------------------------------------------------------


async def test_h1_approved_in_every_round(lab):
    """Nothing is searched for that was not on a list that the person saw."""
    seen = set()

    def approve(proposal):
        seen.update(text for query in proposal.queries for text in query.texts)
        return True

    outcome = await lab({}, approver=approve)
    outcome.check()
    assert outcome.report.status == "complete"
    assert searched(outcome)
    assert set(searched(outcome)) <= seen
    assert len(decided(outcome)) >= 2


async def test_h1_edited_and_dropped(lab):
    rounds = iter([[QUESTION]])
    outcome = await lab({}, approver=lambda _: next(rounds, []))
    outcome.check()
    assert searched(outcome) == [QUESTION]
    assert outcome.nodes == 1
    assert BUILT in outcome.report.body


async def test_h2_rejected_before_anything_was_searched_for(lab):
    """It costs the brief, and nothing else."""
    outcome = await lab({}, approver=lambda _: False)
    outcome.check()
    usage = outcome.report.usage
    assert (outcome.report.status, outcome.report.stop_reason) == ("cancelled", "rejected")
    assert (usage.llm_calls, usage.searches, usage.pages) == (1, 0, 0)


async def test_h2_rejected_later_keeps_what_is_there(lab):
    answers = iter([True, False])
    outcome = await lab({}, approver=lambda _: next(answers))
    outcome.check()
    assert (outcome.report.status, outcome.report.stop_reason) == ("cancelled", "rejected")
    assert BUILT in outcome.learned
    assert outcome.endpoint.count("section") == 0, "what is rejected spends nothing more"


@pytest.mark.parametrize(
    ("policy", "status", "reason"),
    [
        ("approve", "complete", None),
        ("stop", "nothing_found", "not_approved"),
        ("reject", "cancelled", "rejected"),
    ],
)
@pytest.mark.parametrize("kind", ["never answers", "blocks", "fails", "says something else"])
async def test_h3_no_answer_follows_the_policy(lab, kind, policy, status, reason):
    free = threading.Event()

    async def waits(_proposal):
        await asyncio.Event().wait()

    def fails(_proposal):
        raise RuntimeError("the form is broken")

    hooks = {"never answers": waits, "blocks": lambda _: free.wait(5), "fails": fails}
    outcome = await lab(
        {},
        approver=hooks.get(kind, lambda _: "not enough cost data"),
        **{"approval.seconds": 0.02, "approval.unanswered": policy},
    )
    free.set()
    outcome.check()
    assert outcome.report.status == status
    assert reason in (None, outcome.report.stop_reason)
    assert {d["unanswered"] for d in decided(outcome)} == {policy}
    assert any(f"approval.unanswered holds: {policy}" in text for text in outcome.warnings)


async def test_the_time_for_the_run_goes_on_meanwhile(lab):
    async def waits(_proposal):
        await asyncio.Event().wait()

    outcome = await lab({}, approver=waits, **{"budget.seconds": 0.2})
    assert outcome.report.stop_reason == "deadline"
    assert decided(outcome) == []


# --- clarification ------------------------------------------------------------------------

UNCLEAR = {"need_clarification": True, "questions": ["Which Marram?", "Until when?"]}


def unclear(asked):
    return {**good(asked), **({} if "clarifications" in asked.user else UNCLEAR)}


async def test_what_was_clarified_is_researched(lab):
    outcome = await lab({"brief": unclear}, clarifier=lambda _: {"Which Marram?": "the rock\x07"})
    outcome.check()
    first, second = [a for a in outcome.endpoint.asked if a.step == "brief"]
    assert "the rock" not in first.user
    assert "Which Marram? — the rock" in second.user
    assert "Until when?" not in second.user, "what stays open is not made up"
    (told,) = decided(outcome, Kind.CLARIFICATION)
    assert told["answers"] == ["the rock", ""]


@pytest.mark.parametrize("kind", ["nobody", "nothing said", "fails", "means nothing", "is late"])
async def test_without_answers_the_question_stands_as_it_is(lab, kind):
    async def waits(_questions):
        await asyncio.Event().wait()

    def fails(_questions):
        raise KeyError("gone")

    clarifier = {"nothing said": lambda _: None, "fails": fails, "is late": waits}.get(
        kind, lambda _: 42
    )
    outcome = await lab(
        {"brief": unclear},
        clarifier=None if kind == "nobody" else clarifier,
        **{"approval.seconds": 0.02},
    )
    outcome.check()
    assert outcome.report.status == "complete"
    assert outcome.endpoint.count("brief") == 1
    assert BUILT in outcome.report.body


async def test_as_many_questions_as_are_set(lab):
    asked = []
    await lab({"brief": unclear}, clarifier=asked.append, **{"supervisor.clarify": 1})
    await lab(
        {"brief": unclear},
        clarifier=asked.append,
        **{"supervisor.clarify": 0, "report.folder": "other"},
    )
    assert asked == [["Which Marram?"]]


# --- on a terminal, and behind a pipe --------------------------------------------------------


@pytest.fixture
def docs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for name, text in COAST.items():
        (tmp_path / "docs" / name).write_text(text)
    return tmp_path


def command(*arguments):
    words = ["run", QUESTION, "--docs", "docs", "-o", "run", "--depth", "1", *arguments]
    kept = {"PATH": os.environ["PATH"], "HOME": str(Path.cwd() / "home"), "PYTHONPATH": str(ROOT)}
    return {
        "args": [sys.executable, "-m", "deep_research", *words],
        "env": {**kept, "TERM": "xterm"},
    }


@pytest.mark.usefixtures("docs")
class TestPipe:
    def call(self, text, *arguments):
        done = subprocess.run(
            **command("--approve", *arguments),
            input=text.encode(),
            capture_output=True,
            check=False,
            timeout=30,
        )
        assert b"Traceback" not in done.stderr
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_line_by_line(self):
        code, out, err = self.call("ok?\napprove\n" + "y\n" * 20, "-q")
        assert code == 0
        assert BUILT in out
        assert "> ok?\n'ok?' is not one of them; what counts: approve, drop N ..., edit" in err

    @pytest.mark.parametrize("word", ["r", "reject"])
    def test_rejected(self, word):
        code, out, _ = self.call(f"{word}\n", "-q")
        assert code == 130
        assert BUILT not in out
        assert json.loads(Path("run/report.json").read_text())["stop_reason"] == "rejected"

    @pytest.mark.parametrize("text", ["", "not enough cost data", "yes please\n", "drop 9\n"])
    def test_nothing_explicit_is_no_answer(self, text):
        code, out, err = self.call(text)
        assert code == 4
        assert BUILT not in out
        assert "approve: no answer, so approval.unanswered holds: stop" in err

    def test_events_stay_on_standard_output(self):
        code, out, err = self.call("y\n" * 20, "--json")
        assert code == 0
        kinds = [json.loads(line)["kind"] for line in out.splitlines()]
        assert kinds.count("approval") >= 2
        assert "To be searched for" in err


@pytest.mark.usefixtures("docs")
class TestPty:
    """The command with a terminal for standard input and standard error."""

    def talk(self, answers, *arguments):
        """(exit code, what the terminal got); each prompt gets the next answer."""
        ours, theirs = pty.openpty()
        with Path("out").open("wb") as out:
            process = subprocess.Popen(
                **command("--approve", *arguments),
                stdin=theirs,
                stderr=theirs,
                stdout=out,
                start_new_session=True,
                preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # noqa: PLW1509 - makes it the terminal of its session
            )
        os.close(theirs)
        got, seen, end = b"", 0, time.monotonic() + 30
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            assert time.monotonic() < end, got
            if not select.select([ours], [], [], 0.02)[0]:
                continue
            try:
                got += os.read(ours, 65536)
            except OSError:
                break
            if got[seen:].endswith(b"\n> ") and answers:
                seen = len(got)
                os.write(ours, answers.pop(0))
        os.close(ours)
        assert b"Traceback" not in got
        return process.wait(10), got.decode().replace("\r\n", "\n")

    def test_what_a_person_sees(self):
        code, shown = self.talk([b"sure\n", b"approve\n", *([b"y\n"] * 20)])
        assert code == 0
        question, _, rest = shown.partition("> sure\n")
        assert "\nTo be searched for: a first look\n  1  Who built the Marram" in question
        assert question.endswith("help (no answer: stop)\n")
        assert rest.startswith("'sure' is not one of them; what counts: approve,")
        assert "approved 1 query" in rest or "approved 2 queries" in rest
        assert "complete" in rest
        assert "\x1b[J" in rest, "the tree comes back after the question"

    @pytest.mark.parametrize(
        ("keys", "code", "says"),
        [
            (b"\x04", 4, "approve: no answer, so approval.unanswered holds: stop"),
            (b"\x03", 130, "stopping: the report is written from what is there"),
        ],
        ids=["ctrl-d", "ctrl-c"],
    )
    def test_keys_that_end(self, keys, code, says):
        got, shown = self.talk([keys])
        assert got == code
        assert says in shown

    def test_nobody_comes(self):
        code, shown = self.talk([], "--set", "approval.seconds=0.3")
        assert code == 4
        assert "(within 0.3 s; no answer: stop)" in shown
        assert "approve: no answer within 0.3 s, so approval.unanswered holds: stop" in shown
