"""What a plugin has to keep to: one check per protocol, for built-in plugins, doubles and yours."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from deep_research.core.budget import RESOURCES
from deep_research.core.errors import DeepResearchError, ProviderError, ToolsRefused
from deep_research.core.model import Page, Source
from deep_research.core.ports import (
    LLM,
    Completion,
    Exporter,
    PageReader,
    Prompt,
    SearchEngine,
    Tool,
    ToolCall,
    Turn,
)
from deep_research.core.report import Report
from deep_research.core.urls import canonical, same_page

from .samples import HOSTILE, sample_report

ODD_QUERIES: Final = (
    "",
    "   ",
    '"unbalanced AND (title:x OR NEAR/3 -y*',
    "'; DROP TABLE words; --",
    "量子コンピュータ 서울",
    "\x00\ud800 \u202e",
    "long " * 2000,
)
"""Queries that may find nothing but must not break an engine."""

TALK: Final = Prompt(
    "planner",
    "Keep notes with the tool, then answer in one word.",
    "Say yes.",
    max_tokens=200,
    tools=(
        Tool(
            "note",
            "Keeps a note.",
            {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
        ),
    ),
    turns=(
        Turn("", (ToolCall("call_1", "note", '{"text": "asked to say yes"}'),), ("noted",)),
        Turn("May I answer now?", (), ("Yes, go on.",)),
    ),
)
"""A conversation that a model goes on with, or refuses with `ToolsRefused`."""

T = TypeVar("T")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


async def check_search_engine(
    engine: SearchEngine, query: str, *, limit: int = 3, found: bool = True
) -> Sequence[Source]:
    """Check a search engine and return what it found.

    Args:
        engine: Set up so that `query` brings something.
        query: A query.
        limit: How many hits to ask for.
        found: Whether `query` must bring something.

    Raises:
        AssertionError: It breaks its promise; says how.
    """
    _require(_is_text(getattr(engine, "name", None)), "`name` must be a text that is not empty")
    with _silence("search"):
        hits = await engine.search(query, limit=limit)
        _check_hits(engine, hits, limit)
        _require(bool(hits) or not found, f"found nothing for {query!r}")
        again = await engine.search(query, limit=limit)
        _require(list(again) == list(hits), "the same query found other hits the second time")
        _check_hits(engine, await engine.search(query, limit=1), 1)
        for odd in ODD_QUERIES:
            try:
                _check_hits(engine, await engine.search(odd, limit=limit), limit)
            except DeepResearchError:
                continue
            except Exception as error:
                raise AssertionError(
                    f"{odd[:60]!r} raised {error!r}, no DeepResearchError"
                ) from error
    return hits


def _check_hits(engine: SearchEngine, hits: object, limit: int) -> None:
    is_sequence = isinstance(hits, Sequence) and not isinstance(hits, str | bytes)
    kind = type(hits).__name__
    _require(is_sequence, f"search must return a sequence of sources, not {kind}")
    listed: list[object] = list(hits) if isinstance(hits, Sequence) else []
    _require(len(listed) <= limit, f"{len(listed)} hits where {limit} were asked for")
    pages = set()
    for rank, item in enumerate(listed):
        hit = _typed(item, Source, f"hit {rank} must be a Source")
        where = f"hit {rank} ({hit.url})"
        try:
            _require(canonical(hit.url) == hit.url, f"{where}: not the canonical URL")
        except ValueError as error:
            raise AssertionError(f"{where}: no usable URL: {error}") from error
        _require(hit.rank == rank, f"{where}: rank is {hit.rank}")
        _require(hit.engine == engine.name, f"{where}: engine is {hit.engine!r}")
        _typed(hit.title, str, f"{where}: the title must be text")
        _typed(hit.snippet, str, f"{where}: the snippet must be text")
        _require(_is_date(hit.published), f"{where}: {hit.published!r} is no ISO date")
        _require(same_page(hit.url) not in pages, f"{where}: twice in one answer")
        pages.add(same_page(hit.url))


async def check_page_reader(
    reader: PageReader, source: Source, *, missing: Source | None = None
) -> Page:
    """Check a page reader and return the page that it read.

    Args:
        reader: Set up so that it can read `source`.
        source: A page that is there.
        missing: One that is not; it must raise a `ProviderError`.

    Raises:
        AssertionError: It breaks its promise; says how.
    """
    with _silence("read"):
        page = await reader.read(source)
        _check_page(page)
        again = await reader.read(source)
        _require(again.text == page.text, "the same page had another text the second time")
        if missing is not None:
            try:
                await reader.read(missing)
            except ProviderError:
                pass
            except Exception as error:
                raise AssertionError(
                    f"a missing page raised {error!r}, no ProviderError"
                ) from error
            else:
                raise AssertionError("a missing page raised nothing")
    return page


def _check_page(answer: object) -> None:
    page = _typed(answer, Page, "read must return a Page")
    _require(bool(page.text.strip()), "the text is empty; raise PageUnreadable instead")
    digest = hashlib.sha256(page.text.encode()).hexdigest()
    _require(page.sha256 == digest, "`sha256` is not that of the text in UTF-8")
    _require(canonical(page.source.url) == page.source.url, "`source.url` is not canonical")
    _require("/" in page.media_type, f"{page.media_type!r} is no media type")
    offsets = [offset for offset, _ in page.marks]
    _require(offsets == sorted(offsets), "marks are not in rising order")
    _require(all(0 <= o <= len(page.text) for o in offsets), "a mark lies outside of the text")
    _require(_is_date(page.source.published), f"{page.source.published!r} is no ISO date")
    try:
        zone = datetime.fromisoformat(page.fetched_at).tzinfo
    except ValueError as error:
        raise AssertionError(f"`fetched_at` is no ISO time: {page.fetched_at!r}") from error
    _require(zone is not None, "`fetched_at` has no time zone")


async def check_llm(llm: LLM, prompt: Prompt | None = None) -> Completion:
    """Check a language model and return its answer.

    Args:
        llm: Set up so that it answers `prompt` three times, and `TALK` once or refuses it.
        prompt: What to ask; a short question by default.

    Raises:
        AssertionError: It breaks its promise; says how.
    """
    asked = prompt or Prompt("writer", "Answer in one word.", "Say yes.", max_tokens=50)
    bound = llm.worst_case(asked)
    unknown = sorted(set(bound) - set(RESOURCES))
    _require(not unknown, f"worst_case names {unknown}; there are {RESOURCES}")
    _require(bound.get("calls") == 1, "worst_case must count one call")
    with _silence("complete"):
        done = await llm.complete(asked)
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(llm.complete(asked)) for _ in range(2)]
        for completion in (done, *(task.result() for task in both)):
            _check_completion(completion, asked, bound)
        bound = llm.worst_case(TALK)
        with contextlib.suppress(ToolsRefused):
            _check_completion(await llm.complete(TALK), TALK, bound)
    return done


def _check_completion(answer: object, prompt: Prompt, bound: Mapping[str, int]) -> None:
    done = _typed(answer, Completion, "complete must return a Completion")
    text = _typed(done.text, str, "`text` must be text")
    _require("<think>" not in text, "`text` contains the model's reasoning")
    for name in ("input_tokens", "output_tokens", "cost"):
        count: object = getattr(done, name)
        if count is None and name == "cost":
            continue
        _require(
            _typed(count, int, f"`{name}` must be a whole number") >= 0, f"`{name}` is {count}"
        )
    spent = done.input_tokens + done.output_tokens
    _require(bound.get("tokens", 0) >= spent, f"worst_case is {bound}, spent were {spent} tokens")
    if done.cost:
        _require(bound.get("cost", 0) >= done.cost, f"worst_case is {bound}, it cost {done.cost}")
    _check_calls(_typed(done.calls, tuple, "`calls` must be a tuple"), prompt)
    for item in _typed(done.cited, tuple, "`cited` must be a tuple"):
        url = _typed(item, Source, "`cited` holds what must be a Source").url
        web = url.startswith(("http://", "https://"))
        _require(web, f"`cited` names {url!r}, which is no page of the web")


def _check_calls(calls: tuple[object, ...], prompt: Prompt) -> None:
    _require(not calls or bool(prompt.tools), f"calls {calls} where no tools were offered")
    ids = [call.id for turn in prompt.turns for call in turn.calls]
    for item in calls:
        call = _typed(item, ToolCall, "`calls` holds what must be a ToolCall")
        _typed(call.arguments, str, f"`arguments` of {call.name} must be text")
        _require(_is_text(call.name), "a call names no tool")
        _require(_is_text(call.id), f"the call of {call.name} has no id")
        _require(call.id not in ids, f"two calls have the id {call.id!r}")
        ids.append(call.id)


def check_exporter(exporter: Exporter, report: Report | None = None) -> bytes:
    """Check an exporter and return the file.

    Args:
        exporter: The exporter.
        report: What to export; by default a report with markup and scripts in every text.

    Raises:
        AssertionError: It breaks its promise; says how.
    """
    suffix = getattr(exporter, "suffix", None)
    _require(
        _is_text(suffix) and not str(suffix).startswith("."), "`suffix` is e.g. 'md', not '.md'"
    )
    given = report or sample_report()
    before = repr(given)
    with _silence("export"):
        data = exporter.export(given)
        _require(bool(_typed(data, bytes, "export must return bytes")), "export returned nothing")
        _require(exporter.export(given) == data, "two exports of one report differ")
    _require(repr(given) == before, "the report was changed")
    if "htm" in str(suffix):
        _require(HOSTILE.encode() not in data, "markup of a page went into the file unescaped")
    return data


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _typed(value: object, kind: type[T], otherwise: str) -> T:
    if isinstance(value, kind):
        return value
    raise AssertionError(f"{otherwise}, not {type(value).__name__}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_date(value: object) -> bool:
    return value == "" or (isinstance(value, str) and _DATE.match(value) is not None)


@contextlib.contextmanager
def _silence(what: str) -> Iterator[None]:
    """Nothing may be printed: a terminal may not take it, and stdout is the report's."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield
    printed = (out.getvalue() + err.getvalue()).strip()
    _require(not printed, f"{what} printed {printed[:200]!r}")
