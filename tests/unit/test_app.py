"""Settings become parts: who reads what, which plugin gets what, everything is closed again."""

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest

from deep_research import wiring
from deep_research.app import shape_of
from deep_research.config import ModelChoice, load
from deep_research.core.errors import ConfigError, JournalError
from deep_research.core.model import Page, Source
from deep_research.folder import Folder
from deep_research.runtime.guard import Gate
from deep_research.testing import FakeReader, FakeSearch

HERE = __name__


def settings(**arguments):
    return load(arguments=arguments, environ={"TAVILY_API_KEY": "tk", "OPENAI_API_KEY": "ok"})


def parts(engines=(), models=None, **arguments):
    return wiring.Parts(settings(**arguments), models or {}, engines, [].append, lambda _: None)


class Engine(FakeSearch):
    """Remembers how it was made and whether it was closed."""

    made: ClassVar[list["Engine"]] = []

    def __init__(self, *, http=None):
        super().__init__({})
        self.http, self.closed, self.prepared = http, 0, 0
        self.problems = []
        Engine.made.append(self)

    async def prepare(self):
        self.prepared += 1
        self.problems = [("a.pdf", "encrypted")]

    def close(self):
        self.closed += 1


class AsyncEngine(Engine):
    async def close(self):
        await asyncio.sleep(0)
        self.closed += 1


class StuckEngine(Engine):
    def close(self):
        super().close()
        raise OSError("stuck")


class BadEngine(Engine):
    async def prepare(self):
        raise ConfigError("nothing to search")


class Model:
    """A language model of somebody else's, with an option of its own."""

    def __init__(self, model, *, temperature=None):
        self.model, self.temperature = model, temperature


@pytest.fixture(autouse=True)
def _forget():
    Engine.made.clear()


def test_shape():
    shape = shape_of(settings(**{"breadth": 6, "depth": 3, "tree.queries_per_branch": 1}), {})
    assert (shape.breadth, shape.depth, shape.min_breadth, shape.per_branch) == (6, 3, 2, 1)


class TestOpened:
    @pytest.mark.parametrize("kind", ["Engine", "AsyncEngine"])
    async def test_engines_are_prepared_and_closed(self, kind):
        opened = parts([f"{HERE}:{kind}"])
        async with opened.opened():
            (engine,) = Engine.made
            assert engine.prepared == 1
            assert engine.closed == 0
            assert engine.http is not None
        assert engine.closed == 1
        assert opened.problems == ["a.pdf: encrypted"]

    async def test_an_engine_needs_no_more_than_search(self):
        opened = parts(["deep_research.testing:FakeSearch"])
        async with opened.opened():
            assert opened.problems == []

    async def test_what_was_made_is_closed_when_the_next_cannot_begin(self):
        with pytest.raises(ConfigError, match="nothing to search"):
            async with parts([f"{HERE}:Engine", f"{HERE}:BadEngine"]).opened():
                pytest.fail("it opened")
        assert [e.closed for e in Engine.made] == [1, 1]

    async def test_one_that_cannot_be_closed_leaves_none_open(self):
        with pytest.raises(OSError, match="stuck"):
            async with parts(
                [f"{HERE}:{kind}" for kind in ("Engine", "StuckEngine", "AsyncEngine")]
            ).opened():
                pass
        assert [e.closed for e in Engine.made] == [1, 1, 1]

    async def test_closed_when_the_run_fails(self):
        with pytest.raises(ZeroDivisionError):
            async with parts([f"{HERE}:Engine"]).opened():
                raise ZeroDivisionError
        assert Engine.made[0].closed == 1


class TestModels:
    def test_what_a_person_set_must_be_known(self):
        """Somebody else's plugin need not know what ours does, but a set option is never lost."""
        choice = ModelChoice(f"{HERE}:Model", "m", base_url="http://x", api_key="k")
        assert wiring.make_model(choice, settings()).model == "m"
        assert wiring.make_model(choice, settings(temperature=0.5)).temperature == 0.5
        with pytest.raises(ConfigError, match="reasoning_effort"):
            wiring.make_model(choice, settings(**{"models.reasoning_effort": "low"}))

    async def test_one_object_for_roles_with_one_model(self, monkeypatch):
        made = []

        class Seen(Gate):
            def __init__(self, **given):
                made.append(given["llms"])
                super().__init__(**given)

        monkeypatch.setattr(wiring, "Gate", Seen)
        one, two = (ModelChoice(f"{HERE}:Model", name) for name in "ab")
        async with parts(models={"planner": one, "reader": two, "writer": one}).opened():
            llms = made[0]
        assert llms["planner"] is llms["writer"]
        assert llms["planner"] is not llms["reader"]


class TestEngines:
    async def test_key_by_the_engines_name(self):
        engine = wiring.make_engine("tavily", settings(), http=None)
        assert engine._key == "tk" or "tk" in str(vars(engine))

    async def test_options_of_its_own_section(self):
        config = settings(**{"search.folder.index": ":memory:", "docs": ["a", "b"]})
        engine = wiring.make_engine("folder", config, http=None)
        assert engine.paths == ("a", "b")
        assert engine._where == ":memory:"

    @pytest.mark.parametrize(
        ("url", "accepted"),
        [("https://a.org/x", True), ("https://b.org/x", False), ("file:///b.org", True)],
    )
    def test_domains(self, url, accepted):
        made = parts(**{"search.include_domains": ["a.org"]})
        assert made._accept(Source(url)) is accepted


class TestReaders:
    async def test_who_holds_a_page_reads_it(self):
        class Holder(FakeReader):
            def holds(self, source):
                return "mine" in source.url

        holder, files = Holder({"http://mine.org/": "held"}), FakeReader({"file:///a": "local"})
        web = FakeReader({"http://web.org/": "web"})
        readers = wiring.Readers([FakeSearch({}), holder, files], web)
        texts = [
            (await readers.read(Source(url))).text
            for url in ("http://mine.org/", "file:///a", "http://web.org/")
        ]
        assert texts == ["held", "local", "web"]


class TestFolder:
    def page(self, text):
        return Page(Source("http://a.org/"), text, "ab12")

    def test_text_is_stored_as_it_stands_and_once(self, tmp_path):
        folder = Folder(tmp_path / "a" / "run")
        folder.claim()
        folder.claim()
        text = "line\r\nend\r – ü桥"
        folder.save(self.page(text))
        folder.save(self.page("another text of the same digest"))
        assert (tmp_path / "a/run/sources/ab12.txt").read_bytes().decode() == text

    def test_release_leaves_no_trace(self, tmp_path):
        folder = Folder(tmp_path / "run")
        folder.release()
        folder.claim()
        folder.release()
        assert not folder.path.exists()

    def test_release_keeps_what_is_not_its_own(self, tmp_path):
        folder = Folder(tmp_path / "run")
        folder.path.mkdir()
        folder.claim()
        folder.release()
        assert list(folder.path.iterdir()) == []
        folder.claim()
        folder.events.write_text("{}\n")
        folder.release()
        assert folder.events.exists()

    async def test_page_that_cannot_be_stored_is_an_error_not_a_crash(self, tmp_path):
        folder = Folder(tmp_path / "run")
        folder.claim()
        (folder.path / "sources").write_text("a file is in the way")
        reader = FakeReader({"http://a.org/": "text"})
        gate = Gate(llms={}, engines=[], reader=reader, emit=lambda _: None, save=folder.save)
        from deep_research.core.seams import Scope

        with pytest.raises(JournalError, match=r"cannot save the text of http://a.org/"):
            await gate.read(Source("http://a.org/"), Scope())


def test_nothing_of_this_reads_the_environment():
    """Settings come from `config` alone."""
    for name in ("app", "wiring", "folder", "api", "estimate"):
        text = (Path(wiring.__file__).parent / f"{name}.py").read_text("utf-8")
        assert "environ" not in text.replace("environment", "")
