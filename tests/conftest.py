"""Hygiene for every test: no network beyond this machine, no settings of whoever runs the tests."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

import pytest

# Otherwise the virtual clock's plugin makes an event loop for every sync test, which nobody closes.
asyncio.set_event_loop(None)

_SETTINGS = ("DEEP_RESEARCH_", "OPENAI_", "TAVILY_", "SEARX", "RETRIEVER", "OLLAMA_", "BREADTH")
_ENDINGS = ("_LLM", "_API_KEY", "_PROXY")


@pytest.fixture(autouse=True)
def _hygiene(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        upper = name.upper()
        if upper.startswith(_SETTINGS) or upper.endswith(_ENDINGS):
            monkeypatch.delenv(name)

    def only_here(method: str) -> Any:
        original = getattr(socket.socket, method)

        def guarded(self: socket.socket, address: Any, *rest: Any) -> Any:
            if self.family in {socket.AF_INET, socket.AF_INET6}:
                host = str(address[0])
                assert host.startswith("127.") or host in {"::1", "localhost"}, (
                    f"a test dials {address}; tests stay on this machine"
                )
            return original(self, address, *rest)

        return guarded

    for method in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, method, only_here(method))
