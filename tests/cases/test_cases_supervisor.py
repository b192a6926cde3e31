"""The supervisor in whole runs: whatever it, its critic, its branches or a person say, a true report comes out."""

import asyncio
import json

import pytest

from deep_research.core.events import Kind
from deep_research.runtime.memory.store import SqliteMemory
from deep_research.testing import Calls, FakePage

from .conftest import COAST, KELL, QUESTION, called

BUILT = "built in 1874 by the engineer Ida Kell"
PEOPLE = {
    "vold.md": "# Sten Vold\n\nSten Vold carried salt to Vik in 1822 and lost 3 ships.\n",
    "hald.md": "# Mette Hald\n\nMette Hald kept the weather log of Vik for 27 years.\n",
    "prior.md": "# Ansel Prior\n\nAnsel Prior ground 40 lenses in Lund before 1880.\n",
    "dahl.md": "# Gro Dahl\n\nGro Dahl painted 19 pictures of the Hvit cliffs.\n",
    "ruud.md": "# Per Ruud\n\nPer Ruud tuned the organ of Nes in 1911.\n",
}
SAID = {
    "Sten Vold": "lost 3 ships",
    "Mette Hald": "for 27 years",
    "Ansel Prior": "ground 40 lenses",
    "Gro Dahl": "painted 19 pictures",
    "Per Ruud": "tuned the organ",
}
"""What is only learned by whoever asks for the person."""
ALONE = {"docs": COAST | PEOPLE, "tree.queries_per_branch": 1}
"""One text for each branch, so that every task is a branch of its own."""
END = ("ResearchComplete", {"why": "answered", "reason": "All is known."})
DONE = Calls(END)
THINK = ("think", {"reflection": "SECRET THOUGHT about what is open."})


def tasks(*topics):
    return Calls(*(("ConductResearch", {"topic": t, "goal": [f"what {t} did"]}) for t in topics))


def wants(*gaps, **more):
    """A critic who wants to know this."""

    def review(asked):
        sections = [{"title": "The builder", "evidence": [n for n, _ in asked.lines]}]
        verdict = "research" if gaps else "report"
        return {"gaps": list(gaps), "sections": sections, "verdict": verdict, **more}

    return review


def texts(done):
    """Everything that was searched for below the root, by branch."""
    return [list(child.query.texts) for child in done.report.tree.children]


def prompts(done, step):
    return [a for a in done.endpoint.asked if a.step == step]


def assert_paired(done):
    """Every call in a conversation has its result, next and once: providers refuse others."""
    for asked in done.endpoint.asked:
        open_ = []
        for message in asked.body["messages"]:
            if message["role"] == "tool":
                open_.remove(message["tool_call_id"])
            else:
                assert open_ == []
            open_ += [c["id"] for c in message.get("tool_calls") or ()]
        assert open_ == []


# --- the three paths -------------------------------------------------------------------------------------------------


async def test_the_critic_sends_back_for_rework(lab):
    done = await lab(
        {
            "decide": [tasks("Mette Hald"), tasks("Sten Vold")],
            "review": [wants("How many ships did Sten Vold lose?", reason="Ships."), None],
        },
        **ALONE,
    )
    done.check()
    assert (done.report.status, done.report.stop_reason) == ("complete", "answered")
    assert texts(done) == [["Mette Hald"], ["Sten Vold"]]
    first, second = done.report.rounds
    assert (first.verdict, first.gaps, first.delegated) == (
        "research",
        ("How many ships did Sten Vold lose?",),
        ("Sten Vold",),
    )
    assert (second.verdict, second.stop) == ("report", "answered")
    assert second.news > 0
    assert "lost 3 ships" in done.report.body
    assert "How many ships" in prompts(done, "decide")[1].block("missing")
    assert [e.data["turn"] for e in done.events if e.kind is Kind.REVIEWED] == [1, 2]
    assert "How many ships did Sten Vold lose?" not in done.report.gaps, "it was closed"


async def test_exhausted_turns_end_in_an_honest_report(lab):
    """M28, T2: critic and supervisor that never have enough: the turns end it, the gaps are told."""
    names = iter(SAID)
    done = await lab(
        {
            "decide": lambda _: tasks(next(names)),
            "review": wants("What became of the Marram bell?"),
        },
        **ALONE,
        **{"supervisor.turns": 3},
    )
    done.check()
    assert (done.report.status, done.report.stop_reason) == ("complete", "turns")
    assert texts(done) == [["Sten Vold"], ["Mette Hald"], ["Ansel Prior"]]
    assert [r.stop for r in done.report.rounds] == ["", "", "turns"]
    assert done.report.gaps[0] == "What became of the Marram bell?"
    text = (done.folder / "report.md").read_text("utf-8")
    assert text.count("What became of the Marram bell?") >= 1
    assert all(SAID[name] in done.report.body for name in ("Sten Vold", "Mette Hald"))


async def test_nothing_new_ends_it_before_the_turns_do(lab):
    """M28: more of the same is not worth a turn."""
    count = iter(range(99))
    done = await lab(
        {
            "decide": lambda _: tasks(f"Marram lighthouse lamp {next(count)}"),
            "review": wants("What became of the Marram bell?"),
        },
        **{"supervisor.turns": 9},
    )
    done.check()
    assert done.report.stop_reason == "no_gain"
    assert len(done.report.rounds) == 2


async def test_a_person_rejects_cancelled_partial_kept_nothing_remembered(lab):
    """T5: and nothing more is asked of the model once it is said."""
    answers = iter([True, True, False])
    proposals = []

    def approve(proposal):
        proposals.append(proposal)
        return next(answers)

    done = await lab(
        {
            "decide": [tasks("Mette Hald"), tasks("Sten Vold")],
            "review": wants("How many ships did Sten Vold lose?"),
        },
        approver=approve,
        **ALONE,
        **{"memory.file": "memory.db"},
    )
    done.check()
    assert (done.report.status, done.report.stop_reason) == ("cancelled", "rejected")
    assert [[q.text for q in p.queries] for p in proposals[1:]] == [["Mette Hald"], ["Sten Vold"]]
    assert texts(done) == [["Mette Hald"]]
    assert BUILT in done.report.body
    assert "for 27 years" in done.report.body
    assert done.endpoint.count("section") == 0
    assert SqliteMemory("memory.db").claims() == []


# --- whatever the supervisor says ------------------------------------------------------------------------------------


ONE, TWO = [["Ida Kell engineer"]], [["Ida Kell engineer", "Torvik school"]]
OUTLINE = [["Who built the Marram lighthouse and when? Builder"]]
"""What is asked where nothing can be understood: the headings of the brief."""
TASKS = [("ConductResearch", KELL), ("ConductResearch", {"topic": "Torvik school"})]
TEXT = '{"delegate": [{"topic": "Ida Kell engineer", "goal": ["who"]}], "complete": false}'


def raw(message, finish="tool_calls"):
    return FakePage({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


DECISIONS = {
    "M24-other-keys": ('{"server": "Agent", "agent_role": "You are"}', OUTLINE),
    "M24-empty-list": ("[]", OUTLINE),
    "M25-null": (raw({"role": "assistant", "content": None}), OUTLINE),
    "M25-null-word": ("null", OUTLINE),
    "M26-O10-other-argument": (
        Calls(("ConductResearch", {"research_topic": "Ida Kell engineer"})),
        ONE,
    ),
    "M26-unknown-argument": (Calls(("ConductResearch", {"thema": "Ida Kell engineer"})), ONE),
    "M26-no-argument": ([Calls(("ConductResearch", {})), Calls(*TASKS[:1])], ONE),
    "M26-no-argument-for-ever": (Calls(("ConductResearch", {})), OUTLINE),
    "M26-bare-text": (Calls(("ConductResearch", '"Ida Kell engineer"')), ONE),
    "M26-O7-cut": ([Calls(("ConductResearch", '{"topic": ')), Calls(*TASKS[:1])], ONE),
    "M26-O7-cut-for-ever": (Calls(("ConductResearch", '{"topic": ')), OUTLINE),
    "M26-trailing-comma": (Calls(("ConductResearch", '{"topic": "Ida Kell engineer",}')), ONE),
    "M26-empty-arguments": ([Calls(("ConductResearch", "")), Calls(*TASKS[:1])], ONE),
    "M26-O8-unknown-tool": ([Calls(("tavily_search", {"query": "x"})), Calls(*TASKS[:1])], ONE),
    "M26-O8-unknown-for-ever": (Calls(("tavily_search", {"query": "x"})), OUTLINE),
    "M26-unknown-beside": (Calls(("tavily_search", {"query": "x"}), *TASKS[:1]), ONE),
    "M26-prefixed": (Calls(("functions.ConductResearch", KELL)), ONE),
    "M26-cases": (Calls(("conduct_research", KELL)), ONE),
    "M26-no-ids": (
        raw(
            {
                "content": None,
                "tool_calls": [
                    {"function": {"name": "ConductResearch", "arguments": json.dumps(KELL)}}
                ],
            }
        ),
        ONE,
    ),
    "M27-unknown-action": ('{"action": "launch", "next_agent": "pirate"}', OUTLINE),
    "M27-O6-complete-first": (Calls(END, *TASKS), TWO),
    "M27-O6-complete-last": (Calls(*TASKS, END), TWO),
    "M27-complete-in-text": (
        '{"delegate": ["Ida Kell engineer"], "complete": true, "why": "answered"}',
        ONE,
    ),
    "M27-complete": (DONE, []),
    "M27-empty-list": ('{"delegate": [], "complete": false}', OUTLINE),
    "M27-same-twice": (
        Calls(*TASKS[:1], ("ConductResearch", {"topic": "ida kell  ENGINEER"})),
        ONE,
    ),
    "M27-own-question": (Calls(("ConductResearch", {"topic": QUESTION})), OUTLINE),
    "M27-twenty": (tasks(*(f"Torvik school {n}" for n in range(20))), None),
    "M27-two": (Calls(*TASKS), TWO),
    "M28-thinks-for-ever": (Calls(THINK), OUTLINE),
    "M28-O9-thinks-oddly": ([Calls(("think", {"gedanke": "Hm."})), Calls(*TASKS[:1])], ONE),
    "M28-O9-thinks-nothing": ([Calls(("think", {})), Calls(*TASKS[:1])], ONE),
    "M28-thinks-and-does": (Calls(THINK, *TASKS[:1]), ONE),
    "prose": ("I would look for Ida Kell next.", OUTLINE),
    "prose-then-schema": (["I would look for Ida Kell next.", TEXT], ONE),
    "refusal": ("I can't help with that.", OUTLINE),
    "text": (TEXT, ONE),
    "text-fenced": (f"Well:\n```json\n{TEXT}\n```", ONE),
    "text-thought-first": (f"<think>either [1] or {{}}</think>{TEXT}", ONE),
    "text-tasks-as-words": ('{"tasks": ["Ida Kell engineer"]}', ONE),
    "text-call": (json.dumps({"name": "ConductResearch", "arguments": KELL}), ONE),
    "text-react": (f"Action: ConductResearch\nAction Input: {json.dumps(KELL)}", ONE),
    "text-tag": (
        f"<tool_call>{json.dumps({'name': 'ConductResearch', 'arguments': KELL})}</tool_call>",
        ONE,
    ),
    "control-characters": (Calls(("ConductResearch", {"topic": "Ida Kell\u0000 \nengineer"})), ONE),
    "long": (Calls(("ConductResearch", {"topic": "Ida Kell " + "x" * 100_000})), None),
    "deep": (Calls(("ConductResearch", "[" * 5000)), OUTLINE),
    "prompt-back": (lambda asked: asked.user, None),
    "error-500": (FakePage({"error": {"message": "boom"}}, 500), OUTLINE),
    "overflow": (
        FakePage({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400),
        OUTLINE,
    ),
    "no-tools": (
        lambda asked: (
            FakePage({"error": {"message": "tools are not supported"}}, 400)
            if asked.tools
            else TEXT
        ),
        ONE,
    ),
}


@pytest.mark.parametrize(("said", "asked"), DECISIONS.values(), ids=DECISIONS)
async def test_a_decision(lab, said, asked):
    """Tasks are done as they are meant, else what is open is looked into; the report comes out."""
    done = await lab({"decide": said})
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert BUILT in done.report.body
    assert_paired(done)
    if asked is not None:
        assert texts(done) == asked
    flat = [t.casefold() for branch in texts(done) for t in branch]
    assert len(flat) == len(set(flat)), "nothing is asked twice"
    assert all(len(t) <= 300 for t in flat)
    if said is not DONE and not isinstance(said, FakePage):
        assert done.endpoint.count("decide") <= 5 * len(done.report.rounds or (0,)) + 5


REVIEWS = {
    "empty": "",
    "null": "null",
    "M24-other": '{"server": "Agent"}',
    "M25-null": raw({"role": "assistant", "content": None}, "stop"),
    "prose": "The findings look fine to me.",
    "odd-verdict": '{"gaps": [], "verdict": "perhaps", "sections": []}',
    "gaps-string": '{"gaps": "Who was Olaf Brun?", "verdict": "research"}',
    "gaps-objects": '{"gaps": [{"question": "Who was Olaf Brun?"}, null, 3], "verdict": "research"}',
    "gaps-none": '{"gaps": ["None", "N/A"], "verdict": "report"}',
    "gaps-many": json.dumps(
        {"gaps": [f"What of rock {n}?" for n in range(90)], "verdict": "research"}
    ),
    "conflict-words": '{"conflicts": ["1874 or 1875?"], "verdict": "research"}',
    "conflict-far": '{"conflicts": [{"query": "Which year?", "evidence": [77, 78]}]}',
    "prompt-back": lambda asked: asked.user,
    "error-500": FakePage({"error": {"message": "boom"}}, 500),
    "O12-overflow": FakePage(
        {"error": {"message": "too long", "code": "context_length_exceeded"}}, 400
    ),
    "calls": Calls(("ConductResearch", KELL), text="x"),
}


@pytest.mark.parametrize("said", REVIEWS.values(), ids=REVIEWS)
async def test_a_review(lab, said):
    """T4: a critic that is of no use costs nobody the report."""
    done = await lab({"review": said})
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert BUILT in done.report.body
    assert len(done.report.rounds) <= 5
    assert all("127.0.0.1" not in gap and "{" not in gap for gap in done.report.gaps)


async def test_everything_that_leads_is_broken(lab):
    """O12: brief, decisions and reviews of nothing: the findings still come out, and why."""
    bad = FakePage({"error": {"message": "boom"}}, 500)
    done = await lab({"brief": bad, "decide": bad, "review": bad})
    done.check()
    assert done.report.status == "complete"
    assert BUILT in done.report.body
    told = " ".join(done.warnings)
    assert "no brief" in told
    assert "no decision" in told
    assert "no review" in told


async def test_o3_more_tasks_than_places_are_queued_and_all_are_done(lab):
    """Five tasks, two places: none is refused, none is lost, in the order of the supervisor."""

    def decide(asked):
        if "Sten Vold" not in asked.block("reminder"):
            return tasks(*SAID)
        open_ = [name for name in SAID if name in asked.block("open_questions")]
        return tasks(*open_) if open_ else DONE

    done = await lab({"decide": decide}, breadth=2, **ALONE)
    done.check()
    assert texts(done) == [[name] for name in SAID]
    assert all(words in done.report.body for words in SAID.values())
    assert [len(r.delegated) for r in done.report.rounds] == [2, 1, 0]
    refused = [t for a in prompts(done, "decide") for t in a.told]
    assert refused == [], "no turn was spent on an error"


async def test_o4_thoughts_and_complaints_are_no_findings(lab):
    done = await lab({"decide": [Calls(("launch", {}), THINK), Calls(THINK, *TASKS[:1]), DONE]})
    done.check()
    assert [e.kind for e in done.events].count(Kind.THOUGHT) == 2
    for words in ("SECRET", "there is no tool"):
        assert all(words not in x.text for x in done.report.learnings)
        assert words not in (done.folder / "report.md").read_text("utf-8")
        others = [a for a in done.endpoint.asked if a.step != "decide"]
        assert all(words not in json.dumps(a.body) for a in others)


async def test_o5_thinking_costs_no_turn(lab):
    """Two turns, each with two thoughts before it: both delegations are done."""
    done = await lab(
        {
            "decide": [
                Calls(THINK), Calls(THINK), tasks("Mette Hald"),
                Calls(THINK), Calls(THINK), tasks("Sten Vold"),
            ],
            "review": wants("How many ships did Sten Vold lose?"),
        },
        **ALONE,
        **{"supervisor.turns": 2},
    )  # fmt: skip
    done.check()
    assert texts(done) == [["Mette Hald"], ["Sten Vold"]]
    assert done.report.stop_reason == "turns"
    assert done.endpoint.count("decide") == 6


# --- branches that fail ----------------------------------------------------------------------------------------------


def failing(name, fault, times=99):
    """Have learning fail where `name` is asked for, so many times."""
    left = [times]

    def learn(asked):
        if name in asked.block("query") and left[0]:
            left[0] -= 1
            return fault
        return None

    return learn


DOWN = FakePage({"error": {"message": "the reader is down"}}, 500)
FAULTS = {
    "fails": (DOWN, {}, "unavailable"),
    "refuses": (FakePage({"error": {"message": "no such thing"}}, 404), {}, None),
    "times-out": (FakePage(hangs=True), {"models.timeout": 0.2}, "timeout"),
}
THREE = ("Mette Hald", "Sten Vold", "Ansel Prior")


@pytest.mark.parametrize(("fault", "settings", "kind"), FAULTS.values(), ids=FAULTS)
async def test_o1_a_branch_that_fails_costs_its_siblings_nothing(lab, fault, settings, kind):
    """It is named to critic and supervisor, tried once more, and only once; then told in the report."""
    done = await lab(
        {
            "learn": failing("Sten Vold", fault),
            "decide": [tasks(*THREE), DONE],
            "review": wants("What was Vik?"),
        },
        **ALONE,
        **settings,
    )
    done.check()
    assert texts(done) == [["Mette Hald"], ["Sten Vold"], ["Ansel Prior"], ["Sten Vold"]]
    assert [c.status for c in done.report.tree.children] == ["done", "failed", "done", "failed"]
    assert "for 27 years" in done.report.body
    assert "ground 40 lenses" in done.report.body
    assert BUILT in done.report.body, "Z1: what the parent learned is kept"
    assert done.report.status == "complete"
    for step in ("review", "decide"):
        assert "Sten Vold" in prompts(done, step)[-1].block("failed")
    failed = [f for f in done.report.failures if f.path in {(1,), (3,)}]
    assert len(failed) == 2
    assert kind is None or {f.kind for f in failed} == {kind}
    mine = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
    assert not [t for t in mine if "research" in repr(t)], "O2: nobody works on afterwards"


async def test_a_second_try_that_succeeds_counts(lab):
    done = await lab(
        {"learn": failing("Sten Vold", FakePage({"error": {"message": "no"}}, 404), times=1),
         "decide": [tasks(*THREE), DONE]},
        **ALONE,
    )  # fmt: skip
    done.check()
    assert texts(done)[3:] == [["Sten Vold"]]
    assert "lost 3 ships" in done.report.body
    assert done.endpoint.count("decide") == 1, "what is due needs no decision"


async def test_a_branch_that_answers_nonsense_is_quoted_as_it_stands(lab):
    done = await lab(
        {"learn": failing("Sten Vold", "Blub. [{"), "decide": [tasks(*THREE), DONE]}, **ALONE
    )
    done.check()
    assert all(SAID[name] in done.report.body for name in THREE)
    assert [f.kind for f in done.report.failures] == ["bad_answer"]
    assert texts(done) == [[name] for name in THREE]


async def test_all_branches_fail_and_the_parents_findings_stay(lab):
    """Z1."""

    def learn(asked):
        return DOWN if any(name in asked.block("query") for name in THREE) else None

    done = await lab({"learn": learn, "decide": [tasks(*THREE), DONE]}, **ALONE)
    done.check()
    assert BUILT in done.report.body
    assert len(texts(done)) == 6, "each was tried twice"
    assert {c.status for c in done.report.tree.children} == {"failed"}


async def test_o42_two_branches_read_one_page_once(lab):
    done = await lab(
        {"decide": [tasks("Ida Kell Torvik", "Torvik school Ida"), DONE]},
        **{"tree.queries_per_branch": 1},
    )
    done.check()
    read = [e.data["url"] for e in done.events if e.kind is Kind.PAGE_READ]
    assert len(read) == len(set(read))


# --- conflicts -------------------------------------------------------------------------------------------------------


async def test_a_conflict_of_two_branches_gets_a_tie_break(lab):
    docs = {
        "a.md": "# Hvit cliffs\n\nThe Hvit cliffs of Sund are 212 metres high.\n",
        "b.md": "# Nes guide\n\nThe Hvit cliffs of Sund are 240 metres high.\n",
    }
    done = await lab({"decide": [tasks("Hvit cliffs of Sund"), DONE]}, docs=COAST | docs)
    done.check()
    (conflict,) = done.report.conflicts
    assert {conflict.preferred.text[-17:], conflict.other.text[-17:]} == {
        "are 212 metres high."[-17:],
        "are 240 metres high."[-17:],
    }
    assert len(texts(done)) == 2
    tie = done.report.tree.children[1].query
    assert "Hvit cliffs" in tie.text
    assert tie.goal.startswith("Sources disagree: ")
    assert "212" in tie.goal
    assert "240" in tie.goal


async def test_a_conflict_that_only_a_reader_sees_gets_one_too(lab):
    """The plane lands at 2 a.m. in one branch, the tour starts at 5 a.m. in another."""
    docs = {
        "flight.md": "# Flight 7\n\nFlight 7 to Orla lands at 2 a.m. on Sundays.\n",
        "tour.md": "# Sunrise tour\n\nThe sunrise tour of Nes asks guests to be rested for 8 hours.\n",
    }

    def review(asked):
        if len(prompted) > 1:
            return None
        ids = [asked.number("lands at 2 a.m."), asked.number("rested for 8 hours")]
        query = "When does the sunrise tour of Nes leave?"
        return {"conflicts": [{"query": query, "evidence": ids}], "verdict": "report"}

    prompted = []

    def seen(asked):
        prompted.append(asked)
        return review(asked)

    def decide(asked):
        if "Flight 7" not in asked.block("reminder"):
            return tasks("Flight 7", "sunrise tour Nes")
        return tasks("When does the sunrise tour of Nes leave") if len(prompted) == 1 else DONE

    done = await lab(
        {"decide": decide, "review": seen}, docs=COAST | docs, **{"tree.queries_per_branch": 1}
    )
    done.check()
    assert texts(done)[2:] == [["When does the sunrise tour of Nes leave"]]
    first = done.report.rounds[0]
    assert first.verdict == "research"
    assert "lands at 2 a.m." in first.gaps[0]
    assert "rested for 8 hours" in first.gaps[0]


# --- effort and budgets ----------------------------------------------------------------------------------------------


async def test_a_trivial_question_costs_three_calls_and_says_so(lab):
    brief = {"scope": "", "outline": ["Year"], "queries": [], "single_fact": True}
    done = await lab({"brief": brief}, question="When was the Marram lighthouse built?")
    done.check()
    assert (done.report.status, done.report.stop_reason) == ("complete", "answered")
    assert "1874" in done.report.body
    assert done.report.usage.llm_calls <= 3
    assert [a.step for a in done.endpoint.asked] == ["brief", "learn", "section"]
    assert "one search answered it" in (done.folder / "report.md").read_text("utf-8")
    assert texts(done) == []


async def test_a_trivial_question_that_one_search_does_not_answer_is_researched(lab):
    brief = {"scope": "", "outline": ["Range"], "queries": [], "single_fact": True}
    done = await lab(
        {"brief": brief, "decide": [tasks("Sten Vold"), DONE]},
        question="How many ships did the salt merchant of the Marram lighthouse lose?",
        **ALONE,
    )
    done.check()
    assert texts(done) == [["Sten Vold"]]
    assert "one search answered it" not in (done.folder / "report.md").read_text("utf-8")


PRICES = {"models.prices": {"fake-model": [10.0, 30.0]}, "llm": "openai:fake-model"}
BUDGETS = {
    "B1-calls": ({"budget.calls": 5}, lambda u: u.llm_calls <= 5),
    "B1-calls-in-the-rounds": ({"budget.calls": 12}, lambda u: u.llm_calls <= 12),
    "B1-cost": ({"budget.cost": 0.01, **PRICES}, lambda u: u.cost <= 10_000),
    "B1-cost-in-the-rounds": ({"budget.cost": 0.25, **PRICES}, lambda u: u.cost <= 250_000),
    "B1-tokens": (
        {"budget.tokens": 2000},
        lambda u: u.input_tokens + u.output_tokens <= 2000,
    ),
    "B1-pages": ({"budget.pages": 3}, lambda u: u.pages <= 3),
    "B1-searches": ({"budget.searches": 3}, lambda u: u.searches <= 3),
}


@pytest.mark.parametrize(("settings", "within"), BUDGETS.values(), ids=BUDGETS)
async def test_b1_a_budget_holds_for_a_supervisor_that_never_has_enough(lab, settings, within):
    names = iter([*SAID, *(f"Torvik school {n}" for n in range(99))])
    done = await lab(
        {"decide": lambda _: tasks(next(names), next(names)), "review": wants("What was Vik?")},
        **ALONE,
        **settings,
    )
    done.check()
    assert within(done.report.usage), done.report.usage
    assert done.report.status in ("partial", "nothing_found")
    assert done.report.stop_reason == "budget"
    assert done.report.learnings == () or done.report.body


async def test_b1_seconds_end_the_research_and_the_report_is_there(lab):
    done = await lab({"review": FakePage(hangs=True)}, **{"budget.seconds": 1})
    done.check()
    assert (done.report.status, done.report.stop_reason) == ("partial", "deadline")
    assert BUILT in done.report.body
    assert done.report.usage.seconds < 3


# --- people ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "not enough cost data",
        "I know, I know",
        "perhaps",
        "",
        None,
        0,
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
async def test_t1_only_explicit_words_are_an_approval(lab, words):
    done = await lab({}, approver=lambda _: words)
    assert done.report.usage.searches == 0
    assert done.report.status in ("nothing_found", "cancelled")


async def test_t3_one_question_at_a_time_and_each_answer_meets_its_own(lab):
    open_, most, seen = [], [], []

    async def approve(proposal):
        open_.append(proposal.path)
        most.append(len(open_))
        await asyncio.sleep(0.01)
        open_.remove(proposal.path)
        seen.extend(text for q in proposal.queries for text in q.texts)
        return True

    done = await lab(
        {"learn": lambda a: {
            "learnings": [{"text": t, "evidence": [n]} for n, t in a.lines],
            "follow_ups": [f"Who was {name}?" for name in SAID],
        }, "decide": [tasks("Ida Kell", "Torvik school"), DONE]},
        approver=approve, depth=2, **ALONE,
    )  # fmt: skip
    done.check()
    assert set(most) == {1}
    searched = {e.data["query"] for e in done.events if e.kind is Kind.SEARCHED}
    assert searched == set(seen)


async def test_a_clarification_reaches_brief_and_supervisor(lab):
    ask = {"need_clarification": True, "questions": ["Which Marram?"], "queries": [QUESTION]}
    done = await lab(
        {"brief": [ask, None]}, clarifier=lambda questions: ["The one on the northern coast."]
    )
    done.check()
    told = "Which Marram? — The one on the northern coast."
    assert told in prompts(done, "brief")[1].user
    for step in ("decide", "review", "section"):
        assert told in prompts(done, step)[0].user
    assert done.report.question == QUESTION


def test_the_double_says_nothing_where_no_tools_are():
    """A model cannot call what it was not given."""
    assert called(DONE, tools=False)["choices"][0]["message"]["content"] == ""
