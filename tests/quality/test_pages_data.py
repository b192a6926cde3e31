"""Public data sets of pages, charsets, PDFs, addresses and JSON: no exception escapes, the figures are printed (-s)."""
# ruff: noqa: T201 - the figures are the point

import importlib.util
import json
from pathlib import Path

import pytest

from deep_research.core.errors import PageUnreadable
from deep_research.core.urls import canonical, host, in_domains, normalise, same_page
from deep_research.plugins.readers.charset import codec, decode, meta_charsets
from deep_research.plugins.readers.extract import extract

ROOT = Path(__file__).parents[2]
DATA = ROOT / "../shared/data"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the data sets are not beside the checkout"
)


def _benchmark():
    spec = importlib.util.spec_from_file_location("pages_benchmark", ROOT / "benchmarks/pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _tried(body: bytes, **hints: str) -> str:
    """'' if text came out, else the reason; anything but PageUnreadable escapes."""
    try:
        extract(body, **hints)
    except PageUnreadable as error:
        return str(error)
    return ""


def test_main_text_of_articles() -> None:
    benchmark = _benchmark()
    precision, recall, f1, milliseconds = benchmark.measure(
        DATA / "html-article-extraction", benchmark.ours
    )
    print(
        f"\narticles: precision {precision:.3f} recall {recall:.3f} F1 {f1:.3f}, {milliseconds:.0f} ms/page"
    )
    assert f1 >= 0.955


def test_declared_charsets() -> None:
    cases = (DATA / "html-encoding/tests1.dat").read_bytes().split(b"#data\n")[1:]
    right = 0
    for case in cases:
        body, _, wanted = case.partition(b"\n#encoding\n")
        decode(body, markup=True)
        _tried(body, media_type="text/html")
        marked = ["utf-8"] if body.startswith(b"\xef\xbb\xbf") else []
        found = next(filter(None, map(codec, marked + meta_charsets(body))), "cp1252")
        right += found == codec(wanted.strip().decode())
    print(f"\ncharsets: {right} of {len(cases)} declarations as a browser reads them")
    assert right >= 55


def test_pdf_files() -> None:
    files = sorted((DATA / "pdf").rglob("*.pdf"))
    reasons = {path.name: _tried(path.read_bytes(), media_type="application/pdf") for path in files}
    print(f"\npdf: {sum(not r for r in reasons.values())} of {len(files)} read; the others:")
    print("\n".join(f"  {name}: {reason}" for name, reason in reasons.items() if reason))
    assert sum(not r for r in reasons.values()) >= 25


@pytest.mark.parametrize(
    "name",
    ["urltestdata.json", "w3lib_url_vectors.json", "setters_tests.json", "ip_literal_vectors.json"],
)
def test_addresses(name: str) -> None:
    texts = set(_texts(json.loads((DATA / "url" / name).read_text())))
    taken = 0
    for text in texts:
        for function in (canonical, same_page, host, normalise):
            try:
                function(text)
            except ValueError:
                continue
            taken += function is canonical
        in_domains(text, ["example.org"], [text])
    print(f"\n{name}: {taken} of {len(texts)} texts are addresses")
    assert taken


def test_failures_of_the_url_standard_are_refused() -> None:
    """A host that browsers refuse is not dialled either; broken punycode labels only fail at resolution."""
    cases = [
        c
        for c in json.loads((DATA / "url/urltestdata.json").read_text())
        if isinstance(c, dict) and c.get("failure")
    ]
    accepted = []
    for case in cases:
        try:
            accepted.append((case["input"], normalise(case["input"])))
        except ValueError:
            continue
    print(f"\nurl standard: {len(cases) - len(accepted)} of {len(cases)} failures refused")
    assert all("xn--" in result for _, result in accepted)


def test_json_files() -> None:
    files = sorted((DATA / "json/JSONTestSuite").rglob("*.json"))
    failed = [
        path.name for path in files if _tried(path.read_bytes(), media_type="application/json")
    ]
    print(
        f"\njson: {len(files) - len(failed)} of {len(files)} give text; the others: {', '.join(failed)}"
    )
    assert len(files) > 100


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in items for text in _texts(item)]
