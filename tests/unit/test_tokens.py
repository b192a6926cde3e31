"""Token counts without the network."""

import hashlib
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.runtime import tokens

ENGLISH = (
    "Heat pumps move heat instead of making it. In 2024 the average coefficient of performance of an "
    "air-source unit was 3.2 across 1,023 monitored homes, according to the field trial. "
) * 5
CHINESE = "人工智能是研究、开发用于模拟、延伸和扩展人的智能的理论、方法、技术及应用系统的一门新的技术科学。"
JAPANESE = "人工知能とは、計算という概念とコンピュータという道具を用いて知能を研究する計算機科学の一分野である。"
KOREAN = "인공지능은 인간의 학습능력, 추론능력, 지각능력을 인공적으로 구현하려는 컴퓨터 과학의 세부 분야이다."


@pytest.fixture(autouse=True)
def _fresh(monkeypatch, tmp_path):
    """An empty table folder and no network for every test."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._encoder.cache_clear()

    def no_network(*_args, **_kwargs):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    yield
    tokens._encoder.cache_clear()


@pytest.mark.parametrize(
    ("text", "cl100k", "most"),
    [(ENGLISH, 211, 1.15), (CHINESE, 57, 1.4), (JAPANESE, 55, 1.4), (KOREAN, 57, 1.4)],
)
def test_estimate_is_near_and_never_below_for_cjk(text, cl100k, most):
    """Reference counts are cl100k_base's, the table that needs most tokens of those in use."""
    assert 0.9 <= tokens.estimate(text) / cl100k <= most
    if text is not ENGLISH:
        assert tokens.estimate(text) >= cl100k


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("word", 1, 1),
        ("1234567890", 4, 4),
        ("Привет, как дела сегодня?", 9, 20),
        ("Η τεχνητή νοημοσύνη", 15, 21),
        ("crème brûlée", 3, 8),
        ("😀😀", 4, 8),
        ("\n\n\n", 1, 1),
        ("-" * 160, 2, 20),
        ("a  b", 2, 4),
    ],
)
def test_estimate_by_script(text, low, high):
    assert low <= tokens.estimate(text) <= high


@given(st.text(), st.text())
def test_estimate_grows_with_the_text(a, b):
    """Appending never makes it much shorter (a run of marks or digits may merge)."""
    assert tokens.estimate(a + b) >= tokens.estimate(a) - 1


def test_count_falls_back_to_the_estimate_without_tables_and_without_network():
    assert tokens.count(ENGLISH) == tokens.estimate(ENGLISH)


def test_count_uses_tables_that_are_on_disk(monkeypatch, tmp_path):
    """A cached table with the right digest is used, from the folder that tiktoken's setting names."""
    from tiktoken_ext import openai_public

    table = b"\n".join(
        __import__("base64").b64encode(bytes([i])) + b" " + str(i).encode() for i in range(256)
    )
    url = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    (tmp_path / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()).write_bytes(table)
    original = openai_public.cl100k_base
    digest = hashlib.sha256(table).hexdigest()
    constants = tuple(
        digest if isinstance(c, str) and len(c) == 64 else c for c in original.__code__.co_consts
    )
    code = original.__code__.replace(co_consts=constants)
    monkeypatch.setattr(openai_public.cl100k_base, "__code__", code)
    assert tokens.count("abc") == 3  # one token a byte, by this table
    assert tokens.count("é") == 2


def test_a_damaged_table_is_not_used(tmp_path):
    url = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    path = tmp_path / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    path.write_bytes(b"cut off in the mid")
    assert tokens.count(CHINESE) == tokens.estimate(CHINESE)


def test_fit_keeps_what_fits():
    assert tokens.fit(ENGLISH, 10_000) == ENGLISH
    assert tokens.fit("short", 1_000) == "short"
    assert tokens.fit("short text", 3) == "short text"


@pytest.mark.parametrize("text", [ENGLISH, CHINESE * 20, "x" * 3000])
@pytest.mark.parametrize("limit", [12, 20, 60])
def test_fit_cuts_to_the_limit_and_marks_the_cut(text, limit):
    cut = tokens.fit(text, limit)
    assert tokens.count(cut) <= limit
    assert cut.endswith("[…]")
    assert text.startswith(cut.removesuffix("\n[…]"))


@pytest.mark.parametrize("limit", [0, -1, 1, 5])
def test_fit_gives_nothing_where_not_even_the_mark_fits(limit):
    assert tokens.fit(ENGLISH, limit) == ""


def test_fit_cuts_at_white_space():
    cut = tokens.fit(ENGLISH, 30).removesuffix("\n[…]")
    assert ENGLISH[len(cut)] == " "


@pytest.mark.skipif(
    not Path(__file__).parents[2].joinpath("../shared/data/multihop").exists(), reason="no data"
)
def test_estimate_is_fast():
    """Under 2 µs a character, so that a page costs milliseconds."""
    import time

    path = Path(__file__).parents[2] / "../shared/data/multihop/2wiki.docs.jsonl"
    with path.open() as file:
        text = file.read(200_000)
    began = time.perf_counter()
    tokens.estimate(text)
    assert time.perf_counter() - began < 0.4
