"""The name that leads on stands near what is asked, on a page about what is named."""

from deep_research.extractive.bridges import Passage, bridges
from deep_research.extractive.question import analyse


def follow(text, *pages, focus=("jaguar",), asked=()):
    passages = [Passage(title, list(enumerate(body))) for title, body in pages]
    return [b.name for b in bridges(analyse(text), focus, passages, asked)]


QUESTION = "Where was the director of Jaguar born?"
PAGE = (
    "Jaguar (film)",
    ["Jaguar is a drama starring Ann Lee and directed by Bo Berg.", "It was shot in Oslo."],
)


def test_the_nearest_name_to_an_open_word_comes_first():
    assert follow(QUESTION, PAGE)[0] == "Bo Berg"


def test_a_page_about_the_name_beats_one_that_only_matches_words():
    other = ("Film festivals", ["Every director here was chosen by Kim Roe."])
    assert follow(QUESTION, other, PAGE)[0] == "Bo Berg"


def test_a_sentence_that_names_it_beats_one_that_does_not():
    lists = ("Films of 1990", ["Cub was directed by Al Fox.", "Jaguar was directed by Bo Berg."])
    assert follow(QUESTION, lists)[0] == "Bo Berg"


def test_a_title_close_to_the_name_counts_in_part():
    near = ("Jaguar film series", ["The director is Bo Berg."])
    far = ("Film festivals", ["The director is Kim Roe."])
    assert follow(QUESTION, far, near)[0] == "Bo Berg"


def test_known_asked_and_own_names_are_not_followed():
    assert "Bo Berg" not in follow(QUESTION, PAGE, asked={"bo berg"})
    assert "Jaguar" not in follow(QUESTION, PAGE)


def test_the_qualifier_of_a_title_leads_on():
    page = ("Baure, Nigeria", ["Baure is a town."])
    assert follow("Which country is Baure in?", page, focus=("baure",)) == ["Nigeria"]


def test_people_of_a_country_come_after_persons():
    page = ("Jaguar", ["The director was Italian.", "The producer was Bo Berg."])
    assert follow(QUESTION, page) == ["Bo Berg", "Italian"]


def test_all_subjects_get_their_turn():
    """Two films are compared: one that names many people must not crowd out the other."""
    first = ("Jaguar", [f"Directed by {n}." for n in ("Al Fox", "Bo Berg", "Cy Dorn", "Ed Falk")])
    second = ("Lynx", ["A film in colour, with Gus Holm as its director."])
    names = follow(
        "Which film has the older director, Jaguar or Lynx?",
        first,
        second,
        focus=("jaguar", "lynx"),
    )
    assert "Gus Holm" in names[:4]


def test_a_name_inside_a_better_one_is_dropped():
    page = ("Jaguar", ["Directed by Bo Berg of Oslo.", "Much later Bo Berg won."])
    assert follow(QUESTION, page) == ["Bo Berg of Oslo"]


def test_nothing_to_follow():
    assert follow(QUESTION, ("Jaguar", ["it has no names at all."]), ("", [])) == []
