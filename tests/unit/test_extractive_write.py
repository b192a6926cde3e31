"""Writing by rule: nothing is changed, nothing is said twice, everything is cited."""

import pytest

from deep_research.core.merge import Bank, Item
from deep_research.core.model import Brief, Evidence, Learning, Source
from deep_research.core.seams import Scope, Sentence
from deep_research.extractive.write import ExtractiveWriter, subject

WRITER = ExtractiveWriter()
BRIEF = Brief("How was the longitude problem solved?")


def learning(text, title="Clocks", n=0, path=()):
    source = Source(f"https://{title.lower().replace(' ', '-')}.example/", title)
    return Learning(text, (Evidence(source, title, text, n, n + len(text)),), path)


def bank(*learnings):
    return Bank(tuple(Item(i, x) for i, x in enumerate(learnings, 1)))


async def write(*learnings, brief=BRIEF):
    sections = await WRITER.write(brief, bank(*learnings), Scope())
    return {s.title: [x.text for x in s.sentences] for s in sections}


ANSWERS = (
    learning("The longitude problem was solved by a watch.", "Watches", 50),
    learning("It went to Jamaica on a ship of the navy.", "Watches", 90, (0,)),
    learning("It ticks five times in every second.", "Watches", 10, (0,)),
    learning("Tables of the moon solved the longitude problem too.", "Moon"),
    learning("The moon moves by its own breadth in an hour.", "Moon", 80, (1,)),
    learning("Guaiacum sanctum sinks in water.", "Wood", 0, (1, 0)),
)


async def test_brief_first_then_subjects_then_what_is_left():
    report = await write(*ANSWERS)
    assert list(report) == ["In brief", "Watches", "Further findings"]
    assert report["In brief"] == [ANSWERS[0].text, ANSWERS[3].text]


async def test_sentences_of_a_page_stand_in_its_order():
    report = await write(*ANSWERS)
    assert report["Watches"] == [ANSWERS[2].text, ANSWERS[1].text]


async def test_each_sentence_is_verbatim_said_once_and_cites_its_own_id():
    sections = await WRITER.write(BRIEF, bank(*ANSWERS), Scope())
    said = [s for section in sections for s in section.sentences]
    assert sorted(s.evidence for s in said) == [(i,) for i in range(1, 7)]
    assert all(s.text == ANSWERS[s.evidence[0] - 1].text for s in said)


async def test_pages_are_paragraphs():
    sections = await WRITER.write(BRIEF, bank(*ANSWERS), Scope())
    assert [s.paragraph for s in sections[0].sentences] == [0, 0]
    assert [s.paragraph for s in sections[-1].sentences] == [0, 1]


async def test_near_repeats_and_what_is_beside_the_question_are_left_out():
    report = await write(
        ANSWERS[0],
        learning("The longitude problem was solved by a big watch.", "Other"),
        learning("Bread is made of flour.", "Bread"),
    )
    assert report == {"In brief": [ANSWERS[0].text]}


async def test_an_outline_gives_the_sections():
    brief = Brief("Wind power: cost and noise", outline=("cost", "noise"))
    report = await write(
        learning("The cost of wind power fell by half.", "A"),
        learning("Its noise is that of a fridge.", "B"),
        learning("Most of the cost is the tower.", "C"),
        learning("The cost of repairs is low.", "D"),
        learning("Noise at night is limited by law.", "E"),
        learning("Noise grows with wind speed.", "F"),
        learning("Wind power is old.", "G"),
        learning("Wind power is found in many lands.", "G", 30),
        brief=brief,
    )
    assert list(report) == ["In brief", "Cost", "Noise", "G"]
    assert [w for w in ("cost", "noise") if any(w in x.lower() for x in report["In brief"])] == [
        *("cost", "noise"),
    ]
    assert all("cost" in text for text in report["Cost"])


async def test_long_groups_are_cut_to_the_best():
    many = [
        learning(f"Longitude {c}a{c} {c}o{c} {c}u{c} {c}i{c}.", "T", i * 90, (0,))
        for i, c in enumerate("bcdfghjklmnp")
    ]
    report = await write(*many)
    assert len(report["T"]) == 7


async def test_headings_speak_the_reports_language():
    report = await write(ANSWERS[0], brief=Brief(BRIEF.question, language="de"))
    assert list(report) == ["Kurz gesagt"]
    report = await write(ANSWERS[0], brief=Brief(BRIEF.question, language="xx"))
    assert list(report) == ["In brief"]


async def test_nothing_known_nothing_written():
    assert await write() == {}
    assert await write(Learning("without evidence")) == {}


async def test_a_failed_sentence_is_said_in_the_words_of_its_quote():
    store = bank(ANSWERS[0])
    again = await WRITER.rewrite(Sentence("Wrong.", (1,), 3), ("7",), store, BRIEF, Scope())
    assert again == Sentence(ANSWERS[0].text, (1,), 3)
    lost = Sentence("Wrong.", (9,))
    assert await WRITER.rewrite(lost, (), store, BRIEF, Scope()) == lost


@pytest.mark.parametrize(
    ("title", "url", "heading"),
    [
        ("Hank Snow - Wikipedia", "https://a.example", "Hank Snow"),
        ("wind_power-cost.md", "file:///x", "Wind power cost"),
        ("", "file:///a/b%20c.txt", "B c"),
        ("", "", ""),
        ("x" * 99, "", "X"),
    ],
)
def test_titles_become_headings(title, url, heading):
    assert subject(Source(url, title)).startswith(heading)
    assert len(subject(Source(url, title))) <= 70
