"""Local documents of every kind, through the real extractors."""

import sys
from pathlib import Path

import pytest

from deep_research.core.model import Source
from deep_research.plugins.search.folder import FolderSearch, local_path
from deep_research.testing import check_page_reader, check_search_engine

PDF = Path(__file__).parents[2] / "../shared/data/pdf"


def write_all(root):
    (root / "a note.txt").write_text("The Orla dam is of stone.", "utf-8")
    (root / "报告 #1.md").write_text("# 奥拉大坝\n\n奥拉大坝高92米。 Orla dam.", "utf-8")
    (root / "page.html").write_text(
        "<html><title>Orla</title><body><p>The Orla dam was built in 1931.</p></body></html>",
        "utf-8",
    )
    (root / "table.csv").write_text("dam,height\nOrla,92\nBren,41\n", "utf-8")
    (root / "facts.json").write_text('{"dam": "Orla", "height": 92}', "utf-8")
    (root / "manual.rst").write_text("Orla\n====\n\nHow the dam works.", "utf-8")
    (root / "broken.pdf").write_bytes(b"%PDF-1.4 nothing of the kind")
    (root / "cp1252.txt").write_bytes("Der Damm von Orla, Größe: 92 m – hoch".encode("cp1252"))
    document = pytest.importorskip("docx").Document()
    document.add_paragraph("The Orla dam holds 3 million cubic metres.")
    document.save(str(root / "letter.docx"))
    if sys.platform != "win32":
        (root / "back\\slash.txt").write_text("Orla, odd name", "utf-8")


async def test_every_kind_is_found_and_read(tmp_path):
    write_all(tmp_path)
    engine = FolderSearch([tmp_path], index=":memory:")
    hits = await check_search_engine(engine, "Orla dam", limit=20)
    names = {Path(local_path(hit.url)).name for hit in hits}
    expected = {p.name for p in tmp_path.iterdir()} - {"broken.pdf"}
    assert names == expected
    assert [Path(path).name for path, _ in engine.problems] == ["broken.pdf"]
    for hit in hits:
        page = await check_page_reader(
            engine, hit, missing=Source((tmp_path / "none.txt").as_uri())
        )
        assert "Orla" in page.text
    (chinese,) = await engine.search("大坝", limit=1)
    assert local_path(chinese.url).endswith("报告 #1.md")
    assert chinese.title == "奥拉大坝"


@pytest.mark.skipif(not PDF.is_dir(), reason="the sample files are not here")
async def test_a_folder_of_difficult_pdf_files_is_indexed_with_reasons(tmp_path):
    engine = FolderSearch([PDF], index=tmp_path / "i.sqlite")
    (hit, *_) = await engine.search("hello world", limit=3)
    assert (await engine.read(hit)).marks
    assert all(reason and str(PDF) not in reason for _, reason in engine.problems)
    await engine.close()
