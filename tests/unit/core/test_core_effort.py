"""How much effort a question is worth: what one search can answer, and whether it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deep_research.core.effort import answers, is_lookup
from deep_research.core.languages import LANGUAGES
from deep_research.core.model import Learning

LOOKUPS = [
    "What is the capital of Australia?",
    "When was the Eiffel Tower built?",
    "Who wrote The Master and Margarita?",
    "How tall is Mount Kilimanjaro?",
    "How many moons does Jupiter have?",
    "What year did the Berlin Wall fall?",
    "At what temperature does lead melt?",
    "How old is the universe?",
    "Who painted the Night Watch?",
    "What is the population of Trinidad and Tobago?",
    "What is the boiling point of ethanol",
    "Which planet has the most moons?",
    "How far is the Moon from the Earth?",
    "What is the speed of light in km/s?",
    "What is the chemical symbol of tungsten?",
    "When did Apollo 11 land?",
    "What is the atomic number of gold?",
    "Where is the Rosetta Stone kept?",
    "What currency is used in Vietnam?",
    "When did Romania join the European Union?",
    "Wann wurde der Eiffelturm gebaut?",
    "Wie hoch ist der Mount Everest?",
    "Wer schrieb Faust?",
    "Quelle est la capitale de l'Australie ?",
    "¿Cuándo se fundó la ciudad de Quito?",
    "Qual è la capitale del Canada?",
    "Hoeveel inwoners heeft Utrecht?",
    "Hvor høj er Himmelbjerget?",
    "Kto napisał Lalkę?",
    "Когда был построен Большой театр?",
    "Сколько лет Москве?",
    "珠穆朗玛峰有多高？",
    "東京タワーの高さは何メートルですか？",
    "서울의 인구는 얼마입니까?",
    "ما هي عاصمة مصر؟",
    "Everest Dağı'nın yüksekliği ne kadar?",
    "埃及的首都是哪里？",
    "中华人民共和国的首都是哪里？",
    "When was St. Maurice founded?",
    "Who was J. K. Rowling's first husband?",
    "What is the name of Jupiter's largest moon?",
    "Which city is the capital of Australia?",
    "When was the Battle of Hastings fought?",
    "What is the melting point of Veltran-7?",
    "When was the Orla dam built?",
    "Which river runs through Ashford?",
    "In which year was the Treaty of Rome signed?",
    "  Who is the mayor\n of Ashford  ",
    "population of Vietnam",
]
MORE = [
    "Compare the economies of Japan and South Korea",
    "Why did the Roman Empire fall?",
    "Explain how vaccines work",
    "What are the differences between TCP and UDP?",
    "Give an overview of battery technologies for grid storage",
    "List all moons of Saturn",
    "What is the impact of minimum wage on employment?",
    "History of the Panama Canal",
    "Who is the spouse of the director of Titanic?",
    "What is the capital of the country that won the 2010 World Cup?",
    "When did the founder of the company that makes the iPhone die?",
    "Where was the wife of the president of France in 1980 born?",
    "What is the birthplace of the author of the novel that inspired Blade Runner?",
    "Which university did the inventor of the World Wide Web attend?",
    "What year was the director of Jaws's father's birth?",
    "Who is the mother of the director of film Polish-Russian War?",
    "When did John V, Prince of Anhalt-Zerbst's father die?",
    "Were Scott Derrickson and Ed Wood of the same nationality?",
    "Which film came out first, Blind Shaft or The Mask of Fu Manchu?",
    "Which is taller, the Eiffel Tower or the Empire State Building?",
    "What is the place of birth of the composer of the song Imagine?",
    "How does photosynthesis work?",
    "How can cities reduce traffic congestion?",
    "What is known about the causes of long COVID?",
    "State of the art in quantum error correction",
    "What are the health effects of intermittent fasting?",
    "Plan a three-day trip to Rome",
    "Should I buy or lease a car?",
    "Pros and cons of nuclear power",
    "Which startups work on solid-state batteries?",
    "What does the research say about remote work?",
    "Best laptops for students in 2024",
    "How has the population of Detroit changed since 1950?",
    "Was sind die Unterschiede zwischen HTTP/2 und HTTP/3?",
    "Warum ist der Himmel blau?",
    "Wie funktioniert eine Wärmepumpe?",
    "Vergleiche Solarenergie mit Windkraft",
    "Pourquoi la mer est-elle salée ?",
    "Comment fonctionne un moteur diesel ?",
    "¿Por qué cayó el Imperio romano?",
    "Ventajas y desventajas de la energía solar",
    "Почему распался Советский Союз?",
    "Сравни экономики Китая и Индии",
    "量子计算和经典计算有什么区别？",
    "为什么天空是蓝色的？",
    "日本と韓国の経済を比較してください",
    "왜 하늘은 파란가요?",
    "Who was the doctoral advisor of Alan Turing's doctoral advisor?",
    "What is the population of the city where Kafka was born?",
    "Who founded the company which acquired WhatsApp?",
    "What is the nationality of the performer of song Daddy Come Home?",
    "Tell me everything about Veltran-7.",
    "Which dam supplies the town in which the Kessel foundry stands?",
    "What happened in the town after the dam broke?",
    "How is steel made?",
    "What is the height of the tower? And its age?",
    "Are Paris and London capitals?",
    "The runner-up of 1999 appears on the cover of a game by what company?",
    "When did Lothair II's mother die?",
    "What is the place of birth of Lisbeth Palme's husband?",
    "Where was the director of film Jaws born?",
    "What currency predated the Euro in the country Signmark is from?",
    "Who was born first out of Aivar Kuusmaa and Andy Summers?",
    "What is the height of a tower so very tall so very tall so very tall so very tall so very tall so very tall so very tall so very tall?",
    "東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京東京？",
]
DATA = Path(__file__).parents[4] / "shared" / "data" / "multihop"


@pytest.mark.parametrize("question", LOOKUPS)
def test_one_fact_is_a_lookup(question: str) -> None:
    assert is_lookup(question)


@pytest.mark.parametrize("question", MORE)
def test_what_asks_for_more_or_hangs_on_another_fact_is_none(question: str) -> None:
    assert not is_lookup(question)


@pytest.mark.skipif(not DATA.is_dir(), reason="the question sets are not here")
def test_few_multi_hop_questions_pass_for_lookups_and_most_single_ones_do() -> None:
    """The figures of the docstring: 14 of 250, and 58 of 77."""
    sets = ("2wiki_first50", "hotpot_train100", "musique_train100")
    files = [DATA / f"{name}.questions.jsonl" for name in sets]
    asked = [json.loads(x) for f in files for x in f.read_text(encoding="utf-8").splitlines()]
    subs = [s for q in asked for s in q.get("subs", ()) if s.endswith("?") and ">>" not in s]
    assert (len(asked), len(subs)) == (250, 77)
    assert sum(is_lookup(q["q"]) for q in asked) <= 14
    assert sum(map(is_lookup, subs)) >= 58


ANSWERS = [
    ("When was the Orla dam built?", "The Orla dam was built in 1931.", True),
    ("When was the Orla dam built?", "The Orla dam was built by prisoners.", False),
    ("When was the Orla dam built?", "The Kessel dam was built in 1931.", False),
    ("How old is the 7th bridge of Corby?", "The 7th bridge of Corby is old.", False),
    ("How old is the 7th bridge of Corby?", "The 7th bridge of Corby is 90 years old.", True),
    ("Who is the mayor of Ashford?", "Dora Egg is the mayor of Ashford.", True),
    ("Who is the mayor of Ashford?", "Ashford lies on the Stour.", False),
    ("What year did the Orla dam break?", "The Orla dam broke its banks: a break in 1950.", True),
    ("At what temperature does lead melt?", "Lead is a soft and heavy metal.", False),
    ("At what temperature does lead melt?", "Lead melts at 600 kelvin.", True),
    ("Wann wurde der Eiffelturm gebaut?", "Der Eiffelturm wurde von Gustave gebaut.", False),
    ("Wann wurde der Eiffelturm gebaut?", "Der Eiffelturm wurde 1889 gebaut.", True),
    ("Kessel dam built when?", "The Orla dam was built in 1931.", False),
    ("Kessel dam built when?", "The Kessel dam was built in 1931.", True),
    ("Wer schrieb den Roman Faust?", "Den Roman Faust schrieb Goethe.", True),
    ("Когда был построен мост?", "Мост был построен быстро.", False),
    ("Когда был построен мост?", "Мост был построен в 1956 году.", True),
    ("东京塔有多高？", "东京塔有很高的塔。", False),
    ("东京塔有多高？", "东京塔高333米，有塔。", True),
]


@pytest.mark.parametrize(("question", "found", "expected"), ANSWERS)
def test_whether_a_finding_answers(question: str, found: str, *, expected: bool, kit: Any) -> None:
    assert answers(question, [kit.learning(found)]) is expected


def test_what_cannot_be_cited_answers_nothing(kit: Any) -> None:
    loose = Learning("Dora Egg is the mayor of Ashford.")
    assert not answers("Who is the mayor of Ashford?", [loose])
    assert answers("Who is the mayor of Ashford?", [loose, kit.learning(loose.text)])
    assert not answers("Who is the mayor of Ashford?", [])


def test_languages_have_two_letters() -> None:
    assert all(name.islower() and len(code) == 2 for name, code in LANGUAGES.items())
    assert (LANGUAGES["german"], LANGUAGES["deutsch"]) == ("de", "de")
