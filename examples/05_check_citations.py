"""Check every citation of a report against the saved pages, with nothing but Python.

    python examples/05_check_citations.py [RUN_FOLDER]        (default: the newest below ./runs)

Exit code 1 if one quote does not stand where the report says.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def pointers(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (sha256 of the page, {quote, start, end}) of all citations and all evidence."""
    pages = {reference["n"]: reference["sha256"] for reference in report["references"]}
    for claim in report["claims"]:
        for citation in claim["citations"]:
            yield pages[citation["reference"]], citation
    for learning in report["learnings"]:
        for evidence in learning["evidence"]:
            yield evidence["sha256"], evidence


def stands(folder: Path, sha256: str, place: dict[str, Any]) -> bool:
    """Tell whether the quote is what the saved page says at these offsets (in characters)."""
    text = (folder / "sources" / f"{sha256}.txt").read_bytes().decode()
    return bool(place["quote"]) and text[place["start"] : place["end"]] == place["quote"]


def main() -> int:
    runs = [Path(name) for name in sys.argv[1:]] or sorted(Path("runs").glob("*"))
    if not runs:
        print("there is no run here: give its folder")
        return 2
    folder = runs[-1]
    report = json.loads((folder / "report.json").read_text("utf-8"))
    found = list(pointers(report))
    wrong = [(sha256, place) for sha256, place in found if not stands(folder, sha256, place)]
    for sha256, place in wrong:
        print(f"not in {sha256[:12]} at {place['start']}: {place['quote']!r}")
    print(f"{folder}: {len(found) - len(wrong)} of {len(found)} quotes stand where they should")
    return 1 if wrong or not found else 0


sys.exit(main())
