"""A question in two steps, research and report, under the names that users know."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .app import Run
from .config import load
from .config.arguments import check_names
from .core.errors import ConfigError, DeepResearchError
from .core.events import Event
from .core.model import Learning
from .core.ports import Approver, Clarifier, Proposal
from .core.report import Report
from .core.supervisor import Researched
from .registry import check_engine
from .runtime.progress import Sink
from .runtime.tally import ProgressCallback, ResearchProgress

OnProgress = Callable[[ResearchProgress], object | Awaitable[object]]
OnProposal = Approver | Callable[[Proposal], object | Awaitable[object]]
OnQuestions = Clarifier | Callable[[Sequence[str]], object | Awaitable[object]]
REPORT_TYPES: Final = ("deep",)

_MICRO: Final = 1_000_000
_log = logging.getLogger("deep_research")


class DeepResearcher:
    """Research one question in two steps: `conduct_research`, then `write_report`.

    Args:
        query: The question.
        report_type: 'deep', the only one.
        config_path: A YAML, TOML or JSON file with settings.
        docs: Folders, files or globs of local documents.
        tone: How to write, for instance 'Analytical'; an enum member with a text value will do.
        headers: 'User-Agent' signs the requests; 'retriever' or 'retrievers' names search engines.
            Others are refused.
        verbose: Print one line per step to stderr.
        folder: Where the run's files go; default 'runs/<id>'. It may not hold another run.
        on_event: Told of every event, sync or async; whatever it does cannot harm the run.
        approve: Asked with a `Proposal` before each round of searching, sync or async. Returns
            True (all of it), False (end the run), a list of `Query` or text (these instead), a
            `Verdict`, or None: no answer, which means what `approval.unanswered` says.
        clarify: Asked with a list of questions where the request is ambiguous, sync or async.
            Returns a list of answers, a mapping by question, or None.
        settings: Any setting by its name: `breadth=3`, `depth=1`, `llm="openai:gpt-5-mini"`,
            `preset="quick"`, or dotted in a mapping: `**{"search.searxng.url": "http://…"}`. They
            win over the environment and the file.

    Raises:
        ConfigError: The question is blank, a hook is no function, or a setting is unknown, of the
            wrong kind or out of range.
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
        approve: OnProposal | None = None,
        clarify: OnQuestions | None = None,
        **settings: Any,  # noqa: ANN401 - checked one by one against the settings
    ) -> None:
        kind = getattr(report_type, "value", report_type)
        if kind not in REPORT_TYPES:
            raise ConfigError(
                f"report_type = {report_type!r}: must be one of {', '.join(REPORT_TYPES)}"
            )
        check_names(settings, [*inspect.signature(DeepResearcher).parameters][1:-1])
        preset = settings.pop("preset", None)
        arguments = {**settings, **_from_headers(headers or {})}
        if paths := _paths(docs):
            arguments["docs"] = paths
        if tone is not None:
            arguments["report.tone"] = str(getattr(tone, "value", tone))
        self.config = load(arguments=arguments, file=config_path, preset=preset, check=check_engine)
        for warning in self.config.warnings:
            _log.warning("%s", warning)
        self._progress = _LateProgress()
        sinks: list[Sink] = [self._progress]
        if on_event is not None:
            sinks.append(on_event)
        if verbose:
            sinks.append(_lines())
        home = Path(folder) if folder is not None else None
        self._run = Run(
            query, self.config, emit=sinks, folder=home, approver=approve, clarifier=clarify
        )
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

        Once: called again, it returns what the first call found.

        Args:
            on_progress: Told where the run stands, sync or async; whatever it does cannot harm the
                run. A slow one misses some steps, never the last.
        """
        await self._researched(on_progress)
        return self.get_research_context()

    async def write_report(self) -> str:
        """Write the report, after the research if that has not been done; return it as Markdown.

        Once: called again, it returns the same.
        """
        if self._result is None:
            self._result = await self._run.report(await self._researched())
        from .plugins.exporters.markdown import MarkdownExporter

        return MarkdownExporter().export(self._result).decode()

    def stop(self) -> None:
        """End the research; the report is written from what is there. Any thread may call it."""
        self._run.stop()

    def get_research_context(self) -> str:
        """Return all findings as text, each followed by '[Source: url]'; '' before the research."""
        lines = []
        for learning in self._learnings():
            urls = dict.fromkeys(e.source.url for e in learning.evidence)
            lines.append(" ".join([learning.text, *(f"[Source: {url}]" for url in urls)]))
        return "\n".join(dict.fromkeys(lines))

    def get_research_sources(self) -> list[dict[str, str]]:
        """Return the pages that findings stand on; [] before the research.

        Each has 'url', 'title', 'published' and, as 'content', the quotes one a line.
        """
        quotes: dict[str, dict[str, None]] = {}
        rows: dict[str, dict[str, str]] = {}
        for learning in self._learnings():
            for e in learning.evidence:
                source = e.source
                row = {"url": source.url, "title": source.title, "published": source.published}
                rows.setdefault(source.url, row)
                quotes.setdefault(source.url, {})[e.quote] = None
        return [{**row, "content": "\n".join(quotes[url])} for url, row in rows.items()]

    def get_source_urls(self) -> list[str]:
        """Return the addresses of these pages, in order of first use."""
        return [row["url"] for row in self.get_research_sources()]

    def get_costs(self) -> float | None:
        """Return what the run has cost so far in USD, or None if a price is unknown."""
        usage = self._result.usage if self._result else self._run.tally.progress.usage
        return None if usage.cost is None else usage.cost / _MICRO

    async def _researched(self, on_progress: OnProgress | None = None) -> Researched:
        if self._done is None:
            self._progress.set(on_progress)
            self._done = await self._run.research()
        return self._done

    def _learnings(self) -> list[Learning]:
        if self._done is None:
            return []
        return [x for node in self._done.root.walk() for x in node.findings.learnings if x.evidence]


class _LateProgress:
    """A sink for the callback that comes with `conduct_research`, after the stream was made."""

    def __init__(self) -> None:
        self._function: OnProgress | None = None
        self._callback: ProgressCallback | None = None

    def __repr__(self) -> str:
        return repr(self._function)  # it is what a log names

    def set(self, callback: OnProgress | None) -> None:
        self._function = callback
        self._callback = ProgressCallback(callback) if callback else None

    def __call__(self, event: Event) -> object:
        return self._callback.emit(event) if self._callback else None

    def flush(self) -> object:
        return self._callback.flush() if self._callback else None


def _lines() -> Sink:
    """Return a sink that writes one line per step to stderr."""
    from .cli.console import Lines

    def say(line: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(line + "\n")

    return Lines(say)


def _paths(docs: Sequence[str | Path] | str | Path) -> list[str]:
    if isinstance(docs, str | Path):
        docs = [docs]
    if not isinstance(docs, Iterable):
        raise ConfigError(f"docs = {docs!r}: must be a path or a list of paths")
    return [str(path) for path in docs]


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
                    f"headers: {name!r} has no meaning here;"
                    " there are User-Agent, retriever and retrievers"
                )
    return known


__all__ = ["DeepResearcher", "OnProgress", "ResearchProgress"]
