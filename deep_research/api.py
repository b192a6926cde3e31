"""The Python interface: one line for one question, and a class with the names that users know."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .app import Run
from .config import load
from .core.errors import ConfigError, DeepResearchError
from .core.events import Event
from .core.model import Learning
from .core.report import Report
from .core.supervisor import Researched
from .registry import check_engine
from .runtime.tally import ResearchProgress, Tally

OnProgress = Callable[[ResearchProgress], object | Awaitable[object]]
REPORT_TYPES: Final = ("deep",)


class DeepResearcher:
    """Research one question in two steps: `conduct_research`, then `write_report`.

    Args:
        query: The question.
        report_type: 'deep', the only one.
        config_path: A YAML, TOML or JSON file with settings.
        docs: Folders, files or globs of local documents.
        tone: How to write, for instance 'Analytical'; an enum member with a text value will do.
        headers: 'User-Agent' signs the requests; 'retriever' or 'retrievers' names search engines. Others are refused.
        verbose: Print one line per event to stderr.
        folder: Where the run's files go; default 'runs/<id>'.
        on_event: Told of every event, sync or async.
        settings: Any setting by its name: `breadth=3`, `depth=1`, `llm="openai:gpt-5-mini"`, `max_cost=0.5`, or dotted
            in a mapping: `**{"search.searxng.url": "http://…"}`.

    Raises:
        ConfigError: The question is blank, or a setting is unknown, of the wrong kind or out of range.
    """

    def __init__(
        self,
        query: str,
        report_type: str = "deep",
        *,
        config_path: str | Path | None = None,
        docs: Sequence[str | Path] | str | Path = (),
        tone: object = None,
        headers: Mapping[str, str] | None = None,
        verbose: bool = False,
        folder: str | Path | None = None,
        on_event: Callable[[Event], object] | None = None,
        **settings: Any,  # noqa: ANN401 - checked one by one against the settings
    ) -> None:
        if report_type not in REPORT_TYPES:
            raise ConfigError(f"report_type {report_type!r}: there is {', '.join(REPORT_TYPES)}")
        arguments = {**settings, **_from_headers(headers or {})}
        if docs:
            arguments["docs"] = [str(p) for p in ([docs] if isinstance(docs, str | Path) else docs)]
        if tone is not None:
            arguments["report.tone"] = str(getattr(tone, "value", tone))
        self.config = load(arguments=arguments, file=config_path, check=check_engine)
        self._on_event, self._verbose = on_event, verbose
        self._on_progress: OnProgress | None = None
        self._tally = Tally()
        self._run = Run(query, self.config, emit=self._told, folder=Path(folder) if folder else None)
        self._done: Researched | None = None
        self._result: Report | None = None

    @property
    def query(self) -> str:
        """The question, with white space folded."""
        return self._run.question

    @property
    def folder(self) -> Path:
        """Folder of the run's files."""
        return self._run.folder

    @property
    def result(self) -> Report:
        """The whole typed report. Raises `DeepResearchError` before `write_report`."""
        if self._result is None:
            raise DeepResearchError("there is no report yet: await write_report() first")
        return self._result

    async def conduct_research(self, on_progress: OnProgress | None = None) -> str:
        """Search, read and learn. Return what was found as text, each finding with its sources.

        Args:
            on_progress: Told where the run stands, sync or async; whatever it does cannot harm the run.
        """
        self._on_progress = on_progress
        self._done = await self._run.research()
        return self.get_research_context()

    async def write_report(self) -> str:
        """Write the report, after the research if that has not been done, and return it as Markdown."""
        if self._result is None:
            if self._done is None:
                await self.conduct_research(self._on_progress)
            if self._done is not None:
                self._result = await self._run.report(self._done)
        from .plugins.exporters.markdown import MarkdownExporter

        return MarkdownExporter().export(self.result).decode()

    def stop(self) -> None:
        """End the research; the report is written from what is there."""
        self._run.stop()

    def get_research_context(self) -> str:
        """Return all findings as text, each followed by '[Source: url]'; '' before the research."""
        lines = []
        for learning in self._learnings():
            urls = dict.fromkeys(e.source.url for e in learning.evidence)
            lines.append(" ".join([learning.text, *(f"[Source: {url}]" for url in urls)]))
        return "\n".join(dict.fromkeys(lines))

    def get_research_sources(self) -> list[dict[str, str]]:
        """Return the pages that findings stand on: url, title, published, and the quotes as 'content'."""
        found: dict[str, dict[str, str]] = {}
        for learning in self._learnings():
            for e in learning.evidence:
                row = found.setdefault(
                    e.source.url,
                    {"url": e.source.url, "title": e.source.title, "published": e.source.published, "content": ""},
                )
                if e.quote not in row["content"]:
                    row["content"] = f"{row['content']}\n{e.quote}".strip()
        return list(found.values())

    def get_source_urls(self) -> list[str]:
        """Return the addresses of these pages, in order of first use."""
        return [row["url"] for row in self.get_research_sources()]

    def get_costs(self) -> float | None:
        """Return what the run has cost so far in USD, or None if a price is unknown."""
        cost = self._result.usage.cost if self._result else self._tally.progress.usage.cost
        return None if cost is None else cost / 1_000_000

    def _learnings(self) -> list[Learning]:
        if self._done is None:
            return []
        return [x for node in self._done.root.walk() for x in node.findings.learnings if x.evidence]

    def _told(self, event: Event) -> Awaitable[None] | None:
        progress = self._tally.add(event)
        if self._verbose:
            from .console import plain_line

            plain_line(event)
        pending = [
            result
            for result in (
                self._on_event(event) if self._on_event else None,
                self._on_progress(progress) if self._on_progress else None,
            )
            if inspect.isawaitable(result)
        ]
        return _all(pending) if pending else None


async def _all(pending: Sequence[Awaitable[object]]) -> None:
    for awaitable in pending:
        await awaitable


def _from_headers(headers: Mapping[str, str]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name, value in headers.items():
        match name.lower().replace("_", "-"):
            case "user-agent":
                known["network.user_agent"] = value
            case "retriever" | "retrievers":
                known["search.engines"] = value
            case _:
                raise ConfigError(
                    f"headers: {name!r} has no meaning here; there are User-Agent, retriever and retrievers"
                )
    return known


async def research(question: str, **settings: Any) -> Report:  # noqa: ANN401 - as DeepResearcher's
    """Research `question` and return the whole typed report; settings as for `DeepResearcher`."""
    researcher = DeepResearcher(question, **settings)
    await researcher.write_report()
    return researcher.result


def run(question: str, **settings: Any) -> Report:  # noqa: ANN401 - as DeepResearcher's
    """Research `question`, blocking; works inside a running event loop too (in a thread of its own)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(research(question, **settings))
    outcome: list[Report | BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(research(question, **settings)))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread below
            outcome.append(error)

    thread = threading.Thread(target=work, name="deep-research")
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result
    return result


__all__ = ["DeepResearcher", "Report", "research", "run"]
