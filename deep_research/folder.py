"""A run's folder: whose it is, and what is written into it.

`events.jsonl` is made first and only once, so a folder belongs to the run that made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from .core.errors import ConfigError
from .core.model import Page
from .core.ports import Exporter
from .core.report import Report

EVENTS: Final = "events.jsonl"


class Folder:
    """The files of one run. Nothing is touched before `claim`.

    Args:
        path: Where; made if it is missing. It may hold other files, but no other run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = path / EVENTS
        self._mine = False
        self._made: list[Path] = []

    def claim(self) -> None:
        """Take the folder for this run; a second call changes nothing.

        Raises:
            ConfigError: It cannot be written to, or holds another run.
        """
        if self._mine:
            return
        try:
            self._made = [p for p in (self.path, *self.path.parents) if not p.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self.events.open("x").close()
        except FileExistsError as error:
            if not self.path.is_dir():
                raise ConfigError(f"cannot write to {self.path}: it is not a folder") from error
            raise ConfigError(
                f"{self.path} holds another run: name another folder, or remove that one"
            ) from error
        except OSError as error:
            raise ConfigError(f"cannot write to {self.path}: {error.strerror or error}") from error
        self._mine = True

    def release(self) -> None:
        """Give back a folder where nothing has happened: what could not begin leaves no trace."""
        with suppress(OSError):  # whatever is left does no harm
            if self._mine and not self.events.stat().st_size:
                self._mine = False
                self.events.unlink()
                for folder in self._made:
                    folder.rmdir()

    def save(self, page: Page) -> None:
        """Store a page's text once, under its digest: `sources/<sha256>.txt`, UTF-8 as it stands.

        Raises:
            OSError: It cannot be stored.
        """
        path = self.path / "sources" / f"{page.sha256}.txt"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(page.text.encode())

    def write(self, report: Report, exporters: Iterable[Exporter]) -> Iterator[str]:
        """Write `report.<suffix>` for each exporter; yield a sentence for each file that failed.

        The report itself is not lost with a file: whoever ran it has it in hand.
        """
        for exporter in exporters:
            file = self.path / f"report.{exporter.suffix}"
            try:
                file.write_bytes(exporter.export(report))
            except OSError as error:
                yield f"{file} is not written: {error.strerror or error}"
            except Exception as error:  # noqa: BLE001 - an exporter is foreign code
                yield f"{file} is not written: {type(error).__name__}: {error}"
