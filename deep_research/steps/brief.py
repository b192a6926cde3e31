"""Brief: what is asked, in which language, what a good answer holds, where to look first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pydantic import Field

from deep_research.core.languages import LANGUAGES
from deep_research.core.model import Brief
from deep_research.core.ports import Prompt
from deep_research.core.seams import Outside, Scope
from deep_research.core.text import shorten, terms, unique

from ._ask import Answer, ask
from ._prompt import DATA_RULE, block, data, query_text

SYSTEM: Final = f"""You prepare web research. Read the request and return a brief.
- scope: one or two sentences: what is asked, and what is not. Add no wishes of your own.
- language: the ISO 639-1 code of the language the request is written in (the report's
  language).
- outline: at most 8 short headings that a complete answer would have.
- queries: at most 2 short search queries for a first look at the subject itself, in the wording
  of its own pages.
{DATA_RULE}"""
_CODE: Final = re.compile(r"([a-z]{2})(?:[-_]|\s*(?:[(,;/:.]|$))")
_LONGEST_QUERY, _LONGEST_SCOPE, _LONGEST_HEADING = 300, 600, 120


class BriefAnswer(Answer):
    """What the model is asked for."""

    scope: str = ""
    language: str = "en"
    outline: list[str] = Field(default_factory=list, max_length=8)
    queries: list[str] = Field(default_factory=list, max_length=2)


async def make_brief(outside: Outside, question: str, language: str | None, scope: Scope) -> Brief:
    """Return the brief of `question`; a language that a person has set wins."""
    prompt = Prompt(
        "planner", SYSTEM, block("request", data(question)), name="brief", max_tokens=1200
    )
    answer = await ask(outside, prompt, BriefAnswer, scope, "brief")
    return Brief(
        question,
        shorten(answer.scope, _LONGEST_SCOPE),
        language or _code(answer.language),
        tuple(unique(shorten(h, _LONGEST_HEADING) for h in answer.outline)),
        tuple(_first_look(question, map(query_text, answer.queries))),
    )


def _first_look(question: str, queries: Iterable[str]) -> list[str]:
    """Return two search texts: the model's best one and the question itself.

    A query that shares no word with the question may be about something that the model made up.
    """
    about = set(terms(question))
    grounded = [
        q
        for q in unique(queries)
        if about & set(terms(q)) or q.isascii() != question.isascii()  # another script: no telling
    ]
    return unique([*grounded[:1], shorten(question, _LONGEST_QUERY)])


def _code(language: str) -> str:
    """Read 'de', 'zh-CN', 'German' and 'Spanish (Mexico)'; what is none of these is English."""
    text = language.strip().lower()
    code = _CODE.match(text)
    if code:
        return code[1]
    named = (LANGUAGES[word] for word in re.findall(r"[a-z]+", text) if word in LANGUAGES)
    return next(named, "en")
