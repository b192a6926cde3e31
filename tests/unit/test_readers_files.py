"""Local files, each by its bytes; the name is a hint."""

import codecs
import hashlib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from deep_research.core.errors import PageUnreadable, ProviderTimeout, Refused
from deep_research.core.model import Page, Source
from deep_research.plugins.readers import files as files_module
from deep_research.plugins.readers.files import FileReader
from deep_research.plugins.readers.web import now

TEXT = "Größe und Maß: die Brücke über die Ossa wurde 1931 eröffnet."


async def read(path: Path, **settings: object) -> Page:
    return await FileReader(**settings).read(Source(path.as_uri()))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
async def test_text_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "notes für alle.txt"
    path.write_bytes(TEXT.encode(encoding))
    page = await read(path)
    assert page.text == TEXT
    assert page.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "content", "text", "media_type"),
    [
        ("a.md", b"# T\n\nBody.", "# T\n\nBody.", "text/markdown"),
        ("a.csv", b"a,b\n1,2\n", "A: 1; b: 2.", "text/csv"),
        ("a.HTM", b"<p>Just one paragraph.</p>", "Just one paragraph.", "text/html"),
        ("a.log", b"a line", "a line", "text/plain"),
        ("noname", b"a line", "a line", "text/plain"),
        (
            "page.txt",
            b"<!doctype html><title>x</title><p>Really HTML.</p>",
            "Really HTML.",
            "text/html",
        ),
        ("a.txt", codecs.BOM_UTF16_BE + "中文".encode("utf-16-be"), "中文", "text/plain"),
    ],
)
async def test_kinds(tmp_path: Path, name: str, content: bytes, text: str, media_type: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    page = await read(path)
    assert (page.text, page.media_type) == (text, media_type)


async def test_title_of_the_source_wins_over_the_files(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Inside")
    reader = FileReader(
        clock=lambda: datetime(2024, 5, 6, 7, 8, 9, 99, tzinfo=timezone(timedelta(hours=2)))
    )
    assert (await reader.read(Source(path.as_uri()))).source.title == "Inside"
    page = await reader.read(Source(path.as_uri(), title="Outside"))
    assert page.source.title == "Outside"
    assert page.fetched_at == "2024-05-06T05:08:09+00:00"


async def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(PageUnreadable, match=r"gone\.txt cannot be read: No such file"):
        await read(tmp_path / "gone.txt")
    with pytest.raises(PageUnreadable, match="cannot be read"):
        await read(tmp_path)
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(PageUnreadable, match=r"empty\.txt is empty"):
        await read(tmp_path / "empty.txt")
    (tmp_path / "big.txt").write_bytes(b"x" * 100)
    with pytest.raises(PageUnreadable, match="larger than 99 bytes"):
        await read(tmp_path / "big.txt", max_bytes=99)
    with pytest.raises(Refused, match="no file"):
        await FileReader().read(Source("http://example.org/"))


async def test_parsing_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(files_module.asyncio, "to_thread", slow)
    with pytest.raises(ProviderTimeout, match="more than 60 s"):
        await read(tmp_path / "x.txt")


def test_the_default_clock_is_utc() -> None:
    assert abs(now() - datetime.now(UTC)) < timedelta(seconds=5)
