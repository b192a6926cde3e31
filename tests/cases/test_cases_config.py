"""Whatever people write into files, variables and flags: it holds as meant, or one line says why not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deep_research import DeepResearcher
from deep_research.cli.commands import main

ROOT = Path(__file__).parents[2]
DOC = "# Orlin\n\nThe Zephyr bridge at Orlin is 4,321 metres long and was opened in 1998.\n"
QUESTION = "How long is the Zephyr bridge at Orlin?"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A home and a working directory of one's own, with one document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "orlin.md").write_text(DOC)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run the command line: exit code, standard output, standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return ended.value.code, out, err

    return run


@pytest.fixture
def shown(call):
    """What `config show` says of a setting: value and origin."""

    def of(key, *arguments):
        code, out, err = call("config", "show", *arguments)
        assert code == 0, err
        line = next(line for line in out.splitlines() if line.startswith(f"{key} = "))
        value, _, origin = line.removeprefix(f"{key} = ").rpartition("  (")
        return json.loads(value), origin.removesuffix(")")

    return of


def write(name, text):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


MEANT = {
    "K1-text-numbers": ("a.json", '{"breadth":"3","depth":" 2 ","concurrency":"4"}', "tree.breadth", 3),
    "K1-whole-float": ("a.json", '{"breadth": 3.0}', "tree.breadth", 3),
    "K1-truth-as-text": ("a.json", '{"web": "yes"}', "web", True),
    "K1-truth-off": ("a.yaml", "web: off", "web", False),
    "K3-lower": ("a.json", '{"deep_research_breadth": 3}', "tree.breadth", 3),
    "K3-upper": ("a.json", '{"DEEP_RESEARCH_BREADTH": 3}', "tree.breadth", 3),
    "K3-dashed": ("a.yaml", "deep-research-breadth: 3", "tree.breadth", 3),
    "K3-nested-upper": ("a.yaml", "TREE:\n  Breadth: 3", "tree.breadth", 3),
    "K3-dotted": ("a.toml", '"tree.breadth" = 3', "tree.breadth", 3),
    "K3-toml-table": ("a.toml", "[tree]\nbreadth = 3", "tree.breadth", 3),
    "K4-list": ("a.json", '{"RETRIEVER": ["tavily", "searx"]}', "search.engines", ["tavily", "searxng"]),
    "K4-commas": ("a.json", '{"RETRIEVER": "tavily, duckduckgo"}', "search.engines", ["tavily", "ddgs"]),
    "K4-one-path": ("a.yaml", "docs: papers", "docs", ["papers"]),
    "K4-path-with-a-comma": ("a.yaml", "docs: 'a, b'", "docs", ["a, b"]),
    "K8-bom": ("a.json", b'\xef\xbb\xbf{"breadth": 3}', "tree.breadth", 3),
    "K8-crlf": ("a.yaml", "breadth: 3\r\ndepth: 1\r\n", "tree.breadth", 3),
    "K8-empty-file": ("a.yaml", "", "tree.breadth", 4),
    "K8-comments-only": ("a.yaml", "# nothing\n", "tree.breadth", 4),
    "K8-empty-section": ("a.yaml", "tree:\n", "tree.breadth", 4),
    "K8-yml": ("a.yml", "breadth: 3", "tree.breadth", 3),
    "K8-anchors": ("a.yaml", "limits: &n {llm: 3}\nsearch: {tavily: {depth: fast}}", "limits.llm", 3),
    "K8-norway": ("a.yaml", "report: {language: no}", "report.language", "no"),
    "K8-leading-zero": ("a.yaml", "tree: {breadth: 010}", "tree.breadth", 10),
    "K8-date": ("a.yaml", "report: {tone: 2024-05-01}", "report.tone", "2024-05-01"),
    "K8-exponent": ("a.yaml", "budget: {cost: 5e-1}", "budget.cost", 0.5),
    "K8-null": ("a.yaml", "budget: {cost: ~}", "budget.cost", None),
    "K8-effort-in-capitals": ("a.json", '{"REASONING_EFFORT": " High "}', "models.reasoning_effort", "high"),
    "K8-language-by-name": ("a.json", '{"LANGUAGE": "german"}', "report.language", "de"),
}  # fmt: skip


@pytest.mark.parametrize("case", MEANT)
def test_files_are_read_as_meant(shown, case):
    name, text, key, value = MEANT[case]
    got, origin = shown(key, "--config", write(name, text))
    assert got == value
    assert origin in {name, "default"}


BAD_VALUES = [
    '""',
    '"three"',
    "2.5",
    "true",
    "null",
    "0",
    "-1",
    "1000000",
    "[3]",
    "{}",
    '"0x3"',
    '"٣"',
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=lambda v: f"K2-{v}")
def test_a_value_that_does_not_fit_is_named_with_its_range(call, value):
    """K2: file, key, value and what fits; nothing is spent."""
    file = write("a.json", f'{{"breadth": {value}}}')
    code, out, err = call("run", QUESTION, "--docs", "papers", "--config", file)
    assert (code, out) == (2, "")
    assert err == (
        f"error: a.json: tree.breadth = {json.loads(value)!r}:"
        " must be a whole number from 1 to 32\n"
    )  # fmt: skip
    assert not Path("runs").exists()


WRONG = {
    "K5-misspelt": ("a.json", '{"DEEP_RESERCH_BREADTH": 3}', "did you mean 'DEEP_RESEARCH_BREADTH'"),
    "K5-misspelt-section": ("a.yaml", "tre: {breadth: 3}", "did you mean 'tree'"),
    "K5-misspelt-option": ("a.yaml", "search: {searxng: {ulr: x}}", "did you mean 'url'"),
    "K5-misspelt-engine": ("a.yaml", "search: {serxng: {url: x}}", "did you mean 'searxng'"),
    "K5-other-letters": ("a.yaml", "größe: 3", "unknown setting 'größe'"),
    "K5-number": ("a.yaml", "3: 4", "unknown setting '3'"),
    "K6-other-ending": ("a.ini", "breadth = 3", "ends in one of .yaml, .yml, .toml, .json"),
    "K6-no-utf-8": ("a.yaml", "breadth: 3".encode("utf-16"), "not UTF-8"),
    "K8-twice": ("a.yaml", "breadth: 3\nbreadth: 5", "line 2: 'breadth' is set twice"),
    "K8-twice-json": ("a.json", '{"breadth": 3, "breadth": 5}', "'breadth' is set twice"),
    "K8-twice-toml": ("a.toml", "breadth = 3\nbreadth = 5", "not valid TOML"),
    "K8-two-spellings": ("a.json", '{"breadth": 3, "DEEP_RESEARCH_BREADTH": 5}', "tree.breadth is set twice"),
    "K8-json-with-comments": ("a.json", '{"breadth": 3 // three\n}', "not valid JSON"),
    "K8-two-documents": ("a.yaml", "breadth: 3\n---\ndepth: 1", "single document"),
    "K8-tab": ("a.yaml", "tree:\n\tbreadth: 3", "line 2"),
    "K8-python-tag": ("a.yaml", '!!python/object/apply:os.system ["id"]', "could not determine"),
    "K8-list": ("a.json", "[1]", "must hold settings by name"),
    "K8-text": ("a.yaml", "just text", "must hold settings by name"),
    "K8-deep": ("a.json", '{"a":' * 20_000, "not valid JSON"),
    "K8-section-as-value": ("a.yaml", "tree: 3", "tree is a section"),
    "K8-text-for-a-number": ("a.yaml", "breadth: yes", "tree.breadth = 'yes'"),
    "K8-infinite": ("a.toml", "budget.cost = inf", "a number of at least 0"),
    "K8-list-of-numbers": ("a.yaml", "docs: [1, 2]", "docs = [1, 2]: must be a list of texts"),
    "K8-broken-json-inside": ("a.yaml", "models: {extra: '{\"a\":'}", "holds broken JSON"),
    "K11-secret": ("a.yaml", "models: {api_key: sk-SECRET}", "secrets come from environment"),
    "K11-secret-of-an-engine": ("a.yaml", "search: {tavily: {api_key: sk-SECRET}}", "environment"),
    "K9-no-provider": ("a.yaml", "llm: gpt-9", "say whose model it is, as 'openai:gpt-9'"),
    "K9-unknown-provider": ("a.yaml", "llm: opneai:gpt-9", "did you mean 'openai'"),
    "K9-no-key": ("a.yaml", "llm: openai:gpt-9", "set OPENAI_API_KEY"),
    "K-empty-engines": ("a.yaml", "search: {engines: []}", "search.engines is empty"),
    "K-unknown-engine": ("a.yaml", "search: {engines: tavliy}", "did you mean 'tavily'"),
    "K-unknown-format": ("a.yaml", "report: {formats: pdf}", "there are: html, json, md"),
    "K-contradiction": ("a.yaml", "web: false\nsearch: {engines: tavily}", "but web is false"),
    "K-missing-documents": ("a.yaml", "docs: nowhere", "no such file or folder: 'nowhere'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_used_is_one_line(call, case):
    """K5, K6, K8, K9: exit code 2, the file's name, the mend; nothing is spent."""
    name, text, reason = WRONG[case]
    docs = [] if "docs" in str(text) else ["--docs", "papers"]
    code, out, err = call("run", QUESTION, *docs, "--config", write(name, text), "-q")
    assert (code, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1
    assert "SECRET" not in err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere.yaml", "no such configuration file"), (".", "is a directory"), ("", "is empty")],
    ids=lambda x: f"K6-{x}",
)
def test_a_file_that_is_not_there(call, name, reason):
    """K6: never the defaults instead."""
    code, _, err = call("run", QUESTION, "--docs", "papers", "--config", name)
    assert code == 2
    assert reason in err


def test_who_wins(shown, monkeypatch):
    """K7: flag, environment, file, preset, default; each line says where the value comes from."""
    file = write("a.yaml", "breadth: 5\ndepth: 3\nresults: 7")
    monkeypatch.setenv("DEEP_RESEARCH_BREADTH", "6")
    monkeypatch.setenv("DEEP_RESEARCH_DEPTH", "4")
    given = ("--preset", "quick", "--config", file, "--breadth", "7")
    assert shown("tree.breadth", *given) == (7, "command line")
    assert shown("tree.depth", *given) == (4, "environment DEEP_RESEARCH_DEPTH")
    assert shown("search.results", *given) == (7, "a.yaml")
    assert shown("reading.pages_per_query", *given)[1] == "preset quick"
    assert shown("report.tone", *given) == ("", "default")


def test_an_argument_wins_over_the_environment(monkeypatch):
    """K7, from Python."""
    monkeypatch.setenv("DEEP_RESEARCH_BREADTH", "6")
    assert DeepResearcher(QUESTION, docs="papers", breadth=2).config.tree.breadth == 2
    assert DeepResearcher(QUESTION, docs="papers").config.tree.breadth == 6


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("report.tone=a=b=c", "report.tone", "a=b=c"),
        ("tree.breadth = 3", "tree.breadth", 3),
        ('models.extra={"a": {"b": [1, 2]}}', "models.extra", {"a": {"b": [1, 2]}}),
        ('docs=["a,b", "c"]', "docs", ["a,b", "c"]),
        ("budget.cost=null", "budget.cost", None),
        ("search.include_domains=a.example, b.example", "search.include_domains", ["a.example", "b.example"]),
        ("report.tone=  ", "report.tone", "  "),
        ("TREE.BREADTH=3", "tree.breadth", 3),
        ("search.searxng.url=http://h/?a=b", "search.searxng.url", "http://h/?a=b"),
    ],
)  # fmt: skip
def test_set(shown, text, key, value):
    assert shown(key, "--set", text) == (value, "command line")


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["a"], "write it as KEY=VALUE"),
        (["=3"], "write it as KEY=VALUE"),
        ([""], "write it as KEY=VALUE"),
        (["tree.bredth=3"], "did you mean 'tree.breadth'"),
        (["tree.breadth.x=3"], "unknown setting"),
        (["tree=3"], "tree is a section"),
        (["tree.breadth=3", "tree.breadth=4"], "set twice"),
        (["tree.breadth=3", "breadth=4"], "set twice"),
        (["models.extra={"], "holds broken JSON"),
        (["OPENAI_API_KEY=sk-SECRET"], "secrets come from environment"),
    ],
)
def test_set_that_cannot_be(call, texts, reason):
    code, _, err = call("config", "show", *(a for text in texts for a in ("--set", text)))
    assert code == 2
    assert reason in err
    assert "SECRET" not in err


ENVIRONMENT = {
    "K10-llm-kwargs": ("LLM_KWARGS", '{"top_p": 0.5}', "models.extra", {"top_p": 0.5}),
    "K10-blanks": ("DEEP_RESEARCH_BREADTH", " 3 ", "tree.breadth", 3),
    "K10-list": ("RETRIEVER", "searx,custom", "search.engines", ["searxng", "http"]),
    "K10-blank-foreign-is-unset": ("RETRIEVER", "  ", "search.engines", None),
    "K10-engine-option": ("DEEP_RESEARCH_SEARCH_SEARXNG_URL", "http://h", "search.searxng.url", "http://h"),
    "K10-locale-is-no-language": ("LANGUAGE", "en_GB:en", "report.language", None),
}  # fmt: skip


@pytest.mark.parametrize("case", ENVIRONMENT)
def test_the_environment(shown, monkeypatch, case):
    name, text, key, value = ENVIRONMENT[case]
    monkeypatch.setenv(name, text)
    assert shown(key)[0] == value


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("LLM_KWARGS", '{"top_p":', "environment LLM_KWARGS: models.extra"),
        ("DEEP_RESEARCH_BREADTH", "", "must be a whole number from 1 to 32"),
        ("DEEP_RESEARCH_BREATH", "3", "did you mean 'DEEP_RESEARCH_BREADTH'"),
        ("DEEP_RESERCH_BREADTH", "3", "did you mean 'DEEP_RESEARCH_BREADTH'"),
        ("DEEP_RESEARCH_CONFIG", "nowhere.yaml", "no such configuration file"),
        ("CONFIG_PATH", "nowhere.json", "no such configuration file"),
    ],
    ids=lambda x: f"K10-{x}"[:40],
)
def test_the_environment_that_cannot_be(call, monkeypatch, name, text, reason):
    monkeypatch.setenv(name, text)
    code, _, err = call("config", "show")
    assert code == 2
    assert reason in err


def test_documents_from_the_environment_with_the_source_in_a_file(call, monkeypatch):
    """K14: GPT Researcher's pair of names, from two places."""
    monkeypatch.setenv("DOC_PATH", "papers")
    file = write("a.json", '{"REPORT_SOURCE": "local"}')
    code, out, _ = call("run", QUESTION, "--config", file, "-q")
    assert code == 0
    assert "4,321 metres" in out


def test_no_key_is_asked_for_what_is_not_used(call, monkeypatch):
    """K13: documents and no model need nothing; settings for embeddings mean nothing here."""
    file = write("a.json", '{"EMBEDDING": "openai:text-embedding-3-small"}')
    code, out, err = call("run", QUESTION, "--docs", "papers", "--config", file)
    assert code == 0
    assert "4,321 metres" in out
    assert "warning: a.json: EMBEDDING has no meaning here and is ignored" in err


def test_an_engine_without_its_key_names_the_variable(call):
    code, _, err = call("run", QUESTION, "--search", "tavily", "-q")
    assert code == 2
    assert "set TAVILY_API_KEY" in err


async def test_two_researchers_in_one_process_are_independent():
    """K12: nothing is shared that one could set for the other."""
    wide = DeepResearcher(
        QUESTION, docs="papers", breadth=5, folder="wide", **{"models.extra": {"a": 1}}
    )
    plain = DeepResearcher(QUESTION, docs="papers", folder="plain")
    wide.config.models.extra["a"] = 2
    assert plain.config.models.extra == {}
    assert (plain.config.tree.breadth, wide.config.tree.breadth) == (4, 5)
    assert DeepResearcher(QUESTION, docs="papers").config.models.extra == {}


def test_secrets_are_shown_nowhere(call, monkeypatch):
    """K11: not by `config show`, not by `doctor`, not in any file of a run."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-SECRET")
    monkeypatch.setenv("GROQ_API_KEY", "gsk-SECRET")
    monkeypatch.setenv("RETRIEVER_ARG_API_KEY", "SECRET-arg")
    file = write(
        "a.yaml",
        "models: {extra: {api_key: sk-SECRET}}\n"
        "search: {http: {url: 'http://h/x?access_token=SECRET', headers: {Authorization: Bearer SECRET, X-Api-Key: SECRET}}}\n",
    )
    code, out, err = call("config", "show", "--config", file)
    assert code == 0
    assert "SECRET" not in out + err
    assert "***" in out
    code, out, err = call(
        "run", QUESTION, "--docs", "papers", "--config", file, "--llm", "none", "-v"
    )
    assert code == 0
    assert "SECRET" not in out + err
    for path in Path("runs").rglob("*"):
        assert path.is_dir() or "SECRET" not in path.read_text("utf-8")


def test_paths_are_those_of_the_working_directory(call):
    """A file in another folder does not move its documents; what was looked for is shown."""
    Path("settings").mkdir()
    file = write("settings/team.yaml", "docs: papers")
    assert call("run", QUESTION, "--config", file, "-q")[0] == 0
    write("settings/team.yaml", "docs: ../papers")
    code, _, err = call("run", QUESTION, "--config", file, "-q")
    assert code == 2
    assert f"looked at {Path('../papers').resolve()}" in err or "no such file or folder" in err


def test_a_documented_default_file_changes_nothing():
    """`config/default.yaml` says what holds anyway."""
    done = subprocess.run(
        [sys.executable, "-m", "deep_research", "config", "show", "--config", str(ROOT / "config/default.yaml")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    plain = subprocess.run(
        [sys.executable, "-m", "deep_research", "config", "show"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    def values(text):
        return [line.rpartition("  (")[0] for line in text.splitlines()]

    assert values(done.stdout) == values(plain.stdout)
