"""Plugins by name: found, refused with a hint, built from checked options."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import Literal
from unittest.mock import Mock

import pytest

from deep_research import registry
from deep_research.core.errors import ConfigError
from deep_research.plugins.exporters.json import JsonExporter


class Engine:
    """A plugin with every kind of option."""

    def __init__(
        self,
        http: object,
        *,
        url: str,
        size: int = 3,
        tags: Sequence[str] = (),
        mode: Literal["a", "b"] = "a",
        args: Mapping[str, str] | None = None,
        hook: Callable[[], int] | None = None,
        other: "Foreign | None" = None,
    ) -> None:
        self.given = {
            "http": http,
            "url": url,
            "size": size,
            "tags": tags,
            "mode": mode,
            "args": args,
        }
        self.hook, self.other = hook, other


class Foreign:
    """A type that says nothing about validation."""


@dataclass
class Plain:
    """A plugin whose options are its fields."""

    url: str = "u"
    limit: int = 1


def takes_all(**options: object) -> Mapping[str, object]:
    return options


@pytest.fixture
def here(monkeypatch) -> str:
    """A module that plugins can be named in."""
    module = ModuleType("registry_test_plugins")
    module.Engine, module.Plain, module.takes_all, module.number = Engine, Plain, takes_all, 3
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.__name__


def error(*args, **kwargs) -> str:
    with pytest.raises(ConfigError) as caught:
        registry.build(*args, **kwargs)
    return str(caught.value)


def test_every_kind_is_listed():
    """The built-in plugins come through the same door as others'."""
    assert set(registry.names("exporters")) >= {"md", "json", "html"}
    assert set(registry.names("search")) >= {
        "folder",
        "searxng",
        "tavily",
        "wikipedia",
        "ddgs",
        "http",
    }
    assert list(registry.names("search")) == sorted(registry.names("search"))


def test_plugin_and_build():
    assert registry.plugin("exporters", "json") is JsonExporter
    assert isinstance(registry.build("exporters", "json", {}), JsonExporter)


def test_unknown_names():
    assert error("exporters", "jsn", {}).startswith("unknown report format 'jsn'; there are: ")
    assert error("exporters", "jsn", {}).endswith("did you mean 'json'?")
    assert "did you mean" not in error("exporters", "zzzzz", {})
    assert "there are: pipeline" in error("researchers", "zzzzz", {})


def test_module_and_attribute(here):
    made = registry.build("search", f"{here}:Engine", {"url": "x"}, http=1, unwanted=2)
    assert made.given["http"] == 1
    assert made.given["url"] == "x"


def test_what_cannot_be_imported(here):
    assert "there is no module 'no_such_module'" in error("search", "no_such_module:X", {})
    assert f"{here} has no 'Nothing'" in error("search", f"{here}:Nothing", {})
    assert f"{here}:number cannot be called" in error("search", f"{here}:number", {})


def test_a_module_in_the_working_folder(tmp_path, monkeypatch):
    """As from a console script, whose path lacks the folder; the path is left as it was."""
    (tmp_path / "mine_is_here.py").write_text("class Notes: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    before = list(sys.path)
    assert registry.plugin("search", "mine_is_here:Notes").__name__ == "Notes"
    assert f"no module 'mine_is_not' in {tmp_path} or" in error("search", "mine_is_not:Notes", {})
    assert sys.path == before


@pytest.mark.parametrize("installed", [True, False])
def test_a_plugin_whose_extra_is_missing_cannot_be_used(monkeypatch, installed):
    """It imports its package only when it is made; the extra called like it says what that is."""
    if not installed:
        missing = Mock(side_effect=metadata.PackageNotFoundError("deep-research"))
        monkeypatch.setattr(metadata, "requires", missing)
    else:
        monkeypatch.setattr(metadata, "requires", lambda _: ["a>1", "ddgs>=9; extra == 'ddgs'"])
    monkeypatch.setattr(registry, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"'ddgs': pip install 'deep-research\[ddgs\]'"):
        registry.usable("search", "ddgs")
    assert registry.usable("search", "folder").endswith(":FolderSearch")


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch):
    """The line to type is in the message."""
    (tmp_path / "needs_ddgs.py").write_text("import ddgs_that_is_missing.sub\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        metadata, "requires", lambda _: ["a>1", "DDGS-that-is_missing>=9; extra == 'ddgs'"]
    )
    expected = "needs the package 'ddgs_that_is_missing': pip install 'deep-research[ddgs]'"
    assert expected in error("search", "needs_ddgs:X", {})


@pytest.mark.parametrize("requires", [None, metadata.PackageNotFoundError("x")])
def test_a_missing_package_that_is_in_no_extra(tmp_path, monkeypatch, requires):
    def answer(_name):
        if isinstance(requires, Exception):
            raise requires

    (tmp_path / "needs_more.py").write_text("import missing_altogether\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(metadata, "requires", answer)
    assert error("search", "needs_more:X", {}).endswith("pip install missing_altogether")


def test_options_become_the_constructors_types(here):
    options = {"url": "u", "size": "7", "tags": "a, b,", "mode": "b", "args": '{"k": "v"}'}
    made = registry.build("search", f"{here}:Engine", options, http=None)
    assert made.given == {
        "http": None,
        "url": "u",
        "size": 7,
        "tags": ["a", "b"],
        "mode": "b",
        "args": {"k": "v"},
    }


def test_objects_pass_through(here):
    other = Foreign()
    made = registry.build("search", f"{here}:Engine", {"url": "u", "other": other}, http=None)
    assert made.other is other


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"url": "u", "sizes": 1}, "has no option 'sizes'"),
        ({"url": "u", "sizes": 1}, "did you mean 'size'?"),
        ({"url": "u", "zzz": 1}, "there are: url, size, tags, mode, args, hook, other"),
        ({"url": "u", "http": 1}, "has no option 'http'"),
        ({"url": "u", "size": "many"}, ".size = 'many': Input should be a valid integer"),
        ({"url": "u", "mode": "c"}, ".mode = 'c': Input should be 'a' or 'b'"),
        ({"url": "u", "args": "{broken"}, ".args = '{broken': "),
        ({"size": 1}, ".url must be set for search engine"),
    ],
)
def test_wrong_options(here, options, says):
    assert says in error("search", f"{here}:Engine", options, http=None)


def test_a_wrong_secret_is_not_shown(here):
    registry.plugin("search", f"{here}:Engine")
    with pytest.raises(ConfigError) as caught:
        registry.check("search", "tavily", {"api_key": 12345})
    assert "12345" not in str(caught.value)


def test_dataclasses_and_functions(here):
    assert registry.build("search", f"{here}:Plain", {"limit": "4"}) == Plain("u", 4)
    assert registry.build("search", f"{here}:takes_all", {}, a=1) == {"a": 1}


def test_check_engine_says_where():
    assert registry.check_engine("searxng", {}, str) == {}
    with pytest.raises(
        ConfigError, match=r"^in a\.yaml: search\.serxng\.url: unknown search engine"
    ):
        registry.check_engine("serxng", {"url": "x"}, lambda o: f"in a.yaml: search.serxng.{o}")


@pytest.mark.parametrize("text", [None, "[project]\nname = 'other'", "broken ="])
def test_a_checkout_without_our_project_file(tmp_path, monkeypatch, text):
    """Where neither entry points nor our project file are there, there are no plugins."""
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "deep_research" / "registry.py"))
    assert registry._of_checkout("deep_research.search") == {}


def test_a_checkout_and_an_installation_have_the_same_plugins(monkeypatch):
    """Entry points of an installation come first; a checkout reads what would become them."""
    from_file = registry._of_checkout("deep_research.exporters")
    assert dict(from_file) == {name: registry.address("exporters", name) for name in from_file}
    points = metadata.EntryPoints([metadata.EntryPoint("mine", "a:b", "deep_research.exporters")])
    monkeypatch.setattr(metadata, "entry_points", lambda group: points.select(group=group))
    registry._declared.cache_clear()
    try:
        assert registry.names("exporters") == ("mine",)
    finally:
        registry._declared.cache_clear()
