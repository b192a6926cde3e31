"""A budget is a tree: part is spent, the rest split among children and reclaimed in the end.

A shared ledger would make the result depend on who was faster. So each node owns its share: what it
can afford depends on its ancestors alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
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

    def ample(self, had: Mapping[str, int]) -> bool:
        """Tell whether a third of what there was is left, of money, tokens and calls.

        Where none of these is limited nobody has said what may be spent: then it is not.
        """
        limited = [name for name in ("cost", "tokens", "calls") if had.get(name)]
        return bool(limited) and all(self.left[name] * 3 >= had[name] for name in limited)

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

    def split(
        self, weights: Sequence[float], *, calls: Sequence[float] | None = None
    ) -> list[Budget]:
        """Hand all that is left to as many children as there are `weights`, in proportion to these.

        Whole units; what rounding leaves over goes to the heaviest, of equals to the first ones.

        Args:
            weights: One per child, positive.
            calls: Others for model calls.
        """
        shares = [Budget() for _ in weights]
        for name, amount in self.left.items() if shares else ():
            parts = _parts(amount, calls if calls and name == "calls" else weights)
            for share, part in zip(shares, parts, strict=True):
                share.left[name] = part
            self.left[name] = 0
        return shares

    def reclaim(self, shares: Iterable[Budget]) -> None:
        """Take back what finished children did not spend."""
        for share in shares:
            for name, amount in share.left.items():
                self.left[name] = self.left.get(name, 0) + amount
            share.left = dict.fromkeys(share.left, 0)


def _parts(amount: int, weights: Sequence[float]) -> list[int]:
    exact = [Fraction(weight) for weight in weights]
    # Rounded down also below zero: what is overdrawn is owed, to the unit.
    parts = [amount * weight // sum(exact) for weight in exact]
    heaviest = sorted(range(len(exact)), key=lambda i: -exact[i])
    for i in heaviest[: amount - sum(parts)]:
        parts[i] += 1
    return parts
