"""What the supervisor makes of a node and of a settled tree: delegate, queue, or stop and say why."""

import pytest

from deep_research.core.errors import (
    AuthFailed,
    BudgetExceeded,
    ContextTooLong,
    ProviderUnavailable,
)
from deep_research.core.model import (
    Brief,
    Failure,
    Findings,
    Learning,
    Query,
    ResearchNode,
    Shape,
)
from deep_research.core.ports import Lead
from deep_research.core.seams import Case, Review, Scope
from deep_research.steps.brief import Briefer
from deep_research.steps.supervise import SupervisorPlanner
from deep_research.testing import Calls, Reply

QUESTION = "What is the Orla dam, and what does it depend on?"
BRIEF = Brief(
    QUESTION,
    "The dam itself.",
    outline=("History", "Turbines"),
    acceptance=("who built the dam",),
    leads=("The dam was sold in 1999.",),
)
HIGH = "The Orla dam is 87 metres high."
ASKS = ("Who were the Brand works?", "What is the Kessel foundry?", "Where is the Torn mine?")
GARBLED = ("Well, well.", "Hm.", "Well.")
"""In the conversation, and twice as a schema."""


def supervisor(desk):
    return SupervisorPlanner(desk, desk.emit, desk.count, Briefer(desk))


@pytest.fixture
def node(learned):
    """Make a node that has learned how high the dam is, with these follow-ups."""

    def make(*follow_ups, path=(), learnings=None, news=1.0, **more):
        known = (learned(HIGH),) if learnings is None else learnings
        found = Findings(known, tuple(Query(f, f) for f in follow_ups))
        return ResearchNode(Query("Orla dam", QUESTION), path, findings=found, news=news, **more)

    return make


def tasks(*topics, end=None):
    calls = [("ConductResearch", {"topic": topic, "goal": [f"all on {topic}"]}) for topic in topics]
    return Calls(*([("ResearchComplete", end)] if end else []), *calls)


def texts(decision):
    return [q.texts for q in decision.delegate]


def queued(decision):
    return [text for q in decision.queued for text in q.texts]


async def decided(desk, node, shape=None, brief=BRIEF):
    return await supervisor(desk).decide(node, brief, shape or Shape(4, 2), Scope())


# --- at the root -----------------------------------------------------------------------------------------------------


async def test_the_model_is_told_all_that_counts(outside, node):
    desk = outside(tasks("Brand works"))
    there = node(ASKS[0], mishaps=(Failure("timeout", "dam.example did not answer"),))
    await decided(desk, there)
    for words in (
        QUESTION,
        "The dam itself.",
        "<acceptance>\n- who built the dam",
        "<leads_to_verify>\n- The dam was sold in 1999.",
        f"<findings>\n- {HIGH}",
        "<failed>\n- dam.example did not answer",
        "- already asked: Orla dam",
        f"<open_questions>\n- {ASKS[0]}",
        "Maximum of 4 parallel tasks.",
    ):
        assert words in desk.user


async def test_what_it_delegates_is_done_and_what_it_leaves_is_queued(outside, node):
    decision = await decided(outside(tasks("Brand works", "Torn mine")), node(ASKS[1]))
    assert texts(decision) == [("Brand works", "Torn mine")]
    assert decision.delegate[0].goal == "all on Brand works all on Torn mine"
    assert queued(decision) == [ASKS[1]]
    assert decision.stop == ""


async def test_what_the_breadth_leaves_over_is_queued_and_nothing_is_lost(outside, node):
    """O3, M27: twenty delegations, four places."""
    topics = [f"Orla gate {n}" for n in range(20)]
    decision = await decided(outside(tasks(*topics)), node(), Shape(2, 2, per_branch=2))
    done = [text for branch in texts(decision) for text in branch]
    assert len(texts(decision)) == 2
    assert len(done) == 4
    assert sorted(done + queued(decision)) == sorted(topics)


async def test_delegate_with_complete_means_delegate_first(outside, node):
    """O6."""
    end = {"why": "answered", "reason": "One thing more."}
    decision = await decided(outside(tasks("Torn mine", end=end)), node(ASKS[0]))
    assert texts(decision) == [("Torn mine",)]
    assert (decision.stop, decision.reason) == ("", "One thing more.")


async def test_the_same_topic_is_researched_once(outside, node):
    """M27: also in other words, and not at all if it was asked before."""
    said = ("Torn mine", "torn  MINE", "the Torn mine", "Orla dam")
    assert texts(await decided(outside(tasks(*said)), node())) == [("Torn mine",)]


async def test_the_end_holds_where_there_is_evidence(outside, node):
    said = Calls(("ResearchComplete", {"why": "off_topic", "reason": "r"}))
    decision = await decided(outside(said), node(*ASKS))
    assert (decision.delegate, decision.stop, decision.reason) == ((), "off_topic", "r")
    assert queued(decision) == list(ASKS)


@pytest.mark.parametrize("learnings", [(), (Learning("It is high."),)], ids=["none", "uncitable"])
async def test_without_evidence_the_end_is_not_the_end(outside, node, learnings):
    said = Calls(("ResearchComplete", {"why": "answered"}))
    decision = await decided(outside(said), node(ASKS[0], learnings=learnings))
    assert texts(decision) == [(ASKS[0],)]


@pytest.mark.parametrize(
    "said",
    [GARBLED, ("Well.", '{"delegate": []}'), (tasks("Orla dam"),), (ContextTooLong("too long"),)],
    ids=["garbled", "M27-nothing", "asked-already", "too-long"],
)
async def test_without_a_decision_the_open_questions_are_asked(outside, node, said):
    decision = await decided(outside(*said), node(*ASKS[:2]))
    assert texts(decision) == [ASKS[:2]]


@pytest.mark.parametrize("said", [GARBLED, (ProviderUnavailable("down"),)], ids=["garbled", "down"])
async def test_without_decision_and_questions_the_outline_has_to_do(outside, node, said):
    desk = outside(*said)
    decision = await decided(desk, node())
    assert texts(decision) == [(f"{QUESTION} History", f"{QUESTION} Turbines")]
    (warning,) = desk.warnings
    assert "no decision" in warning
    assert f"<question>\n{QUESTION}" in desk.prompts[0].user


async def test_where_nothing_at_all_is_open_it_stops(outside, node):
    decision = await decided(outside(*GARBLED), node(), brief=Brief(QUESTION))
    assert (decision.delegate, decision.stop) == ((), "no_follow_ups")


@pytest.mark.parametrize("error", [AuthFailed("no key"), BudgetExceeded("calls", wanted=1, left=0)])
async def test_what_ends_a_run_is_not_covered_up(outside, node, error):
    with pytest.raises(type(error)):
        await decided(outside(error), node(ASKS[0]))


# --- where nobody has to be asked ------------------------------------------------------------------------------------


LOOKUP = Brief("How high is the Orla dam?", lookup=True)


async def test_one_fact_that_is_found_is_enough(outside, node):
    decision = await decided(outside(), node(*ASKS), brief=LOOKUP)
    assert (decision.delegate, decision.stop) == ((), "answered")
    assert queued(decision) == list(ASKS)


async def test_one_fact_that_is_not_found_is_researched(outside, node, learned):
    there = node(ASKS[0], learnings=(learned("The Orla dam was built by the Brand works."),))
    assert texts(await decided(outside(tasks("Orla dam height")), there, brief=LOOKUP))


async def test_at_the_last_level_what_is_open_is_queued(outside, node):
    decision = await decided(outside(), node(*ASKS, path=(0,)), Shape(4, 0))
    assert (decision.delegate, decision.stop) == ((), "depth")
    assert queued(decision) == list(ASKS)


async def test_two_results_without_news_end_a_branch(outside, node):
    decision = await decided(outside(), node(*ASKS, path=(0, 1), news=0.0, dry=2))
    assert (decision.delegate, decision.stop) == ((), "no_gain")
    assert queued(decision) == list(ASKS)
    assert {q.gain for q in decision.queued} == {0.0}


async def test_below_the_root_what_names_something_new_is_asked_and_the_rest_queued(outside, node):
    there = node(ASKS[0], "How high is the Orla dam?", path=(0,), news=0.4)
    decision = await decided(outside(), there, Shape(2, 1))
    assert texts(decision) == [(ASKS[0],)]
    assert queued(decision) == ["How high is the Orla dam?"]
    assert decision.delegate[0].gain == 0.4


@pytest.mark.parametrize(("news", "stop"), [(0.5, "answered"), (0.0, "saturated")])
async def test_below_the_root_nothing_new_to_ask_is_the_end(outside, node, news, stop):
    decision = await decided(
        outside(), node("How high is the Orla dam?", path=(0,), news=news), Shape(2, 1)
    )
    assert (decision.delegate, decision.stop) == ((), stop)
    assert queued(decision) == ["How high is the Orla dam?"]


MANY = ("Who is Ada Kern?", "Who is Ben Holt?", "Who is Cleo Marsh?", "Who is Dag Brun?")


async def test_below_the_root_the_model_is_asked_where_much_is_at_stake(outside, node):
    desk = outside(tasks("Cleo Marsh"))
    decision = await decided(desk, node(*MANY, path=(0,)), Shape(3, 2))
    assert texts(decision) == [("Cleo Marsh",)]
    assert queued(decision) == [*MANY[:2], MANY[3]]


async def test_below_the_root_little_at_stake_is_no_call(outside, node):
    decision = await decided(outside(), node(*MANY, path=(0,)), Shape(3, 1))
    assert sorted(t for b in texts(decision) for t in b) == sorted(MANY)


# --- between the rounds ----------------------------------------------------------------------------------------------


@pytest.fixture
def case(bank):
    """Make the case of a tree that asked for the dam and for the mine, and failed to find this."""

    def make(**more):
        root = ResearchNode(Query("Orla dam", QUESTION))
        root.branch((Query("Torn mine", "who owns it"),))
        return Case(root, bank(HIGH), 1, 5, **more)

    return make


async def turned(desk, case, review=None, shape=None):
    review = Review(research=True) if review is None else review
    return await supervisor(desk).decide_turn(case, review, BRIEF, shape or Shape(2, 1), Scope())


async def test_the_model_is_told_what_the_critic_found_and_what_failed(outside, case):
    desk = outside(tasks("Kessel foundry"))
    await turned(
        desk,
        case(
            due=(Query("Brand works", "Which of the two holds?"),),
            queued=(Query("Lund", "Where is Lund?"), Query("Torn mine", "again")),
            failures=("Torn mine: timeout: no answer",),
        ),
        Review(research=True, queries=(Query("cost", "What did it cost?"),), gaps=("the cost",)),
    )
    user = desk.user
    for words in (
        f"<findings>\n- {HIGH}",
        "<missing>\n- the cost",
        "<failed>\n- Torn mine: timeout: no answer",
        "- already asked: Orla dam\n- already asked: Torn mine",
        "<open_questions>\n- Which of the two holds?\n- What did it cost?\n- Where is Lund?\n</",
        "<leads_to_verify>\n- The dam was sold in 1999.",
        "Maximum of 2 parallel tasks.",
    ):
        assert words in user


async def test_what_is_due_goes_first_whatever_the_model_wants(outside, case):
    due = (Query("Torn mine", "who owns it"),)
    decision = await turned(outside(tasks("Kessel foundry", "torn mine")), case(due=due))
    assert texts(decision) == [("Torn mine", "Kessel foundry")], "asked again, for it is due; once"
    ended = Calls(("ResearchComplete", {"why": "answered"}))
    assert texts(await turned(outside(ended), case(due=due))) == [("Torn mine",)]


async def test_it_may_end_and_what_is_open_stays_queued(outside, case):
    ended = Calls(("ResearchComplete", {"why": "no_gain", "reason": "Enough."}))
    decision = await turned(outside(ended), case(queued=(Query("Lund", "Where is Lund?"),)))
    assert (decision.delegate, decision.stop, decision.reason) == ((), "no_gain", "Enough.")
    assert queued(decision) == ["Lund"]


async def test_what_was_asked_is_not_asked_again(outside, case):
    decision = await turned(outside(tasks("Torn mine", "the Orla dam")), case())
    assert (decision.delegate, decision.stop) == ((), "saturated")


async def test_a_task_in_old_words_is_put_as_the_open_question_about_the_same_thing(outside, case):
    """Other words may find other pages; each question is put once."""
    there = case(queued=(Query("Torn mine owners in 1999", "Who?"), Query("Lund", "Where?")))
    decision = await turned(outside(tasks("Torn mine", "Torn mine", "Orla dam")), there)
    assert texts(decision) == [("Torn mine owners in 1999",)]


async def test_a_garbled_decision_leads_to_the_report(outside, case):
    """M27: where there is evidence. What the findings call for is done all the same."""
    decision = await turned(outside(*GARBLED), case(queued=(Query("Lund"),)))
    assert (decision.delegate, decision.stop) == ((), "saturated")
    assert decision.reason == "no decision that can be understood"
    due = (Query("Torn mine"),)
    assert texts(await turned(outside(*GARBLED), case(due=due))) == [("Torn mine",)]


async def test_the_breadth_holds_between_the_rounds_too(outside, case):
    topics = [f"Orla gate {n}" for n in range(9)]
    decision = await turned(outside(tasks(*topics)), case(), shape=Shape(2, 1, per_branch=3))
    done = [text for branch in texts(decision) for text in branch]
    assert [len(b) for b in texts(decision)] == [3, 3]
    assert sorted(done + queued(decision)) == sorted(topics)


async def test_no_more_open_questions_are_shown_than_can_be_weighed(outside, case):
    desk = outside(Calls(("ResearchComplete", {})))
    await turned(
        desk, case(queued=tuple(Query(f"Lund {n}", f"What of Lund {n}?") for n in range(60)))
    )
    assert desk.user.count("What of Lund") == 24


# --- the brief -------------------------------------------------------------------------------------------------------


async def test_it_makes_the_brief_with_leads_and_whoever_can_answer(outside):
    desk = outside(Reply({"scope": "s", "queries": ["Orla dam"]}, step="brief"))

    async def nobody(questions):
        raise AssertionError(questions)

    leads = [Lead("The dam was sold in 1999.")]
    brief = await supervisor(desk).brief(QUESTION, Scope(), nobody, leads)
    assert brief.queries == ("Orla dam", QUESTION)
    assert brief.leads == ("The dam was sold in 1999.",)
