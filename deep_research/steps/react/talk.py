"""A conversation with tools: its turns, how long it may get, and what tells that it goes round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deep_research.core.errors import ContextTooLong
from deep_research.core.ports import Completion, Prompt, Turn
from deep_research.core.seams import Outside, Scope
from deep_research.steps._toolbox import fit_turns, size

_REPEATS: Final = 3
_IN_A_ROW, _IN_ALL = 3, 8

Call = tuple[str, ...]
"""A call as the loop guard sees it: equal calls are equal."""


@dataclass(slots=True)
class Streak:
    """Counts turns of a sort that brings nothing: three in a row are borne, and eight in all."""

    row: int = 0
    total: int = 0

    def over(self, again: bool) -> bool:
        """Count one more turn, of this sort or not; tell whether it was one too many."""
        self.row = self.row + 1 if again else 0
        self.total += again
        return again and (self.row > _IN_A_ROW or self.total > _IN_ALL)


@dataclass(slots=True)
class Talk:
    """One conversation.

    Attributes:
        opening: Instructions, task and tools.
        count: Counts the tokens of a text.
        limit: Tokens of the turns from which on the oldest results are left out.
        turns: What was said and done so far.
    """

    opening: Prompt
    count: Callable[[str], int]
    limit: int
    turns: tuple[Turn, ...] = ()
    _thinking: Streak = field(default_factory=Streak)
    _idle: Streak = field(default_factory=Streak)
    _seen: Counter[Call] = field(default_factory=Counter)
    _past: list[tuple[Call, ...]] = field(default_factory=list)

    async def ask(self, outside: Outside, scope: Scope, step: str) -> Completion:
        """Ask what comes next.

        Raises:
            ContextTooLong: Also without all that can be left out.
            DeepResearchError: What `outside.complete` raises.
        """
        if self._size(self.turns) > self.limit:
            # A good deal shorter, so that the provider's cache is not lost at every turn.
            self.turns = fit_turns(self.turns, self.limit * 2 // 3, self.count)
        while True:
            try:
                prompt = replace(self.opening, turns=self.turns)
                return await outside.complete(prompt, scope, step)
            except ContextTooLong:
                used = self._size(self.turns)
                self.limit = used * 2 // 3
                shorter = fit_turns(self.turns, self.limit, self.count)
                if self._size(shorter) >= used:
                    raise
                self.turns = shorter

    def _size(self, turns: Sequence[Turn]) -> int:
        return sum(size(turn, self.count) for turn in turns)

    def stuck(self, calls: Sequence[Call], *, thinking: bool, idle: bool) -> tuple[str, str] | None:
        """Take a turn in; return why the talk leads nowhere, in a word and a sentence, or None.

        A call comes the third time, two turns alternate, or too many turns bring nothing.

        Args:
            calls: What could be done.
            thinking: Whether nothing was done because the model only thought.
            idle: Whether nothing new was done for another reason.
        """
        too_thoughtful, too_idle = self._thinking.over(thinking), self._idle.over(idle)
        if self._loops(tuple(dict.fromkeys(calls))):
            return "loop", "the model makes the same calls again and again"
        if too_thoughtful:
            return "thinking", "the model only thinks"
        return ("idle", "the model calls nothing that can be done") if too_idle else None

    def _loops(self, now: tuple[Call, ...]) -> bool:
        if not now:
            return False
        self._seen.update(now)
        self._past.append(now)
        first, second, third, fourth = (*[()] * 3, *self._past)[-4:]
        alternate = (first, second) == (third, fourth) and first != second
        return alternate or any(self._seen[call] >= _REPEATS for call in now)
