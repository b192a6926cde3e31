"""Name resolution that lets only addresses through which may be dialled."""

from __future__ import annotations

from socket import AddressFamily

from aiohttp.abc import AbstractResolver, ResolveResult

from deep_research.core.errors import Refused

from .addresses import AllowList


class PublicResolver(AbstractResolver):
    """Drops private addresses at the moment of dialling: there is no second look-up to differ."""

    def __init__(self, inner: AbstractResolver, allowed: AllowList) -> None:
        self._inner, self._allowed = inner, allowed

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AddressFamily.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if not found:
            raise OSError(None, "the name has no address")
        if self._allowed.names(host, port):
            return found
        kept = [r for r in found if self._allowed.permits(r["host"], port)]
        if not kept:
            raise private(f"{host} is {found[0]['host']}, which")
        return kept

    async def close(self) -> None:
        """Hold nothing open: whoever made the inner resolver closes it."""


def private(what: str) -> Refused:
    """Make the error for an address that is nobody's business to dial."""
    return Refused(
        f"{what} is no public address; if it may be dialled, name it in network.allow_hosts"
    )
