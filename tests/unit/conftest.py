"""What the tests of the steps share: a scripted outside, and findings made from sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from deep_research.core.events import Event, Kind
from deep_research.core.merge import Bank, Item
from deep_research.core.model import Evidence, Learning, Path, Source
from deep_research.core.ports import Completion, Prompt
from deep_research.core.seams import Scope
from deep_research.testing import ScriptedLLM


class Outside:
    """Passes prompts to a script and keeps what the steps tell of themselves."""

    def __init__(self, *script: object) -> None:
        self.llm = ScriptedLLM(*script)  # type: ignore[arg-type]
        self.told: list[Event] = []

    async def complete(self, prompt: Prompt, scope: Scope, step: str) -> Completion:
        return await self.llm.complete(prompt)

    def emit(self, event: Event) -> None:
        self.told.append(event)

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4

    @property
    def prompts(self) -> list[Prompt]:
        return self.llm.prompts

    @property
    def user(self) -> str:
        """What the one prompt said."""
        (prompt,) = self.prompts
        return prompt.user

    @property
    def warnings(self) -> list[str]:
        return [str(e.data["message"]) for e in self.told if e.kind is Kind.WARNING]


def learn(text: str, *, url: str = "", path: Path = (), quote: str = "") -> Learning:
    """A learning whose page says just that."""
    said = quote or text
    sha256 = hashlib.sha256((url or said).encode()).hexdigest()
    source = Source(url or f"https://{sha256[:8]}.example/")
    return Learning(text, (Evidence(source, sha256, said, 0, len(said)),), path)


def made_bank(*texts: str | Learning, paths: tuple[Path, ...] = ()) -> Bank:
    found = []
    for i, text in enumerate(texts):
        path = paths[i] if paths else (i,)
        found.append(text if isinstance(text, Learning) else learn(text, path=path))
    items = tuple(Item(i, learning) for i, learning in enumerate(found, 1))
    return Bank(items, (), tuple(found))


@pytest.fixture
def outside() -> Callable[..., Outside]:
    """Make an outside that answers by a script."""
    return Outside


@pytest.fixture
def learned() -> Callable[..., Learning]:
    return learn


@pytest.fixture
def bank() -> Callable[..., Bank]:
    """Make a bank of these sentences, each on a page of its own."""
    return made_bank
