"""Bytes to text, never mojibake."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.plugins.readers.charset import codec, decode, meta_charsets

TEXTS = {
    "zh": "北京市位于华北平原的北部，面积一万六千平方公里，人口两千万。",
    "tw": "臺北市是中華民國的首都，位於臺灣北部的臺北盆地。",
    "ja": "東京は日本の首都であり、世界最大の都市圏を形成している。カタカナもあります。",
    "ko": "서울은 대한민국의 수도이며 가장 큰 도시이다.",
    "ru": "Москва — столица России, город федерального значения. Основан в 1147 году.",
    "el": "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη.",
    "fr": "L’été dernier, à Genève, les élèves ont découvert où se cachait le trésor. Ça coûte 5 €.",
    "de": "Größe und Maß: Die Bürgermeisterin läuft über die Straße.",
    "pl": "Zażółć gęślą jaźń, mały kotek wszedł na drzewo i nie chciał zejść.",
}
ENCODED = [
    ("zh", "gb2312"),
    ("zh", "gb18030"),
    ("tw", "big5"),
    ("ja", "shift_jis"),
    ("ja", "euc-jp"),
    ("ja", "iso-2022-jp"),
    ("ko", "euc-kr"),
    ("ru", "windows-1251"),
    ("ru", "koi8-r"),
    ("el", "iso-8859-7"),
    ("fr", "cp1252"),
    ("de", "iso-8859-1"),
    ("pl", "cp1250"),
]


def page(text: str) -> str:
    return f"<html><head><title>x</title></head><body><p>{text * 6}</p></body></html>"


@pytest.mark.parametrize(("language", "encoding"), ENCODED)
@pytest.mark.parametrize("how", ["header", "meta", "nothing", "unknown", "utf8", "iso-8859-1"])
def test_the_text_comes_out_whatever_is_declared(language: str, encoding: str, how: str) -> None:
    """Right, missing, unknown and wrong declarations alike."""
    text = page(TEXTS[language])
    if how == "meta":
        text = text.replace("<title>", f'<meta charset="{encoding}"><title>')
    body = text.encode(encoding, "ignore")
    declared = {"header": encoding, "unknown": "x-no-such-thing", "meta": "", "nothing": ""}.get(
        how, how
    )
    assert decode(body, declared, markup=True) == body.decode(encoding)


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize(
    "declared",
    [
        "",
        "utf-8",
        '"utf8"',
        "windows-1251",
        "gb2312",
        "shift_jis",
        "iso-8859-1",
        "utf-16",
        "utf-7",
        "hex",
        "é",
    ],
)
def test_utf8_wins_over_every_wrong_declaration(language: str, declared: str) -> None:
    text = page(TEXTS[language])
    assert decode(text.encode(), declared, markup=True) == text


@pytest.mark.parametrize("language", ["fr", "de", "pl"])
def test_western_text_is_not_taken_for_cyrillic(language: str) -> None:
    text = page(TEXTS[language])
    body = text.encode("cp1250" if language == "pl" else "cp1252")
    assert decode(body, "windows-1251", markup=True) == text


def test_koi8_is_not_taken_for_windows_1251() -> None:
    text = page(TEXTS["ru"]).replace("—", "-")
    assert decode(text.encode("koi8-r"), "windows-1251", markup=True) == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides(encoding: str) -> None:
    assert decode("Größe 中".encode(encoding), "windows-1251") == "Größe 中"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_seen(encoding: str) -> None:
    assert decode("Plain text, two bytes each.".encode(encoding)) == "Plain text, two bytes each."


def test_a_stray_byte_does_not_spoil_a_utf8_page() -> None:
    body = ("Größe, Maß und Übung: schöne Wörter. " * 9).encode() + b"it\x92s" + "ä".encode()
    assert decode(body, "utf-8").endswith("it’sä")


@pytest.mark.parametrize(
    ("language", "encoding"), [("zh", "utf-8"), ("zh", "gb18030"), ("ja", "shift_jis")]
)
def test_a_body_that_was_cut_in_a_character_loses_only_that(language: str, encoding: str) -> None:
    body = (TEXTS[language] * 5).encode(encoding)
    got = decode(body[:-1], encoding, cut=True)
    assert (TEXTS[language] * 5).startswith(got)
    assert len(got) == len(TEXTS[language] * 5) - 1


@pytest.mark.parametrize(
    ("markup", "labels"),
    [
        (b"<meta charset=utf8>", ["utf8"]),
        (b"<META CHARSET = 'koi8-r' />", ["koi8-r"]),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=gb2312">', ["gb2312"]),
        (b"<meta content='text/html;charset=\"big5\"' http-equiv=content-type>", ["big5"]),
        (b'<?xml version="1.0" encoding="Shift_JIS"?><html>', ["Shift_JIS"]),
        (b"<!-- <meta charset=koi8-r> --><meta charset='utf-16'>", ["utf-8"]),
        (b'<meta name="x" content="text/html; charset=koi8-r">', []),
        (b'<meta http-equiv="refresh" content="0; charset=koi8-r"><meta charset="">', []),
        (b'<meta http-equiv="content-type" content="text/html">', []),
        (b"<metacharset=koi8-r>", []),
        (b"<meta", []),
    ],
)
def test_declarations_in_markup(markup: bytes, labels: list[str]) -> None:
    assert meta_charsets(markup) == labels


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("utf8", "utf-8"),
        ("UTF-8", "utf-8"),
        ("latin1", "cp1252"),
        ("iso-8859-1", "cp1252"),
        ("windows-1251", "cp1251"),
        ("x-cp1251", "cp1251"),
        ("gb2312", "gb18030"),
        ("GBK", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("x-sjis", "cp932"),
        ("euc-kr", "cp949"),
        ("tis-620", "cp874"),
        ("", ""),
        ("none", ""),
        ("utf-7", ""),
        ("base64", ""),
        ("idna", ""),
        ("unicode_escape", ""),
        ("a\0b", ""),
    ],
)
def test_labels(label: str, name: str) -> None:
    assert codec(label) == name


def test_every_codec_we_name_exists() -> None:
    for name in (
        "utf-8",
        "windows-1252",
        "big5",
        "windows-874",
        "macintosh",
        "euc-jp",
        "ks_c_5601-1989",
        "x-mac-cyrillic",
    ):
        codecs.lookup(codec(name))


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "utf-8", "gbk", "iso-2022-jp", "utf-16", "nonsense"]),
    st.booleans(),
)
def test_no_bytes_crash(body: bytes, declared: str, cut: bool) -> None:
    assert isinstance(decode(body, declared, markup=True, cut=cut), str)
