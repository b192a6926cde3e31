"""Brief: what is asked, in which language, what a good answer holds, where to look first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from deep_research.core.effort import is_lookup
from deep_research.core.errors import AuthFailed, DeepResearchError
from deep_research.core.languages import LANGUAGES
from deep_research.core.model import Brief, Failure
from deep_research.core.ports import Lead, Prompt
from deep_research.core.seams import Clarify, Outside, Scope
from deep_research.core.text import shorten, terms, unique

from ._ask import Answer, ask
from ._prompt import DATA_RULE, block, bullets, data, query_text

SYSTEM: Final = f"""You prepare web research. Read the request and return a brief.
- need_clarification: true only if the request cannot be researched as it stands, because a word or
  a name in it may mean very different things; then questions: at most {{most}} short ones, each
  about one thing. Otherwise false, and no questions.
- scope: one or two sentences: what is asked, and what is not. Add no wishes of your own.
- language: the ISO 639-1 code of the language the request is written in (the report's
  language).
- outline: at most 8 short headings that a complete answer would have.
- acceptance: at most 8 things that a good answer must contain, each a few words that name the thing
  and what is to be said of it.
- queries: at most 2 short search queries for a first look at the subject itself, in the wording
  of its own pages.
- single_fact: true only if the request asks for one fact that a single page can state.
- Where earlier findings are shown, they are leads: let the queries verify what matters of them.
{DATA_RULE}"""
_CODE: Final = re.compile(r"([a-z]{2})(?:[-_]|\s*(?:[(,;/:.]|$))")
_LONGEST_QUERY, _LONGEST_SCOPE, _LONGEST_HEADING, _LONGEST_ANSWER = 300, 600, 120, 500
_MOST_LEADS: Final = 12


class BriefAnswer(Answer):
    """What the model is asked for."""

    need_clarification: bool = False
    questions: list[str] = Field(default_factory=list, max_length=5)
    scope: str = ""
    language: str = "en"
    outline: list[str] = Field(default_factory=list, max_length=8)
    acceptance: list[str] = Field(default_factory=list, max_length=8)
    queries: list[str] = Field(default_factory=list, max_length=2)
    single_fact: bool = False


@dataclass(frozen=True, slots=True)
class Briefer:
    """Makes the brief of a run.

    Attributes:
        outside: Where the model is asked.
        language: Language of the report that a person has set, or None.
        questions: How many questions may go back to the person; 0 asks none.
    """

    outside: Outside
    language: str | None = None
    questions: int = 3

    async def brief(
        self, question: str, scope: Scope, clarify: Clarify, leads: Sequence[Lead] = ()
    ) -> Brief:
        """Return the brief of `question`; asks back once where it is ambiguous."""
        told = [_lead(lead) for lead in leads[:_MOST_LEADS]]
        request = block("request", data(question)) + bullets("earlier_findings", told)
        answer = await self._ask(request, scope)
        asked = unique(shorten(q, _LONGEST_QUERY) for q in answer.questions)[: self.questions]
        said = await clarify(asked) if answer.need_clarification and asked else {}
        meant = [f"{q} — {shorten(a, _LONGEST_ANSWER)}" for q, a in said.items()]
        if meant:
            clarified = request + bullets("clarifications", meant)
            answer = await self._ask_again(clarified, answer, scope)
        return Brief(
            question,
            " ".join([shorten(answer.scope, _LONGEST_SCOPE), *meant]).strip(),
            self.language or _code(answer.language),
            tuple(unique(shorten(h, _LONGEST_HEADING) for h in answer.outline)),
            tuple(_first_look(question, map(query_text, answer.queries))),
            tuple(unique(shorten(a, _LONGEST_HEADING) for a in answer.acceptance)),
            answer.single_fact and is_lookup(question),
            tuple(told),
        )

    async def _ask_again(self, request: str, first: BriefAnswer, scope: Scope) -> BriefAnswer:
        """Ask with the person's answers; without a second brief the first one has to do."""
        try:
            return await self._ask(request, scope)
        except AuthFailed:
            raise
        except DeepResearchError as error:
            scope.mishaps.append(Failure.of(error, scope.path))
            return first

    async def _ask(self, request: str, scope: Scope) -> BriefAnswer:
        system = SYSTEM.replace("{most}", str(self.questions))
        prompt = Prompt("planner", system, request, name="brief", max_tokens=1500)
        return await ask(self.outside, prompt, BriefAnswer, scope, "brief")


def _lead(lead: Lead) -> str:
    told = [f"found {lead.date[:10]}"] if lead.date else []
    told += [f"pages of {lead.published[:10]}"] if lead.published else []
    told += lead.urls[:1]
    return f"{lead.text} ({', '.join(told)})" if told else lead.text


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
