"""Learn: what the pages say about the query. The model points at numbered sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import AliasChoices, Field

from deep_research.core.citations import bare
from deep_research.core.errors import BadAnswer, ContextTooLong
from deep_research.core.evidence import grounded
from deep_research.core.merge import fit
from deep_research.core.model import Brief, Failure, Learning, Page, Query, ResearchNode, Source
from deep_research.core.passages import Excerpt, select
from deep_research.core.pipeline import Learner, Lesson, unread_first
from deep_research.core.ports import Prompt
from deep_research.core.seams import Outside, Scope
from deep_research.core.text import names, unique, words

from ._ask import Answer, ask
from ._prompt import DATA_RULE, assignment, block, bullets, data, query_text
from ._shape import pointed

SYSTEM: Final = f"""You read sources for a researcher. Their sentences stand under numbers.
- learnings: what the sources state that helps to answer the query: exact figures, dates, names,
  relations. Each is one self-contained sentence that names its subject, with the numbers of the
  sentences that state it as evidence. State nothing that they do not state. Where two sources
  differ, report the more recent and say of when it is.
- follow_ups: stand-alone questions about things that the sources name but do not explain and
  that the assignment needs. Name the thing. Most important first; none if nothing is open.
{DATA_RULE}"""
_PER_TEXT: Final = 14
_KNOWN_TOKENS: Final = 200
_FITTING: Final = 3
_CLAUSE: Final = re.compile(
    r",\s+(?:(?:on|of|in|by|for|to|with|from|at)\s+)?(?:which|whom|whose|who|where)\b[^,?]*",
    re.IGNORECASE,
)
_SHARES: Final = (1.0, 0.5, 0.2)
"""Parts of the token limit to try while the provider says that the prompt is too long."""
_WEIGHTS: Final = {"query": 1.0, "goal": 0.5, "question": 0.25}


class LearningAnswer(Answer):
    """One finding and the sentences that state it."""

    text: str = Field(
        "",
        validation_alias=AliasChoices(
            "text", "learning", "insight", "claim", "statement", "fact", "quote"
        ),
    )
    evidence: list[int] = Field(
        default_factory=list,
        max_length=8,
        validation_alias=AliasChoices(
            "evidence", "sentences", "sentence_ids", "ids", "sources", "source"
        ),
    )


class LearnAnswer(Answer):
    """What the model is asked for where the tree ends."""

    learnings: list[LearningAnswer] = Field(default_factory=list)


class LearnAndAskAnswer(LearnAnswer):
    """What the model is asked for where the tree goes on."""

    follow_ups: list[str] = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "follow_ups", "followUpQuestions", "follow_up_questions", "followUps", "questions"
        ),
    )


@dataclass(frozen=True, slots=True)
class ModelLearner:
    """A `Learner` that asks the reader model.

    Attributes:
        outside: Where the model is asked.
        count: Counts the tokens of a text.
        tokens: Sentences of the pages that one search text may show the model, in tokens.
        plain: Learns from pages of which the model makes nothing; without it that is an error.
    """

    outside: Outside
    count: Callable[[str], int]
    tokens: int = 3000
    plain: Learner | None = None

    def choose(
        self, node: ResearchNode, brief: Brief, hits: Sequence[Sequence[Source]]
    ) -> Sequence[Source]:
        """Take turns between the searches, unread pages first; misfits only if few hits fit.

        A hit fits if it names what the query names; what little is known of comes first.
        """
        del brief
        ordered = unread_first(node, hits)
        wanted = {w for text in node.query.texts for name in names(text) for w in words(name)}
        known = Counter(w for learning in node.known for w in set(words(learning.text)))
        new = {w for w in wanted if known[w] < _FITTING}
        said = {s.url: set(words(f"{s.title} {s.snippet}")) for s in ordered}
        fitting = [s for s in ordered if wanted & said[s.url]]
        if len(fitting) < _FITTING * len(node.query.texts):
            return ordered
        return sorted(fitting, key=lambda s: not new & said[s.url])

    async def learn(
        self, node: ResearchNode, brief: Brief, pages: Sequence[Page], scope: Scope
    ) -> Lesson:
        """Ask the model; where its answer is of no use the pages still are."""
        try:
            return await self._asked(node, brief, pages, scope)
        except (BadAnswer, ContextTooLong) as error:
            if self.plain is None:
                raise
            lesson = await self.plain.learn(node, brief, pages, scope)
            why = Failure(error.kind, f"pages quoted as they stand: {error}", node.path)
            return replace(lesson, failures=(why,))

    async def _asked(
        self, node: ResearchNode, brief: Brief, pages: Sequence[Page], scope: Scope
    ) -> Lesson:
        """Show the best sentences of the pages, numbered; bind what comes back to them."""
        excerpts: list[Excerpt] = []
        answer = LearnAnswer()
        most = _PER_TEXT * len(node.query.texts)
        limit = self.tokens * len(node.query.texts)
        for share in _SHARES:
            excerpts = self._excerpts(node, brief, pages, int(limit * share))
            if not excerpts:
                return Lesson()
            if share == _SHARES[0]:  # a prompt that was too long has to become shorter than it was
                limit = min(limit, sum(self.count(e.text) + 4 for e in excerpts))
            user = self._user(node, brief, excerpts, most)
            prompt = Prompt("reader", SYSTEM, user, name="learnings", max_tokens=4000)
            kind = LearnAndAskAnswer if node.room else LearnAnswer
            try:
                answer = await ask(self.outside, prompt, kind, scope, "learn", most=most)
                break
            except ContextTooLong:
                if share == _SHARES[-1]:
                    raise
        learnings = self._bound(answer, excerpts, brief, node)
        asked = (*node.asked, *node.query.texts)
        questions = unique(map(query_text, getattr(answer, "follow_ups", ())), asked)[: node.room]
        follow_ups = [Query(searchable(q), q) for q in questions]
        if answer.cut and self.plain is not None and len(follow_ups) < node.room:
            # What broke off were the follow-ups, which come last: the pages name some, too.
            follow_ups += (await self.plain.learn(node, brief, pages, scope)).follow_ups
        return Lesson(tuple(learnings), tuple(follow_ups))

    def _excerpts(
        self, node: ResearchNode, brief: Brief, pages: Sequence[Page], limit: int
    ) -> list[Excerpt]:
        """The sentences that fit query, goal and question best; none that an ancestor quoted."""
        wanted = dict.fromkeys(node.query.texts, _WEIGHTS["query"])
        wanted.setdefault(node.query.goal, _WEIGHTS["goal"])
        wanted.setdefault(brief.question, _WEIGHTS["question"])
        return select(
            pages,
            wanted,
            limit=limit,
            count=self.count,
            skip=frozenset(e.quote for x in node.known for e in x.evidence),
        )

    def _user(
        self, node: ResearchNode, brief: Brief, excerpts: Sequence[Excerpt], most: int
    ) -> str:
        known = fit(node.known, _KNOWN_TOKENS, self.count)
        told = [f"known: {x.text}" for x in known] + [f"asked: {q}" for q in node.asked]
        ask_for = f"Return at most {most} learnings"
        if node.room:
            ask_for += f" and at most {node.room} follow-up questions"
        return (
            assignment(brief)
            + bullets("reminder", told)
            + bullets("query", node.query.texts)
            + block("goal", data(node.query.goal))
            + block("sources", shown(excerpts))
            + f"\n{ask_for}."
        )

    def _bound(
        self,
        answer: LearnAnswer,
        excerpts: Sequence[Excerpt],
        brief: Brief,
        node: ResearchNode,
    ) -> list[Learning]:
        bound: dict[str, Learning] = {}
        for item in answer.learnings:
            ids = pointed(item.text, item.evidence)
            chosen = [excerpts[i - 1] for i in ids if 0 < i <= len(excerpts)]
            titles = " ".join(e.page.source.title for e in chosen)
            context = f"{brief.question} {' '.join(node.query.texts)} {titles}"
            text = bare(item.text, [e.text for e in chosen])
            found = grounded(text, chosen, excerpts, context)
            for learning in found or ([Learning(text)] if text else []):
                bound.setdefault(learning.text, learning)
        return list(bound.values())


def searchable(question: str) -> str:
    """Return what to type for a follow-up question: no relative clauses, they say how it came up.

    'What is known about the Orla dam, on which the town depends?' is searched as
    'What is known about the Orla dam'.
    """
    text = _CLAUSE.sub("", question).rstrip(" ?？")
    return text if names(text) else question


def shown(excerpts: Sequence[Excerpt]) -> str:
    """Lay out sentences by page, each under its number, below the page's title and date."""
    lines: list[str] = []
    last: Page | None = None
    for n, excerpt in enumerate(excerpts, 1):
        if excerpt.page is not last:
            if last is not None:
                lines.append("</source>")
            last = excerpt.page
            source = last.source
            date = f' published="{data(source.published)}"' if source.published else ""
            title = data(source.title).replace('"', "'")
            lines.append(f'<source title="{title}"{date}>')
        lines.append(f"[{n}]\n{data(excerpt.text)}")
    return "\n".join((*lines, "</source>"))
