"""Whatever a service answers becomes clean sources, or one clear error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.errors import BadAnswer
from deep_research.core.urls import canonical, in_domains
from deep_research.plugins.search._hits import (
    cut,
    iso_date,
    plain,
    query_with_sites,
    to_sources,
    with_sites,
)


def sources(answer, limit=10, **filters):
    return to_sources(answer, engine="x", limit=limit, **filters)


@pytest.mark.parametrize("empty", [None, [], (), {"results": []}, {"results": None}, iter(())])
def test_nothing_is_an_answer(empty):
    assert sources(empty) == []


@pytest.mark.parametrize(
    "answer",
    [
        [{"url": "http://a.org/"}],
        ({"href": "http://a.org/"},),
        ({"link": u} for u in ["http://a.org/"]),
        {"results": [{"url": "http://a.org/"}]},
        {"data": {"results": ({"uri": "http://a.org/"},)}},
        {"url": "http://a.org/"},
        ["http://a.org/"],
        [b"http://a.org/"],
        [{"url": "", "link": "http://a.org/"}],
    ],
    ids=["list", "tuple", "generator", "wrapped", "twice", "single", "strings", "bytes", "blank"],
)
def test_every_shape_is_unwrapped(answer):
    (source,) = sources(answer)
    assert (source.url, source.engine, source.rank) == ("http://a.org/", "x", 0)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"error": "too long"}, "x: too long"),
        ({"detail": {"error": "Query is missing."}}, "Query is missing."),
        ({"results": [], "error": "quota"}, "x: quota"),
        ({"message": ["a", "b"]}, "a b"),
        ({"detail": {"code": 7}}, "'code': 7"),
        ({"foo": 1, "bar": 2}, r"no list of results \(keys: foo, bar\)"),
        ({}, "keys: none"),
        ("nothing here", "expected a list of results, got 'nothing here'"),
        (b"oops", "expected a list"),
        (42, "got 42"),
        ({"data": {"data": {"data": {"data": {"data": []}}}}}, "no list of results"),
    ],
)
def test_nonsense_is_one_clear_error(answer, words):
    with pytest.raises(BadAnswer, match=words):
        sources(answer)


def test_unusable_items_are_dropped_and_the_others_kept():
    junk = [
        None, 3, True, {}, [], {"url": None}, {"href": ""}, {"title": "no address"}, {"url": 7},
        {"url": "javascript:alert(1)"}, {"url": "file:///etc/passwd"}, {"url": "ftp://a.org/x"},
        {"url": "data:text/html,x"}, {"url": "/etc/x.pdf"}, {"url": "C:\\x.pdf"}, {"url": "N/A"},
        {"url": "http://b.org/", "title": None, "body": None},
        {"url": "http://c.org/", "title": 5, "content": b"by\xfftes", "date": "yesterday"},
    ]  # fmt: skip
    assert [(s.url, s.title, s.snippet, s.published) for s in sources(junk)] == [
        ("http://b.org/", "", "", ""),
        ("http://c.org/", "", "by�tes", ""),
    ]


def test_variants_of_one_page_count_once_and_the_limit_holds():
    same = [
        "http://a.org/p",
        "https://www.a.org/p/",
        "http://A.ORG/p#f",
        "http://a.org/p?utm_source=z",
    ]
    more = [f"http://a.org/{n}" for n in range(100)]
    found = sources([*same, *more], limit=3)
    assert [s.url for s in found] == ["http://a.org/p", "http://a.org/0", "http://a.org/1"]
    assert [s.rank for s in found] == [0, 1, 2]
    assert sources(same, limit=0) == []


def test_domains_are_filtered_even_if_the_service_ignores_them():
    hits = ["http://a.org/1", "http://sub.b.org/2", "http://c.net/3"]
    assert [s.url for s in sources(hits, include=["b.org", "c.net"])] == hits[1:]
    assert [s.url for s in sources(hits, exclude=["b.org"])] == [hits[0], hits[2]]


def test_markup_and_entities_become_text():
    assert plain("<b>Tom</b>\n &amp;  <span class='x'>Jerry</span> 2 < 3") == "Tom & Jerry 2 < 3"
    assert plain(["a", 1, "b"]) == "a b"
    assert plain({"a": 1}) == plain(3) == plain(None) == ""
    assert plain("lone \ud800 surrogate").encode()


@pytest.mark.parametrize(
    ("raw", "date"),
    [
        ("2024-05-06", "2024-05-06"),
        ("2024-05-06T07:08:09+00:00", "2024-05-06"),
        ("Mon, 06 May 2024 07:08:09 GMT", "2024-05-06"),
        (1714979289, "2024-05-06"),
        (1e30, ""),
        (True, ""),
        ("2024-13-45", ""),
        ("3 days ago", ""),
        ("", ""),
        (None, ""),
        ([], ""),
    ],
)
def test_dates_become_iso_or_nothing(raw, date):
    assert iso_date(raw) == date


@given(st.text(), st.integers(1, 50))
def test_a_cut_query_is_one_line_within_the_limit(query, limit):
    line = cut(query, limit)
    assert len(line) <= limit
    assert line == line.strip()
    assert line.isprintable()


def test_queries_are_cut_between_words():
    assert cut("alpha beta gamma", 12) == "alpha beta"
    assert cut("alpha beta", 10) == "alpha beta"
    assert cut("abcdefghij", 4) == "abcd"


def test_site_operators_fit_into_the_limit():
    assert with_sites("q", [], []) == "q"
    assert with_sites("q", ["a.org"], ["b.org"]) == "q site:a.org -site:b.org"
    assert with_sites("q", ["a.org", "b.org"], []) == "q (site:a.org OR site:b.org)"
    long = query_with_sites("word " * 200, ["a.org"], [], 400)
    assert len(long) <= 400
    assert long.endswith(" site:a.org")
    assert query_with_sites("  ", ["a.org"], [], 400) == ""


json_like = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20) | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["url", "results", "data", "title", "content", "error", "date", "k"]),
            inner | st.sampled_from(["http://a.org/x", "https://b.org/?q=1"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_like)
def test_no_answer_escapes_as_anything_but_sources_or_bad_answer(answer):
    try:
        found = sources(answer, limit=3, exclude=["c.org"])
    except BadAnswer:
        return
    assert len(found) <= 3
    for rank, source in enumerate(found):
        assert source.rank == rank
        assert source.url == canonical(source.url)
        assert source.url.startswith("http")
        assert in_domains(source.url, (), ["c.org"])
