"""A person in the loop: asked one thing at a time, waited for as long as is set, never a danger.

The answer decides, and without one the setting `approval.unanswered`. Nothing is guessed from
silence, an error or unclear words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from deep_research.core.errors import ConfigError
from deep_research.core.events import Event, Kind
from deep_research.core.model import Path, Query
from deep_research.core.ports import Proposal, Verdict
from deep_research.core.seams import Emit

from .aside import Hook, call_aside
from .verdicts import answers_of, verdict_of

Unanswered = Literal["approve", "stop", "reject"]
Policy = Unanswered | Literal[""]


def hook_of(given: object, name: str) -> Hook | None:
    """Return the function to call: `given` itself, or its method `name`; None for None.

    Raises:
        ConfigError: It cannot be called.
    """
    hook = getattr(given, name, given)
    if hook is not None and not callable(hook):
        raise ConfigError(f"{name} = {given!r}: must be a function, or have a method {name!r}")
    return hook


class Patient:
    """An `Approver` and a `Clarifier` that put up with whatever the person's functions do.

    Only one question stands at a time, whichever branch it comes from; time counts from when it is
    asked. An error, an answer that means nothing, and none in time are all no answer, with a
    warning. Where the policy is to stop or to reject, nothing is asked any more after the first
    question without an answer.

    Args:
        emit: The run's event stream.
        approve: Is called with a `Proposal`; see `verdict_of` for what it may return. None answers
            nothing.
        clarify: Is called with a list of questions; see `answers_of`. None answers nothing.
        seconds: How long to wait for each answer; None waits for ever.
        unanswered: What no answer means to a proposal. A question back just stays open.
    """

    def __init__(
        self,
        emit: Emit,
        *,
        approve: Hook | None = None,
        clarify: Hook | None = None,
        seconds: float | None = None,
        unanswered: Unanswered = "stop",
    ) -> None:
        self._emit, self._seconds, self._unanswered = emit, seconds, unanswered
        self._approve, self._clarify = approve, clarify
        self._turn = asyncio.Lock()
        self._settled: tuple[Verdict, Policy] | None = None
        self._warned: set[str] = set()

    async def approve(self, proposal: Proposal) -> Verdict:
        """Ask about `proposal`."""
        async with self._turn:
            verdict, policy = await self._decided(proposal)
        data = {
            "state": "decided",
            "approved": [_plain(query) for query in verdict.queries],
            "rejected": verdict.rejected,
            "unanswered": policy,
            "reason": verdict.reason,
        }
        self._emit(Event(Kind.APPROVAL, proposal.path, data))
        return verdict

    async def clarify(self, questions: Sequence[str]) -> tuple[str, ...]:
        """Ask `questions`; one answer each, '' where there is none, () if there is none at all."""
        asked = list(questions)
        async with self._turn:
            self._emit(Event(Kind.CLARIFICATION, data={"state": "asked", "questions": asked}))
            answer, why = await self._answer("clarify", self._clarify, asked)
            if why:
                self._warn("clarify", why)
            answers: tuple[str, ...] = ()
            try:
                answers = answers_of(answer, asked, lambda text: self._warn("clarify", text))
            except ConfigError as error:
                self._warn("clarify", str(error))
        self._emit(Event(Kind.CLARIFICATION, data={"state": "decided", "answers": list(answers)}))
        return answers

    async def _decided(self, proposal: Proposal) -> tuple[Verdict, Policy]:
        """Ask, unless an earlier answer, or none, has settled all that follows."""
        if self._settled is not None:
            return self._settled
        verdict, policy = await self._asked(proposal)
        if verdict.rejected or policy == "stop":
            self._settled = verdict, policy
        return verdict, policy

    async def _asked(self, proposal: Proposal) -> tuple[Verdict, Policy]:
        """Ask; return the verdict, and the policy that made it where no answer did."""
        path = proposal.path
        queries = [_plain(query) for query in proposal.queries]
        data = {"state": "asked", "queries": queries, "reason": proposal.reason}
        self._emit(Event(Kind.APPROVAL, path, data))
        answer, why = await self._answer("approve", self._approve, proposal)
        verdict = None
        try:
            verdict = verdict_of(answer, proposal, lambda text: self._warn("approve", text, path))
        except ConfigError as error:
            self._warn("approve", str(error), path)
        if verdict is not None:
            return verdict, ""
        why = why or "no answer"
        self._warn("approve", f"{why}, so approval.unanswered holds: {self._unanswered}", path)
        granted = proposal.queries if self._unanswered == "approve" else ()
        rejected = self._unanswered == "reject"
        return Verdict(granted, rejected, why), self._unanswered

    async def _answer(self, name: str, hook: Hook | None, given: object) -> tuple[object, str]:
        """Return what the hook says; where it says nothing, None and perhaps why."""
        if hook is None:
            return None, "nobody is there to be asked"
        task: asyncio.Task[object] = asyncio.current_task()  # type: ignore[assignment]
        before = task.cancelling()
        answer: object = None
        failure: BaseException | None = None
        try:
            async with asyncio.timeout(self._seconds):
                try:
                    answer = await call_aside(hook, given)
                except asyncio.CancelledError as error:
                    _raise_if_cancelled(task, before)
                    failure = error  # the hook's own, not meant for the run
                except (Exception, SystemExit) as error:  # noqa: BLE001 - a hook may raise anything
                    failure = error
        except TimeoutError:
            return None, f"no answer within {self._seconds:g} s"
        _raise_if_cancelled(task, before)  # the hook may have swallowed what was meant for the run
        if failure is not None:
            self._warn(name, f"the function failed: {failure!r}")
        return answer, ""

    def _warn(self, name: str, text: str, path: Path = ()) -> None:
        message = f"{name}: {text}"
        if message not in self._warned:
            self._warned.add(message)
            self._emit(Event(Kind.WARNING, path, {"message": message}))


def _raise_if_cancelled(task: asyncio.Task[object], before: int) -> None:
    """Go on with a cancellation that came after there had been `before` of them."""
    if task.cancelling() > before:
        raise asyncio.CancelledError


def _plain(query: Query) -> dict[str, Any]:
    return {"query": query.text, "goal": query.goal, "also": list(query.also)}
