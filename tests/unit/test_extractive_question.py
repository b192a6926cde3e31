"""A question is taken apart: names, content, comparisons, parts, language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.extractive.language import detect
from deep_research.extractive.question import analyse, aspects, clauses, sides
from deep_research.extractive.relations import akin


def test_possessives_end_a_name():
    question = analyse("Where did Lothair II's mother die?")
    assert question.names == ("Lothair II",)
    assert question.content == ("lothair", "ii", "mother", "die")


def test_a_title_counts_as_named_only_if_it_is_written_as_a_name():
    """'Place of birth' is a page too, but the question does not ask about that page."""
    question = analyse("What is the place of birth of the director of The Swamp Thing?")
    assert question.names_title("The Swamp Thing (1982 film)") == "the swamp thing"
    assert question.names_title("Place of birth") == ""
    assert analyse("Brother is whose song?").names_title("Brother") == ""


def test_in_a_question_without_capitals_the_titles_own_decide():
    """People type 'who wrote the silver ford'; 'Place of birth' is still no name."""
    question = analyse("what is the place of birth of the director of the silver ford")
    assert question.names_title("The Silver Ford (film)") == "the silver ford"
    assert question.names_title("Place of birth") == ""


def test_cjk_titles_are_named_without_capitals():
    assert analyse("谁创立了阿里巴巴集团?").names_title("阿里巴巴集团")
    assert not analyse("谁创立了阿里巴巴集团?").names_title("阿")


def test_what_stands_near_the_name_is_asked_first():
    """On X's page 'the birthplace of the director of X' asks for the director before the birthplace."""
    question = analyse("What is the birthplace of the director of the film Jaguar?")
    weights = question.weights("jaguar", "Jaguar")
    assert weights["director"] > weights["birthplac"] > weights["film"]
    assert "jaguar" not in weights


def test_without_a_place_all_open_words_weigh_the_same():
    assert set(analyse("Who directed Jaguar?").weights("", "Other").values()) == {0.5}


def test_open_words_leave_out_what_the_title_settles():
    question = analyse("When did the producer of Jaguar die?")
    assert question.open_words("Jaguar (film)") == ["producer", "die"]
    assert len(analyse(" ".join(f"word{i}" for i in range(99))).open_words("")) == 16


def test_cjk_open_words_stay_together():
    assert analyse("阿里巴巴集团的创始人").open_words("") == ["阿里巴巴集团", "创始人"]


def test_share_counts_content_words():
    question = analyse("Who built the longitude watch?")
    assert question.share("A watch for longitude") == pytest.approx(2 / 3)
    assert question.share("") == 0


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Which film came out first, Dying God or 3 Dots?", ("Dying God", "3 Dots")),
        (
            "Which film is older, El Tonto or The Heart of Doreon?",
            ("El Tonto", "The Heart of Doreon"),
        ),
        ("Between Iain Banks and Irwin Shaw, who wrote more?", ("Iain Banks", "Irwin Shaw")),
        ("Compare solar power and wind power", ("solar power", "wind power")),
        ("Python vs. Java?", ("Python", "Java")),
        ("比较阿里巴巴和腾讯", ("阿里巴巴", "腾讯")),
        ("Who directed Jaws?", ()),
        ("Is it or is it not?", ()),
        ("A or " + "very " * 9 + "long side", ()),
    ],
)
def test_comparisons_have_sides(text, parts):
    assert sides(text) == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Solar power: cost, land use and reliability", ("cost", "land use", "reliability")),
        ("What is CRISPR? Who found it?", ("What is CRISPR?", "Who found it?")),
        ("Who directed Gaby: A True Story?", ()),
        ("太阳能：成本、寿命", ("成本", "寿命")),
        ("Who directed Jaws?", ()),
        ("???", ()),
    ],
)
def test_parts_are_the_list_after_a_colon_or_several_questions(text, parts):
    assert aspects(text) == parts


def test_clauses_can_be_searched_for():
    text = "Who ruled the country in which the first modern opera house opened?"
    assert clauses(text) == ["ruled country", "first modern opera house opened"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Who wrote it?", "en"),
        ("Was hat Beethoven in Wien komponiert?", "de"),
        ("Quelle est la capitale de la France?", "fr"),
        ("¿Quién es el autor de la novela?", "es"),
        ("Где родился режиссёр?", "ru"),
        ("Хто її написав?", "uk"),
        ("君の名はの監督は誰", "ja"),
        ("阿里巴巴的总部", "zh"),
        ("누가 썼나", "ko"),
        ("من كتب", "ar"),
        ("", "en"),
        ("12345", "en"),
    ],
)
def test_language_by_script_or_small_words(text, code):
    assert detect(text) == code


def test_related_words():
    assert akin("mother", "daughter")
    assert akin("performer", "perform")
    assert not akin("mother", "country")


@given(st.text(max_size=200))
def test_any_question_can_be_taken_apart(text):
    question = analyse(text)
    sides(text), aspects(text), clauses(text), question.weights(text, text)
    assert detect(text)
    assert question.open_words(text) is not None
