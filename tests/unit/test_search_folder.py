"""Local documents: what is taken, how it is found, how the index keeps up, how addresses survive."""

import asyncio
import hashlib
import os
import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.errors import (
    ConfigError,
    PageUnreadable,
    ProviderTimeout,
    ProviderUnavailable,
    Refused,
)
from deep_research.core.model import Page, Source
from deep_research.plugins.search import _index, folder
from deep_research.plugins.search._passages import match_expression
from deep_research.plugins.search._scan import _identity, scan
from deep_research.plugins.search.folder import FolderSearch, cache_folder, local_path


class Reader:
    """Reads files as UTF-8 text and counts; '!' at the start is a broken file."""

    def __init__(self):
        self.read_paths = []

    async def read(self, source):
        path = os.fsdecode(unquote(urlsplit(source.url).path, errors="surrogateescape"))
        self.read_paths.append(Path(path).name)
        text = await asyncio.to_thread(Path(path).read_text, "utf-8")
        if text.startswith("!"):
            raise PageUnreadable("broken inside")
        title = text.partition("\n")[0] if text.startswith("# ") else ""
        found = Source(source.url, title.lstrip("# "), published="2024-01-02" if title else "")
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Page(found, text, digest, "text/plain", "2025-01-01T00:00:00+00:00", ((0, "p. 1"),))


@pytest.fixture
def docs(tmp_path):
    root = tmp_path / "docs"
    root.mkdir()

    def write(**files):
        for name, text in files.items():
            path = root / name.replace("__", "/").replace("_txt", ".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return root

    return write


def engine(*paths, index=":memory:", **options):
    made = FolderSearch(paths, index=index, **options)
    made._reader = Reader()
    return made


def read_by(made):
    return made._reader.read_paths


async def names(made, query, limit=10):
    return [Path(local_path(s.url)).name for s in await made.search(query, limit=limit)]


class TestFinding:
    async def test_best_document_first_with_its_best_passage(self, docs):
        filler = "Nothing of note happens here. " * 60
        root = docs(
            zdam_txt=f"# The dam\n{filler}\n\nThe dam at Orla is 92 m high and was built in 1931.\n\n{filler}",
            town_txt="Orla is a town with a church, a dam and a market.",
            other_txt="Cats sleep.",
        )
        made = engine(root)
        first, second = await made.search("how high is the dam at Orla", limit=5)
        assert first.title == "The dam"
        assert "92 m high" in first.snippet
        assert len(first.snippet) <= 1400
        assert first.published == "2024-01-02"
        assert (first.engine, first.rank, second.rank) == ("folder", 0, 1)
        assert second.title == "town.txt"

    async def test_a_long_document_counts_once_and_leaves_room_for_others(self, docs):
        root = docs(long_txt="whale song. " * 20_000, short_txt="A whale sings once in a while.")
        assert sorted(await names(engine(root), "whale", limit=2)) == ["long.txt", "short.txt"]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("量子计算机使用量子比特。", "量子比特"),
            ("東京タワーの高さは333メートルです。", "タワー"),
            ("서울은 한국의 수도이다.", "서울"),
            ("Ёлка стоит в лесу", "елка"),
            ("Crème brûlée", "creme brulee"),
            ("ＫＸ－７ engine", "KX-7"),
            ("Die Straße nach Süden", "STRASSE"),
            ("the engines were running", "engine run"),
        ],
    )
    async def test_words_are_found_in_any_script_and_form(self, docs, text, query):
        root = docs(a_txt=text, b_txt="Something else 其他 东西 다른 것")
        assert (await names(engine(root), query))[:1] == ["a.txt"]

    async def test_the_title_and_the_file_name_count(self, docs):
        root = docs(b_txt="y")
        (root / "orla_dam-report.txt").write_text("nothing", "utf-8")
        assert await names(engine(root), "dam report") == ["orla_dam-report.txt"]

    @pytest.mark.parametrize("query", ["", "   ", '"" ()', "\x00"])
    async def test_a_query_without_words_finds_nothing(self, docs, query):
        assert await engine(docs(a_txt="word")).search(query, limit=3) == []

    async def test_operators_in_a_query_are_plain_words(self, docs):
        made = engine(docs(a_txt="alpha"))
        for query in (
            'alpha"',
            "alpha AND (",
            "title:alpha",
            "NEAR(alpha",
            "alpha*",
            "-alpha",
            "^alpha",
        ):
            assert await names(made, query) == ["a.txt"], query

    async def test_the_limit_holds(self, docs):
        made = engine(docs(**{f"f{n}_txt": "same words" for n in range(9)}))
        assert await names(made, "words", limit=3) == ["f0.txt", "f1.txt", "f2.txt"]
        assert await made.search("words", limit=0) == []


class TestReading:
    async def test_the_page_is_the_whole_text_with_its_facts(self, docs):
        text = "# Title\n" + "Some words. " * 500
        made = engine(docs(a_txt=text))
        (hit,) = await made.search("words", limit=1)
        assert made.holds(hit)
        page = await made.read(hit)
        assert page.text == text
        assert page.sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert page.marks == ((0, "p. 1"),)
        assert (page.source.title, page.source.published) == ("Title", "2024-01-02")
        assert page.media_type == "text/plain"
        assert page.fetched_at

    async def test_reading_first_prepares_the_index(self, docs):
        root = docs(a_txt="words")
        page = await engine(root).read(Source((root / "a.txt").as_uri()))
        assert page.text == "words"

    async def test_other_files_are_refused(self, docs, tmp_path):
        docs(**{"../secret_txt": "secret"})
        made = engine(docs(a_txt="words"))
        for url in ("file:///etc/passwd", (tmp_path / "secret.txt").as_uri(), "http://a.org/"):
            with pytest.raises(Refused, match="none of the given documents"):
                await made.read(Source(url))
        with pytest.raises(PageUnreadable, match="folder"):
            await made.read(Source("C:\\x.pdf"))
        assert not made.holds(Source("http://a.org/"))

    @pytest.mark.skipif(sys.platform == "win32", reason="names that Windows does not allow")
    @pytest.mark.parametrize(
        "name",
        ["with space.txt", "a#b.txt", "a%20b.txt", "报告 №7.txt", "back\\slash.txt", "q?x=1&y.txt",
         "[x](y).txt", "a;b,c'd.txt", "emoji 🙂.txt", "trailing).txt", "e\u0301.txt"],
    )  # fmt: skip
    async def test_any_file_name_survives_the_way_to_a_url_and_back(self, docs, name):
        root = docs(other_txt="else")
        (root / name).write_text("needle", "utf-8")
        made = engine(root)
        (hit,) = await made.search("needle", limit=1)
        assert hit.url.startswith("file:///")
        assert hit.url.isascii()
        assert local_path(hit.url) == str(root / name)
        assert (await made.read(hit)).text == "needle"

    @pytest.mark.skipif(sys.platform != "linux", reason="file systems that want UTF-8 names")
    async def test_a_name_that_is_no_utf8(self, docs):
        root = docs(other_txt="else")
        (root / os.fsdecode(b"caf\xe9.txt")).write_text("needle")
        made = engine(root)
        (hit,) = await made.search("needle", limit=1)
        assert (await made.read(hit)).text == "needle"
        assert hit.title.isprintable()

    async def test_two_files_of_one_name_stay_apart(self, docs):
        made = engine(docs(a__x_txt="needle one", b__x_txt="needle two"))
        hits = await made.search("needle", limit=5)
        assert len({h.url for h in hits}) == 2
        assert {(await made.read(h)).text for h in hits} == {"needle one", "needle two"}


class TestTaking:
    async def test_hidden_unknown_and_empty_files_are_left_out(self, docs):
        root = docs(
            a_txt="needle", **{".hidden_txt": "needle", ".git__b_txt": "needle", "c.bin": "needle"}
        )
        (root / "empty.txt").touch()
        made = engine(root)
        assert await names(made, "needle") == ["a.txt"]
        assert made.problems == [(str(root / "empty.txt"), "empty")]

    async def test_a_file_named_itself_is_taken_whatever_its_ending(self, docs):
        root = docs(**{"notes.org": "needle"})
        assert await names(engine(root / "notes.org"), "needle") == ["notes.org"]

    async def test_patterns_and_the_same_file_twice(self, docs):
        root = docs(a_txt="needle", sub__b_txt="needle", **{"c.md": "needle"})
        made = engine(str(root / "**" / "*.txt"), root / "a.txt", root)
        assert sorted(await names(made, "needle")) == ["a.txt", "b.txt", "c.md"]
        assert sorted(read_by(made)) == ["a.txt", "b.txt", "c.md"]

    async def test_a_single_path_need_not_stand_in_a_list(self, docs):
        made = FolderSearch(str(docs(a_txt="needle")), index=":memory:")
        made._reader = Reader()
        assert await names(made, "needle") == ["a.txt"]

    async def test_include_and_exclude(self, docs):
        root = docs(a_txt="needle", drafts__b_txt="needle", **{"c.log": "needle", "d.md": "needle"})
        assert await names(engine(root, include=["*.md"]), "needle") == ["d.md"]
        assert sorted(await names(engine(root, exclude=["drafts/*", "*.log"]), "needle")) == [
            "a.txt",
            "d.md",
        ]

    async def test_a_file_over_the_cap_is_named(self, docs):
        made = engine(docs(a_txt="needle", big_txt="needle " * 100), max_bytes=100)
        assert await names(made, "needle") == ["a.txt"]
        assert made.problems[0][1] == "700 bytes, more than 100"

    async def test_a_broken_file_is_named_and_the_others_count(self, docs):
        root = docs(a_txt="needle", bad_txt="!needle")
        made = engine(root)
        assert await names(made, "needle") == ["a.txt"]
        assert made.problems == [(str(root / "bad.txt"), "broken inside")]

    async def test_a_file_that_cannot_be_opened_is_named(self, docs, monkeypatch):
        root = docs(a_txt="needle", locked_txt="needle")
        real = Path.open

        def opened(self, *args, **kwargs):
            if self.name == "locked.txt":
                raise PermissionError(13, "Permission denied")
            return real(self, *args, **kwargs)

        monkeypatch.setattr(Path, "open", opened)
        made = engine(root)
        assert await names(made, "needle") == ["a.txt"]
        assert made.problems == [(str(root / "locked.txt"), "Permission denied")]

    @pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
    async def test_links_are_followed_and_loops_end(self, docs, tmp_path):
        root = docs(a_txt="needle", sub__b_txt="needle")
        for name in ("loop", "loop too"):  # two, or it would end by itself after 40 turns
            (root / "sub" / name).symlink_to(root)
        (root / "dead.txt").symlink_to(tmp_path / "nowhere.txt")
        (root / "dead").symlink_to(tmp_path / "nowhere")
        (root / "again.txt").symlink_to(root / "a.txt")
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "c.txt").write_text("needle")
        (root / "way").symlink_to(outside)
        made = engine(root)
        assert sorted(await names(made, "needle")) == ["a.txt", "b.txt", "c.txt"]
        assert [Path(p).name for p, _ in made.problems] == ["dead.txt"]

    def test_a_folder_that_cannot_be_listed_is_named(self, docs, monkeypatch):
        root = docs(a_txt="x")

        def walk(top, *, followlinks, onerror):
            onerror(PermissionError(13, "Permission denied", str(top / "locked")))
            onerror(OSError("odd"))
            return iter(())

        monkeypatch.setattr(os, "walk", walk)
        found = scan([root], max_bytes=10)
        assert found.problems == [
            (str(root / "locked"), "Permission denied"),
            (str(root), "cannot be listed"),
        ]

    def test_folders_that_cannot_be_looked_at_are_not_taken_for_one(self, tmp_path):
        assert _identity(tmp_path / "a") != _identity(tmp_path / "b")
        assert _identity(tmp_path) == _identity(tmp_path / ".")

    @pytest.mark.skipif(sys.platform == "win32", reason="no named pipes there")
    def test_what_is_no_file_is_left_out(self, docs):
        root = docs(a_txt="x")
        os.mkfifo(root / "pipe.txt")
        assert [p.name for p in scan([root], max_bytes=10).files] == ["a.txt"]


class TestComplaints:
    @pytest.mark.parametrize("missing", ["nowhere", "nowhere/*.txt", ""])
    async def test_what_is_missing_is_named(self, tmp_path, missing, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ConfigError, match=r"no such file or folder|no file matches"):
            await engine(missing).search("q", limit=1)

    async def test_no_path_at_all(self):
        with pytest.raises(ConfigError, match="--docs PATH"):
            await engine().prepare()

    async def test_an_empty_folder_says_what_is_looked_for(self, docs):
        with pytest.raises(
            ConfigError, match=r"no readable document in '.*docs'; looked for .csv, .docx"
        ):
            await engine(docs()).prepare()

    async def test_a_folder_of_broken_files_says_why(self, docs):
        with pytest.raises(ConfigError, match=r"\(.*a.txt: broken inside\)"):
            await engine(docs(a_txt="!")).prepare()


class TestKeepingUp:
    async def test_only_what_changed_is_read_again(self, docs, tmp_path):
        index = tmp_path / "cache" / "i.sqlite"
        root = docs(a_txt="alpha needle", b_txt="beta needle", bad_txt="!")
        first = engine(root, index=index)
        assert len(await names(first, "needle")) == 2
        assert len(read_by(first)) == 3
        await first.close()

        same = engine(root, index=index)
        assert len(await names(same, "needle")) == 2
        assert read_by(same) == []
        assert same.problems == [(str(root / "bad.txt"), "broken inside")]
        await same.close()

        docs(b_txt="zeta needle", c_txt="delta needle")  # b is as long as before
        os.utime(root / "b.txt", ns=(2, 2))
        os.utime(root / "a.txt", ns=(1, 1))  # touched, not changed
        (root / "bad.txt").unlink()
        changed = engine(root, index=index)
        assert sorted(await names(changed, "needle")) == ["a.txt", "b.txt", "c.txt"]
        assert read_by(changed) == ["b.txt", "c.txt"]
        assert await names(changed, "beta") == []
        assert await names(changed, "zeta") == ["b.txt"]
        assert changed.problems == []
        await changed.close()

        (root / "a.txt").unlink()
        gone = engine(root, index=index)
        assert sorted(await names(gone, "needle")) == ["b.txt", "c.txt"]
        assert await names(gone, "alpha") == []
        await gone.close()
        await asyncio.to_thread(self._is_sound, index)

    @staticmethod
    def _is_sound(index):
        db = sqlite3.connect(index)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = db.execute("SELECT count(*) FROM words WHERE words MATCH 'needle'").fetchone()
        passages = db.execute("SELECT count(*) FROM passages").fetchone()
        assert rows == passages == (2,)
        db.close()

    async def test_a_file_that_took_too_long_gets_another_chance(self, docs, tmp_path):
        class Slow(Reader):
            async def read(self, source):
                if source.url.endswith("slow.txt"):
                    raise ProviderTimeout(f"{local_path(source.url)} took more than 60 s")
                return await super().read(source)

        index = tmp_path / "i.sqlite"
        root = docs(a_txt="needle", slow_txt="needle")
        first = engine(root, index=index)
        first._reader = Slow()
        assert await names(first, "needle") == ["a.txt"]
        assert first.problems == [(str(root / "slow.txt"), "took more than 60 s")]
        await first.close()
        second = engine(root, index=index)
        assert sorted(await names(second, "needle")) == ["a.txt", "slow.txt"]
        assert read_by(second) == ["slow.txt"]
        await second.close()

    async def test_many_searches_at_once_index_once(self, docs):
        made = engine(docs(a_txt="needle", b_txt="needle"))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(made.search("needle", limit=5)) for _ in range(8)]
        assert len({tuple(t.result()) for t in tasks}) == 1
        assert sorted(read_by(made)) == ["a.txt", "b.txt"]

    async def test_more_files_than_one_batch(self, docs):
        made = engine(docs(**{f"f{n}_txt": f"needle n{n}x" for n in range(130)}))
        assert await names(made, "n129x") == ["f129.txt"]

    async def test_after_close_it_opens_again(self, docs, tmp_path):
        made = engine(docs(a_txt="needle"), index=tmp_path / "i.sqlite")
        await made.prepare()
        await made.close()
        await made.close()
        assert await names(made, "needle") == ["a.txt"]
        await made.close()

    async def test_another_version_of_the_index_is_made_anew(self, docs, tmp_path, monkeypatch):
        index = tmp_path / "i.sqlite"
        root = docs(a_txt="needle")
        first = engine(root, index=index)
        await first.prepare()
        await first.close()
        monkeypatch.setattr(_index, "_version", lambda: 7)
        second = engine(root, index=index)
        assert await names(second, "needle") == ["a.txt"]
        assert read_by(second) == ["a.txt"]
        await second.close()

    @pytest.mark.parametrize("changed", ["_installed", "resources"])
    def test_other_libraries_or_readers_are_another_version(self, changed, monkeypatch, tmp_path):
        (tmp_path / "web.py").write_text("other code")
        others = {
            "_installed": lambda name: f"{name} 99",
            "resources": SimpleNamespace(files=lambda name: tmp_path),
        }
        now = _index._version.__wrapped__()
        assert now == _index._version() < 2**31
        monkeypatch.setattr(_index, changed, others[changed])
        assert _index._version.__wrapped__() != now

    def test_a_library_that_is_not_there_has_no_version(self):
        assert _index._installed("no-such-library-anywhere") == ""

    @pytest.mark.parametrize("named", [True, False])
    async def test_a_damaged_index_is_said_and_left(self, docs, tmp_path, monkeypatch, named):
        index = tmp_path / "c" / "folders" / "i.sqlite"
        root = docs(a_txt="needle", b_txt="!")
        first = engine(root, index=index)
        await first.prepare()
        await first.close()
        with index.open("r+b") as file:  # behind the first page, which Index looks at to open it
            file.seek(4096)
            file.write(b"\xff" * (index.stat().st_size - 4096))
        monkeypatch.setattr(FolderSearch, "_cache_file", lambda self: index)
        second = engine(root, index=index if named else None)
        assert await names(second, "needle") == ["a.txt"]
        assert read_by(second) == ["a.txt", "b.txt"]
        (place, why), (bad, reason) = second.problems
        assert place == "index"
        assert why.startswith("kept in memory for this run: ")
        assert ("set search.folder.index" if named else "delete ") in why
        assert why.endswith(str(index))
        assert (Path(bad).name, reason) == ("b.txt", "broken inside")
        await second.close()

    async def test_an_index_that_fails_later_is_unavailable(self, docs):
        made = engine(docs(a_txt="needle"))
        (source,) = await made.search("needle", limit=1)
        made._index._db.execute("DROP TABLE documents")
        with pytest.raises(ProviderUnavailable, match="cannot be searched: no such table"):
            await made.search("needle", limit=1)
        with pytest.raises(ProviderUnavailable, match="cannot be read: no such table"):
            await made.read(source)

    async def test_documents_that_cannot_be_indexed_at_all(self, docs, monkeypatch):
        def full(self, entries):
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(_index.Index, "put", full)
        with pytest.raises(
            ProviderUnavailable, match="cannot be indexed: database or disk is full"
        ):
            await engine(docs(a_txt="needle")).prepare()

    def test_a_transaction_that_sqlite_has_ended_fails_with_its_own_error(self):
        index = _index.Index(None)
        with pytest.raises(ZeroDivisionError), index._transaction() as db:
            db.execute("ROLLBACK")
            raise ZeroDivisionError

    async def test_no_place_to_write_keeps_the_index_in_memory(self, docs, tmp_path):
        (tmp_path / "file").write_text("")
        made = engine(docs(a_txt="needle"), index=tmp_path / "file" / "i.sqlite")
        assert await names(made, "needle") == ["a.txt"]
        assert made.problems[0][1].startswith("kept in memory for this run")

    async def test_somebody_elses_file_is_left_alone(self, docs, tmp_path):
        foreign = tmp_path / "notes.sqlite"
        db = sqlite3.connect(foreign)
        db.execute("CREATE TABLE mine (x)")
        db.close()
        junk = tmp_path / "junk.sqlite"
        junk.write_bytes(b"not a database at all, but long enough to look like one" * 20)
        before = foreign.read_bytes(), junk.read_bytes()
        for path in (foreign, junk):
            made = engine(docs(a_txt="needle"), index=path)
            assert await names(made, "needle") == ["a.txt"]
            assert "kept in memory" in made.problems[0][1]
        assert (foreign.read_bytes(), junk.read_bytes()) == before

    async def test_without_full_text_search_it_says_so(self, docs, monkeypatch):
        monkeypatch.setattr(
            _index, "_SCHEMA", "CREATE VIRTUAL TABLE words USING fts5_that_is_not_there(x)"
        )
        with pytest.raises(ConfigError, match="FTS5"):
            await engine(docs(a_txt="x")).prepare()
        monkeypatch.setattr(_index, "_SCHEMA", "CREATE NONSENSE")
        with pytest.raises(ProviderUnavailable, match=r"cannot be indexed: near .NONSENSE."):
            await engine(docs(a_txt="x")).prepare()

    async def test_a_failed_change_leaves_the_index_as_it_was(self, docs):
        made = engine(docs(a_txt="needle"))
        index = await made.prepare()
        stamp = _index.Stamp(1, 1, "x")
        good = _index.Entry("file:///b.txt", stamp, None, "why")
        with pytest.raises(sqlite3.IntegrityError):
            index.put([good, _index.Entry("file:///c.txt", stamp._replace(digest=None), None)])
        assert index.problems() == []

    async def test_lone_surrogates_in_a_text_do_no_harm(self, docs):
        made = engine(docs(a_txt="x"))

        class Odd:
            async def read(self, source):
                return Page(source, "needle \ud800", "", "text/plain", "2025-01-01T00:00:00+00:00")

        made._reader = Odd()
        (hit,) = await made.search("needle", limit=1)
        assert (await made.read(hit)).text == "needle ?"


class TestCache:
    async def test_the_index_lies_in_the_users_cache_by_the_names_of_the_paths(
        self, docs, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
        root = docs(a_txt="needle", sub__b_txt="needle")
        for paths in ([root], [str(root)], [root / "sub"]):
            made = engine(*paths, index=None)
            await made.prepare()
            await made.close()
        files = list(cache_folder().glob("folders/*.sqlite"))
        assert len(files) == 2
        if sys.platform == "linux":
            assert (tmp_path / "home" / ".cache" / "deep-research").is_dir()
            assert files[0].parent.stat().st_mode & 0o077 == 0

    async def test_no_home_keeps_it_in_memory(self, docs, monkeypatch):
        def homeless():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", homeless)
        made = engine(docs(a_txt="needle"), index=None)
        assert await names(made, "needle") == ["a.txt"]

    @pytest.mark.parametrize(
        ("platform", "tail"),
        [("win32", "AppData/Local/deep-research/cache"), ("darwin", "Library/Caches/deep-research"),
         ("linux", ".cache/deep-research")],
    )  # fmt: skip
    def test_each_platform_has_its_place(self, monkeypatch, platform, tail):
        monkeypatch.setattr(folder.sys, "platform", platform)
        assert cache_folder().as_posix().endswith(tail)


def test_paths_of_windows_lose_the_slash_before_the_drive():
    assert local_path("file:///C:/a%20b.txt") == "C:/a b.txt"
    assert local_path("file:///a%20b.txt") == "/a b.txt"


def entry(n, text):
    url = f"file:///d{n}.txt"
    page = Page(Source(url, f"D{n}"), text, "", "text/plain", "2025-01-01T00:00:00+00:00")
    return _index.Entry(url, _index.Stamp(1, 1, "x"), page, words=f"D{n} 文件")


TEXTS = st.lists(
    st.sampled_from(["dam ", "orla ", "high ", "量子 ", "Straße ", "\n\n"]), max_size=400
).map("".join)


@given(st.lists(st.tuples(st.integers(0, 3), TEXTS | st.none()), max_size=8))
@settings(deadline=None, max_examples=40)
def test_an_index_that_kept_up_finds_what_a_fresh_one_finds(changes):
    """Whatever was stored, replaced and dropped before leaves no trace in the ranking."""
    kept_up, fresh = _index.Index(None), _index.Index(None)
    last = {}
    for n, text in changes:
        if text is None:
            kept_up.drop([f"file:///d{n}.txt"])
            last.pop(n, None)
        else:
            kept_up.put([entry(n, text)])
            last[n] = entry(n, text)
    fresh.put(last[n] for n in sorted(last))
    for query in ("dam", "orla high dam", "量子", "strasse OR 文"):
        found = [
            [(h.url, h.passage) for h in index.search(match_expression(query), 9)]
            for index in (kept_up, fresh)
        ]
        assert found[0] == found[1]
    kept_up.close()
    fresh.close()


def test_a_page_is_read_whole_while_another_run_stores_it_anew(tmp_path, monkeypatch):
    """Between finding a document and reading its passages nobody can put it under another id."""
    ours, theirs = _index.Index(tmp_path / "i.db"), _index.Index(tmp_path / "i.db")
    url = "file:///orla.txt"
    page = Page(Source(url, "Orla"), "The Orla dam was built in 1931.", "0" * 64)
    entry = _index.Entry(url, _index.Stamp(1, 1, "x"), page, words="orla dam")
    ours.put([entry])
    theirs._db.execute("PRAGMA busy_timeout = 0")
    texts, refused = _index._texts, []

    def meanwhile(db, document):
        monkeypatch.undo()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            theirs.put([entry])
        refused.append(document)
        return texts(db, document)

    monkeypatch.setattr(_index, "_texts", meanwhile)
    assert ours.page(Source(url)).text == page.text
    assert len(refused) == 1
    theirs.put([entry])
    assert theirs.page(Source(url)).text == page.text
    ours.close()
    theirs.close()
