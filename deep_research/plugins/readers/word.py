"""Word files (.docx) to text, with python-docx (https://python-docx.readthedocs.io/)."""

from __future__ import annotations

from datetime import date
from io import BytesIO
from typing import Final
from zipfile import BadZipFile, ZipFile

from deep_research.core.errors import PageUnreadable

from .document import Document
from .tables import table_text

DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_MAX_UNPACKED: Final = 200_000_000
_TEMPLATE: Final = date(2013, 12, 23)
"""The day of python-docx's own template, which files made with it keep."""


def is_docx(body: bytes) -> bool:
    """Tell whether a zip archive is a Word file."""
    try:
        with ZipFile(BytesIO(body)) as archive:
            return "word/document.xml" in archive.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def read_docx(body: bytes) -> Document:
    """Extract paragraphs and tables in order, a table row a line; the date is the last change's.

    Raises:
        PageUnreadable: Unpacked it would be larger than 200 MB. Errors of the library come through.
    """
    import docx
    from docx.table import Table

    with ZipFile(BytesIO(body)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_UNPACKED:
            raise PageUnreadable("the Word file is too large when unpacked")
    document = docx.Document(BytesIO(body))
    blocks: list[str] = []
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            rows = [[" ".join(cell.text.split()) for cell in row.cells] for row in block.rows]
            blocks.append(table_text(rows))
        elif block.style is not None and str(block.style.name).startswith("List"):
            blocks.append(f"- {block.text.strip()}" if block.text.strip() else "")
        else:
            blocks.append(block.text.strip())
    about = document.core_properties
    days = [moment.date() for moment in (about.modified, about.created) if moment]
    written = next((day.isoformat() for day in days if day != _TEMPLATE), "")
    text = "\n\n".join(filter(None, blocks))
    return Document(text, " ".join((about.title or "").split()), written, media_type=DOCX)
