"""The gate that every outside call passes: budget, permit, timeout, retry, events, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from deep_research.core.errors import (
    ConfigError,
    DeepResearchError,
    JournalError,
    PageUnreadable,
    ProviderError,
    ProviderTimeout,
    RateLimited,
    Refused,
)
from deep_research.core.events import Kind
from deep_research.core.model import Page, Source, Usage
from deep_research.core.ports import LLM, Completion, PageReader, Prompt, SearchEngine
from deep_research.core.seams import Emit, Scope
from deep_research.core.urls import same_page

from .calls import Call, Patience, bill, checked, guarded, worst_case
from .once import Once
from .permits import Permits
from .searching import Searching


@dataclass(frozen=True, slots=True)
class Limits:
    """Calls under way at once in the whole run: to language models, to search engines, for pages.

    Each at least 1.
    """

    llm: int = 4
    search: int = 4
    fetch: int = 8


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that one call may take, waiting for a permit not included."""

    llm: float = 300.0
    search: float = 30.0
    read: float = 60.0


class Gate:
    """The run's `Outside`. Waits hold no permit and no budget; no task outlives its callers.

    Args:
        llms: Role to model; may be empty if nothing asks a model.
        engines: Asked together for every query; their order decides ties.
        reader: Reads pages.
        emit: Is told of every call.
        limits: Permits per kind of call.
        results: Most hits to ask an engine for and to return.
        accept: Whether a hit may be used at all (domain filter), and a page: it may stand elsewhere
            than its hit said.
        save: Stores a page's text, called once for each page read; its OSError is a JournalError.
        timeouts: Per call.
        attempts: Tries of one call before its error counts; thrice as many while a service asks
            to slow down.
        clock: Seconds, rising; the event loop's own by default.
        sleep: Waits; `asyncio.sleep` by default.
    """

    def __init__(
        self,
        *,
        llms: Mapping[str, LLM],
        engines: Sequence[SearchEngine],
        reader: PageReader,
        emit: Emit,
        limits: Limits = Limits(),
        results: int = 10,
        accept: Callable[[Source], bool] = lambda _: True,
        save: Callable[[Page], None] | None = None,
        timeouts: Timeouts = Timeouts(),
        attempts: int = 3,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._llms, self._reader = dict(llms), reader
        self._emit, self._save, self._timeouts = emit, save, timeouts
        self._patience = Patience(attempts, sleep)
        self._asking, self._fetching = Permits(limits.llm), Permits(limits.fetch)
        self._accept = accept
        self._pages: Once[str, Page] = Once()
        self._clock = clock
        self._began: float | None = None
        self._searching = Searching(
            engines,
            emit=emit,
            now=self.now,
            permits=Permits(limits.search),
            patience=self._patience,
            results=results,
            accept=accept,
            timeout=timeouts.search,
        )

    def now(self) -> float:
        """Return the seconds since this gate was first used."""
        time = (self._clock or asyncio.get_running_loop().time)()
        if self._began is None:
            self._began = time
        return time - self._began

    async def complete(self, prompt: Prompt, scope: Scope, step: str) -> Completion:
        """Ask the model that plays `prompt.role`; see `Outside`.

        Raises:
            ConfigError: No model plays this role, or its price is unknown although cost is limited.
            BudgetExceeded: The call's worst case does not fit; nothing was asked.
            ProviderError: The last attempt's error.
        """
        llm = self._llms.get(prompt.role)
        if llm is None:
            raise ConfigError(f"no language model plays the role {prompt.role!r} (step {step})")
        attempt = 1
        while True:
            try:
                return await self._complete(llm, prompt, scope, step, attempt)
            except ProviderError as error:
                wait = self._patience.wait(error, attempt)
                if wait is None:
                    raise
            await self._patience.sleep(wait)
            attempt += 1

    async def _complete(
        self, llm: LLM, prompt: Prompt, scope: Scope, step: str, attempt: int
    ) -> Completion:
        """Make one attempt.

        A call that was cut off may have been paid for, so its worst case stays debited.
        """
        held = worst_case(llm, prompt, scope)
        scope.budget.hold(held)
        spent: Mapping[str, int] = {}
        used = Usage()
        try:
            async with self._asking:
                known = {"kind": "llm", "step": step, "role": prompt.role, "attempt": attempt}
                call = Call(self._emit, self.now, scope.path, known)
                spent, used = held, Usage(llm_calls=1, cost=held.get("cost"))
                try:
                    answer = await guarded(
                        f"model for {prompt.role}",
                        self._timeouts.llm,
                        lambda: checked(llm.complete(prompt)),
                    )
                except (DeepResearchError, asyncio.CancelledError) as error:
                    if not isinstance(error, ProviderTimeout | asyncio.CancelledError):
                        spent, used = {}, Usage()
                    if isinstance(error, RateLimited):
                        self._asking.slow_down()
                    call.failed(error, paid=bool(used.llm_calls), cost=used.cost)
                    raise
                self._asking.fine()
                spent, used = bill(answer, held)
                call.done(
                    model=answer.model,
                    input_tokens=answer.input_tokens,
                    output_tokens=answer.output_tokens,
                    cost=answer.cost,
                )
                return answer
        finally:
            scope.budget.settle(held, spent)
            scope.usage.add(used)

    async def search(self, query: str, scope: Scope) -> Sequence[Source]:
        """Ask all engines, once per query text and run; see `Outside` and `Searching`."""
        return await self._searching(query, scope)

    async def read(self, source: Source, scope: Scope) -> Page:
        """Read a page, once per address and run; see `Outside`.

        Every caller's budget pays, whoever was first, and also for a page that cannot be read. The
        reader is told address and engine only, and the hit's title and date fill what the page
        itself does not say: so the page is the same whoever was first.

        Raises:
            BudgetExceeded: No page read is left.
            Refused: Not an address, or it leads to one that is not accepted.
            JournalError: The text cannot be saved.
            ProviderError: The reader's error.
        """
        try:
            key = same_page(source.url)
        except ValueError as error:
            raise Refused(str(error)) from error
        scope.budget.hold({"pages": 1})
        page = await self._pages(key, lambda: self._read(source, scope))
        found = page.source
        own = replace(
            source,
            url=found.url,
            title=found.title or source.title,
            published=found.published or source.published,
        )
        return replace(page, source=own)

    async def _read(self, source: Source, scope: Scope) -> Page:
        url = source.url
        async with self._fetching:
            scope.usage.pages += 1
            call = Call(self._emit, self.now, scope.path, {"url": url})
            try:
                page = await guarded(
                    f"reading {url}", self._timeouts.read, lambda: self._text_of(source)
                )
                self._store(page)
            except DeepResearchError as error:
                call.failed(error, Kind.PAGE_FAILED, kind=error.kind)
                raise
            call.done(Kind.PAGE_READ, chars=len(page.text), title=page.source.title)
            return page

    async def _text_of(self, source: Source) -> Page:
        page = await self._reader.read(Source(source.url, engine=source.engine))
        if not self._accept(page.source):
            raise Refused(
                f"{source.url}: its text stands at {page.source.url}, a domain that is filtered out"
            )
        if not page.text.strip():
            raise PageUnreadable(f"{source.url}: no text")
        return page

    def _store(self, page: Page) -> None:
        url = page.source.url
        try:
            if self._save:
                self._save(page)
        except UnicodeError as error:
            raise PageUnreadable(f"{url}: text that cannot be saved: {error}") from error
        except OSError as error:
            raise JournalError(f"cannot save the text of {url}: {error}") from error
