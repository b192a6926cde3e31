"""Every example runs as a newcomer runs it: as a script, in some other folder, without network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
EXPECTED = {
    "01_hello": r"^References$[\s\S]+^ *8\. [\s\S]+complete \(",
    "02_two_steps": r"level 2 of 2, [\s\S]+findings from \d+ pages[\s\S]+cited sentences: \d+ verified",
    "03_my_search_engine": r"made by Ada Brandt in 1911\. \[1\][\s\S]+1\. https://notes\.example/",
    "04_watch_events": r"L0:1 [\s\S]+L0:0 [\s\S]+complete; all events",
    "05_check_citations": r"(\d+) of \1 quotes stand",
}


def run(path, folder, *arguments):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), "PYTHONWARNINGS": "error"}
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=50, check=False
    )


def test_every_example_is_expected():
    assert [path.stem for path in EXAMPLES] == list(EXPECTED)


@pytest.mark.parametrize("path", EXAMPLES[:-1], ids=lambda path: path.stem)
def test_example(path, tmp_path):
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(EXPECTED[path.stem], done.stdout, re.MULTILINE), done.stdout


class TestCheckCitations:
    @pytest.fixture
    def folder(self, tmp_path):
        assert run(EXAMPLES[2], tmp_path).returncode == 0
        (folder,) = (tmp_path / "runs").iterdir()
        return folder

    def test_a_run_is_right(self, folder, tmp_path):
        for arguments in ([], [str(folder)]):
            done = run(EXAMPLES[-1], tmp_path, *arguments)
            assert done.returncode == 0, done.stdout + done.stderr
            assert re.search(EXPECTED["05_check_citations"], done.stdout)

    def test_a_changed_page_is_noticed(self, folder, tmp_path):
        for page in (folder / "sources").iterdir():
            page.write_text(page.read_text().replace("1911", "1912"))
        done = run(EXAMPLES[-1], tmp_path)
        assert done.returncode == 1
        assert "in 1911." in done.stdout

    def test_no_run(self, tmp_path):
        assert run(EXAMPLES[-1], tmp_path).returncode == 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_short_and_listed(path):
    assert len(path.read_text("utf-8").splitlines()) < 60
    assert f"[{path.name}]({path.name})" in (ROOT / "examples" / "README.md").read_text("utf-8")
