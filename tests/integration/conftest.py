"""What runs from question to folder share: a home of their own, documents, and a model that does as told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from deep_research.core.ports import Prompt
from deep_research.testing import FakeOpenAI, Reply, ScriptedLLM

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "How was the longitude problem solved?"
TOPICS = ("John Harrison clock", "Larcum Kendall copy", "Nevil Maskelyne moon")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory and home: runs and index files go there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def corpus() -> Path:
    return CORPUS


@pytest.fixture
def question() -> str:
    return QUESTION


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is tried again: nothing waits."""
    from functools import partial

    from deep_research import wiring

    monkeypatch.setattr(wiring, "Gate", partial(wiring.Gate, attempts=1))


@pytest.fixture
def clerk() -> Callable[..., ScriptedLLM]:
    """Make a model that answers every step from the prompt alone; `instead` answers some otherwise."""

    def make(*instead: Reply, delay: float = 0.0, cost: int | None = 0) -> ScriptedLLM:
        return ScriptedLLM(*instead, Reply(work, times=None, delay=delay), cost=cost)

    return make


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Make an OpenAI-compatible endpoint round a model; inside, it is the one that runs ask."""

    class Endpoint(FakeOpenAI):
        async def __aenter__(self) -> Self:
            await super().__aenter__()
            monkeypatch.setenv("OPENAI_BASE_URL", self.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
            return self

    return Endpoint


def work(prompt: Prompt) -> Any:  # noqa: PLR0911 - one for each step
    """Do one step like a model that reads well and invents nothing."""
    found = re.findall(r"^\[(\d+)\]\n(.+)$", prompt.user, re.MULTILINE)
    # Only a schema carries a name over the wire; a supervisor is known by its tools.
    match "decide" if any(t.name == "ConductResearch" for t in prompt.tools) else prompt.name:
        case "brief":
            return {"scope": "", "language": "en", "outline": ["The answer"], "queries": [QUESTION]}
        case "plan":
            return {"queries": [{"query": n, "goal": f"what {n} did"} for n in TOPICS]}
        case "decide" | "decision":
            new = [n for n in TOPICS if f"already asked: {n}" not in prompt.user]
            tasks = [{"topic": n, "goal": [f"what {n} did"]} for n in new]
            return {"delegate": tasks, "complete": not tasks, "why": "answered"}
        case "learnings":
            kept = [(int(n), text) for n, text in found][:6]
            names = re.findall(r"\b(?:[A-Z]\w+ ){1,2}[A-Z]\w+", " ".join(t for _, t in kept))
            return {
                "learnings": [{"text": text, "evidence": [n]} for n, text in kept],
                "follow_ups": [f"What did {name} do?" for name in dict.fromkeys(names)],
            }
        case "outline" | "review":
            ids = [int(n) for n, _ in found]
            half = len(ids) // 2
            sections = [
                {"title": "First", "evidence": ids[:half]},
                {"title": "Then", "evidence": ids[half:]},
            ]
            more = {"gaps": [], "verdict": "report"} if prompt.name == "review" else {}
            return {"sections": sections, **more}
        case "section":
            rows = [(int(n), text.partition(" (The source:")[0]) for n, text in found]
            return {"sentences": [{"text": t, "evidence": [n], "paragraph": 1} for n, t in rows]}
        case _:  # rewrite
            n, text = found[0]
            return {"text": text.partition(" (The source:")[0], "evidence": [int(n)]}
