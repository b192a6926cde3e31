"""What a tool loop shows a model: its rules, its tools, its task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pydantic import AliasChoices, Field

from deep_research.core.merge import fit
from deep_research.core.model import Brief, ResearchNode
from deep_research.core.ports import Prompt
from deep_research.steps._ask import Answer
from deep_research.steps._prompt import DATA_RULE, assignment, block, bullets, data
from deep_research.steps._toolbox import ToolSpec, as_tool

_RULES: Final = """You research one query with tools, until what its goal asks for is found.
Never answer from memory: only what you read counts, snippets prove nothing. What you read is kept
word for word, so write no report. Finish as soon as the goal is met or nothing new turns up.
Your tools:"""
_KNOWN_TOKENS: Final = 600


class SearchArguments(Answer):
    """What to search for."""

    queries: list[str] = Field(
        description="short search queries, each for one thing",
        validation_alias=AliasChoices(
            "queries", "query", "q", "search_queries", "search_query", "keywords", "terms", "text"
        ),
    )


class ReadArguments(Answer):
    """What to read."""

    urls: list[str | int] = Field(
        description="addresses of hits, or their numbers",
        validation_alias=AliasChoices(
            "urls", "url", "links", "link", "pages", "page", "addresses", "ids", "id", "numbers"
        ),
    )


class ThinkArguments(Answer):
    """What is thought."""

    reflection: str = Field(
        description="what is found, what is missing, what to do next",
        validation_alias=AliasChoices(
            "reflection", "thought", "thoughts", "thinking", "reasoning", "text", "content"
        ),
    )


class CompleteArguments(Answer):
    """Why it ends."""

    reason: str = Field(
        "",
        description="why it is enough, in a sentence",
        validation_alias=AliasChoices("reason", "summary", "message", "answer", "text"),
    )


TOOLS: Final = (
    ToolSpec("search", "finds pages; several queries at once if need be", SearchArguments),
    ToolSpec("read_page", "reads pages that a search found, several at once", ReadArguments),
    ToolSpec("think", "notes what is found, what is missing, what to do next", ThinkArguments),
    ToolSpec("ResearchComplete", "ends the research", CompleteArguments),
)


def opening(
    node: ResearchNode,
    brief: Brief,
    specs: Sequence[ToolSpec],
    tool_calls: int,
    count: Callable[[str], int],
) -> Prompt:
    """Return how a conversation begins; the system text is equal for all nodes of a run."""
    listed = "\n".join(f"- {spec.name}: {data(spec.description)}" for spec in specs)
    known = fit(node.known, _KNOWN_TOKENS, count)
    others = [text for text in node.asked if text not in node.query.texts]
    told = [f"known: {x.text}" for x in known] + [f"asked elsewhere: {text}" for text in others]
    user = (
        assignment(brief)
        + bullets("reminder", told)
        + bullets("query", node.query.texts)
        + block("goal", data(node.query.goal))
        + f"\nUse at most {tool_calls} tool calls: each query and each page counts as one,"
        " think and ResearchComplete as none."
    )
    system = f"{_RULES}\n{listed}\n{DATA_RULE}"
    tools = tuple(map(as_tool, specs))
    return Prompt("planner", system, user, name="react", tools=tools)
