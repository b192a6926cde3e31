"""Which addresses may be dialled: public ones, and the private ones that a person allowed by name.

The special ranges are those of IANA (https://www.iana.org/assignments/iana-ipv4-special-registry
and https://www.iana.org/assignments/iana-ipv6-special-registry).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from deep_research.core import urls
from deep_research.core.errors import ConfigError

Address = IPv4Address | IPv6Address

# Relays and protocol assignments that Python's `is_global` lets through.
_NOT_PUBLIC_4: Final = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
# All of today's public IPv6 lies in 2000::/3. Tunnels (Teredo, 6to4) could lead to private IPv4.
_PUBLIC_6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
)
_NAT64: Final = IPv6Network("64:ff9b::/96")  # RFC 6052: the last four bytes are an IPv4 address
_NO_HOST: Final = re.compile(r"[/\\?#@]")
_LOW_32: Final = 0xFFFF_FFFF


def is_public(address: Address) -> bool:
    """Tell whether `address` is one of the open internet; an embedded IPv4 address decides."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & _LOW_32))
        return address in _PUBLIC_6 and not any(address in n for n in _NOT_PUBLIC_6)
    special = (
        address.is_multicast or address.is_reserved or any(address in n for n in _NOT_PUBLIC_4)
    )
    return address.is_global and not special


class AllowList:
    """The private hosts that may be dialled all the same.

    Args:
        entries: Host names, addresses or networks ('intranet', '127.0.0.1', '10.0.0.0/8', '::1');
            each but a network may end in a port ('127.0.0.1:8900', '[::1]:8900') and then holds for
            that port only.

    Raises:
        ConfigError: An entry is none of these.
    """

    def __init__(self, entries: Collection[str] = ()) -> None:
        self._networks: list[tuple[IPv4Network | IPv6Network, int | None]] = []
        self._names: set[tuple[str, int | None]] = set()
        for entry in entries:
            self._add(entry.strip())

    def _add(self, entry: str) -> None:
        try:
            network = ip_network(entry, strict=False)
        except ValueError:
            pass
        else:
            self._networks.append((network, None))
            return
        try:
            parts = urls.split(f"http://{'' if _NO_HOST.search(entry) else entry}")
        except ValueError as error:
            raise ConfigError(
                f"network.allow_hosts: {entry!r} is no host, address or network;"
                " write for instance 127.0.0.1, localhost:8900 or 10.0.0.0/8"
            ) from error
        # a named default port is gone from the URL, but not from the entry
        port = parts.port or (urls.PORTS["http"] if entry.endswith(":80") else None)
        try:
            self._networks.append((ip_network(parts.host.strip("[]")), port))
        except ValueError:
            self._names.add((parts.host, port))

    def names(self, host: str, port: int) -> bool:
        """Tell whether a host name is allowed, wherever it resolves to."""
        return (host, None) in self._names or (host, port) in self._names

    def holds(self, host: str, port: int) -> bool:
        """Tell whether a host, by name or literal address, is one that the user has named."""
        try:
            return self._within(ip_address(host.strip("[]")), port)
        except ValueError:
            return self.names(host, port)

    def permits(self, address: str, port: int) -> bool:
        """Tell whether an address may be dialled: public, or within an allowed entry."""
        found: Address = ip_address(address.partition("%")[0])
        plain = (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
        return is_public(found) or self._within(plain, port)

    def _within(self, address: Address, port: int) -> bool:
        return any(address in network for network, only in self._networks if only in {None, port})
