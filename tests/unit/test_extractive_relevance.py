"""What a search brings is not always about what was asked."""

import hashlib

import pytest

from deep_research.core.model import Brief, Learning, Page, Query, ResearchNode, Source
from deep_research.core.seams import Scope
from deep_research.extractive.learn import ExtractiveLearner
from deep_research.extractive.question import analyse
from deep_research.extractive.relevance import fits

TEXTS = {
    "Larcum Kendall": "Larcum Kendall copied the watch of John Harrison. His house stood in London.",
    "The best watch": "A watch for the sea must keep its rate. The best people live in a cheap house.",
    "Longitude": "The longitude problem was solved by clocks. Navigators restored their position.",
}
PAGES = [
    Page(Source(f"https://a.example/{n}", title), text, hashlib.sha256(text.encode()).hexdigest())
    for n, (title, text) in enumerate(TEXTS.items())
]


@pytest.mark.parametrize(
    "question",
    [
        "How was the longitude problem solved?",
        "What did Larcum Kendall build?",
        "When was Kendall born?",
        "Who was the son of John Harrison?",
        "Which London house?",
        "how does navigation work",
        "What keeps the rate of a watch?",
        "London",
    ],
)
def test_questions_that_the_pages_speak_of(question):
    assert fits(analyse(question), PAGES)


@pytest.mark.parametrize(
    "question",
    [
        "Best laptop 2025",
        "Should I buy a house or rent?",
        "Can a person live on Mars?",
        "cheap flights to London",
        "Who won the World Cup?",
        "How do vaccines work?",
        "Los Angeles water supply",
    ],
)
def test_questions_that_only_share_a_word_with_the_pages(question):
    assert not fits(analyse(question), PAGES)


def test_nothing_fits_nothing():
    assert not fits(analyse("??"), PAGES)
    assert not fits(analyse("Longitude?"), [])


async def test_pages_beside_the_question_teach_nothing_until_something_is_known():
    question = "Can a person live on Mars?"
    brief = Brief(question)
    root = ResearchNode(Query(question))
    lesson = await ExtractiveLearner().learn(root, brief, PAGES, Scope())
    assert (lesson.learnings, lesson.follow_ups) == ((), ())
    side = ResearchNode(Query("rent", question), (0,))
    assert not (await ExtractiveLearner().learn(side, brief, PAGES, Scope())).learnings
    later = ResearchNode(Query("Longitude"), (0,), known=(Learning("Mars is a planet."),))
    assert (await ExtractiveLearner().learn(later, brief, PAGES, Scope())).learnings
