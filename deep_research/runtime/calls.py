"""One call into a plugin: what it may cost, what it says of itself, and how its errors come out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from deep_research.core.errors import (
    ConfigError,
    DeepResearchError,
    ProviderError,
    ProviderTimeout,
    RateLimited,
)
from deep_research.core.events import Event, Kind
from deep_research.core.model import Path, Source, Usage
from deep_research.core.ports import LLM, Completion, Prompt, ToolCall
from deep_research.core.seams import Emit, Scope

T = TypeVar("T")

_FIRST_WAIT: Final = 1.0
_LONGEST_BACK_OFF: Final = 30.0
_LONGEST_WAIT: Final = 120.0
_SLOW: Final = 3
_HANGS: Final = 2


@dataclass(frozen=True, slots=True)
class Patience:
    """When to try again: after 1, 2, 4 … 30 s, or what the service asked for if that is more.

    No jitter: a run is reproducible, and permits already spread the callers.

    Attributes:
        attempts: Tries of one call. A service that says 'slow down' works: it gets thrice as many;
            one that hangs gets two.
        sleep: Waits.
    """

    attempts: int
    sleep: Callable[[float], Awaitable[None]]

    def wait(self, error: DeepResearchError, attempt: int) -> float | None:
        """Return the seconds before the next attempt, or None to give up.

        A service that wants more than two minutes is not waited for.
        """
        tries = self.attempts * (_SLOW if isinstance(error, RateLimited) else 1)
        if isinstance(error, ProviderTimeout):
            tries = min(tries, _HANGS)
        if not error.retryable or attempt >= tries:
            return None
        asked = (isinstance(error, ProviderError) and error.retry_after) or 0.0
        wait = max(asked, min(_FIRST_WAIT * 2 ** (attempt - 1), _LONGEST_BACK_OFF))
        return wait if wait <= _LONGEST_WAIT else None


class Call:
    """One outside call, from the moment it has its permit: tells how it ended, and when.

    Args:
        emit: The run's event stream.
        now: Seconds since the gate was first used.
        path: The node it is made for.
        data: What is known of it before it is made.
    """

    def __init__(
        self, emit: Emit, now: Callable[[], float], path: Path, data: Mapping[str, object]
    ) -> None:
        self._emit, self._now, self._path = emit, now, path
        self._data = {**data, "t0": now()}

    def done(self, event: Kind = Kind.CALL, **data: object) -> None:
        """Tell that it brought something, and what."""
        self._emit(Event(event, self._path, {**self._data, "t1": self._now(), "ok": True, **data}))

    def failed(
        self,
        error: DeepResearchError | asyncio.CancelledError,
        event: Kind = Kind.CALL,
        **data: object,
    ) -> None:
        """Tell why it brought nothing: `error` is the error's kind, or 'cancelled'."""
        kind, message = "cancelled", "cut off before it ended"
        if isinstance(error, DeepResearchError):
            kind, message = error.kind, str(error)
        told = {"error": kind, "message": message, **data}
        self._emit(Event(event, self._path, {**self._data, "t1": self._now(), "ok": False, **told}))


async def guarded(name: str, seconds: float, call: Callable[[], Awaitable[T]]) -> T:
    """Make one call into a plugin; whatever goes wrong comes out as a `DeepResearchError`.

    Raises:
        ProviderTimeout: No answer within `seconds`.
        ProviderError: The plugin has a bug; the message names it, the cause is attached.
    """
    try:
        async with asyncio.timeout(seconds):
            return await call()
    except DeepResearchError:
        raise
    except TimeoutError as error:
        raise ProviderTimeout(f"{name}: no answer within {seconds:g} s") from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise ProviderError(f"{name} cancelled itself") from error
    except Exception as error:  # plugins are foreign code: a bug in one must not end the run
        raise ProviderError(
            f"{name} failed unexpectedly: {type(error).__name__}: {error}"
        ) from error


async def checked(call: Awaitable[object]) -> Completion:
    """Return the answer if it is one; a TypeError says that the plugin breaks its contract."""
    answer = await call
    if not isinstance(answer, Completion) or not isinstance(answer.text, str):
        raise TypeError(f"answered with {answer!r:.200}")
    if answer.input_tokens < 0 or answer.output_tokens < 0:
        raise TypeError(f"counted {answer.input_tokens} and {answer.output_tokens} tokens")
    promised: tuple[tuple[object, type], ...] = ((answer.calls, ToolCall), (answer.cited, Source))
    for listed, kind in promised:
        if not isinstance(listed, tuple) or not all(isinstance(item, kind) for item in listed):
            raise TypeError(f"answered with {listed!r:.200} for a tuple of {kind.__name__}s")
    return answer


def worst_case(llm: LLM, prompt: Prompt, scope: Scope) -> Mapping[str, int]:
    """Return what one call may take from the budget.

    Raises:
        ConfigError: Cost is limited and the model's price is unknown.
        ProviderError: The plugin has a bug.
    """
    try:
        worst = dict(llm.worst_case(prompt))
    except DeepResearchError:
        raise
    except Exception as error:  # as in `guarded`
        raise ProviderError(
            f"model for {prompt.role} failed unexpectedly: {type(error).__name__}: {error}"
        ) from error
    if "cost" in scope.budget.left and "cost" not in worst:
        raise ConfigError(
            f"the price of the model for {prompt.role} is unknown, so cost cannot be limited: "
            "give its price, or limit tokens or calls instead"
        )
    return worst


def bill(answer: Completion, held: Mapping[str, int]) -> tuple[Mapping[str, int], Usage]:
    """Return what a finished call took from the budget, and what it adds to the usage."""
    tokens = answer.input_tokens + answer.output_tokens
    cost = held.get("cost", 0) if answer.cost is None else answer.cost
    spent = {"calls": 1, "tokens": tokens, "cost": cost}
    return spent, Usage(
        llm_calls=1,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost=answer.cost,
    )
