"""How much effort a question is worth: one that asks for a single fact needs one search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .model import Learning
from .text import STOPWORDS, names, numbers, sentences, stem, terms, words

_LONGEST: Final = 24
_LONGEST_SPELT: Final = 40
_LATE: Final = 3
"""A question word after so many others asks about what these describe."""
_ASKS: Final = frozenset(("what", "which", "who", "whom", "whose", "when", "where"))
_MANY: Final = re.compile(
    # Several things, or two to be compared.
    r"\b(?:and|or|versus|vs|compar\w+|differen\w+|list|all|each|every\w*|both|same|respectively"
    r"|out of|(?:what|who) (?:are|were)|which (?!\w*ss\b)\w{3,}s|pros|advantages?"
    r"|und|oder|et|ou|y|e|o|og|och|en|и|или|vergleich\w*|unterschied\w*|avantages|différen\w+"
    r"|ventajas|diferencias?|сравни\w*|разниц\w*|отлич\w*)\b"
    r"|[:;,、，：；]|(?<![共昭平令])和(?!平)|[與与或]|(?<!埃)及|[区區][别別]|[差比][异異较較]|違い|比較|비교|차이"
    # An open question: why, how, about.
    r"|\b(?:history|overview|state of the art|about|causes?|reasons?|impacts?|effects?|why|should"
    r"|what happen\w+"
    r"|how(?!\W(?:many|much|old|tall|high|long|far|fast|deep|big|large|heavy|wide)\b)"
    r"|warum|wieso|weshalb|wie(?! (?:viel|hoch|alt|lang|gro|weit|tief|schnell|schwer|breit|hei))"
    r"|pourquoi|por qu[eé]|perché|waarom|hvorfor|varför|dlaczego|neden|nasıl"
    r"|почему|зачем|как (?:работ|устро|влия|измен|появ)\w+|причин\w*|histor\w+|geschichte)\b"
    r"|[为為][什甚何]|如何|怎[么麼样樣]|原因|[历歷]史|影[响響]|なぜ|どうして|どのように|どうやって|왜|어떻게|역사|영향",
    re.IGNORECASE,
)
_ORDER: Final = re.compile(
    r"(?:analy[sz]e|best|compare|describe|discuss|explain|explore|give|help|investigate|list|plan"
    r"|research|show|summari[sz]e|tell|top|write|erklär\w*|beschreib\w*|vergleich\w*|comment|expli\w+"
    r"|décri\w+|compar\w+|cómo|como|come|сравни\w*|объясни\w*|опиши\w*"
    # 'Are A and B …': their names are taken for one
    r"|(?:are|do|have|were)\b.*\band)\b",
    re.IGNORECASE,
)
_PERSON: Final = (
    r"(?:actor|actress|advis[eo]r|author|artist|coach|composer|creator|designer|director|founder|husband|inventor"
    r"|king|leader|maker|mayor|member|owner|parent|performer|president|producer|queen|singer|spouse"
    r"|star|wife|winner|writer)"
)
_KIN: Final = (
    r"(?:alma mater|band|birthplace|brother|child(?:ren)?|city|company|country|daughter|employer"
    rf"|father|home\s?town|mother|school|sister|son|state|team|university|(?:\w+\s)?{_PERSON})"
)
_UNNAMED: Final = (
    r"(?:band|book|city|company|country|film|group|individual|location|man|movie|novel|person|place"
    r"|region|series|song|state|team|town|village|woman)"
)
_WHOSE: Final = rf"['’]s\s(?:\w+\s)?{_KIN}\b"
_HANGING: Final = re.compile(
    # 'the state that borders …', 'in the country …'
    rf"\bthe\s{_UNNAMED}\b|\w\s(?:that|who|whose|where)\b|\w{{4}}\swhich\b"
    # 'the director of …' of whom something else is asked
    rf"|^(?!who\b).*\bthe\s(?:\w+\s)?{_PERSON}\s(?:of|for|behind)\b"
    # 'When did A's mother die', 'the birthplace of A's wife', 'A's wife's', 'A's city of birth'
    rf"|['’]s\s{_KIN}\s(?!in[- ]law)\w|(?<!name )\b(?:of|on|in|for|by|from)\s.*{_WHOSE}"
    r"|['’]s\s\w+['’]s\b|['’]s\s(?:\w+\s)?\w+\sof\b"
    # 'of the founder of', 'When did the founder of'
    r"|\b(?:of|by|in|for|to|from)\sthe\s(?-i:[a-z]+\s){1,2}(?:of|by|in)\b"
    r"|^(?:when|how\s.*|wh\w+\s.*\w)\s(?:did|do|does|has|had|was|were)"
    r"\sthe\s(?-i:[a-z]+\s){1,2}(?:of|in)\b",
    re.IGNORECASE,
)
_WANTS_NUMBER: Final = re.compile(
    r"\b(?:when|what (?:year|date|time)|which (?:year|date)|how (?:many|much|old|tall|high|long|far"
    r"|fast|deep|big|large|heavy|wide)|(?:at )?(?:what|which) (?:temperature|speed|age|price|height"
    r"|depth|rate|percentage|number)"
    r"|wann|wie (?:viel\w*|hoch|alt|lang|groß|weit|tief|schnell|schwer|breit)|quand|combien"
    r"|cu[aá]ndo|cu[aá]nt\w+|quando|quant[aei]|wanneer|hoeveel|когда|сколько)\b"
    r"|何年|いつ|何[人メキ度]|多[少高大长長远遠]|[几幾]|哪年|[什甚][么麼][时時]|언제|몇|얼마",
    re.IGNORECASE,
)
_COVERED: Final = 0.6


def is_lookup(question: str) -> bool:
    """Tell whether a question reads as if it asked for one fact.

    One short sentence without lists, comparisons, open 'why' and 'how', or one fact hanging on
    another ('the mother of the director of …'). Doubt means no: research that stops too early costs
    more than one search too many. Of 250 multi-hop questions (2WikiMultihopQA, HotpotQA, MuSiQue)
    14 pass for a lookup, of 77 that ask for one fact 58. It knows the common words of some
    languages; what it cannot read is left to whoever else is asked.
    """
    text = " ".join(question.split()).strip("?.？。！!؟¿¡ ")
    said = words(text)
    if len(sentences(text)) > 1 or len(said) > (_LONGEST if text.isascii() else _LONGEST_SPELT):
        return False
    asks = next((i for i, word in enumerate(said) if word in _ASKS), 0)
    bare = text
    for name in names(text):
        bare = bare.replace(name, " ")  # 'Trinidad and Tobago' is one thing
    first = _ORDER.match(text) or _MANY.match(text)  # a capital makes a name of any first word
    return not (asks >= _LATE or first or _MANY.search(bare) or _HANGING.search(text))


def answers(question: str, learnings: Iterable[Learning]) -> bool:
    """Tell whether one citable learning says what a lookup asks for.

    It has the names of the question and most of its other terms, and a number that the question
    has not where one is asked for.
    """
    named = {t for name in _named(question) for t in terms(name)}
    wanted = {t for t in terms(question) if t not in named and t not in _ASKING}
    number = bool(_WANTS_NUMBER.search(question))
    return any(
        x.evidence
        and named <= (said := set(terms(x.text)))
        and len(wanted & said) >= _COVERED * len(wanted)
        and not (number and set(numbers(x.text)) <= set(numbers(question)))
        for x in learnings
    )


def _named(question: str) -> list[str]:
    """Return the names in a question; a question word ('Wann', 'Wer') is none for its capital."""
    text = question.strip(" ¿¡\n")
    found = names(text)
    first, _, rest = text.partition(" ")
    if _WANTS_NUMBER.match(text) or (len(found) > 1 and found[0] == first):
        return names(rest)
    return found


_ASKING: Final = frozenset(
    stem(w)
    for w in [
        "year",
        "date",
        "time",
        "temperature",
        "many",
        "much",
        "number",
        "name",
        "person",
        "place",
        "find",
        "tell",
    ]
    if w not in STOPWORDS
)
