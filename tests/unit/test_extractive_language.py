"""The language of a question: English unless the small words of another say otherwise clearly."""

import pytest

from deep_research.extractive.language import detect

ENGLISH = """How do I bake sourdough bread?
Can a clock survive a voyage?
Do I need a chronometer?
Is a virus a living thing?
Can a person live on Mars?
Los Angeles water supply
Die Hard box office
die hard box office
Best laptop 2025
Should I buy a house or rent?
El Salvador bitcoin law
Las Vegas hotel prices
La La Land soundtrack
el nino and la nina effects
Rio de la Plata naval battle
Ludwig van Beethoven symphonies
Who was Vasco da Gama?
Is MIT better than Caltech?
What hat is in fashion?
Was war inevitable in 1914?
Do as I do
Son of a gun origin
How do comment systems work?
When do I pour concrete?
Do men die earlier than women?
Why no one came to the party
Tour de France winners
de facto and de jure
Costa del Sol weather
Les Misérables cast
Who wrote Don Quixote de la Mancha?
Var in football
COVID-19 vaccine safety
What is a PhD in AI worth?
Van der Waals forces
Le Mans 24 hours record
I am legend ending
Is a door a window?
Per capita income Como Italy
How was the longitude problem solved?
What does 你好世界朋友们 mean in English?
Quantum computing
Do dogs dream?
Who is on the board of Los Alamos?
Con Edison outage map""".splitlines()

OTHERS = {
    "de": """Was hat Beethoven in Wien komponiert?
Wer schrieb Faust?
Was ist KI?
Wie funktioniert ein Motor?
Wo liegt die Quelle der Donau?
Warum ist der Himmel blau?
Welche Berge sind höher als 8000 Meter?""",
    "fr": """Quelle est la capitale de la France?
Qui est Napoléon?
Pourquoi le ciel est-il bleu?
Qui a peint la Joconde?
Comment fonctionne un moteur?
Combien coûte une maison?""",
    "es": """¿Quién es el autor de la novela?
¿Qué es la fotosíntesis?
¿Cuándo se fundó Sevilla?
¿Cómo funciona un motor?
¿Dónde está el río más largo?
¿Por qué el cielo es azul?""",
    "it": """Chi ha dipinto la Gioconda?
Perché il cielo è blu?
Come funziona un motore?
Dove si trova il Vesuvio?
Qual è la capitale della Francia?
Chi è Dante?""",
    "pt": """Quem descobriu o Brasil?
Qual é a capital de Portugal?
Por que o céu é azul?
Como funciona um motor?
Quando foi fundada Lisboa?
Onde fica o rio mais longo?""",
    "nl": """Wie is de koning van België?
Wat is de hoofdstad van Nederland?
Waarom is de lucht blauw?
Hoe werkt een motor?
Wanneer werd het eerste boek gedrukt?
Hoeveel kost een huis?""",
    "pl": """Kto napisał Pana Tadeusza?
Kiedy zmarł Chopin?
Gdzie jest najdłuższa rzeka?
Dlaczego niebo jest niebieskie?
Jak działa silnik?
Co to jest fotosynteza?""",
}


@pytest.mark.parametrize("question", ENGLISH)
def test_english_stays_english(question):
    assert detect(question) == "en"


@pytest.mark.parametrize(
    ("code", "question"), [(code, q) for code, qs in OTHERS.items() for q in qs.splitlines()]
)
def test_other_languages_are_told_by_their_small_words(code, question):
    assert detect(question) == code
