"""Plan: which queries, each with a goal, go deeper from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import AliasChoices, Field

from deep_research.core.delegate import choose, why_stop
from deep_research.core.errors import AuthFailed, BudgetExceeded, DeepResearchError
from deep_research.core.events import Event, Kind
from deep_research.core.merge import fit
from deep_research.core.model import Brief, Decision, Query, ResearchNode, Shape
from deep_research.core.ports import Lead, Prompt
from deep_research.core.review import onward
from deep_research.core.seams import Case, Clarify, Emit, Outside, Review, Scope

from ._ask import Answer, ask
from ._prompt import DATA_RULE, assignment, block, bullets, data, query_text
from .brief import Briefer

SYSTEM: Final = f"""You plan research. Propose search queries that together answer the assignment.
- Each query aims at one thing, named exactly as its own pages name it, and stands alone without
  the others.
- The goal says what is to be found out, and what further things it should name.
- Most important first. Use what is known; ask nothing that was already asked, and nothing twice
  in other words.
{DATA_RULE}"""
_KNOWN_TOKENS: Final = 1500


class PlannedQuery(Answer):
    """One query and what it is for."""

    query: str = Field(
        validation_alias=AliasChoices(
            "query", "text", "q", "search_query", "search_term", "search", "keywords", "question"
        )
    )
    goal: str = Field(
        "", validation_alias=AliasChoices("goal", "research_goal", "purpose", "rationale", "reason")
    )


class PlanAnswer(Answer):
    """What the model is asked for."""

    queries: list[PlannedQuery] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TreePlanner:
    """A `Planner` that goes deeper until the depth is reached, unless there is nothing left to ask.

    At the root the model plans, told what the first look brought. Deeper, the follow-ups that were
    learned are the plan already: the model that made them was told what is known and was asked.

    Attributes:
        outside: Where the model is asked.
        emit: The run's event stream.
        count: Counts the tokens of a text.
        briefer: Makes the brief.
    """

    outside: Outside
    emit: Emit
    count: Callable[[str], int]
    briefer: Briefer

    async def brief(
        self, question: str, scope: Scope, clarify: Clarify, leads: Sequence[Lead] = ()
    ) -> Brief:
        """Ask the planner for a brief."""
        return await self.briefer.brief(question, scope, clarify, leads)

    async def decide_turn(
        self, case: Case, review: Review, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Delegate what is open, in order: a fixed tree weighs nothing."""
        del brief, scope
        return onward(case, review, shape)

    async def decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        """Stop where a fixed tree has to, else delegate to at most `shape.breadth` branches."""
        stop = why_stop(node, shape)
        if stop:
            return stop
        queries = node.findings.follow_ups
        if not node.path:
            queries = (*await self._plan(node, brief, shape, scope), *queries)
        branches = choose(
            queries,
            asked=(*node.asked, *node.query.texts),
            breadth=shape.breadth,
            per_branch=shape.per_branch,
        )
        return Decision(branches) if branches else Decision(stop="no_follow_ups")

    async def _plan(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> tuple[Query, ...]:
        """Ask the model; without an answer the outline has to do, so that the run goes on."""
        follow_ups = [q.text for q in node.findings.follow_ups]
        known = fit(node.findings.learnings, _KNOWN_TOKENS, self.count)
        subject = bullets("open_questions", follow_ups) or block("question", data(brief.question))
        user = (
            assignment(brief)
            + bullets("known", (x.text for x in known))
            + bullets("outline", brief.outline)
            + bullets("reminder", [f"already asked: {text}" for text in node.query.texts])
            + subject
            + f"\nPropose at most {shape.room} queries."
        )
        prompt = Prompt("planner", SYSTEM, user, name="plan", max_tokens=2000)
        try:
            answer = await ask(self.outside, prompt, PlanAnswer, scope, "plan", most=shape.room)
        except (AuthFailed, BudgetExceeded):
            raise
        except DeepResearchError as error:
            self.emit(Event(Kind.WARNING, node.path, {"message": f"no plan: {error}"}))
            fallback = [] if follow_ups else [f"{brief.question} {h}" for h in brief.outline]
            return tuple(Query(text, text) for text in fallback)
        return tuple(Query(query_text(q.query), q.goal or brief.question) for q in answer.queries)
