"""One spelling for one address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.urls import (
    canonical,
    host,
    in_domains,
    is_private_host,
    join,
    normalise,
    same_page,
)

HOSTILE = st.text(alphabet="htpsfile:/\\.@[]()%?#&=utm_ab1290xX\u3002é文 \t<>\"'", max_size=40).map(
    lambda x: f"http:{x}"
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://example.com:443/a?", "https://example.com/a"),
        ("https://example.com:8443/a#part", "https://example.com:8443/a"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/b/..", "https://example.com/a/"),
        ("https://example.com/../../x", "https://example.com/x"),
        ("https://example.com/%7euser/%e4%b8%ad/a b", "https://example.com/~user/%E4%B8%AD/a%20b"),
        ("https://example.com/100%", "https://example.com/100%25"),
        ("https://bücher.example/ä?ö=ü", "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC"),
        ("https://faß.de/", "https://xn--fa-hia.de/"),
        ("http://user:secret@example.com/x", "http://example.com/x"),
        ("http://example.com./x", "http://example.com/x"),
        ("http:\\\\example.com\\x", "http://example.com/x"),
        ("  https://exam\nple.com/\tx ", "https://example.com/x"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://0300.168.257/", "http://192.168.1.1/"),
        ("http://[0:0:0::0001]/", "http://[::1]/"),
        ("http://１２７。0.0.1/", "http://127.0.0.1/"),
        ("http://soft\u00adhyphen.org", "http://softhyphen.org/"),
        ("file:///tmp/a b.txt", "file:///tmp/a%20b.txt"),
        ("file:/tmp/x", "file:///tmp/x"),
        ("file://localhost/tmp/x", "file:///tmp/x"),
    ],
)
def test_canonical_spelling(url: str, expected: str) -> None:
    assert canonical(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "https://a.org/x?utm_source=n&id=7&utm_medium=m&b=2",
        "https://a.org/x?id=7&fbclid=1&b=2",
        "https://a.org/x?gclid=&id=7&&b=2",
        "https://a.org/x?id=7&b=2&mc_cid=1&mc_eid=2#top",
        "https://a.org/x?UTM_Source=1&id=7&b=2",
    ],
)
def test_tracking_goes_and_the_rest_keeps_its_order(url: str) -> None:
    assert canonical(url) == "https://a.org/x?id=7&b=2"


@pytest.mark.parametrize(
    "text",
    [
        "https://a.org/x).",
        "https://a.org/x]",
        "<https://a.org/x>",
        "[words](https://a.org/x)",
        "[words](<https://a.org/x>).",
        '[words](https://a.org/x "a title")',
        "![image](https://a.org/x)",
        "(https://a.org/x),",
        '"https://a.org/x"',
        "`https://a.org/x`",
        "https://a.org/x.",
        "https://a.org/x;",
        "**https://a.org/x**",
        "https://a.org/x?utm_source=chat)",
    ],
)
def test_what_markdown_leaves_round_an_address_goes(text: str) -> None:
    assert canonical(text) == "https://a.org/x"


@pytest.mark.parametrize(
    "url",
    [
        "https://en.wikipedia.org/wiki/Mercury_(planet)",
        "https://en.wikipedia.org/wiki/Apple_Inc.",
        "https://a.org/f(x)/g",
        "https://a.org/!",
    ],
)
def test_what_belongs_to_an_address_stays(url: str) -> None:
    assert canonical(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "N/A",
        "x",
        "/etc/x.pdf",
        "C:\\x.pdf",
        "ftp://a.org/x",
        "javascript:alert(1)",
        "data:text/html,x",
        "mailto:a@b.c",
        "//a.org/x",
        "www.a.org",
        "http://",
        "http:///",
        "http://a:x/",
        "http://a:70000/",
        "http://[::1",
        "http://[::1%25lo]/",
        "http://a b.org/",
        "http://a..org/",
        "http://a|b/",
        "http://%00/",
        "http://%ff/",
        "http://1.2.3.4.5/",
        "http://1.2.3.999/",
        "http://a.0x/",
        "http://4294967296/",
        "file://server/share",
        f"http://{'a' * 64}.org/",
        f"http://{'a.' * 130}org/",
        "http://\ufffd/",
        "http://a/\ud800",
    ],
)
def test_what_is_no_address_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError):
        canonical(url)


@given(HOSTILE)
def test_canonical_is_idempotent_and_raises_nothing_else(url: str) -> None:
    try:
        once = canonical(url)
    except ValueError:
        return
    assert canonical(once) == once
    assert normalise(once) == once
    assert same_page(once) == same_page(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.org/x",
        "https://A.org/x/",
        "https://www.a.org/x#y",
        "http://a.org/x/index.html",
        "https://a.org/x?utm_campaign=1",
        "https://a.org:443/x",
        "https://a.org/x/default.aspx",
        "https://a.org/b/../x",
    ],
)
def test_same_page(url: str) -> None:
    assert same_page(url) == "a.org/x"


def test_same_page_in_spite_of_parameter_order_but_not_of_values() -> None:
    assert same_page("http://a.org/?a=1&b=2") == same_page("https://www.a.org?b=2&a=1")
    assert same_page("http://a.org/?a=1") != same_page("http://a.org/?a=2")
    assert same_page("http://a.org:81/") != same_page("http://a.org/")
    assert same_page("http://a.org/x") != same_page("http://b.org/x")


def test_host() -> None:
    assert host("https://WWW.Bücher.example:8/x") == "www.xn--bcher-kva.example"
    assert host("http://[::1]:80/") == "::1"
    assert host("file:///x") == ""


def test_join_resolves_redirects() -> None:
    assert join("https://a.org/x/y", "../z?q=é") == "https://a.org/z?q=%C3%A9"
    assert join("https://a.org/x", " //b.org\\c ") == "https://b.org/c"
    with pytest.raises(ValueError):
        join("https://a.org/x", "ftp://b.org/")


@pytest.mark.parametrize(
    "domain",
    ["example.org", "*.example.org", "www.example.org", "https://example.org/", " Example.ORG "],
)
def test_a_domain_covers_its_subdomains_only(domain: str) -> None:
    assert in_domains("https://example.org/x", [domain])
    assert in_domains("https://news.example.org/x", [domain])
    assert not in_domains("https://badexample.org/x", [domain])
    assert not in_domains("https://example.org.evil.net/x", [domain])
    assert not in_domains("https://news.example.org/x", exclude=[domain])


def test_domain_filters_for_special_cases() -> None:
    assert in_domains("https://a.org/")
    assert in_domains("file:///tmp/x", ["a.org"])
    assert not in_domains("nonsense")
    assert not in_domains("https://a.org/", ["::no domain::"])
    assert in_domains("https://a.org/", ["b.org", "a.org"], ["c.org"])


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://localhost:11434/v1", True),
        ("http://api.localhost/", True),
        ("http://127.0.0.1:1/v1", True),
        ("http://0x7f.1/", True),
        ("http://[::1]:8080/v1", True),
        ("http://[::ffff:10.0.0.1]/", True),
        ("http://10.1.2.3/", True),
        ("http://gpu.local./v1", True),
        ("http://nas.lan/", True),
        ("http://llm.corp.internal/", True),
        ("http://ollama:11434/v1", False),
        ("http://local/", False),
        ("https://api.openai.com/v1", False),
        ("http://127.0.0.1.example.org/", False),
        ("http://8.8.8.8/v1", False),
        ("localhost:1", False),
    ],
)
def test_whose_host_it_is(url: str, own: bool) -> None:
    """A name without a dot may be anyone's: whoever bills for it is not known."""
    assert is_private_host(url) is own
