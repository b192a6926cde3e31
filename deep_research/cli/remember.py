"""`deep-research memory`: look into what earlier runs established, and erase from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from deep_research.core.errors import ConfigError

from .console import Say
from .flags import MEMORY, SOURCES, settings_of

if TYPE_CHECKING:
    from deep_research.runtime.memory.claims import Remembered
    from deep_research.runtime.memory.store import SqliteMemory


def memory_group(out: Callable[[str], None], say: Say) -> click.Group:
    """Make the command; `out` writes a result, `say` a line for people."""

    @click.group("memory")
    def memory() -> None:
        """Show or erase what earlier runs established (see --memory of `run`)."""

    @memory.command("list")
    @click.argument("question", required=False)
    @MEMORY
    @SOURCES
    def listing(question: str | None, **flags: Any) -> int:  # noqa: ANN401 - the settings' flags
        """List what is remembered, the newest first; with QUESTION only what it would recall.

        Each line: id, date, claim, a page that it stood on and how many more.
        """
        kept = _memory(flags)
        lines = [_line(claim) for claim in kept.claims(question)]
        for line in lines:
            out(line)
        if not lines:
            say(f"nothing {'on that topic ' if question else ''}is remembered in {kept.path}")
        return 0

    @memory.command("forget")
    @click.argument("ids", type=int, nargs=-1, metavar="[ID]...")
    @click.option("--run", metavar="RUN", help="All that this run verified last.")
    @click.option("--before", metavar="DATE", help="All that was last verified before DATE.")
    @click.option("--all", "everything", is_flag=True, help="All.")
    @MEMORY
    @SOURCES
    def forgetting(
        ids: tuple[int, ...],
        run: str | None,
        before: str | None,
        *,
        everything: bool,
        **flags: Any,  # noqa: ANN401 - the settings' flags, as text
    ) -> int:
        """Erase claims for good: by ID (as `memory list` shows), run or date, or all."""
        kept = _memory(flags)
        if sum(map(bool, (ids, run, before, everything))) != 1:
            raise ConfigError(
                "say in one way what to forget: ids as `memory list` shows them, --run RUN,"
                " --before DATE or --all"
            )
        day = _day(before) if before else ""
        there = kept.claims()
        _check(ids, {claim.id for claim in there}, kept)
        chosen = ids or _chosen(there, run, day)
        count = kept.forget(chosen)
        say(f"{count} claim{'' if count == 1 else 's'} forgotten in {kept.path}")
        return 0

    return memory


def _memory(flags: dict[str, Any]) -> SqliteMemory:
    from deep_research.runtime.memory.store import SqliteMemory

    file = settings_of(click.get_current_context().command, flags).memory.file
    if file is None:
        raise ConfigError("no memory is set: name its file with --memory FILE or memory.file")
    return SqliteMemory(file)


def _line(claim: Remembered) -> str:
    more = f" (+{len(claim.urls) - 1})" if len(claim.urls) > 1 else ""
    return f"{claim.id:5}  {claim.date[:10]}  {claim.text}  {''.join(claim.urls[:1])}{more}"


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ConfigError(f"--before {text!r}: write a date as 2026-01-31") from error


def _check(ids: Collection[int], there: Collection[int], kept: SqliteMemory) -> None:
    unknown = [str(n) for n in ids if n not in there]
    if unknown:
        raise ConfigError(
            f"memory {kept.path}: there is no claim {', '.join(unknown)}; nothing is forgotten"
            " (`memory list` shows what there is)"
        )


def _chosen(there: list[Remembered], run: str | None, day: str) -> Iterator[int]:
    for claim in there:
        if (run in {None, claim.run}) and (not day or claim.date[:10] < day):
            yield claim.id
