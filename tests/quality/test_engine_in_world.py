"""Floors of quality: the whole engine in the loopback world. A floor is lowered on purpose only.

The world runs at twenty times its speed; nothing here depends on how long anything takes.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHAPES = {"quick": (["2", "1"], 0.15), "standard": (["4", "2"], 0.70), "deep": (["4", "3"], 0.88)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def figures(tmp_path: Path, breadth: str, depth: str, faults: str = "none", *more: str) -> dict:
    command = [
        sys.executable,
        "-B",
        "benchmarks/run_world.py",
        "--seeds",
        "5",
        "--speed",
        "20",
        "--json",
    ]
    command += ["--breadth", breadth, "--depth", depth, "--concurrency", "16", "--faults", faults]
    command += ["--port", str(free_port()), "--out", str(tmp_path), *more]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]["figures"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_found_and_nothing_but_that(shape: str, tmp_path: Path) -> None:
    (breadth, depth), floor = SHAPES[shape]
    found = figures(tmp_path, breadth, depth)
    assert found["recall"] >= floor
    assert (found["invented"], found["wrong"], found["uncited"], found["unsupported"]) == (
        0,
        0,
        0,
        0,
    )
    assert found["citation precision"] == 1.0
    assert found["tokens"] <= {"quick": 25_000, "standard": 60_000, "deep": 100_000}[shape]
    assert found["status"] == "complete"


@pytest.mark.timeout(120)
def test_a_model_that_fails_in_every_way_costs_little_recall(tmp_path: Path) -> None:
    """Rate limits at 8 calls, 5 % of calls failing, 10 % of answers cut off, all at once."""
    found = figures(tmp_path, "4", "2", "all")
    assert found["recall"] >= SHAPES["standard"][1] - 0.05
    assert (found["invented"], found["wrong"]) == (0, 0)
    assert found["citation precision"] == 1.0
    assert found["LLM errors"] > 0, "the world has failed to fail"


@pytest.mark.timeout(120)
def test_a_budget_is_kept_and_the_report_written(tmp_path: Path) -> None:
    found = figures(tmp_path, "4", "3", "none", "--", "--max-calls", "12", "--max-tokens", "60000")
    assert found["LLM calls"] <= 12
    assert found["tokens"] <= 60_000
    assert (found["status"], found["stop reason"], found["exit code"]) == ("partial", "budget", 3)
    assert found["references"] > 0
