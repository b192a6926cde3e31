"""What a tool loop has done: searching, reading and calling on a model's word, each thing once."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from deep_research.core.errors import DeepResearchError
from deep_research.core.events import Event, Kind
from deep_research.core.model import Brief, Failure, Page, ResearchNode, Source
from deep_research.core.passages import select
from deep_research.core.pipeline import read_each, search_each
from deep_research.core.seams import Emit, Outside, Scope
from deep_research.core.text import shorten, words
from deep_research.core.urls import canonical, same_page
from deep_research.steps._prompt import data, query_text

from .extra import ExtraTool, page_of, text_from

_ADDRESS: Final = re.compile(r"https?://\S+")
_NUMBER: Final = re.compile(r"\W*(\d{1,4})\W*")
_SNIPPET: Final = 300
_SHOWN: Final = 200
_BEFORE: Final = "(You called this before; it cost nothing.)\n"
_WEIGHTS: Final = {"query": 1.0, "goal": 0.5, "question": 0.25}


Work = str | Source | tuple[ExtraTool, Mapping[str, Any]]
"""A query, a page, a tool with its arguments."""


class Job(NamedTuple):
    """One thing to do, None for what must not be done; `key` is equal for equal jobs."""

    key: str
    what: Work | None


@dataclass(slots=True)
class Legwork:
    """Does what a model asks for within a limit, and says what came of it.

    Attributes:
        outside: Search and reading.
        emit: The run's event stream.
        node: Whose query it is.
        brief: What the run is about.
        scope: On whose account.
        count: Counts the tokens of a text.
        page_tokens: How much of a page is shown.
        save: Stores the text of what an extra tool said.
        left: Tool calls that may still be made.
        refused: Those that were wanted beyond.
        found: One list of hits for each search that answered, and what a provider cited.
        asked: The queries of those that found something.
        pages: What was read, each text once.
        failures: What went wrong.
    """

    outside: Outside
    emit: Emit
    node: ResearchNode
    brief: Brief
    scope: Scope
    count: Callable[[str], int]
    page_tokens: int
    save: Callable[[Page], None]
    left: int
    refused: int = 0
    found: list[Sequence[Source]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    _hits: dict[str, Source] = field(default_factory=dict)
    _open: dict[str, Source] = field(default_factory=dict)
    _told: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Addresses in the question and those that ancestors cite may be read unsearched."""
        known = [e.source for x in self.node.known for e in x.evidence]
        asked = [_canonical(Source(url)) for url in _ADDRESS.findall(self.brief.question)]
        for source in (*known, *asked):
            if source:
                self._open.setdefault(_key(source.url), source)

    def searches(self, queries: Sequence[str]) -> list[Job]:
        """Return a job for each query."""
        texts = dict.fromkeys(map(query_text, queries))
        return [Job(f"search {' '.join(words(text)) or text}", text) for text in texts]

    def reads(self, urls: Sequence[str | int]) -> list[Job]:
        """Return a job for each address or number of a hit."""
        jobs: dict[str, Job] = {}
        for url in map(str, urls):
            source = self._source(url)
            key = f"read {_key(source.url if source else url)}"
            jobs.setdefault(key, Job(key, source))
        return list(jobs.values())

    def cite(self, sources: Sequence[Source]) -> list[Job]:
        """Return a job for each page that a provider's own search names; they count as hits."""
        usable = [s for s in (_canonical(source) for source in sources) if s]
        if usable:
            self.found.append(usable)
            for source in usable:
                self._hits.setdefault(_key(source.url), source)
        return self.reads([s.url for s in usable])

    @staticmethod
    def uses(tool: ExtraTool, values: Mapping[str, Any]) -> list[Job]:
        """Return the job of calling an extra tool."""
        given = json.dumps(values, ensure_ascii=False, sort_keys=True)
        return [Job(f"{tool.name} {given}", (tool, values))]

    def _source(self, url: str) -> Source | None:
        """Find what may be read under an address, or under the number of a hit."""
        number = _NUMBER.fullmatch(url)
        if number:
            hits, n = list(self._hits.values()), int(number[1])
            return hits[n - 1] if 0 < n <= len(hits) else None
        key = _key(url)
        return self._hits.get(key) or self._open.get(key)

    async def do(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Do at once what is new, within the limit; return what each job brought, by its key."""
        told: dict[str, str] = {}
        due: dict[str, Work] = {}
        for key, what in dict(jobs).items():
            if what is None:
                url = shorten(key.removeprefix("read "), _SHOWN)
                told[key] = f"{url} was not found by a search: search first, then read its hits"
            elif key in self._told:
                told[key] = _BEFORE + self._told[key]
            elif self.left > 0:
                self.left -= 1
                due[key] = what
            else:
                self.refused += 1
                told[key] = "not done: no tool call is left"
        told.update(await self._done(due))
        return told

    async def _done(self, due: Mapping[str, Work]) -> dict[str, str]:
        texts = [what for what in due.values() if isinstance(what, str)]
        sources = [what for what in due.values() if isinstance(what, Source)]
        calls = [what for what in due.values() if isinstance(what, tuple)]
        async with asyncio.TaskGroup() as group:
            searching = group.create_task(search_each(self.outside, self.emit, texts, self.scope))
            reading = group.create_task(read_each(self.outside, sources, self.scope))
            calling = [group.create_task(text_from(*call)) for call in calls]
        hits, pages = iter(searching.result()), iter(reading.result())
        said = iter([task.result() for task in calling])
        told: dict[str, str] = {}
        for key, what in due.items():  # in the model's order, whoever was faster
            if isinstance(what, str):
                told[key] = self._searched(what, next(hits))
            elif isinstance(what, Source):
                told[key] = self._read(what, next(pages))
            else:
                told[key] = self._used(*what, next(said))
        self._told.update(told)
        return told

    def _searched(self, query: str, found: Sequence[Source] | DeepResearchError) -> str:
        shown = data(query).replace('"', "'")
        if isinstance(found, DeepResearchError):
            self.failures.append(Failure.of(found, self.scope.path))
            return f'search for "{shown}" failed: {data(shorten(str(found), _SNIPPET))}'
        self.found.append(found)
        self.asked += [query] if found else []
        lines = [self._line(source) for source in found] or ["nothing found: try other words"]
        return "\n".join((f'<hits query="{shown}">', *lines, "</hits>"))

    def _line(self, source: Source) -> str:
        """One hit: number, title, address, date, below it the snippet; a known one in short."""
        key = _key(source.url)
        old = key in self._hits
        self._hits.setdefault(key, source)
        title = data(shorten(source.title, _SHOWN)) or "untitled"
        line = f"[{list(self._hits).index(key) + 1}] {title}"
        if old:
            return f"{line} (shown before)"
        date = f" ({data(source.published)})" if source.published else ""
        snippet = data(shorten(source.snippet, _SNIPPET))
        return f"{line} | {data(source.url)}{date}" + (f"\n    {snippet}" if snippet else "")

    def _read(self, source: Source, page: Page | Failure) -> str:
        if isinstance(page, Failure):
            self.failures.append(page)
            return f"could not be read: {data(shorten(page.message, _SNIPPET))}"
        self._keep(page)
        self._open.setdefault(_key(page.source.url), page.source)  # where a redirect led
        title = data(shorten(page.source.title or source.title, _SHOWN)).replace('"', "'")
        date = f' published="{data(page.source.published)}"' if page.source.published else ""
        lines = self._passages(page) or ["nothing on this page can be quoted"]
        head = f'<page title="{title}" url="{data(page.source.url)}"{date}>'
        return "\n".join((head, *lines, "</page>"))

    def _passages(self, page: Page) -> list[str]:
        wanted = dict.fromkeys(self.node.query.texts, _WEIGHTS["query"])
        wanted.setdefault(self.node.query.goal, _WEIGHTS["goal"])
        wanted.setdefault(self.brief.question, _WEIGHTS["question"])
        chosen = select([page], wanted, limit=self.page_tokens, count=self.count)
        return [data(excerpt.text) for excerpt in chosen]

    def _used(
        self, tool: ExtraTool, values: Mapping[str, Any], said: str | DeepResearchError
    ) -> str:
        """Keep what an extra tool said as a page, so that it can be quoted."""
        given = shorten(json.dumps(values, ensure_ascii=False), _SHOWN)
        text = said if isinstance(said, str) else ""
        self.emit(
            Event(
                Kind.SEARCHED,
                self.scope.path,
                {"query": f"{tool.name} {given}", "hits": int(bool(text))},
            )
        )
        if isinstance(said, DeepResearchError):
            self.failures.append(Failure.of(said, self.scope.path))
            return f"failed: {data(shorten(str(said), _SNIPPET))}"
        if not text:
            return "nothing came back"
        page = page_of(tool.name, text)
        try:
            self.save(page)
        except OSError as error:
            message = f"cannot save what {tool.name} said: {error}"
            self.failures.append(Failure("journal", message, self.scope.path))
            return f"failed: {data(message)}"
        self._keep(page)
        whole = self.count(text) <= self.page_tokens
        lines = [data(text)] if whole else self._passages(page)
        return "\n".join((f'<result tool="{data(tool.name)}">', *lines, "</result>"))

    def _keep(self, page: Page) -> None:
        if all(page.sha256 != other.sha256 for other in self.pages):
            self.pages.append(page)

    def untried(self, hits: Sequence[Source]) -> list[Source]:
        """Return those of `hits` that were not asked for."""
        return [s for s in hits if f"read {_key(s.url)}" not in self._told]


def _key(url: str) -> str:
    """Return what is equal for addresses of one page; what is no address stands for itself."""
    try:
        return same_page(url)
    except ValueError:
        return " ".join(url.split())


def _canonical(source: Source) -> Source | None:
    try:
        return replace(source, url=canonical(source.url))
    except ValueError:
        return None
