"""One spelling for one address: what is fetched, compared, shown and cited.

Follows the URL Standard (https://url.spec.whatwg.org/) where it matters for safety: hosts are
percent-decoded, NFKC-folded and put into punycode, and every spelling of an IP address becomes the
plain one, so that whoever decides whether a host may be dialled sees what the socket would see.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urljoin

PORTS: Final = {"http": 80, "https": 443}
_URL = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):(?P<slashes>[/\\]*)(?P<rest>.*)", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^\s>]*?)>?(?:\s+[\"'(].*)?\)?[.,;:]*", re.DOTALL)
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
_PATH_SAFE: Final = "%/!$&'()*+,;=:@|"
_QUERY_SAFE: Final = _PATH_SAFE + "?"
_FORBIDDEN_IN_HOST = re.compile(
    r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]|[\ufdd0-\ufdef\ufffd-\uffff]"
)
_IGNORED_IN_HOST = re.compile("[\u00ad\u200b\u2060\ufeff]")
_NUMERIC = re.compile(r"\d+|0x[0-9a-f]*", re.IGNORECASE)
_TRACKING = re.compile(
    r"utm_\w+|hsa_\w+|pk_\w+|mtm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|ysclid|twclid|ttclid|igshid"
    r"|igsh|mc_cid|mc_eid|mkt_tok|_hsenc|_hsmi|__hs\w+|_ga|_gl|li_fat_id|oly_enc_id|oly_anon_id|vero_id|vero_conv|ref_src"
    r"|ref_url|s_kwcid|wickedid|rb_clickid|srsltid",
    re.IGNORECASE,
)
_INDEX = re.compile(r"/(?:index\.(?:html?|php|aspx?|jsp)|default\.aspx?)$", re.IGNORECASE)
_LABEL, _NAME, _PORT, _OCTETS, _OCTET = 63, 253, 0xFFFF, 4, 0xFF  # RFC 1035 and the sizes of fields
_OWN_NAMES: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_PAIRS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}


class Parts(NamedTuple):
    """A normalised URL, taken apart.

    `host` has IPv6 in brackets; `port` is None where it is the scheme's own.
    """

    scheme: str
    host: str
    port: int | None
    path: str
    query: str

    def __str__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{self.host}{port}{self.path}{query}"


def split(url: str) -> Parts:
    """Take `url` apart, each part normalised; user names, passwords and fragments are dropped.

    Raises:
        ValueError: No absolute http, https or file URL, or a host or port that cannot be.
    """
    text = re.sub(r"[\t\r\n]", "", url.strip("".join(map(chr, range(0x21)))))
    match = _URL.fullmatch(text)
    scheme = match["scheme"].lower() if match else ""
    if not match or scheme not in {"http", "https", "file"}:
        raise ValueError(f"not an http, https or file URL: {url[:200]!r}")
    rest, _, _ = match["rest"].partition("#")
    rest, _, query = rest.partition("?")
    rest = rest.replace("\\", "/")
    if scheme == "file":
        # file:///path and file:/path; another host would be a network share
        if len(match["slashes"]) == len("//") and not rest.startswith("/"):
            name, _, rest = rest.partition("/")
            if name.lower() != "localhost":
                raise ValueError(f"a file URL with a host: {url[:200]!r}")
        return Parts(scheme, "", None, _path("/" + rest), "")
    authority, slash, path = rest.partition("/")
    name, port = _authority(authority.rpartition("@")[2], scheme)
    return Parts(scheme, name, port, _path(slash + path), _escaped(query, _QUERY_SAFE))


def normalise(url: str) -> str:
    """Return `url` in its one spelling, with all of its parameters: the form to dial.

    Raises ValueError as `split`.
    """
    return str(split(url))


def join(base: str, reference: str) -> str:
    """Resolve `reference` (as in a redirect) against `base` and normalise it.

    Raises ValueError as `split`.
    """
    return normalise(urljoin(base, reference.strip().replace("\\", "/")))


def canonical(url: str) -> str:
    """Return the one spelling of `url` by which it is cited.

    As `normalise`, and tracking parameters are dropped (the order of the others is kept), and so is
    what Markdown leaves round an address: `[text](url)`, `<url>`, `url).`, `url]`. Idempotent.

    Raises:
        ValueError: No absolute http, https or file URL.
    """
    result = url
    while True:
        bare = _unwrapped(_ESCAPE.sub(_plain, result))
        parts = split(bare)
        kept = (
            p for p in parts.query.split("&") if p and not _TRACKING.fullmatch(p.partition("=")[0])
        )
        cleaned = str(parts._replace(query="&".join(kept)))
        if cleaned == result:
            return result
        result = cleaned


def same_page(url: str) -> str:
    """Return a key that is equal for addresses of one page.

    http and https, `www.`, a trailing slash, `index.html` and the order of parameters make no
    difference. A key is for comparing, not for fetching. Raises ValueError as `canonical`.
    """
    parts = split(canonical(url))
    path = _INDEX.sub("/", parts.path).rstrip("/")
    query = "&".join(sorted(parts.query.split("&")))
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.host.removeprefix('www.')}{port}{path}" + (f"?{query}" if query else "")


def host(url: str) -> str:
    """Return the host of `url`, lower-case and in punycode, IPv6 without brackets; '' for files.

    Raises ValueError as `split`.
    """
    return split(url).host.strip("[]")


def is_private_host(url: str) -> bool:
    """Tell whether `url` leads to this machine or a private network, as far as its words tell.

    Literal private and loopback addresses do, 'localhost', and names under the domains that are
    nobody's on the internet (RFC 6761, 6762, 8375). No name is looked up; one without a dot may be
    anything. What is no URL leads nowhere.
    """
    try:
        name = host(url)
    except ValueError:
        return False
    try:
        address = ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(_OWN_NAMES)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_private


def in_domains(url: str, include: Collection[str] = (), exclude: Collection[str] = ()) -> bool:
    """Tell whether `url` lies in one of `include` (or that is empty) and in none of `exclude`.

    A domain covers its subdomains; 'example.org', '*.example.org', 'www.example.org' and
    'https://example.org/' all mean the same. Local files pass: people name them themselves. What is
    no URL lies nowhere.
    """
    try:
        name = host(url)
    except ValueError:
        return False
    if not name:
        return True
    if any(_covers(domain, name) for domain in exclude):
        return False
    return not include or any(_covers(domain, name) for domain in include)


def _covers(domain: str, name: str) -> bool:
    wanted = domain.strip().removeprefix("*.")
    try:
        wanted = host(wanted if "://" in wanted else f"http://{wanted}").removeprefix("www.")
    except ValueError:
        return False
    return name == wanted or name.endswith(f".{wanted}")


def _unwrapped(text: str) -> str:
    text = text.strip()
    link = _LINK.fullmatch(text)
    text = (link[1] if link else text).lstrip("<([{\"'`* ")
    while text:
        last = text[-1]
        if last in _PAIRS:
            trim = text.count(last) > text.count(_PAIRS[last])
        elif last == ".":
            # a sentence's full stop goes, a title's (/wiki/Apple_Inc.) and a path's (/a/..) stay
            trim = not re.search(r"_[^/_.]*\.$|/\.{1,2}$", text)
        else:
            trim = last in ",;:'\"`* "
        if not trim:
            break
        text = text[:-1]
    return text


def _authority(text: str, scheme: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d{0,5}))?", text, re.ASCII)
    if not match or not match[1]:
        raise ValueError(f"no host and port: {text[:200]!r}")
    port = int(match[2]) if match[2] else PORTS[scheme]
    if port > _PORT:
        raise ValueError(f"no port: {port}")
    return _host(match[1]), None if port == PORTS[scheme] else port


def _host(raw: str) -> str:
    if raw.startswith("["):
        if "%" in raw:
            raise ValueError(f"an address with a zone: {raw!r}")
        return f"[{IPv6Address(raw[1:-1])}]"
    name = unicodedata.normalize("NFKC", _IGNORED_IN_HOST.sub("", unquote(raw, errors="strict")))
    name = name.lower().replace("\u3002", ".").removesuffix(".")
    if _FORBIDDEN_IN_HOST.search(name):
        raise ValueError(f"not a host name: {raw[:200]!r}")
    labels = [x if x.isascii() else f"xn--{x.encode('punycode').decode()}" for x in name.split(".")]
    name = ".".join(labels)
    if len(name) > _NAME or not all(1 <= len(x) <= _LABEL for x in labels):
        raise ValueError(f"not a host name: {raw[:200]!r}")
    return str(_ipv4(labels)) if _NUMERIC.fullmatch(labels[-1]) else name


def _ipv4(labels: list[str]) -> IPv4Address:
    """Read one to four decimal, octal (0…) or hex (0x…) numbers; the last fills what is left."""
    if len(labels) > _OCTETS or not all(_NUMERIC.fullmatch(x) for x in labels):
        raise ValueError(f"not an IPv4 address: {'.'.join(labels)!r}")
    numbers = [_number(x) for x in labels]
    if any(n > _OCTET for n in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
        raise ValueError(f"not an IPv4 address: {'.'.join(labels)!r}")
    return IPv4Address(sum(n << 8 * (3 - i) for i, n in enumerate(numbers[:-1])) + numbers[-1])


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8 if len(text) > 1 and text.startswith("0") else 10)


def _path(path: str) -> str:
    kept: list[str] = []
    segments = _escaped(path, _PATH_SAFE).split("/")[1:] or [""]
    for i, segment in enumerate(segments):
        if segment in {".", ".."}:
            if segment == ".." and kept:
                kept.pop()
            if i == len(segments) - 1:
                kept.append("")
        else:
            kept.append(segment)
    return "/" + "/".join(kept)


def _plain(match: re.Match[str]) -> str:
    """Undo an escape that never needed to be one; give all others capital digits."""
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()


def _escaped(text: str, safe: str) -> str:
    text = _ESCAPE.sub(_plain, text)
    return quote(re.sub(r"%(?![0-9A-F]{2})", "%25", text), safe=safe)
