"""Review: a critic reads all findings against what a good answer must contain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import AliasChoices, Field

from deep_research.core.merge import Item
from deep_research.core.model import Brief, Query
from deep_research.core.ports import Prompt
from deep_research.core.seams import Case, Outside, Review, Scope
from deep_research.core.text import shorten, unique

from ._ask import Answer, ask
from ._prompt import DATA_RULE, assignment, block, bullets, numbered, query_text
from .learn import searchable
from .outline import EVIDENCE, OutlineSection, arranged, first

SYSTEM: Final = f"""You are the critic of a research team. Compare the findings with the assignment.
- gaps: what a good answer must contain and no finding tells, or what one side alone tells where
  there are several; at most 6, each as one question that stands alone and names the thing. None
  if the assignment is answered.
- conflicts: findings that cannot both be true, also across subjects (somebody arrives at 2 a.m. and
  leaves on a tour at 5 a.m.): their numbers, and one question that would settle it. At most 4.
- sections: the report as the findings stand: at most 9, in reading order, each with a short title
  and the numbers of the findings that belong in it; every finding in exactly one.
- verdict: 'research' if something that the assignment needs is open and can be found, else
  'report'.
- reason: why, in one sentence.
{DATA_RULE}"""
_MOST_GAPS, _MOST_CONFLICTS, _MOST_OPEN, _LONGEST = 6, 4, 16, 300


class Contradiction(Answer):
    """Findings that cannot both hold, and the question that would settle it."""

    query: str = Field(validation_alias=AliasChoices("query", "question", "text"))
    evidence: list[int] = Field(default_factory=list, max_length=8, validation_alias=EVIDENCE)


class ReviewAnswer(Answer):
    """What the model is asked for."""

    gaps: list[str] = Field(default_factory=list, max_length=_MOST_GAPS)
    conflicts: list[Contradiction] = Field(default_factory=list, max_length=_MOST_CONFLICTS)
    sections: list[OutlineSection] = Field(default_factory=list, max_length=9)
    verdict: Literal["research", "report"] = "report"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelCritic:
    """A `Critic` that asks the planner model.

    Attributes:
        outside: Where the model is asked.
        count: Counts the tokens of a text.
    """

    outside: Outside
    count: Callable[[str], int]

    async def review(self, case: Case, brief: Brief, scope: Scope) -> Review:
        """Show all findings, numbered; what comes back is questions and an outline."""
        shown = first(case.bank.items, self.count)
        alone = [str(i.id) for i in shown if len({e.sha256 for e in i.learning.evidence}) == 1]
        user = (
            assignment(brief)
            + bullets("acceptance", brief.acceptance)
            + bullets("leads_to_verify", brief.leads)
            + bullets("headings", brief.outline)
            + numbered("findings", ((i.id, i.learning.text) for i in shown))
            + block("on_one_page_only", ", ".join(alone))
            + bullets("failed", case.failures)
            + bullets("open", [q.goal or q.text for q in case.queued[:_MOST_OPEN]])
        )
        prompt = Prompt("planner", SYSTEM, user, name="review", max_tokens=4000)
        answer = await ask(self.outside, prompt, ReviewAnswer, scope, "review")
        by_id = {item.id: item for item in shown}
        ties = [_tie(c, by_id) for c in answer.conflicts if c.query.strip()]
        gaps = unique(shorten(g, _LONGEST) for g in answer.gaps)
        disagreements = [tie.goal for tie in ties]
        return Review(
            answer.verdict == "research",
            tuple(Query(query_text(searchable(g)), g) for g in gaps),
            (*disagreements, *gaps),
            arranged(answer.sections, case.bank),
            shorten(answer.reason, _LONGEST),
            tuple(ties),
        )


def _tie(found: Contradiction, by_id: dict[int, Item]) -> Query:
    said = [repr(shorten(by_id[i].learning.text, 120)) for i in found.evidence if i in by_id]
    goal = f"Cannot both hold: {' / '.join(said)}" if len(said) > 1 else found.query
    return Query(query_text(searchable(found.query)), goal)
