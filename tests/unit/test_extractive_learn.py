"""Learning by rule: which pages, which sentences, which names."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.model import Brief, Evidence, Learning, Page, Query, ResearchNode, Source
from deep_research.core.seams import Scope
from deep_research.extractive.focus import follow_up, name_in
from deep_research.extractive.learn import ExtractiveLearner
from deep_research.extractive.question import analyse

QUESTION = "Where was the director of Jaguar born?"
BRIEF = Brief(QUESTION)
ROOT = ResearchNode(Query(QUESTION))
CHILD = ResearchNode(follow_up("Bo Berg", "Jaguar", analyse(QUESTION)), (0,))
FILM = "Jaguar is a film of 1990 that was directed by Bo Berg. It ran for two hours in cinemas."


def page(text, title="Jaguar", url="https://a.example/1", **more):
    sha = hashlib.sha256(text.encode()).hexdigest()
    return Page(Source(url, title), text, sha, **more)


def hit(title, snippet="", n=0):
    return Source(f"https://a.example/{title.replace(' ', '-')}/{n}", title, snippet)


async def learn(*pages, node=ROOT, brief=BRIEF, **options):
    return await ExtractiveLearner(**options).learn(node, brief, pages, Scope())


def titles(node, *lists):
    return [s.title for s in ExtractiveLearner().choose(node, BRIEF, lists)]


def test_search_texts_give_their_name_back():
    """The name is what stands before the question's own words, also if it ends in one of them."""
    question = analyse("Who led the association that published Jaguar?")
    query = follow_up("American Cat Association", "Jaguar", question)
    assert query.text == "American Cat Association led association published"
    assert name_in(query.text, question) == "american cat association"
    assert query.goal.startswith("American Cat Association: ")


def test_at_the_root_pages_about_what_is_named_come_first():
    hits = [hit("Directors"), hit("Jaguar (film)"), hit("Birth")]
    assert titles(ROOT, hits, [hit("Cats"), hit("Dogs")]) == [
        *("Jaguar (film)", "Cats", "Directors", "Birth", "Dogs"),
    ]


def test_below_the_root_strangers_are_mostly_left_alone():
    hits = [hit("Oslo"), hit("Ystad"), hit("Turku"), hit("Films", "by Bo Berg"), hit("Bo Berg")]
    assert titles(CHILD, hits) == ["Bo Berg", "Films", "Oslo", "Ystad"]


def test_what_ancestors_have_read_is_not_chosen_again():
    hits = [hit("Bo Berg")]
    node = ResearchNode(CHILD.query, (0,), read=frozenset({"a.example/Bo-Berg/0"}))
    assert titles(node, hits) == []


def test_hits_of_all_texts_take_turns():
    query = Query("Bo Berg born", also=("Ann Lee born",))
    lists = ([hit("Bo Berg"), hit("Berg A", "Bo Berg")], [hit("Ann Lee"), hit("Bo Berg")])
    assert titles(ResearchNode(query, (0,)), *lists) == ["Bo Berg", "Ann Lee", "Berg A"]


async def test_learnings_are_the_words_of_the_page():
    text = f"# Jaguar\n\n- {FILM}\n\nCookie settings"
    lesson = await learn(page(text, marks=((0, "p. 1"),), fetched_at="2025-01-01T00:00:00Z"))
    assert lesson.learnings[0].text.startswith("Jaguar is a film")
    for learning in lesson.learnings:
        (evidence,) = learning.evidence
        assert text[evidence.start : evidence.end] == evidence.quote
        assert (evidence.mark, evidence.fetched_at) == ("p. 1", "2025-01-01T00:00:00Z")
        assert "Cookie" not in learning.text


async def test_markup_is_shown_plain_and_quoted_as_it_stands():
    text = "**Jaguar** was directed by [Bo Berg](https://b.example) in Oslo."
    lesson = await learn(page(text))
    assert lesson.learnings[0].text == "Jaguar was directed by Bo Berg in Oslo."
    assert lesson.learnings[0].evidence[0].quote == text


async def test_follow_ups_ask_the_open_words_about_the_bridge():
    lesson = await learn(page(FILM))
    assert lesson.follow_ups[0].text == "Bo Berg director born"


async def test_near_duplicates_and_known_sentences_are_dropped():
    again = "Jaguar is a film of 1990, directed by Bo Berg."
    lesson = await learn(page(FILM), page(again, "Cinema", "https://b.example/"))
    assert len([x for x in lesson.learnings if "1990" in x.text]) == 1
    quote = FILM.split(". ", 1)[0] + "."
    known = Learning(quote, (Evidence(Source("https://c.example"), "0", quote, 0, len(quote)),))
    node = ResearchNode(ROOT.query, known=(known,))
    lesson = await learn(page(FILM), node=node)
    assert quote not in [x.text for x in lesson.learnings]


async def test_one_page_does_not_fill_a_node():
    text = " ".join(
        f"Jaguar number {i} has another director in town {'abcdefgh'[i]}." for i in range(8)
    )
    other = page("Jaguar got its director from a small town.", "Cats", "https://b.example/")
    lesson = await learn(page(text), other, per_page=2, most=3)
    assert len(lesson.learnings) == 3
    assert len([x for x in lesson.learnings if x.evidence[0].source.title == "Jaguar"]) == 2


async def test_below_the_root_sentences_beside_the_point_are_left_out():
    text = "Bo Berg was born in Turku in 1950. The harbour of the city was built by John Berg."
    lesson = await learn(page(text, "Ports"), node=CHILD)
    assert [x.text for x in lesson.learnings] == ["Bo Berg was born in Turku in 1950."]


async def test_the_first_sentence_introduces_the_page():
    text = "The harp seal lives on the ice. For the film Jaguar it was born again as a toy."
    lesson = await learn(page(text, "Seals"))
    assert lesson.learnings[0].text.startswith("The harp seal")


async def test_a_page_without_prose_still_says_something():
    """A table or a language without full stops: lines that fit are better than nothing."""
    lesson = await learn(page("Jaguar; director; Bo Berg", "Films"))
    assert [x.text for x in lesson.learnings] == ["Jaguar; director; Bo Berg"]


async def test_a_page_that_has_nothing_to_do_with_it():
    lesson = await learn(page("Bread is baked from flour and water."), node=CHILD)
    assert lesson.learnings == ()


async def test_chinese_pages_are_learned_from():
    brief = Brief("阿里巴巴集团的创始人毕业于哪所大学?")
    text = "阿里巴巴集团由马云创立。马云毕业于杭州师范大学。今天天气很好。"
    lesson = await learn(
        page(text, "阿里巴巴集团"), node=ResearchNode(Query(brief.question)), brief=brief
    )
    assert "阿里巴巴集团由马云创立。" in [x.text for x in lesson.learnings]
    assert [q.text.split()[0] for q in lesson.follow_ups] == ["杭州师范大学"]


@given(st.text(max_size=400), st.text(max_size=40))
async def test_whatever_a_page_holds_quotes_stand_where_they_say(text, title):
    lesson = await learn(page(text, title), page(FILM))
    for learning in lesson.learnings:
        for e in learning.evidence:
            source = text if e.source.title == title and text[e.start : e.end] == e.quote else FILM
            assert source[e.start : e.end] == e.quote


@pytest.mark.parametrize(
    "text", ["ANNUAL REPORT ON THE JAGUAR DIRECTOR", "THE DIRECTOR OF JAGUAR."]
)
async def test_what_shouts_is_a_heading(text):
    lesson = await learn(page(text, "Films"))
    assert lesson.learnings == ()
