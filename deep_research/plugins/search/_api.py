"""What a search engine needs of the HTTP client; `runtime.http.Http` has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Api(Protocol):
    """Asks JSON services. Spelled out here so that engines load without the HTTP library."""

    async def get_json(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        trusted: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the client's own signature
    ) -> Any:  # noqa: ANN401 - JSON is anything
        """Return the parsed answer. Raises `ProviderError`s; 401 and 403 are `AuthFailed`."""
        ...

    async def post_json(
        self,
        url: str,
        payload: object,
        *,
        headers: Mapping[str, str] | None = None,
        trusted: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the client's own signature
    ) -> Any:  # noqa: ANN401 - JSON is anything
        """Send JSON and return the parsed answer; otherwise as `get_json`."""
        ...
