"""How well and how fast main text is found: run `python benchmarks/pages.py DATA_DIR`.

DATA_DIR holds `html/<id>.html.gz` and `ground-truth.json` ({id: {"articleBody": …}}), as in
https://github.com/scrapinghub/article-extraction-benchmark. The measure is that benchmark's:
precision and recall of 4-word shingles, counted with repeats, averaged over pages; F1 is of the
averages.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

WORD = re.compile(r"\w+")
LENGTH = 4


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Count the runs of four words; a shorter text is one run, an empty one none."""
    words = WORD.findall(text)
    runs = (tuple(words[i : i + LENGTH]) for i in range(max(1, len(words) - LENGTH + 1)))
    return Counter(run for run in runs if run)


def compare(truth: str, found: str) -> tuple[float | None, float | None]:
    """Return precision and recall of one page; None for nothing found and nothing to find."""
    wanted, got = shingles(truth), shingles(found)
    right, all_wanted, all_got = (wanted & got).total(), wanted.total(), got.total()
    return right / all_got if all_got else None, right / all_wanted if all_wanted else None


def scores(truth: Mapping[str, str], found: Mapping[str, str]) -> tuple[float, float, float]:
    """Return precision, recall and F1 over all pages."""
    pairs = [compare(truth[key], found[key]) for key in truth]
    precision = statistics.mean(p for p, _ in pairs if p is not None)
    recall = statistics.mean(r for _, r in pairs if r is not None)
    return precision, recall, 2 * precision * recall / (precision + recall)


def ours(body: bytes) -> str:
    from deep_research.core.errors import PageUnreadable
    from deep_research.plugins.readers.extract import extract

    try:
        return extract(body, media_type="text/html").text
    except PageUnreadable:
        return ""


def trafilatura_alone(body: bytes) -> str:
    import trafilatura

    return trafilatura.extract(body) or ""


def plain_soup(body: bytes) -> str:
    from bs4 import BeautifulSoup

    return BeautifulSoup(body, "lxml").get_text(" ")


WAYS: dict[str, Callable[[bytes], str]] = {
    "deep_research": ours,
    "trafilatura alone": trafilatura_alone,
    "BeautifulSoup get_text": plain_soup,
}


def measure(data: Path, way: Callable[[bytes], str]) -> tuple[float, float, float, float]:
    """Return precision, recall, F1 and milliseconds a page of `way` on `data`."""
    pages = json.loads((data / "ground-truth.json").read_text(encoding="utf-8"))
    bodies = {
        key: gzip.decompress((data / "html" / f"{key}.html.gz").read_bytes()) for key in pages
    }
    way(b"<p>Load the libraries before the clock runs.</p>")
    started = time.perf_counter()
    found = {key: way(body) for key, body in bodies.items()}
    seconds = time.perf_counter() - started
    truth = {key: page.get("articleBody", "") for key, page in pages.items()}
    return *scores(truth, found), 1000 * seconds / len(pages)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not (Path(arguments[0]) / "ground-truth.json").is_file():
        usage = "usage: python benchmarks/pages.py DATA_DIR (with html/ and ground-truth.json)"
        print(usage, file=sys.stderr)
        return 2
    print(f"{'':<24}precision  recall      F1  ms/page")
    for name, way in WAYS.items():
        precision, recall, f1, milliseconds = measure(Path(arguments[0]), way)
        print(f"{name:<24}{precision:9.3f}{recall:8.3f}{f1:8.3f}{milliseconds:9.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
