"""Settings: layers, spellings, errors that help, secrets, and what is left open decided."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from deep_research import registry
from deep_research.config import (
    DEFAULT_MODEL,
    Config,
    catalogue,
    default_yaml,
    presets,
    resolve_engines,
    resolve_llm,
    schema,
    shown,
)
from deep_research.config import load as load_all
from deep_research.config import resolve as resolve_module
from deep_research.core.errors import ConfigError


def load(environ=None, **sources) -> Config:
    """Load without this machine's environment, engines' options checked."""
    return load_all(environ=environ or {}, check=registry.check_engine, **sources)


def error(environ=None, **sources) -> str:
    with pytest.raises(ConfigError) as caught:
        load(environ, **sources)
    return str(caught.value)


def file(tmp_path: Path, text: str, name="settings.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


# --- layers ------------------------------------------------------------------


def test_defaults():
    """Nothing given: the documented defaults, each with the origin 'default'."""
    config = load()
    assert (config.tree.breadth, config.tree.depth, config.tree.concurrency) == (4, 2, 4)
    assert config.llm_permits == 4
    assert config.origin("tree.breadth") == "default"
    assert config.warnings == ()


def test_precedence_and_origin(tmp_path):
    """Flag > argument > environment > file > preset > default, one setting won by each."""
    path = file(
        tmp_path,
        "tree: {breadth: 11, depth: 5, concurrency: 12, min_breadth: 3}\nsearch: {results: 13}",
    )
    config = load(
        {
            "DEEP_RESEARCH_BREADTH": "21",
            "DEEP_RESEARCH_DEPTH": "6",
            "DEEP_RESEARCH_CONCURRENCY": "22",
        },
        preset="quick",
        file=path,
        arguments={"breadth": 31, "depth": 7},
        flags={"tree.breadth": "32"},
    )
    keys = (
        "tree.breadth",
        "tree.depth",
        "tree.concurrency",
        "search.results",
        "reading.pages_per_query",
    )
    values = [config.dump()[k.split(".")[0]][k.split(".")[1]] for k in keys]
    assert values == [32, 7, 22, 13, 3]
    assert [config.origin(k) for k in keys] == [
        "command line",
        "argument",
        "environment DEEP_RESEARCH_CONCURRENCY",
        str(path),
        "preset quick",
    ]


def test_explicit_argument_beats_environment():
    """K7."""
    assert load({"DEEP_RESEARCH_BREADTH": "9"}, arguments={"breadth": 2}).tree.breadth == 2


def test_the_long_variable_beats_the_short_one():
    config = load({"DEEP_RESEARCH_TREE_BREADTH": "7", "DEEP_RESEARCH_BREADTH": "6"})
    assert config.tree.breadth == 7


def test_file_and_preset_from_the_environment(tmp_path):
    path = file(tmp_path, "depth: 5")
    assert load({"CONFIG_PATH": str(path), "DEEP_RESEARCH_PRESET": "quick"}).dump()["tree"] == {
        **load().dump()["tree"],
        "breadth": 3,
        "depth": 5,
    }
    assert load({"DEEP_RESEARCH_CONFIG": str(path), "CONFIG_PATH": "nowhere.yaml"}).tree.depth == 5


def test_two_configurations_do_not_share_anything():
    """K12: engines with different settings in one process."""
    one = load(arguments={"search": {"searxng": {"url": "http://one"}}})
    two = load(arguments={"search": {"searxng": {"url": "http://two"}}})
    assert one.search.options("searxng")["url"] == "http://one"
    assert two.search.options("searxng")["url"] == "http://two"
    assert load().search.options("searxng") == {}


@given(st.permutations(["preset", "file", "environ", "arguments", "flags"]), st.integers(1, 5))
def test_the_highest_layer_that_speaks_wins(order, count):
    """Whatever subset of layers sets a value, the one of highest precedence decides."""
    ranks = ["preset", "file", "environ", "arguments", "flags"]
    speaking = set(order[:count]) - {"file"}
    sources = {}
    if "preset" in speaking:
        sources["preset"] = "quick"
    if "arguments" in speaking:
        sources["arguments"] = {"breadth": 20}
    if "flags" in speaking:
        sources["flags"] = {"breadth": 30}
    environ = {"DEEP_RESEARCH_BREADTH": "10"} if "environ" in speaking else {}
    expected = {"preset": 3, "environ": 10, "arguments": 20, "flags": 30}
    top = max(speaking, key=ranks.index, default=None)
    assert load(environ, **sources).tree.breadth == expected.get(top, 4)


# --- values (K1, K2) ---------------------------------------------------------


def test_numbers_as_text():
    """K1."""
    config = load(arguments={"breadth": "3", "depth": "2", "concurrency": "4"})
    assert config.dump()["tree"] == load(arguments={"breadth": 3}).dump()["tree"]


@pytest.mark.parametrize(
    "value", ["", "three", 2.5, "2.5", True, False, None, 0, -1, 10**6, [], "nan"]
)
@pytest.mark.parametrize("key", ["breadth", "depth", "concurrency"])
def test_wrong_numbers(key, value):
    """K2: the message has the place, the key, the value and the range."""
    most = {"breadth": 32, "depth": 8, "concurrency": 256}[key]
    message = f"argument: tree.{key} = {value!r}: must be a whole number from 1 to {most}"
    assert error(arguments={key: value}) == message


@pytest.mark.parametrize("value", ["", "three", "2.5", "0", "-1", "1000000"])
def test_wrong_numbers_in_the_environment(value):
    message = error({"DEEP_RESEARCH_BREADTH": value})
    assert message.startswith(
        f"environment DEEP_RESEARCH_BREADTH: tree.breadth = {value!r}: must be"
    )


def test_all_mistakes_are_named_at_once():
    message = error(arguments={"breadth": "x", "depth": 99, "models": {"temperature": 5}})
    assert all(k in message for k in ("tree.breadth", "tree.depth", "models.temperature"))
    assert "\n" not in message


@pytest.mark.parametrize(
    ("key", "value", "must"),
    [
        ("max_cost", "lots", "a number of at least 0 or null"),
        ("max_cost", float("inf"), "a number of at least 0 or null"),
        ("models.timeout", 0, "a number above 0, at most 86400"),
        ("budget.seconds", 0, "a number above 0 or null"),
        ("models.base_url", "localhost:80", "an http or https address or null"),
        ("report.language", "klingon", "a two-letter language code or null"),
        ("web", "perhaps", "true or false or null"),
        ("planner", "supervisor!", "'supervisor' or 'tree'; did you mean 'supervisor'?"),
        ("models.prices", {"m": [1]}, "a mapping of models to pairs of numbers"),
        ("models.extra", 3, "a mapping"),
        ("search.engines", 3, "a list of texts or null"),
        ("search.engines", [None], "a list of texts or null"),
        ("docs", 3, "a list of texts"),
        ("report.tone", 3, "a text"),
        ("researcher", "", "a text that is not empty"),
    ],
)
def test_what_would_fit_is_said(key, value, must):
    assert error(arguments={key: value}).endswith(f": must be {must}")


def test_lists():
    """Comma texts, JSON texts and lists are the same; paths keep their commas."""
    for value in ("a, b", '["a", "b"]', ["a", "b"], ("a", "b")):
        assert load(arguments={"engines": value}).search.engines == ("a", "b")
    assert load(arguments={"docs": "a,b"}).docs == ("a,b",)
    assert load(arguments={"docs": '["a", "b"]'}).docs == ("a", "b")


def test_json_in_the_environment():
    """K10: parsed, or the place and the fault are named."""
    config = load({"DEEP_RESEARCH_MODELS_PRICES": '{"m": [1, 2.5]}', "LLM_KWARGS": '{"seed": 1}'})
    assert config.models.prices == {"m": (1.0, 2.5)}
    assert config.models.extra == {"seed": 1}
    assert error({"LLM_KWARGS": '{"seed": '}).startswith(
        "environment LLM_KWARGS: models.extra = '{\"seed\": ': holds broken JSON"
    )
    assert "holds broken JSON" in error({"RETRIEVER": '["tavily"'})


def test_null_as_text_unsets_only_what_can_be_unset():
    assert load(arguments={"max_calls": 3}, flags={"budget.calls": "null"}).budget.calls is None
    assert "tree.depth = 'null'" in error(flags={"tree.depth": "null"})


def test_budget_amounts_are_whole_units():
    config = load(arguments={"max_cost": "0.5", "max_tokens": 10, "max_pages": 0})
    assert config.budget.amounts() == {"cost": 500_000, "tokens": 10, "pages": 0}
    assert load().budget.amounts() == {}


# --- names (K3, K5) ----------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"tree": {"min_breadth": 3}},
        {"TREE": {"MIN_BREADTH": 3}},
        {"tree": {"min-breadth": 3}},
        {"tree.min_breadth": 3},
        {"tree_min_breadth": 3},
        {"min-breadth": "3"},
        {"DEEP_RESEARCH_TREE_MIN_BREADTH": 3},
    ],
)
def test_spellings(settings):
    """K3."""
    assert load(arguments=settings).tree.min_breadth == 3


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("DEEP_RESERCH_BREADTH", "DEEP_RESEARCH_BREADTH"),
        ("bredth", "breadth"),
        ("tree.bredth", "tree.breadth"),
        ("serach", "search"),
        ("max_cots", "max_cost"),
        ("FAST_LM", "FAST_LLM"),
    ],
)
def test_misspelt_names(tmp_path, name, near):
    """K5: file, key, value and the nearest known name."""
    path = file(tmp_path, f"{name}: 3")
    assert error(file=path) == f"{path}: unknown setting {name!r} (value 3); did you mean {near!r}?"


def test_names_that_resemble_nothing():
    assert error(arguments={"zzzz": 1}) == "argument: unknown setting 'zzzz' (value 1)"
    assert "unknown setting 'timeout'" in error(arguments={"timeout": 1})  # two sections have it


def test_misspelt_variables():
    assert "did you mean 'DEEP_RESEARCH_BREADTH'" in error({"DEEP_RESEARCH_BREDTH": "3"})
    assert "did you mean 'DEEP_RESEARCH_BREADTH'" in error({"DEEP_RESERCH_BREADTH": "3"})
    assert "unknown setting" in error({"DEEP_RESEARCH_SEARCH_INCLUDE_DOMAIN": "a.org"})
    assert load({"DEEPER_THAN_THAT": "1", "DEEP_RESEARCH_SESSION_TOKEN": "s"}).origin("docs")


def test_a_section_is_not_a_value():
    assert (
        error(arguments={"tree": 3}) == "argument: tree is a section of settings, not a value (3)"
    )
    assert load(arguments={"tree": None}).tree.breadth == 4  # an empty section of a YAML file


def test_one_setting_twice_in_one_source():
    message = error(arguments={"breadth": 3, "tree": {"breadth": 4}})
    assert message == "argument: tree.breadth is set twice, the second time as 'tree.breadth'"
    assert load(arguments={"breadth": 3, "tree": {"breadth": 3}}).tree.breadth == 3


# --- search engines' own options ---------------------------------------------


def test_options_of_engines_are_fitted_to_the_class():
    section = {"url": "http://x", "categories": "a, b", "timeout": "3", "safesearch": "1"}
    options = load(arguments={"search": {"searxng": section}}).search.options("searxng")
    assert options == {"url": "http://x", "categories": ["a", "b"], "timeout": 3.0, "safesearch": 1}


class Notes:
    """An engine that is named as 'module:Class'."""

    def __init__(self, *, shelf: str = "main") -> None:
        self.shelf = shelf


@pytest.mark.parametrize("module", ["my_engine", "my.Pack-age.engine"])
def test_options_of_an_engine_named_by_its_class(monkeypatch, tmp_path, module):
    """Flags, arguments and files keep the name's case, and dots inside it."""
    monkeypatch.setattr(registry, "plugin", lambda *_: Notes)
    monkeypatch.setattr(registry, "address", lambda _, name: name)
    name = f"{module}:Notes.Inner"
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"SEARCH": {name: {"shelf": "b"}}}))
    for made in (
        load_all(flags={f"Search.{name}.shelf": "b"}, environ={}, check=registry.check_engine),
        load_all(arguments={"search": {name: {"shelf": "b"}}}, environ={}),
        load_all(file=tmp_path / "c.yaml", environ={}),
    ):
        assert made.search.options(name) == {"shelf": "b"}
    with pytest.raises(ConfigError, match=f"unknown setting '{name}.shelf'"):
        load_all(arguments={f"{name}.shelf": "b"}, environ={})


def test_an_engine_in_place_of_the_section():
    with pytest.raises(ConfigError, match="engines are named by engines='wikipedia'"):
        load_all(arguments={"search": "wikipedia"}, environ={})
    with pytest.raises(ConfigError, match=r"not a value \(3\)$"):
        load_all(arguments={"tree": 3}, environ={})


def test_wrong_options_of_engines():
    assert error(arguments={"search": {"searxng": {"ulr": "x"}}}).startswith(
        "argument: search.searxng.ulr: search engine 'searxng' has no option 'ulr'"
    )
    assert "did you mean 'searxng'?" in error(arguments={"search": {"serxng": {"url": "x"}}})
    assert "argument: search.serxng.url:" in error(arguments={"search": {"serxng": {"url": "x"}}})
    assert error({"DEEP_RESEARCH_SEARCH_SEARXNG_TIMEOUT": "soon"}).startswith(
        "environment DEEP_RESEARCH_SEARCH_SEARXNG_TIMEOUT: search.searxng.timeout = 'soon': "
    )


def test_options_are_taken_as_they_are_without_a_check():
    assert load_all(environ={}, arguments={"search": {"mine": {"x": 1}}}).search.options(
        "mine"
    ) == {"x": 1}


# --- GPT Researcher's names --------------------------------------------------


def test_gpt_researchers_variables():
    config = load(
        {
            "FAST_LLM": "openai:fast",
            "SMART_LLM": "openai:smart",
            "STRATEGIC_LLM": "openai:plan",
            "RETRIEVER": "searx, duckduckgo,custom",
            "MAX_SEARCH_RESULTS_PER_QUERY": "7",
            "SEARX_URL": "http://127.0.0.1:2",
            "TEMPERATURE": "0.4",
            "LANGUAGE": "english",
            "TOTAL_WORDS": "1200",
            "RETRIEVER_ENDPOINT": "http://127.0.0.1:3",
            "RETRIEVER_ARG_KEY2": "v",
            "REASONING_EFFORT": "",
        }
    )
    models = config.models
    assert (models.reader, models.writer, models.planner) == (
        "openai:fast",
        "openai:smart",
        "openai:plan",
    )
    assert models.temperature == 0.4
    assert models.reasoning_effort is None
    assert config.search.engines == ("searxng", "ddgs", "http")
    assert config.search.results == 7
    assert config.search.options("searxng") == {"url": "http://127.0.0.1:2"}
    assert config.search.options("http") == {"url": "http://127.0.0.1:3", "args": {"key2": "v"}}
    assert (config.report.language, config.report.words) == ("en", 1200)


@pytest.mark.parametrize("value", ["en_US:en", "de", "en_GB", ""])
def test_the_desktops_language_is_not_ours(value):
    assert load({"LANGUAGE": value}).report.language is None


def test_retriever_as_list():
    """A JSON list crashed elsewhere; here it is read, in files and in the environment."""
    assert load({"RETRIEVER": '["tavily", "searx"]'}).search.engines == ("tavily", "searxng")
    assert load(arguments={"RETRIEVER": ["tavily", "searx"]}).search.engines == (
        "tavily",
        "searxng",
    )
    assert "search.engines = 3" in error(arguments={"RETRIEVER": 3})
    assert "search.engines" in error(arguments={"RETRIEVER": ["a", 3]})


def test_gpt_researchers_file(tmp_path):
    """Known keys count, keys without meaning are listed, unknown ones are errors."""
    content = {
        "RETRIEVER": "tavily",
        "FAST_LLM": "openai:a",
        "EMBEDDING": "openai:e",
        "SCRAPER": "bs",
    }
    path = file(tmp_path, json.dumps(content), "gptr.json")
    config = load(file=path)
    assert config.search.engines == ("tavily",)
    assert config.warnings == tuple(
        f"{path}: {key} has no meaning here and is ignored" for key in ("EMBEDDING", "SCRAPER")
    )


def test_report_source_and_document_path(tmp_path):
    """K14: the path from the environment counts when the file sets the source."""
    path = file(tmp_path, "REPORT_SOURCE: local")
    config = load({"DOC_PATH": "/papers"}, file=path)
    assert (config.docs, config.web) == (("/papers",), False)
    hybrid = load({"REPORT_SOURCE": "hybrid"})
    assert (hybrid.docs, hybrid.web) == (("./my-docs",), True)
    assert load({"DOC_PATH": "/papers"}).docs == ()
    assert load({"DOC_PATH": "/papers", "REPORT_SOURCE": "web"}).web is True
    assert load({"REPORT_SOURCE": "local", "DOC_PATH": "/p"}, arguments={"docs": "mine"}).docs == (
        "mine",
    )
    assert error({"REPORT_SOURCE": "azure"}).endswith("must be web, local or hybrid")


# --- files (K6) --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "tree:\n  breadth: 5\n"),
        ("a.YML", "\ufefftree: {breadth: 5}"),
        ("a.toml", "[tree]\nbreadth = 5\n"),
        ("a.json", '{"tree": {"breadth": 5}}'),
    ],
)
def test_kinds_of_files(tmp_path, name, text):
    assert load(file=file(tmp_path, text, name)).tree.breadth == 5


@pytest.mark.parametrize("name", ["a.yaml", "a.toml", "a.json"])
def test_an_empty_file_says_nothing(tmp_path, name):
    assert load(file=file(tmp_path, "  \n", name)).dump() == load().dump()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.yaml", "a: [", "is not valid YAML"),
        ("a.toml", "a = ", "is not valid TOML"),
        ("a.json", "{", "is not valid JSON"),
        ("a.json", "[" * 100_000, "is not valid JSON"),
        ("a.yaml", "- a", "must hold settings by name, not list"),
        ("a.ini", "a", "a configuration file ends in one of .yaml, .yml, .toml, .json"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, text, says):
    path = file(tmp_path, text, name)
    message = error(file=path)
    assert message.startswith(f"{path}: ")
    assert says in message
    assert "\n" not in message


def test_files_that_cannot_be_read(tmp_path):
    """K6: an error, never silent defaults."""
    assert error(file=tmp_path / "no.yaml").endswith("there is no such configuration file")
    assert error(file=tmp_path).endswith("is a directory, not a configuration file")
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\xff")
    assert "is not UTF-8 text" in error(file=tmp_path / "x.yaml")
    assert "the configuration file is empty" in error(file="")


def test_an_unreadable_file(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    path = file(tmp_path, "depth: 2")
    monkeypatch.setattr(Path, "read_text", refuse)
    assert "cannot be read ([Errno 13] Permission denied)" in error(file=path)


def test_presets():
    assert presets() == ("offline", "quick", "thorough")
    assert error(preset="quik") == (
        "unknown preset 'quik'; there are offline, quick, thorough; did you mean 'quick'?"
    )
    assert error(preset="zzz").endswith("thorough")
    assert resolve_llm(load({"OPENAI_API_KEY": "k"}, preset="offline")) == {}
    for name in presets():
        assert load(preset=name).dump() != load().dump()


def test_presets_say_only_what_differs():
    default = load()
    for name in presets():
        config = load(preset=name)
        for line in shown(config):
            key, rest = line.split(" = ", 1)
            if "(preset" in rest:
                assert line.replace(f"(preset {name})", "(default)") not in list(shown(default)), (
                    key
                )


# --- secrets -----------------------------------------------------------------


def test_secrets_come_from_the_environment_and_stay_there():
    config = load({"OPENAI_API_KEY": " sk-secret ", "TAVILY_API_KEY": " "})
    assert config.secret("OPENAI_API_KEY") == "sk-secret"
    assert config.secret("TAVILY_API_KEY") is None
    assert config.secret("MISSING") is None
    everything = f"{config!r} {config.dump()} {list(shown(config))} {resolve_llm(config)}"
    assert "sk-secret" not in everything
    assert config.digest() == load().digest()


@pytest.mark.parametrize(
    "key", ["OPENAI_API_KEY", "tavily-api-key", "search.tavily.api_key", "password"]
)
def test_a_secret_in_a_file_is_refused_and_not_shown(tmp_path, key):
    message = error(file=file(tmp_path, f"{key}: sk-secret"))
    assert "environment variables only" in message
    assert "sk-secret" not in message


def test_passwords_in_addresses_are_masked():
    config = load(arguments={"models.extra": {"proxy": "http://me:secret@host/v1"}})
    assert config.dump()["models"]["extra"] == {"proxy": "http://me:***@host/v1"}
    assert "secret" not in " ".join(shown(config))


@pytest.mark.parametrize(
    "settings",
    [
        {"arguments": {"models.base_url": "http://me:secret@host/v1"}},
        {"arguments": {"search": {"searxng": {"url": "https://secret@host/"}}}},
        {"arguments": {"search": {"mine": {"url": "https://me:secret@host"}}}},
        {"environ": {"SEARX_URL": "http://me:secret@host"}},
        {"environ": {"RETRIEVER_ENDPOINT": "http://me:secret@host?x"}},
    ],
)
@pytest.mark.parametrize("checked", [True, False])
def test_passwords_in_addresses_are_refused_and_not_shown(settings, checked):
    """They would reach events and reports: addresses are written down."""
    with pytest.raises(ConfigError) as caught:
        load_all(
            **{"environ": {}, **settings}, **({"check": registry.check_engine} if checked else {})
        )
    assert "must not hold a user name or password" in str(caught.value)
    assert "***@host" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_at_sign_elsewhere_in_an_address_is_fine():
    config = load(arguments={"models.base_url": "http://host/@me/v1"})
    assert config.models.base_url == "http://host/@me/v1"


def test_digest_counts_what_changes_the_findings():
    base = load().digest()
    assert (
        load(arguments={"concurrency": 16, "models.timeout": 5, "formats": "html"}).digest() == base
    )
    assert load(arguments={"breadth": 5}).digest() != base
    assert load(arguments={"docs": "x"}).digest() != base
    assert load(arguments={"search": {"searxng": {"url": "http://x"}}}).digest() != base


# --- what is left open -------------------------------------------------------


def models(environ=None, plugins=(), **arguments):
    return resolve_llm(load(environ, arguments=arguments), plugins)


def model_error(environ=None, **arguments) -> str:
    with pytest.raises(ConfigError) as caught:
        models(environ, **arguments)
    return str(caught.value)


def test_no_model_at_hand():
    assert models() == {}
    assert models(llm="none") == {}
    assert models({"OPENAI_API_KEY": "k"}, llm="none") == {}


def test_only_a_key():
    choice = models({"OPENAI_API_KEY": "k"})["writer"]
    assert f"openai:{choice.model}" == DEFAULT_MODEL
    assert (choice.plugin, choice.base_url, choice.api_key, choice.prices) == (
        "openai",
        None,
        "k",
        None,
    )


def test_only_an_address():
    """The endpoint's first model; nothing at home is billed, and no key is asked for (K13)."""
    choice = models({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})["planner"]
    assert (choice.model, choice.api_key, choice.prices) == (None, None, (0.0, 0.0))
    assert choice.label == "the first model of http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("text", "model", "address"),
    [
        ("ollama:qwen3:30b", "qwen3:30b", "http://localhost:11434/v1"),
        ("OLLAMA: llama3 ", "llama3", "http://localhost:11434/v1"),
        ("lmstudio:", None, "http://localhost:1234/v1"),
        ("vllm:org/name", "org/name", "http://localhost:8000/v1"),
    ],
)
def test_model_strings(text, model, address):
    """K9: split at the first colon."""
    choice = models(llm=text)["reader"]
    assert (choice.plugin, choice.model, choice.base_url) == ("openai", model, address)


def test_another_address_of_a_provider():
    assert (
        models({"OLLAMA_BASE_URL": "http://gpu/v1"}, llm="ollama:a")["writer"].base_url
        == "http://gpu/v1"
    )


def test_an_address_of_one_provider_is_not_anothers():
    """A key goes to its own provider only."""
    environ = {
        "OPENAI_BASE_URL": "https://gw.example/v1",
        "OPENAI_API_KEY": "o",
        "GROQ_BASE_URL": "https://groq.example/v1",
        "GROQ_API_KEY": "g",
        "MISTRAL_API_KEY": "m",
    }
    chosen = models(
        environ,
        plugins=("mine",),
        **{"models.reader": "groq:x", "models.writer": "gpt-x", "models.planner": "mistral:y"},
    )
    assert {role: (c.base_url, c.api_key) for role, c in chosen.items()} == {
        "reader": ("https://groq.example/v1", "g"),
        "writer": ("https://gw.example/v1", "o"),
        "planner": ("https://api.mistral.ai/v1", "m"),
    }
    assert models(environ, plugins=("mine",), llm="mine:z")["writer"].base_url is None
    assert models(environ, llm="groq:x", base_url="http://h/v1")["writer"].base_url == "http://h/v1"


def test_the_address_in_the_environment_needs_no_provider():
    environ = {"OPENAI_BASE_URL": "https://gw.example/v1", "OPENAI_API_KEY": "o"}
    first = models(environ)["writer"]
    assert (first.model, first.base_url, first.api_key) == (None, "https://gw.example/v1", "o")
    named = models(environ, llm="qwen3:30b")["writer"]
    assert (named.model, named.base_url, named.api_key) == (
        "qwen3:30b",
        "https://gw.example/v1",
        "o",
    )


def test_addresses_in_the_environment_are_checked():
    assert model_error({"OPENAI_BASE_URL": "localhost:80"}) == (
        "environment OPENAI_BASE_URL = 'localhost:80': must be an http or https address"
    )
    message = model_error({"OLLAMA_BASE_URL": "http://me:secret@gpu/v1"}, llm="ollama:a")
    assert message.startswith("environment OLLAMA_BASE_URL = 'http://***@gpu/v1': must not hold")


def test_a_files_address_of_openai_is_pointed_elsewhere(tmp_path):
    message = error(file=file(tmp_path, "OPENAI_BASE_URL: http://me:secret@h/v1"))
    assert "unknown setting 'OPENAI_BASE_URL'" in message
    assert "BASE_URL'?" in message
    assert "secret" not in message


def test_models_without_provider():
    """K9: with an address or a key it is clear whose; otherwise the message says how to write it."""
    assert models({"OPENAI_API_KEY": "k"}, llm="gpt-x")["writer"].model == "gpt-x"
    local = {"base_url": "http://localhost/v1"}
    assert models(llm="gpt-x", **local)["writer"].label == "gpt-x"
    assert models(llm="qwen3:30b", **local)["writer"].model == "qwen3:30b"
    assert "'openai:gpt-x' or 'ollama:gpt-x'" in model_error(llm="gpt-x")


def test_unknown_provider():
    message = model_error(llm="olama:x")
    assert message.startswith("argument: models.writer = 'olama:x': unknown provider 'olama'")
    assert message.endswith("did you mean 'ollama'?")
    assert "did you mean" not in model_error(llm="zzzzzz:x")


def test_further_plugins():
    choice = models(plugins=("mine",), llm="mine:big", prices={"mine:big": [1, 2]})["writer"]
    assert (choice.plugin, choice.model, choice.prices) == ("mine", "big", (1.0, 2.0))


def test_roles_fall_back_on_each_other():
    chosen = models(**{"models.reader": "ollama:small", "models.writer": "ollama:big"})
    assert {role: c.model for role, c in chosen.items()} == {
        "planner": "big",
        "reader": "small",
        "writer": "big",
    }


def test_none_for_one_role_only():
    message = model_error(**{"models.reader": "none", "models.writer": "ollama:a"})
    assert "name models for all roles or for none" in message


def test_a_missing_key_is_named():
    assert "set OPENAI_API_KEY in the environment" in model_error(llm="openai:gpt-x")
    assert "set GROQ_API_KEY" in model_error({"OPENAI_API_KEY": "k"}, llm="groq:x")


def test_a_cost_cap_needs_a_price():
    """An unknown price is never zero."""
    key = {"OPENAI_API_KEY": "k"}
    assert "models.prices=" in model_error(key, llm="openai:x", max_cost=1)
    assert models(key, llm="openai:x", max_cost=1, prices={"x": [1, 2]})["writer"].prices == (1, 2)
    assert models(llm="ollama:x", max_cost=1)["writer"].prices == (0.0, 0.0)


@pytest.mark.parametrize("installed", [True, False])
def test_engines_at_hand(monkeypatch, installed):
    monkeypatch.setattr(resolve_module, "find_spec", lambda _name: object() if installed else None)
    free = ("wikipedia", "ddgs") if installed else ("wikipedia",)
    assert resolve_engines(load()) == free
    assert resolve_engines(load({"TAVILY_API_KEY": "k"})) == ("tavily",)
    assert resolve_engines(load({"TAVILY_API_KEY": "k", "SEARX_URL": "http://x"})) == ("searxng",)
    assert resolve_engines(load(arguments={"docs": "d"})) == ("folder",)
    assert resolve_engines(load(arguments={"docs": "d", "web": True})) == ("folder", *free)
    assert resolve_engines(load(arguments={"docs": "d", "engines": "tavily"})) == (
        "folder",
        "tavily",
    )
    assert resolve_engines(load(arguments={"engines": "tavily,tavily"})) == ("tavily",)
    assert resolve_engines(load(arguments={"docs": "d", "web": False})) == ("folder",)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"web": False}, "web is false and there are no documents: give --docs PATH"),
        (
            {"web": False, "docs": "d", "engines": "tavily"},
            "search.engines names 'tavily', but web is false",
        ),
        ({"engines": "folder"}, "there are no documents: give --docs PATH"),
    ],
)
def test_nothing_to_search(settings, says):
    with pytest.raises(ConfigError, match=says):
        resolve_engines(load(arguments=settings))


# --- views -------------------------------------------------------------------


def test_the_default_file_says_the_defaults(tmp_path):
    path = file(tmp_path, default_yaml())
    assert load(file=path).dump() == load().dump()
    assert load(file=path).origin("limits.fetch") == str(path)


def test_shown_has_every_setting_and_the_engines_options():
    lines = list(shown(load({"SEARX_URL": "http://x"})))
    assert [line.split(" = ")[0] for line in lines] == [*catalogue(), "search.searxng.url"]
    assert lines[-1] == 'search.searxng.url = "http://x"  (environment SEARX_URL)'


def test_schema_describes_the_default_file():
    document = schema()
    assert set(yaml.safe_load(default_yaml())) == set(document["properties"])
    assert all(setting.sentence.endswith(".") for setting in catalogue().values())


def test_plain_construction_has_the_defaults():
    assert Config().dump() == load().dump()
    assert Config().secret("OPENAI_API_KEY") is None


def test_yaml_merges(tmp_path):
    """A merge key is no key that stands twice."""
    path = file(
        tmp_path,
        "limits: &n {llm: 3}\nreport: {<<: {words: 900}, tone: dry}\nsearch: {tavily: {depth: fast}}",
    )
    config = load(file=path)
    assert (config.report.words, config.limits.llm) == (900, 3)
