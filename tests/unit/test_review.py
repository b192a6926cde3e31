"""The critic: what is missing, what cannot both hold, and in which order it is told."""

import pytest

from deep_research.core.errors import BadAnswer, ContextTooLong
from deep_research.core.model import Brief, Query, ResearchNode
from deep_research.core.seams import Case, Scope
from deep_research.steps.review import ModelCritic

QUESTION = "How do guests get to the sunrise tour?"
BRIEF = Brief(
    QUESTION,
    "Arrival and tour.",
    outline=("Arrival", "Tour"),
    acceptance=("when the flight lands",),
    leads=("The tour was moved in 1999.",),
)
LANDS = "The flight to Orla lands at 2 a.m."
LEAVES = "The sunrise tour leaves Orla at 5 a.m. on the day of the flight."
NIGHT = "Guests need 7 hours of sleep at Orla."


def case(bank, **more):
    return Case(ResearchNode(Query("Orla", QUESTION)), bank, **more)


async def reviewed(desk, there):
    return await ModelCritic(desk, desk.count).review(there, BRIEF, Scope())


async def test_it_sees_everything_there_is_to_judge_by(outside, bank, learned):
    twice = learned(LANDS)
    more = learned(LANDS, url="https://b.example/").evidence
    desk = outside({"verdict": "report"})
    there = bank(type(twice)(LANDS, (*twice.evidence, *more)), LEAVES)
    await reviewed(
        desk,
        case(
            there,
            failures=("Torn mine: timeout: no answer",),
            queued=(Query("Lund", "Where is Lund?"), Query("Kessel foundry")),
        ),
    )
    for words in (
        QUESTION,
        "Arrival and tour.",
        "<acceptance>\n- when the flight lands",
        "<leads_to_verify>\n- The tour was moved in 1999.",
        "<headings>\n- Arrival\n- Tour",
        f"<findings>\n[1]\n{LANDS}\n[2]\n{LEAVES}\n</findings>",
        "<on_one_page_only>\n2\n</",
        "<failed>\n- Torn mine: timeout: no answer",
        "<open>\n- Where is Lund?\n- Kessel foundry",
    ):
        assert words in desk.user
    (prompt,) = desk.prompts
    assert (prompt.role, prompt.name) == ("planner", "review")


async def test_findings_of_two_branches_that_cannot_both_hold_get_a_tie_break(outside, bank):
    """The plane lands at 2 a.m. in one branch, the tour begins at 5 a.m. in another."""
    conflict = {"query": "When does the flight to Orla land?", "evidence": [1, 2]}
    desk = outside({"conflicts": [conflict], "gaps": ["What does the tour cost?"]})
    review = await reviewed(desk, case(bank(LANDS, LEAVES, NIGHT)))
    (tie,), (gap,) = review.ties, review.queries
    assert tie.text == "When does the flight to Orla land"
    assert tie.goal == f"Cannot both hold: {LANDS!r} / {LEAVES!r}"
    assert gap == Query("What does the tour cost?", "What does the tour cost?")
    assert review.gaps == (tie.goal, gap.goal), "what stays open is told in the report"
    assert not review.research, "a tie is due, whatever the verdict says"


@pytest.mark.parametrize("evidence", [[], [1], [1, 99]], ids=str)
async def test_a_conflict_of_what_was_not_shown_is_just_a_question(outside, bank, evidence):
    desk = outside({"conflicts": [{"query": "When does it land?", "evidence": evidence}]})
    review = await reviewed(desk, case(bank(LANDS)))
    assert [(q.text, q.goal) for q in review.ties] == [("When does it land?",) * 2]


@pytest.mark.parametrize(
    ("said", "research"),
    [
        ({"verdict": "research", "reason": "r"}, True),
        ({"verdict": "report", "reason": "r"}, False),
        ({"verdict": "RESEARCH", "reason": "r"}, True),
        ({"verdict": "maybe", "reason": "r"}, False),
        ({"gaps": [], "conflicts": [{"query": "  "}], "reason": "r"}, False),
        ({"gaps": None, "conflicts": None, "sections": None, "reason": "r"}, False),
    ],
    ids=["research", "report", "capitals", "other", "blank-conflict", "nulls"],
)
async def test_the_verdict(outside, bank, said, research):
    review = await reviewed(outside(said), case(bank(LANDS)))
    assert (review.research, review.reason, review.queries) == (research, "r", ())


async def test_a_gap_is_told_once_and_searched_for_in_a_few_words(outside, bank):
    gaps = [
        "Where is Lund, on which the tour depends?",
        "where is  Lund, on which the tour depends?",
    ]
    review = await reviewed(outside({"gaps": gaps, "verdict": "research"}), case(bank(LANDS)))
    assert [(q.text, q.goal) for q in review.queries] == [("Where is Lund", gaps[0])]


async def test_its_outline_holds_every_finding_once_and_only_what_is_there(outside, bank):
    sections = [
        {"title": "Arrival", "evidence": [1, 1, 77]},
        {"title": "References", "evidence": [2]},
        {"title": "Tour", "evidence": [2, 1]},
        {"title": " ", "evidence": [3]},
    ]
    review = await reviewed(outside({"sections": sections}), case(bank(LANDS, LEAVES, NIGHT)))
    assert review.outline == (("Arrival", (1,)), ("Tour", (2,)))


async def test_a_huge_bank_is_shown_as_far_as_it_fits(outside, bank):
    """So that the review does not get too long for the model; the first findings are the broadest."""
    facts = [f"Gate {i} of the Orla dam weighs {i} tonnes " + "and more " * 60 for i in range(150)]
    desk = outside({"verdict": "report"})
    await reviewed(desk, case(bank(*facts)))
    assert desk.count(desk.user) < 15_000
    assert "[1]\nGate 0 " in desk.user


@pytest.mark.parametrize(
    ("said", "error"),
    [(("Fine.", "Fine, really."), BadAnswer), ((ContextTooLong("too long"),), ContextTooLong)],
    ids=["garbled", "too-long"],
)
async def test_without_a_review_that_can_be_understood_it_says_so(outside, bank, said, error):
    """Whoever leads the rounds goes on without; tested there."""
    with pytest.raises(error):
        await reviewed(outside(*said), case(bank(LANDS)))
