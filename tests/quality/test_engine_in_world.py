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
ROOMS = {
    ("tree", "2", "1"): (0.15, 25_000),
    ("tree", "4", "2"): (0.70, 60_000),
    ("supervisor", "2", "1"): (0.60, 110_000),
    ("supervisor", "4", "2"): (0.90, 100_000),
}
"""Planner, breadth and depth: recall at least, tokens at most."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def python(script: str, tmp_path: Path, *more: str) -> dict:
    """What a benchmark prints as JSON, in world 5."""
    command = [sys.executable, "-B", f"benchmarks/{script}", "--seeds", "5", "--speed", "20"]
    command += ["--json", "--concurrency", "16", "--port", str(free_port()), "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, *more], cwd=ROOT, capture_output=True, text=True, timeout=170, check=False
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def figures(tmp_path: Path, breadth: str, depth: str, *more: str) -> dict:
    shape = ("--breadth", breadth, "--depth", depth)
    return python("run_world.py", tmp_path, *shape, *more)["runs"][0]["figures"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("planner", "breadth", "depth"), ROOMS)
def test_what_is_found_and_nothing_but_that(
    planner: str, breadth: str, depth: str, tmp_path: Path
) -> None:
    recall, tokens = ROOMS[planner, breadth, depth]
    found = figures(tmp_path, breadth, depth, "--", "--planner", planner)
    assert found["recall"] >= recall
    assert [found[k] for k in ("invented", "wrong", "uncited", "unsupported")] == [0, 0, 0, 0]
    assert found["citation precision"] == 1.0
    assert found["tokens"] <= tokens
    assert (found["status"], found["exit code"]) == ("complete", 0)


@pytest.mark.timeout(180)
def test_the_supervisor_finds_as_much_for_less_and_answers_short_questions_at_once(
    tmp_path: Path,
) -> None:
    """One world, so a little slack; over worlds 1 to 3 the benchmark allows none."""
    result = python("supervisor.py", tmp_path, "--depths", "3", "--short", "1")
    tree, less, same, free, short = result["runs"]
    assert tree["recall"] >= 0.88
    assert less["recall"] >= tree["recall"] - 0.05
    assert less["calls"] <= 0.6 * tree["calls"]
    assert same["recall"] >= tree["recall"] - 0.02
    assert same["calls"] <= tree["calls"]
    assert free["recall"] >= 0.93
    assert free["tokens"] <= 75_000
    assert free["stop"] == "answered"
    assert (short["recall"], short["stop"]) == (1.0, "answered")
    assert short["calls"] <= 3
    assert [row["invented"] + row["wrong"] for row in result["runs"]] == [0, 0, 0, 0, 0]


@pytest.mark.timeout(120)
def test_a_model_that_fails_in_every_way_costs_little_recall(tmp_path: Path) -> None:
    """Rate limits at 8 calls, 5 % of calls failing, 10 % of answers cut off, all at once."""
    found = figures(tmp_path, "4", "2", "--faults", "all")
    assert found["recall"] >= ROOMS["supervisor", "4", "2"][0] - 0.05
    assert (found["invented"], found["wrong"]) == (0, 0)
    assert found["citation precision"] == 1.0
    assert found["LLM errors"] > 0, "the world has failed to fail"


@pytest.mark.timeout(120)
def test_a_budget_is_kept_and_the_report_written(tmp_path: Path) -> None:
    found = figures(tmp_path, "4", "3", "--", "--max-calls", "12", "--max-tokens", "60000")
    assert found["LLM calls"] <= 12
    assert found["tokens"] <= 60_000
    assert (found["status"], found["stop reason"], found["exit code"]) == ("partial", "budget", 3)
    assert found["references"] > 0
