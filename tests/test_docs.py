"""What the documents say is so: their code runs, their links lead somewhere, their quotes are quotes."""

import ast
import asyncio
import importlib
import inspect
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest

from deep_research.config import load
from deep_research.core.events import Kind
from deep_research.core.model import Status
from deep_research.core.report import RunStatus
from deep_research.registry import check_engine

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")])
PACKAGE = ROOT / "deep_research"
BLOCK = re.compile(
    r"(?:<!-- (?P<note>[^>]*?) -->\n)?^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
README = (ROOT / "README.md").read_text("utf-8")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def blocks(text):
    """(note, code) of each Python block; the note is the comment on the line above."""
    return [(m["note"] or "", m["code"]) for m in BLOCK.finditer(text)]


WITH_CODE = [path for path in PAGES if blocks(path.read_text("utf-8"))]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that looks like the project's root to whoever reads the examples' corpus."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("path", WITH_CODE, ids=name_of)
def test_code_runs(path):
    """All blocks of a page run in order, as one program.

    `<!-- not run -->` above a block has it compiled only; `<!-- quoted: … -->` has a test of its own.
    """
    names = {"__name__": "page"}
    for note, code in blocks(path.read_text("utf-8")):
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        program = compile(code, f"{name_of(path)}: {code[:40]!r}", "exec", flags)
        if note.startswith(("not run", "quoted: ")):
            continue
        result = eval(program, names)  # noqa: S307 - our own documents
        if inspect.iscoroutine(result):
            asyncio.run(result)


QUOTED = [
    (path, note.removeprefix("quoted: "), code)
    for path in WITH_CODE
    for note, code in blocks(path.read_text("utf-8"))
    if note.startswith("quoted: ")
]


def tight(code):
    """Code without its layout, which depends on how far it is indented."""
    return re.sub(r",(?=\))", "", re.sub(r"\s+", "", code))


@pytest.mark.parametrize(("path", "what", "code"), QUOTED, ids=[q[1] for q in QUOTED])
def test_quoted_code_is_what_stands_there(path, what, code):
    """If this fails, copy the function's new text into the page."""
    module, _, qualified = what.partition(":")
    found = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    assert tight(code) == tight(inspect.getsource(found))


def test_the_recursion_is_quoted():
    assert any(what == "deep_research.core.tree:Tree.investigate" for _, what, _ in QUOTED)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=name_of)
def test_code_in_docstrings_compiles(path):
    """Indented blocks after a line that ends in ':' or stands before a blank line are prose; marked ones are code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for _, code in blocks(inspect.cleandoc(ast.get_docstring(node) or "")):
                compile(code, name_of(path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_packages_own_example_compiles():
    import deep_research

    shown = re.findall(r"^    .+$", deep_research.__doc__, re.MULTILINE)
    assert len(shown) > 3
    compile(textwrap.dedent("\n".join(shown)), "doc", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def fenced(language):
    """(page, block) of each block in `language`."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(path, text) for path in PAGES for text in pattern.findall(path.read_text("utf-8"))]


COMMANDS = [
    (path, line) for path, text in fenced("sh") for line in re.findall(r"\bdeep-research .*", text)
]


@pytest.mark.parametrize(("path", "line"), COMMANDS, ids=[line[14:60] for _, line in COMMANDS])
def test_shown_commands_exist(path, line):
    """Subcommands and flags are those of the command line; what they do has tests of its own."""
    from deep_research.cli.commands import cli

    words = shlex.split(line, comments=True)[1:]
    end = next((i for i, word in enumerate(words) if word in {"|", "<", ">", "&&"}), len(words))
    command, words = cli, words[:end]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context("deep-research", words)


@pytest.mark.parametrize("path", sorted({path for path, _ in fenced("yaml")}), ids=name_of)
def test_shown_settings_exist(path, tmp_path):
    for page, text in fenced("yaml"):
        if page == path:
            file = tmp_path / "shown.yaml"
            file.write_text(text, "utf-8")
            config = load(file=file, environ={}, check=check_engine)
            assert config != load(environ={}), "it shows something that is not the default"


SUPERVISOR = (ROOT / "docs" / "concepts" / "supervisor.md").read_text("utf-8")
STOPS = re.compile(r"^\| `(\w+)` \| ([a-z, ]+) \| ", re.MULTILINE)
NAMES = {"stop", "stopped", "refusal", "outcome", "_usual_stop", "Why"}
"""What reasons are called in the code: keywords, variables, properties and functions."""


def words_in(node):
    """Words that an expression can come to: no sentences, no conditions; of a tuple the last."""
    match node:
        case ast.Constant(value=str(word)) if word.isidentifier():
            yield word
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*words_in(body), *words_in(orelse))
        case ast.BoolOp(values=values):
            yield from (word for value in values for word in words_in(value))
        case ast.Tuple(elts=[*_, last]):
            yield from words_in(last)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=elts)):
            yield from (word for value in elts for word in words_in(value))
        case ast.Call(func=ast.Name(id="max"), keywords=keywords):
            yield from (word for k in keywords if k.arg == "default" for word in words_in(k.value))


def stops_in(tree):
    """Reasons to stop that a module names."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=name, value=value) if name in NAMES:
                yield from words_in(value)
            case ast.Call(func=ast.Name(id="Decision"), args=[_, value, *_]):
                yield from words_in(value)
            case ast.Assign(targets=[ast.Name(id=name) | ast.Tuple(elts=[*_, ast.Name(id=name)])]):
                yield from words_in(node.value) if name in NAMES else ()
            case ast.FunctionDef(name=name) if name in NAMES:
                returned = (n.value for n in ast.walk(node) if isinstance(n, ast.Return))
                yield from (word for value in returned for word in words_in(value))


def test_the_supervisors_page_tells_every_reason_to_stop():
    """And names none that the code cannot give; 'interrupted' is told by the run's last event only."""
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))]
    given = {word for tree in trees for word in stops_in(tree)}
    told = dict(STOPS.findall(SUPERVISOR))
    assert {"depth", "answered", "off_topic", "not_approved", "cancelled", "done"} <= given
    assert given <= set(told), "give these reasons a row in docs/concepts/supervisor.md"
    assert set(told) <= given | {"interrupted"}, "nothing stops for these reasons"


def test_the_supervisors_page_names_every_event_and_status():
    named = set(re.findall(r"`(\w+)`", SUPERVISOR))
    assert [x for group in (Kind, Status, RunStatus) for x in group if x not in named] == []


def test_the_supervisors_drawing_has_every_reason():
    drawing = "".join(re.findall(r"^```text\n(.*?)^```", SUPERVISOR, re.MULTILINE | re.DOTALL))
    told = {word for word, _ in STOPS.findall(SUPERVISOR)}
    gone = told - set(re.findall(r"\w+", drawing))
    assert gone == {"done", "interrupted", "no_evidence"}, "these three are no edge of their own"


def anchors(path):
    """Anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for title in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{name_of(path)} points to {target}, which is not there"
        assert there.is_relative_to(ROOT), f"{name_of(path)} points out of the project: {target}"
        if anchor:
            assert anchor in anchors(there), f"{name_of(path)}: {file} has no heading #{anchor}"


def test_every_page_is_reached_from_the_index():
    reached, todo = set(), [ROOT / "docs" / "index.md"]
    while todo:
        page = todo.pop()
        if page not in reached and page.suffix == ".md" and page.is_relative_to(ROOT / "docs"):
            reached.add(page)
            links = re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
            todo.extend((page.parent / link).resolve() for link in links)
    assert {p for p in PAGES if p.is_relative_to(ROOT / "docs")} - reached == set()


def tracked():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [Path(line) for line in done.stdout.splitlines()]


def test_every_folder_is_in_the_readmes_map():
    usual = {".gitignore", "LICENSE", "README.md", "pyproject.toml"}
    top = {path.parts[0] for path in tracked()} - usual
    missing = {name for name in top if name not in README}
    assert missing == set(), "What is where: name these in the README"


def test_every_ring_is_in_the_readmes_map():
    rings = {p.parent.name for p in PACKAGE.glob("*/__init__.py")} - {"cli", "config", "testing"}
    assert {name for name in rings if f"deep_research/{name}/" not in README} == set()


def test_the_readmes_check_is_what_ci_runs():
    commands = re.findall(r"^```sh\n(.+)\n```", README, re.MULTILINE)
    (check,) = [c for c in commands if "tests/check.sh" in c]
    assert "\n" not in check
    assert f"\n{check}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_changelog_keeps_its_form():
    """https://keepachangelog.com/en/1.1.0/, and outcomes of at most 25 words."""
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert lines[0] == "# Changelog"
    titles = [line for line in lines if line.startswith("## ")]
    assert titles
    for title in titles:
        assert re.fullmatch(r"## \[\d+\.\d+\.\d+\] - (\d{4}-\d\d-\d\d|unreleased)", title)
    kinds = {line[4:] for line in lines if line.startswith("### ")}
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    entries = re.findall(r"^- (.+(?:\n  .+)*)", "\n".join(lines), re.MULTILINE)
    assert entries
    assert [e for e in entries if len(e.split()) > 25] == []


def test_the_version_is_in_the_changelog():
    from deep_research import __version__

    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text("utf-8")
