"""Addresses of endpoints, as people write them."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

OFFICIAL: Final = "https://api.openai.com/v1"
_PATHS: Final = re.compile(r"/*(?:/(?:chat/)?completions|/models)?/*$")
_SLASHES: Final = re.compile(r"(?<!:)/{2,}")


def mended_address(url: str) -> str:
    """Return the address without the path of a call, doubled slashes and white space."""
    return _PATHS.sub("", _SLASHES.sub("/", url.strip()))


def is_loopback(url: str) -> bool:
    """Tell whether `url` leads to this machine, as far as its words tell."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
