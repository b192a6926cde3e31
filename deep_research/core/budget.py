"""A budget is a tree: part is spent, the rest split among children and reclaimed in the end.

A shared ledger would make the result depend on who was faster. So each node owns its share: what it
can afford depends on its ancestors alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .errors import BudgetExceeded

RESOURCES: Final = ("cost", "tokens", "calls", "searches", "pages")
"""Whole units: micro-dollars, tokens (in and out), model calls, searches, page reads."""


class Budget:
    """What one subtree may still spend, per resource; a resource that is not named is unlimited.

    One node owns it at a time, so no lock is needed.
    """

    __slots__ = ("left",)

    def __init__(self, left: Mapping[str, int] | None = None) -> None:
        self.left = dict(left or {})

    def __repr__(self) -> str:
        return f"Budget({self.left})"

    def hold(self, amounts: Mapping[str, int]) -> None:
        """Take the worst case of a call before it is made.

        Raises:
            BudgetExceeded: One resource does not have it; nothing is taken.
        """
        for name, amount in amounts.items():
            if amount > max(0, self.left.get(name, amount)):
                raise BudgetExceeded(name, wanted=amount, left=self.left[name])
        for name, amount in amounts.items():
            if name in self.left:
                self.left[name] -= amount

    def settle(self, held: Mapping[str, int], actual: Mapping[str, int]) -> None:
        """Give back what was held and take what was really used."""
        for name in self.left:
            self.left[name] += held.get(name, 0) - actual.get(name, 0)

    def affords(self, amounts: Mapping[str, int]) -> int:
        """How many times `amounts` fits; a large number where nothing limits it."""
        limits = [self.left[n] // a for n, a in amounts.items() if a > 0 and n in self.left]
        return max(0, min(limits, default=1_000_000))

    def set_aside(
        self, share: float, *, of: Iterable[str] = RESOURCES, at_least: Mapping[str, int]
    ) -> Budget:
        """Split off a reserve: `share` (0 to 1) of each resource, `at_least` where that is more.

        A reserve never takes more than there is; what is unlimited stays so on both sides.
        """
        reserve = {
            name: min(self.left[name], max(int(self.left[name] * share), at_least.get(name, 0)))
            for name in of
            if name in self.left
        }
        for name, amount in reserve.items():
            self.left[name] -= amount
        return Budget(reserve)

    def split(self, parts: int) -> list[Budget]:
        """Hand all that is left to `parts` children, as evenly as whole units allow."""
        shares = [
            Budget({n: v // parts + (i < v % parts) for n, v in self.left.items()})
            for i in range(parts)
        ]
        if parts:
            self.left = dict.fromkeys(self.left, 0)
        return shares

    def reclaim(self, shares: Iterable[Budget]) -> None:
        """Take back what finished children did not spend."""
        for share in shares:
            for name, amount in share.left.items():
                self.left[name] = self.left.get(name, 0) + amount
            share.left = dict.fromkeys(share.left, 0)
