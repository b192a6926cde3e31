"""Which language a question is in: by its script, else by its small words."""

from __future__ import annotations

from functools import cache
from typing import Final

from deep_research.core.text import fold, words

_SMALL: Final = {
    "en": "the of and to in is are was were what which who how when where why does did for with",
    "de": (
        "der die das und ist sind war wie was wer wo wann warum welche welcher welches ein eine im "
        "den dem des mit von zu auf fur hat haben wird wurde werden nicht oder in am"
    ),
    "fr": (
        "le la les des du et est sont quel quelle quels quelles qui que comment pourquoi ou quand "
        "un une dans pour avec sur"
    ),
    "es": "el la los las de y es son que cual quien como cuando donde por para un una en con del",
    "it": "il lo la gli le di e sono che quale chi come quando dove perche un una nel con della",
    "pt": "o a os as de e sao que qual quem como quando onde por para um uma no na com do da dos",
    "nl": "de het een en is zijn wat wie hoe wanneer waar waarom welke van op met voor door bij",
    "pl": "i w na jest sa co kto jak kiedy gdzie dlaczego ktory ktora ktore z do od dla",
    "ru": "и в на с что кто где когда как почему какой какая какие это был была из по для или",
    "sv": "och ar det en ett som vad vem hur nar var varfor vilken vilka av pa med for till",
}
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


def detect(text: str) -> str:
    """Return the ISO 639-1 code of the language of `text`; 'en' where nothing tells.

    Japanese comes before Chinese, because it uses both scripts.
    """
    letters = [c for c in text.lower() if c.isalpha()]
    for code, first, last in _SCRIPTS:
        if sum(first <= c <= last for c in letters) > _SHARE * len(letters):
            return "uk" if code == "ru" and _UKRAINIAN & set(letters) else code
    said = [fold(w) for w in words(text)]
    counts = {code: sum(w in small for w in said) for code, small in _sets().items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > counts["en"] else "en"


@cache
def _sets() -> dict[str, frozenset[str]]:
    return {code: frozenset(small.split()) for code, small in _SMALL.items()}


def function_words(code: str) -> frozenset[str]:
    """Return the small words of a language; none are known for languages outside Western Europe."""
    return _sets().get(code, frozenset())
