"""Plugins that answer from a script."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from deep_research.core.errors import PageUnreadable, ProviderError
from deep_research.core.model import Page, Source
from deep_research.core.ports import Completion, Prompt
from deep_research.core.rank import Ranker
from deep_research.core.text import shorten
from deep_research.core.urls import canonical

FETCHED_AT: Final = "2025-01-01T00:00:00+00:00"
"""When fake pages were fetched."""

Answer = str | Mapping[str, Any] | Sequence[Any] | Completion | Exception
"""What a script may say: text, what becomes JSON, a whole completion, or an error to raise."""


@dataclass(slots=True)
class Reply:
    """One line of a script: which prompts it answers, and how.

    Attributes:
        answer: The answer, or a function of the prompt that gives it.
        role: Only prompts of this role.
        step: Only prompts whose `name` this is (steps name their answer's schema).
        match: Only prompts whose system or user text this regular expression finds something in.
        times: How often it answers; None is without end, and then it need not be used.
        delay: Seconds before the answer.
    """

    answer: Answer | Callable[[Prompt], Answer]
    role: str = ""
    step: str = ""
    match: str = ""
    times: int | None = 1
    delay: float = 0.0

    def fits(self, prompt: Prompt) -> bool:
        """Tell whether this line answers the prompt."""
        return (
            self.times != 0
            and self.role in {"", prompt.role}
            and self.step in {"", prompt.name}
            and re.search(self.match, f"{prompt.system}\n{prompt.user}") is not None
        )

    def __str__(self) -> str:
        wants = {"role": self.role, "step": self.step, "match": self.match}
        return ", ".join(f"{k}={v!r}" for k, v in wants.items() if v) or "any prompt"


class ScriptedLLM:
    """A language model that follows a script: the first line that fits answers.

    Args:
        script: Lines in order. A bare answer is a `Reply` to one prompt of any kind, a bare
            function one to all.
        model: Name reported in completions.
        cost: Micro-dollars per call, None for an unknown price.

    Attributes:
        prompts: All prompts, in the order of their arrival.
        running: Calls under way now; `most_running` is the most there ever were.

    Tokens are counted as a quarter of the characters. Call `check` at the end of a test.
    """

    def __init__(
        self,
        *script: Reply | Answer | Callable[[Prompt], Answer],
        model: str = "scripted",
        cost: int | None = 0,
    ) -> None:
        self.script = [_line(item) for item in script]
        self.prompts: list[Prompt] = []
        self.running = self.most_running = 0
        self._model, self._cost = model, cost
        self._unanswered: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer as the script says.

        Raises:
            AssertionError: No line fits; `check` will say so again, should this get lost.
        """
        self.prompts.append(prompt)
        line = next((line for line in self.script if line.fits(prompt)), None)
        if line is None:
            self._unanswered.append(prompt)
            raise AssertionError(f"no answer scripted for {_brief(prompt)}")
        if line.times is not None:
            line.times -= 1
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await asyncio.sleep(line.delay)
        finally:
            self.running -= 1
        answer = line.answer(prompt) if callable(line.answer) else line.answer
        if isinstance(answer, Exception):
            raise answer
        return self._completion(prompt, answer)

    def _completion(self, prompt: Prompt, answer: Answer) -> Completion:
        if isinstance(answer, Completion):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return Completion(
            text,
            self._model,
            "stop",
            _tokens(prompt.system + prompt.user),
            _tokens(text),
            self._cost,
        )

    def worst_case(self, prompt: Prompt) -> Mapping[str, int]:
        """Return one call, the prompt's tokens and its `max_tokens`."""
        tokens = _tokens(prompt.system + prompt.user) + prompt.max_tokens
        return {"calls": 1, "tokens": tokens} | ({} if self._cost is None else {"cost": self._cost})

    def check(self) -> None:
        """Raise AssertionError if prompts went unanswered or answers were not asked for."""
        unanswered = [_brief(prompt) for prompt in self._unanswered]
        if unanswered:
            raise AssertionError(f"prompts without an answer: {unanswered}")
        unused = [f"{line} ({line.times}×)" for line in self.script if line.times]
        if unused:
            raise AssertionError(f"answers that nobody asked for: {unused}")


def _line(item: Reply | Answer | Callable[[Prompt], Answer]) -> Reply:
    if isinstance(item, Reply):
        return replace(item)
    return Reply(item, times=None if callable(item) else 1)


def _brief(prompt: Prompt) -> str:
    return f"role={prompt.role!r} step={prompt.name!r}: {shorten(prompt.user, 200)!r}"


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


class FakeSearch:
    """A search engine over given pages, or with given answers.

    Args:
        pages: URL → text; a search ranks them by BM25, those that share no word with the query are
            left out.
        answers: Query → hits, or a function of the query; what it does not know is searched for in
            `pages`. An exception is raised.
        name: The engine's name, also `Source.engine`.
        delay: Seconds before each answer.

    Attributes:
        queries: All queries, in the order of their arrival.
    """

    def __init__(
        self,
        pages: Mapping[str, str] | None = None,
        *,
        answers: Mapping[str, Sequence[Source] | Exception]
        | Callable[[str], Sequence[Source]]
        | None = None,
        name: str = "fake",
        delay: float = 0.0,
    ) -> None:
        self.name = name
        self.queries: list[str] = []
        self._pages = {canonical(url): text for url, text in (pages or {}).items()}
        self._answers, self._delay = answers, delay

    async def search(self, query: str, *, limit: int) -> Sequence[Source]:
        self.queries.append(query)
        await asyncio.sleep(self._delay)
        if callable(self._answers):
            return self._answers(query)[:limit]
        answer = (self._answers or {}).get(query)
        if isinstance(answer, Exception):
            raise answer
        return (self._ranked(query) if answer is None else answer)[:limit]

    def _ranked(self, query: str) -> list[Source]:
        scores = Ranker(list(self._pages.values())).scores({query: 1.0})
        scored = sorted(zip(scores, self._pages, strict=True), key=lambda pair: -pair[0])
        found = [url for score, url in scored if score > 0]
        return [
            Source(url, _title(self._pages[url]), shorten(self._pages[url], 300), self.name, rank)
            for rank, url in enumerate(found)
        ]


class FakeReader:
    """A page reader that has the pages already.

    Args:
        pages: URL → text, a whole `Page`, or the error to raise; other URLs are unreadable.
        delay: Seconds before each page.

    Attributes:
        urls: All URLs asked for, in order.
    """

    def __init__(
        self, pages: Mapping[str, str | Page | ProviderError], *, delay: float = 0.0
    ) -> None:
        self.urls: list[str] = []
        self._pages = {canonical(url): page for url, page in pages.items()}
        self._delay = delay

    async def read(self, source: Source) -> Page:
        self.urls.append(source.url)
        await asyncio.sleep(self._delay)
        page = self._pages.get(canonical(source.url))
        if page is None:
            raise PageUnreadable(f"{source.url} answered 404")
        if isinstance(page, Exception):
            raise page
        if isinstance(page, Page):
            return page
        digest = hashlib.sha256(page.encode()).hexdigest()
        here = replace(source, title=source.title or _title(page))
        return Page(here, page, digest, "text/plain", FETCHED_AT)


def _title(text: str) -> str:
    return shorten(text.strip().partition("\n")[0].lstrip("# "), 80)
