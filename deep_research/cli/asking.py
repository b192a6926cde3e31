"""Questions to a person at a terminal, or to a script behind a pipe; only explicit words count."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final, TextIO

from deep_research.core.model import Query
from deep_research.core.ports import Proposal, Verdict

from .console import place, printable
from .typed import Typed

WORDS: Final = "approve, drop N ..., edit N NEW TEXT, reject, help"
_HELP: Final = """\
  approve          search for what is listed (also: a, yes, y)
  drop 2 3         leave these out; without any left, nothing more is searched for here
  edit 1 NEW TEXT  search for NEW TEXT in place of number 1
  reject           end the whole run; what is there is kept (also: r)
  help             this (also: ?)"""
_APPROVE: Final = frozenset(("approve", "a", "yes", "y"))
_REJECT: Final = frozenset(("reject", "r"))
_HELPS: Final = frozenset(("help", "?"))

Queries = dict[int, Query]
"""What is left of a proposal, by the number that it was shown with: numbers never move."""


class Asking:
    """Asks one thing at a time, in words that a script can answer as well.

    Args:
        typed: Where answers come from.
        out: Where questions go.
        held: Keeps everything else off the screen meanwhile.
        seconds: How long an answer is waited for; None for as long as it takes.
        unanswered: What no answer to a proposal means, in a word.
    """

    def __init__(
        self,
        typed: Typed,
        out: TextIO,
        held: Callable[[], AbstractContextManager[None]],
        *,
        seconds: float | None = None,
        unanswered: str = "stop",
    ) -> None:
        self._typed, self._out, self._held = typed, out, held
        self._within = "" if seconds is None else f"within {seconds:g} s; "
        self._unanswered = unanswered

    @property
    def person(self) -> bool:
        """Whether somebody sits at a terminal, to be shown questions and to type answers."""
        return self._typed.person and self._out.isatty()

    async def approve(self, proposal: Proposal) -> Verdict | None:
        """Show the queries until something explicit is said of them; None at the end of input."""
        with self._held():
            where = f" below query {place(proposal.path)}" if proposal.path else ""
            why = f": {_tidy(proposal.reason)}" if proposal.reason else ""
            self._say(f"To be searched for{where}{why}")
            queries = dict(enumerate(proposal.queries, 1))
            self._show(queries)
            self._say(f"{WORDS} ({self._within}no answer: {self._unanswered})")
            while (line := await self._line()) is not None:
                done = self._obey(line, queries)
                if done is not None:
                    return done
            return None

    async def clarify(self, questions: Sequence[str]) -> Sequence[str]:
        """Ask one after another; the end of input leaves the rest open."""
        answers: list[str] = []
        with self._held():
            self._say(f"Before it begins ({self._within}Enter leaves one open, Ctrl-D the rest)")
            for number, question in enumerate(questions, 1):
                self._say(f"  {number}  {_tidy(question)}")
                line = await self._line()
                if line is None:
                    break
                answers.append(line.strip())
        return answers

    def _obey(self, line: str, queries: Queries) -> Verdict | None:
        """Do what a line says, if it says something; a verdict ends the question."""
        command, _, rest = line.strip().partition(" ")
        word, rest = command.lower(), rest.strip()
        if word in _APPROVE and not rest:
            return Verdict(tuple(queries.values()))
        if word in _REJECT and not rest:
            return Verdict(rejected=True, reason="rejected")
        if word in _HELPS and not rest:
            self._say(_HELP)
        elif word == "drop":
            self._drop(rest, queries)
            if not queries:
                self._say("nothing left: no more is searched for here")
                return Verdict(reason="all dropped")
        elif word == "edit":
            self._edit(rest, queries)
        else:
            said = f"{_tidy(line)[:60]!r} is not one of them" if line.strip() else "nothing said"
            self._say(f"{said}; what counts: {WORDS}")
        return None

    def _drop(self, text: str, queries: Queries) -> None:
        numbers = re.split(r"[,\s]+", text.strip(" ,"))
        known = set(map(str, queries))
        wrong = [number for number in numbers if number not in known]
        if wrong:
            self._say(f"drop: {self._unknown(wrong[0], queries)}; nothing dropped")
            return
        for number in numbers:
            queries.pop(int(number), None)
        self._show(queries)

    def _edit(self, text: str, queries: Queries) -> None:
        number, _, new = text.partition(" ")
        new = _tidy(new)
        if number not in set(map(str, queries)):
            self._say(f"edit: {self._unknown(number, queries)}; nothing changed")
        elif not new:
            self._say(f"edit: say what to search for in place of number {int(number)}")
        else:
            queries[int(number)] = Query(new, new)
            self._show(queries)

    @staticmethod
    def _unknown(number: str, queries: Queries) -> str:
        known = ", ".join(map(str, queries))
        if not number:
            return f"say which number ({known})"
        return f"{_tidy(number)[:60]!r} is no number of the list ({known})"

    def _show(self, queries: Queries) -> None:
        for number, query in queries.items():
            self._say(f"  {number}  {_tidy(query.text)}")
            if query.goal and query.goal != query.text:
                self._say(f"       for: {_tidy(query.goal)}")
            for more in query.also:
                self._say(f"       also: {_tidy(more)}")

    async def _line(self) -> str | None:
        """Wait for a line behind a prompt; the cursor stands on a new line afterwards."""
        self._write("> ")
        try:
            line = await self._typed.line()
        except asyncio.CancelledError:
            self._write("\n")
            raise
        if line is None or not self._typed.person:
            self._write(f"{_tidy(line or '')}\n")  # a terminal has shown what was typed
        return line

    def _say(self, text: str) -> None:
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _tidy(text: str) -> str:
    """Return a text on one line, without what would command the terminal."""
    return " ".join(printable(text).split())
