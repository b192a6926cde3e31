"""Which local files a person means: folders, files and patterns become one ordered list."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from deep_research.core.errors import ConfigError

KINDS: Final = (
    ".csv", ".docx", ".htm", ".html", ".json", ".jsonl", ".log", ".markdown", ".md", ".pdf",
    ".rst", ".text", ".tsv", ".txt", ".xhtml", ".xml", ".yaml", ".yml",
)  # fmt: skip
"""Endings that are taken from folders; a file named itself is taken whatever its ending."""


@dataclass(slots=True)
class Scan:
    """What was found.

    Attributes:
        files: Absolute paths, each file once, sorted within each given path.
        problems: (path, reason) of what was passed over though it was meant.
    """

    files: list[Path] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def scan(
    paths: Sequence[str | Path],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_bytes: int,
) -> Scan:
    """Find the files.

    Args:
        paths: Folders (searched through, also behind symbolic links), files, or patterns such as
            'papers/**/*.pdf'.
        include: Patterns for names or relative paths inside folders; empty takes all of `KINDS`.
        exclude: Patterns of what to leave out of folders.
        max_bytes: Larger files are a problem.

    Hidden files and folders are left out, unless named themselves.

    Raises:
        ConfigError: A path is missing or a pattern matches nothing.
    """
    result = Scan()
    seen: set[str] = set()
    for given in paths:
        for root in _roots(given):
            found = (
                _walk(root, include, exclude, result.problems) if root.is_dir() else iter((root,))
            )
            for path in found:
                real = os.path.realpath(path)
                if real not in seen:
                    seen.add(real)
                    _add(path, max_bytes, result)
    return result


def shown(path: Path | str) -> str:
    """Return the path as text that can be printed, also if its bytes are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _roots(given: str | Path) -> list[Path]:
    text = str(given)
    path = Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 - resolve() would follow links
    if text.strip() and path.exists():
        return [path]
    if glob.has_magic(text):
        names = glob.glob(str(path), recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        if names:
            return [Path(name) for name in sorted(names)]
        raise ConfigError(f"docs: no file matches {shown(text)!r}")
    raise ConfigError(f"docs: no such file or folder: {shown(text)!r} (looked at {shown(path)})")


def _walk(
    root: Path,
    include: Sequence[str],
    exclude: Sequence[str],
    problems: list[tuple[str, str]],
) -> Iterator[Path]:
    def note(error: OSError) -> None:
        problems.append((shown(error.filename or root), error.strerror or "cannot be listed"))

    entered: set[object] = {_identity(root)}
    for folder, names, files in os.walk(root, followlinks=True, onerror=note):
        here = Path(folder)
        names[:] = sorted(_new_folders(here, names, entered))
        for name in sorted(files):
            path = here / name
            if not name.startswith(".") and _fits(path, root, include, exclude):
                yield path


def _new_folders(here: Path, names: Iterable[str], entered: set[object]) -> Iterator[str]:
    """Yield the folders to enter: no hidden ones, and none twice, so that a loop of links ends."""
    for name in names:
        key = _identity(here / name)
        if not name.startswith(".") and key not in entered:
            entered.add(key)
            yield name


def _identity(path: Path) -> object:
    """Return what is equal for two ways to one folder."""
    try:
        stat = path.stat()
    except OSError:  # whoever lists it will say so
        return path
    return stat.st_dev, stat.st_ino


def _fits(path: Path, root: Path, include: Sequence[str], exclude: Sequence[str]) -> bool:
    relative = path.relative_to(root).as_posix()

    def any_of(patterns: Sequence[str]) -> bool:
        return any(fnmatch(relative, p) or fnmatch(path.name, p) for p in patterns)

    wanted = any_of(include) if include else path.suffix.lower() in KINDS
    return wanted and not any_of(exclude)


def _add(path: Path, max_bytes: int, result: Scan) -> None:
    try:
        size = path.stat().st_size
        regular = path.is_file()
    except OSError as error:
        result.problems.append((shown(path), error.strerror or str(error)))
        return
    if not regular:
        return
    if size > max_bytes:
        result.problems.append((shown(path), f"{size} bytes, more than {max_bytes}"))
    elif size == 0:
        result.problems.append((shown(path), "empty"))
    else:
        result.files.append(path)
