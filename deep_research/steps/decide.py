"""Decide: one turn of the supervisor. It delegates, thinks or ends; it never searches itself.

As tools where the model can call tools, else the same decision as a schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import AliasChoices, Field

from deep_research.core.errors import AuthFailed, BudgetExceeded, DeepResearchError, ToolsRefused
from deep_research.core.events import Event, Kind
from deep_research.core.model import Query
from deep_research.core.ports import Prompt, Turn
from deep_research.core.seams import Emit, Outside, Scope
from deep_research.core.text import names, sentences, shorten, terms

from ._ask import Answer, ask
from ._parse import Unparsable, parse
from ._prompt import DATA_RULE, query_text
from ._toolbox import ToolSpec, Wish, as_tool, read_calls
from .learn import searchable

SYSTEM: Final = f"""You supervise research. You never search yourself: researchers do.
- ConductResearch hands one task to one researcher, who sees nothing but this task. Call it once
  for each thing that the assignment needs and the findings do not tell, the most important first,
  several at once. The topic names the thing exactly as its own pages name it; goal lists what is
  to be found out, at most 3 points.
- think is for a thought of your own; it costs nothing. Delegate or end after it.
- ResearchComplete ends the research: the findings answer the assignment, or nothing that is left to
  ask is worth a search.
- Delegate what was asked already only if it failed. Prefer few tasks that matter to many.
{DATA_RULE}"""
_SCHEMA: Final = """
Answer as JSON: reflection (your thought), delegate (the tasks, each with topic and goal; empty if
the research is to end), complete (whether it ends), why and reason."""
_CONVERSATION: Final = 3
_LONGEST_GOAL, _LONGEST_THOUGHT = 300, 1000
_ORDER: Final = re.compile(
    r"^(?:please\s+)?(?:research|investigate|explore|examine|study|find(?:\s+out)?|determine|identify"
    r"|look\s+(?:up|into|for)|search(?:\s+for)?|gather|collect|get)\s+"
    r"(?:(?:more\s+|detailed\s+)?(?:information|details|data|facts)\s+(?:on|about)\s+|about\s+)?",
    re.IGNORECASE,
)


class Task(Answer):
    """One task for one researcher."""

    topic: str = Field(
        validation_alias=AliasChoices(
            "topic", "research_topic", "task", "query", "question", "subject", "text"
        )
    )
    goal: list[str] = Field(
        default_factory=list,
        max_length=3,
        validation_alias=AliasChoices("goal", "goals", "purpose", "objective", "reason"),
    )


class Thought(Answer):
    """A thought."""

    reflection: str = Field(
        "", validation_alias=AliasChoices("reflection", "thought", "thoughts", "text")
    )


Why = Literal["answered", "saturated", "off_topic", "no_gain"]
"""Why research ends: findings answer it, repeat themselves, lead away, promise too little."""


class Complete(Answer):
    """The end of the research."""

    why: Why = "answered"
    reason: str = Field("", validation_alias=AliasChoices("reason", "summary", "text"))


class DecisionAnswer(Answer):
    """The same decision for a model that cannot call tools."""

    reflection: str = ""
    delegate: list[Task] = Field(
        default_factory=list,
        max_length=64,
        validation_alias=AliasChoices("delegate", "tasks", "topics", "conduct_research", "queries"),
    )
    complete: bool = Field(
        default=False,
        validation_alias=AliasChoices("complete", "research_complete", "done", "stop"),
    )
    why: Why = "answered"
    reason: str = ""


DELEGATE: Final = ToolSpec(
    "ConductResearch", "Hand one task to one researcher and get the findings.", Task
)
THINK: Final = ToolSpec("think", "Write down a thought before deciding.", Thought)
COMPLETE: Final = ToolSpec("ResearchComplete", "End the research.", Complete)
TOOLS: Final = (DELEGATE, THINK, COMPLETE)


@dataclass(frozen=True, slots=True)
class Wants:
    """What the supervisor decided: tasks, or why to end; tasks go before the end."""

    tasks: tuple[Query, ...] = ()
    stop: str = ""
    reason: str = ""


async def decide(outside: Outside, emit: Emit, user: str, most: int, scope: Scope) -> Wants | None:
    """Hold one conversation until there is a decision; None if none can be understood.

    Thoughts are free, but not endless: after three answers without a decision it is asked for as a
    schema.

    Args:
        outside: Where the model is asked.
        emit: Told of its thoughts.
        user: The state of the research.
        most: Tasks at most.
        scope: On whose account.

    Raises:
        AuthFailed: The key is refused.
        BudgetExceeded: There is nothing left to ask with.
        DeepResearchError: The model cannot be asked.
    """
    user += f"\nMaximum of {most} parallel tasks."
    turns: list[Turn] = []
    for _ in range(_CONVERSATION):
        prompt = Prompt(
            "planner",
            SYSTEM,
            user,
            name="decide",
            max_tokens=1500,
            tools=tuple(map(as_tool, TOOLS)),
            turns=tuple(turns),
        )
        try:
            completion = await outside.complete(prompt, scope, "decide")
        except ToolsRefused:
            break
        wishes = read_calls(completion, TOOLS)
        for thought in (w.value for w in wishes):
            if isinstance(thought, Thought):
                data = {"text": shorten(thought.reflection, _LONGEST_THOUGHT)}
                emit(Event(Kind.THOUGHT, scope.path, data))
        wants = _called(wishes) if wishes else _written(completion.text)
        if wants:
            return wants
        if not wishes:
            break
        results = tuple(wish.problem or "Noted. Now delegate or end." for wish in wishes)
        turns.append(Turn(completion.text, tuple(w.call for w in wishes), results))
    return await _as_schema(outside, emit, user, scope)


async def _as_schema(outside: Outside, emit: Emit, user: str, scope: Scope) -> Wants | None:
    prompt = Prompt("planner", SYSTEM + _SCHEMA, user, name="decision", max_tokens=1500)
    try:
        answer = await ask(outside, prompt, DecisionAnswer, scope, "decide")
    except (AuthFailed, BudgetExceeded):
        raise
    except DeepResearchError as error:
        emit(Event(Kind.WARNING, scope.path, {"message": f"no decision: {error}"}))
        return None
    return _wants(answer.delegate, answer.why if answer.complete else "", answer.reason)


def _called(wishes: Iterable[Wish]) -> Wants | None:
    """Return the decision in these calls; None if there is none but thoughts and mistakes."""
    values = [wish.value for wish in wishes]
    tasks = [value for value in values if isinstance(value, Task)]
    end = next((value for value in values if isinstance(value, Complete)), None)
    if end is None and not tasks:
        return None
    return _wants(tasks, end.why if end else "", end.reason if end else "")


def _written(text: str) -> Wants | None:
    """Return the decision that was written instead of called, or None."""
    try:
        answer = parse(text, DecisionAnswer).value
    except Unparsable:
        return None
    if not answer.delegate and not answer.complete:
        return None
    return _wants(answer.delegate, answer.why if answer.complete else "", answer.reason)


def _wants(tasks: Iterable[Task], stop: str, reason: str) -> Wants:
    queries = tuple(
        Query(text, shorten("; ".join(task.goal) or task.topic, _LONGEST_GOAL))
        for task in tasks
        if (text := search_text(task.topic))
    )
    return Wants(queries, stop, shorten(reason, _LONGEST_GOAL))


def search_text(topic: str) -> str:
    """Return what to type for a task: its first sentence, without the order that it is put as.

    'Research the Orla dam, on which the town depends. Find exact figures.' is searched as 'the Orla
    dam'.
    """
    topic = " ".join(topic.split())
    for start, end in sentences(topic)[:1]:
        first = topic[start:end].rstrip(".")
        bare = _ORDER.sub("", first)
        if names(bare) or len(terms(bare)) > 1:
            return query_text(searchable(bare))
    return query_text(topic)
