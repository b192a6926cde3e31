"""The loopback world for users: its self-test, its likeness to the referee, and what it computes of a run."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORLD = ROOT / "benchmarks" / "world"
REFEREE = ROOT / ".." / "shared" / "world"

_LIKE = """
import hashlib, sys
from world import content
try:
    from world.render import extracted, html, pdf
except ImportError:
    extracted, html, pdf = content.extracted, content.html, content.pdf
for seed in (1, 2, 3):
    world, digest = content.World(seed=seed), hashlib.sha256()
    for path, page in world.pages.items():
        body = pdf(page) if page.kind == "pdf" else html(page, world, seed)
        digest.update(path.encode() + body + extracted(page).encode())
    print(seed, digest.hexdigest(), world.question())
"""


def load(name):
    spec = importlib.util.spec_from_file_location(name, WORLD / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


analyse = load("analyse")


def python(*args, cwd=ROOT):
    command = [sys.executable, "-B", *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=50)


def call(step, t0, t1, path=(), **data):
    return {"kind": "call", "path": list(path), "data": {"step": step, "t0": t0, "t1": t1, **data}}


def test_selftest_passes():
    done = python("benchmarks/world", "selftest")
    assert done.returncode == 0, done.stdout + done.stderr


def test_runs_as_a_module_too():
    done = python("-m", "benchmarks.world", "question", "--seed", "2")
    assert "programme" in done.stdout


def test_pages_are_the_referees():
    """Another word list, the same worlds."""
    if not REFEREE.is_dir():
        pytest.skip("no referee beside this checkout")
    ours, theirs = (python("-c", _LIKE, cwd=place.parent).stdout for place in (WORLD, REFEREE))
    assert ours.count("\n") == 3
    assert ours == theirs


def test_steps_of_a_node_add_up_and_calls_of_one_step_do_not():
    events = [
        call("brief", 0, 1),
        call("search", 1, 2),
        call("search", 1, 4),
        call("learn", 4, 6),
    ]
    assert analyse.critical_path(events)["critical_path"] == 1 + 3 + 2


def test_slowest_child_counts_with_all_below_it():
    events = [
        call("learn", 0, 1),
        call("learn", 1, 9, (0,)),
        call("learn", 1, 3, (1,)),
        call("learn", 3, 20, (1, 0)),
    ]
    found = analyse.critical_path(events)
    assert [row[0] for row in found["chain"]] == [[], [1], [1, 0]]
    assert found["critical_path"] == 1 + 2 + 17


def test_writer_follows_the_tree():
    events = [
        call("learn", 0, 1),
        call("learn", 1, 9, (0,)),
        {"kind": "writing", "path": [], "data": {}},
        call("outline", 9, 10),
        call("section", 10, 14),
        call("section", 10, 13),
        call("rewrite", 14, 15),
    ]
    found = analyse.critical_path(events)
    assert [row[1] for row in found["chain"]] == ["learn", "learn", "outline", "section", "rewrite"]
    assert found["critical_path"] == found["wall"] == 15
    assert found["ratio"] == 1


def test_an_attempt_that_failed_counts_beside_the_next():
    events = [call("learn", 0, 2, attempt=1), call("learn", 3, 7, attempt=2)]
    found = analyse.critical_path(events)
    assert (found["critical_path"], found["wall"]) == (6, 7)


def test_second_go_of_reads_counts_beside_the_first():
    reads = [("page_read", 0, 1), ("page_failed", 0, 8), ("page_read", 8, 9), ("page_read", 8, 10)]
    events = [{"kind": k, "path": [0], "data": {"t0": a, "t1": b}} for k, a, b in reads]
    assert analyse.critical_path(events)["critical_path"] == 8 + 2


def test_no_calls_have_no_ratio():
    assert analyse.critical_path([])["ratio"] is None


def test_a_line_cut_off_is_left_out(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(call("learn", 0, 1)) + '\n{"kind": "ca', encoding="utf-8")
    assert len(analyse.read_events(path)) == 1


def test_runner_names_a_missing_world(tmp_path):
    done = python("benchmarks/run_world.py", "--world", tmp_path, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "no world there" in done.stderr
    assert "Traceback" not in done.stderr
