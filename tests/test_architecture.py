"""The shape of the code: who may import whom, how long a file may be, what importing costs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "deep_research"
CORE = sorted((PACKAGE / "core").glob("*.py"))
HEAVY = {"aiohttp", "openai", "trafilatura", "bs4", "pypdf", "docx", "pydantic", "click", "rich"}
OUTWARD = {"os", "io", "pathlib", "socket", "ssl", "http", "subprocess", "sqlite3", "logging"}


def imported(file: Path) -> set[str]:
    """Full names of what a file imports, as it writes them; relative ones begin with dots."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_import_contracts_hold() -> None:
    """The rings of `pyproject.toml`, checked by import-linter."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    code = "from importlinter.cli import lint_imports_command as c; c(['--no-cache', '--no-logo'])"
    result = run("-c", code)
    assert f"{len(contracts)} kept, 0 broken" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("file", CORE, ids=lambda f: f.stem)
def test_the_core_is_pure(file: Path) -> None:
    """The standard library and itself, and nothing that reaches outside."""
    for name in imported(file):
        if name.startswith("."):
            assert not name.startswith(".."), f"{file.name} reaches out of the core: {name}"
        else:
            top = name.partition(".")[0]
            assert top in sys.stdlib_module_names, f"{file.name} imports {name}"
            assert top not in OUTWARD, f"{file.name} imports {name}"
            assert not name.startswith("urllib.request"), f"{file.name} imports {name}"


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda f: f.relative_to(PACKAGE).as_posix()
)
def test_modules_are_short(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").count("\n")
    assert lines <= 300, f"{file.relative_to(ROOT)} has {lines} lines; split it"


def test_the_recursion_fits_a_screen_or_two() -> None:
    source = (PACKAGE / "core" / "tree.py").read_text(encoding="utf-8")
    assert source.count("\n") <= 130
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.AsyncFunctionDef)]
    assert max((n.end_lineno or 0) - n.lineno for n in functions) <= 35


def test_one_file_owns_the_environment() -> None:
    """Settings come from `config`; nothing else looks at `os.environ`."""
    readers = {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if re.search(r"\bos\.(?:environ|getenv)\b", file.read_text(encoding="utf-8"))
    }
    assert readers <= {"config", "config.py"}


def test_importing_the_package_is_light_and_has_no_side_effects() -> None:
    """What costs time is not loaded; nothing is printed, no thread is started, no logging set up."""
    code = """
import json, sys, threading, time
before = set(sys.modules)
start = time.process_time()
import deep_research
spent = time.process_time() - start
tops = sorted({m.partition(".")[0] for m in set(sys.modules) - before})
import logging
root = logging.getLogger()
print(json.dumps([spent, tops, threading.active_count(), len(root.handlers)]))
"""
    result = run("-W", "error", "-c", code)
    assert result.stderr == ""
    spent, tops, threads, handlers = json.loads(result.stdout)
    print(f"import deep_research: {spent * 1000:.0f} ms CPU")  # noqa: T201 - a figure, not a gate
    assert not HEAVY & set(tops)
    assert "asyncio" not in tops
    assert (threads, handlers) == (1, 0)


def test_every_public_name_can_be_had() -> None:
    code = "import deep_research as d; print([n for n in d.__all__ if getattr(d, n) is None])"
    result = run("-c", code)
    assert result.stdout.strip() == "[]", result.stderr
