"""Which language a question is in: by its script, else by its small words."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Final

from deep_research.core.text import STOPWORDS, fold, words

from . import names

_SMALL: Final = {
    "en": "the of and to in is are was were what which who how when where why does did for with",
    "de": (
        "der die das und ist sind war wie was wer wo wann warum welche welcher welches ein eine im "
        "den dem des mit von zu auf fur hat haben wird wurde werden nicht oder in am gibt kann man "
        "was_hat"
    ),
    "fr": (
        "le la les des du et est sont quel quelle quels quelles qui que comment pourquoi ou quand "
        "un une dans pour avec sur a de en quoi combien"
    ),
    "es": (
        "el la los las de y es son que cual quien como cuando donde por para un una en con del se "
        "fue cuanto cuantos cuanta cuantas a cuales"
    ),
    "it": (
        "il lo la gli le di e sono che quale chi come quando dove perche un una nel con della si "
        "ha fu quanto quanti i a in del quali cosa"
    ),
    "pt": (
        "o a os as de e sao que qual quem como quando onde por para um uma no na com do da dos foi "
        "quanto quantos quais se em"
    ),
    "nl": (
        "de het een en is zijn wat wie hoe wanneer waar waarom welke van op met voor door bij in "
        "hoeveel werd niet"
    ),
    "pl": (
        "i w na jest sa co kto jak kiedy gdzie dlaczego ktory ktora ktore z do od dla to sie ile "
        "czy czym jaka jaki jakie jaka"
    ),
    "ru": "и в на с что кто где когда как почему какой какая какие это был была из по для или",
    "sv": "och ar det en ett som vad vem hur nar var varfor vilken vilka av pa med for till i",
}
_LOOSE: Final = frozenset(
    (  # noqa: SIM905 - a word a line would fill a screen
        "die war hat mit den des das der man los las les del dos con una per sur pour son sono "
        "comment met van von dove come est chi que como cosa para var med het door hoe jest ile "
        "till dem bei som een fue uma gli sao wat"
    ).split()
)
"""Small words that are also English words, parts of known names or too short to tell by itself."""
_SURE: Final = 3  # letters
_LEAD: Final = 2
_UKRAINIAN: Final = frozenset("іїєґ")
_SCRIPTS: Final = (
    ("ja", "\u3040", "\u30ff"),
    ("ko", "\uac00", "\ud7af"),
    ("zh", "\u3400", "\u9fff"),
    ("ru", "\u0400", "\u04ff"),
    ("ar", "\u0600", "\u06ff"),
    ("he", "\u0590", "\u05ff"),
    ("el", "\u0370", "\u03ff"),
    ("hi", "\u0900", "\u097f"),
    ("th", "\u0e00", "\u0e7f"),
)
_SHARE: Final = 0.2
_MOST: Final = 0.6
_ENGLISH_ENOUGH: Final = 2


def detect(text: str) -> str:
    """Return the ISO 639-1 code of the language of `text`; 'en' where nothing tells clearly.

    Japanese comes before Chinese, because it uses both scripts. An English question may hold some
    words in another script. Small words inside names ('Los Angeles', 'Die Hard') tell nothing, nor
    do those that English has as well ('a', 'do', 'as').
    """
    said = _said(text)
    letters = [c for c in text.lower() if c.isalpha()]
    least = _MOST if len(said & STOPWORDS) >= _ENGLISH_ENOUGH else _SHARE
    for code, first, last in _SCRIPTS:
        if sum(first <= c <= last for c in letters) > least * len(letters):
            return "uk" if code == "ru" and _UKRAINIAN & set(letters) else code
    leads = {code: _lead(said, small) for code, small in _sets().items() if code != "en"}
    best = max(leads, key=lambda code: leads[code])
    return best if leads[best] >= _LEAD else "en"


def _said(text: str) -> frozenset[str]:
    """Return the folded words outside names, and the pairs of them that `_SMALL` joins by '_'.

    A question's first word has its capital anyway: alone it is no name.
    """
    opening = len(text) - len(text.lstrip(" \"'¿¡"))
    for name in names.find(text):
        if name.start == opening and " " not in name.text:
            continue
        text = text[: name.start] + "." * (name.end - name.start) + text[name.end :]
    said = [fold(w) for w in words(text)]
    return frozenset((*said, *map("_".join, pairwise(said))))


def _lead(said: frozenset[str], small: frozenset[str]) -> int:
    """Weigh the words that only this language has against those that only English has."""
    own = (said & small) - STOPWORDS
    weight = sum(1 if w in _LOOSE or len(w) < _SURE else 2 for w in own)
    return weight - len((said & STOPWORDS) - small)


@cache
def _sets() -> dict[str, frozenset[str]]:
    return {code: frozenset(small.split()) for code, small in _SMALL.items()}


def function_words(code: str) -> frozenset[str]:
    """Return the small words of a language; none are known for languages outside Western Europe."""
    return _sets().get(code, frozenset())
