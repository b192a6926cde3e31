"""A small coast of invented lighthouses, a model that reads it well, and whole runs over both.

A case is one thing that goes wrong, tried on the whole engine: the model's answer to one step, the
endpoint's answer to one request, a document, a page. `lab` does the run; `Outcome` is what a user has
in hand afterwards, and `Outcome.check` what has to hold whatever went wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deep_research import wiring
from deep_research.app import Run
from deep_research.config import load
from deep_research.core.events import Event, Kind
from deep_research.core.report import Report
from deep_research.registry import check_engine
from deep_research.testing import Calls, FakeOpenAI, FakePage, FakeWeb

QUESTION = "Who built the Marram lighthouse and when?"
COAST = {
    "marram.md": (
        "# Marram lighthouse\n\n"
        "The Marram lighthouse was built in 1874 by the engineer Ida Kell.\n\n"
        "Its lamp could be seen from a distance of 31 km.\n\n"
        "Keepers lived on the Marram rock until 1962, when the light was automated.\n"
    ),
    "kell.md": (
        "# Ida Kell\n\n"
        "Ida Kell was born in Torvik in 1839 and designed 12 lighthouses on the northern coast.\n\n"
        "Her last work was the Sund bridge, which opened in 1891.\n"
    ),
    "torvik.md": (
        "# Torvik\n\n"
        "Torvik is a harbour town of 8,400 people, known for its school of engineering.\n\n"
        "The school of Torvik was founded in 1811 by the merchant Olaf Brun.\n"
    ),
}
LAMP = {
    "lamp.md": (
        "# The lamp of the Marram lighthouse\n\n"
        "The lamp of the Marram lighthouse burned 3 tonnes of oil in a year.\n\n"
        "Its lens was ground by Ansel Prior of Lund in 1873.\n\n"
        "The lighthouse has a stair of 212 steps, which was cut by hand.\n\n"
        "A storm broke the windows of the Marram lighthouse in January 1907.\n\n"
        "The bell of the lighthouse weighs 640 kg and is rung in fog.\n"
    )
}
STEPS = {
    "brief": "You prepare web research",
    "plan": "You plan research",
    "learn": "You read sources",
    "decide": "You supervise research",
    "review": "You are the critic",
    "outline": "You arrange",
    "section": "You write sections",
    "rewrite": "You correct one sentence",
}
KELL = {"topic": "Ida Kell engineer", "goal": ["who Ida Kell was"]}
LEAKS = re.compile(
    r"<think|</|◁|<\||\[THINK|Traceback|\bNone\b|\bnull\b|\bundefined\b|\bNaN\b|\{['\"]|\['|\\n|\\u[0-9a-f]{4}|```"
    r"|\[object Object\]|tool_call|followUp|researchGoal|\bS\d\b|[\x00-\x08\x0b-\x1f]"
)


def reached(step: str) -> dict[str, Any]:
    """Settings with which a run comes to `step`: not every planner and every bank needs each."""
    match step:
        case "plan":
            return {"planner": "tree"}
        case "outline":  # so many findings that one section will not do
            return {"planner": "tree", "docs": COAST | LAMP}
        case _:
            return {}


@dataclass(frozen=True)
class Asked:
    """One request to the model: its step, its prompt, and the numbered lines in it.

    `told` is what its calls brought in this conversation so far.
    """

    step: str
    system: str
    user: str
    body: Mapping[str, Any]
    key: str = ""
    told: Sequence[str] = ()

    def block(self, tag: str) -> str:
        """What stands between tags; '' if nothing does."""
        found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", self.user, re.DOTALL)
        return found[1] if found else ""

    @property
    def tools(self) -> bool:
        """Whether there is anything to call."""
        return bool(self.body.get("tools"))

    @property
    def lines(self) -> list[tuple[int, str]]:
        return [(int(n), t) for n, t in re.findall(r"^\[(\d+)\]\n(.+)$", self.user, re.MULTILINE)]

    def number(self, words: str) -> int:
        """The number of the line that contains `words`."""
        return next((n for n, text in self.lines if words in text), 1)


def good(asked: Asked) -> Any:  # noqa: PLR0911 - one for each step
    """What a model says that reads well and invents nothing."""
    lines = asked.lines
    match asked.step:
        case "brief":
            return {"scope": "", "language": "en", "outline": ["Builder"], "queries": [QUESTION]}
        case "plan":
            return {"queries": [{"query": "Ida Kell engineer", "goal": "who Ida Kell was"}]}
        case "learn":
            return {"learnings": [{"text": t, "evidence": [n]} for n, t in lines], "follow_ups": []}
        case "decide":
            if "Ida Kell engineer" in asked.block("reminder"):
                return Calls(("ResearchComplete", {"why": "answered", "reason": "all is known"}))
            return Calls(("ConductResearch", KELL))
        case "outline" | "review":
            return {"sections": [{"title": "The builder", "evidence": [n for n, _ in lines]}]}
        case "section":
            said = [(n, t.partition(" (The source:")[0]) for n, t in lines]
            return {"sentences": [{"text": t, "evidence": [n], "paragraph": 1} for n, t in said]}
        case _:
            n, text = lines[0]
            return {"text": text.partition(" (The source:")[0], "evidence": [n]}


def called(calls: Calls, tools: bool = True) -> dict[str, Any]:
    """A chat completion that calls tools; where there are none, its text is all there is."""
    made = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in calls.numbered(0)
    ]
    if not tools:
        return completion(calls.text)
    return completion(calls.text or None, message_tool_calls=made, finish_reason="tool_calls")


def completion(content: Any, **more: Any) -> dict[str, Any]:
    """A chat completion in JSON; `more` overwrites parts of the whole, message_… of the message."""
    message = {"role": "assistant", "content": content}
    message |= {k.removeprefix("message_"): v for k, v in more.items() if k.startswith("message_")}
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish_reason", "stop")}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    whole = {"id": "c", "object": "chat.completion", "model": "fake-model", "usage": usage}
    rest = {k: v for k, v in more.items() if not k.startswith("message_")}
    return {**whole, "choices": [choice], **rest}


Say = Any
"""Text, JSON, `Calls` or a `FakePage`; a function of `Asked` that gives one; a list of these, in turn."""


class Endpoint(FakeOpenAI):
    """An endpoint that answers as `good` does, except the steps in `said`."""

    def __init__(self, said: Mapping[str, Say]) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.said = {k: list(v) if isinstance(v, list) else [v] for k, v in said.items()}
        self.asked: list[Asked] = []
        self.route("/v1/chat/completions", self.answer)

    def answer(self, request: Any) -> FakePage:
        body = request.json()
        said = [n for n, m in enumerate(body["messages"]) if m["role"] == "assistant"]
        texts = [str(m.get("content") or "") for m in body["messages"]]
        first = said[0] if said else len(texts)
        whole = "\n".join(texts[:first])
        step = next((s for s, words in STEPS.items() if words in whole), "?")
        asked = Asked(
            step,
            texts[0] if first > 1 else "",
            texts[first - 1],
            body,
            request.headers.get("Authorization", ""),
            [t for t, m in zip(texts, body["messages"], strict=True) if m["role"] == "tool"],
        )
        self.asked.append(asked)
        turns = self.said.get(step) or self.said.get("*") or [good]
        say = turns.pop(0) if len(turns) > 1 else turns[0]
        answer = say(asked) if callable(say) else say
        answer = good(asked) if answer is None else answer
        if isinstance(answer, FakePage):
            return answer
        if isinstance(answer, Calls):
            return FakePage(called(answer, asked.tools))
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return FakePage(completion(text))

    def count(self, step: str) -> int:
        return sum(a.step == step for a in self.asked)


@dataclass
class Outcome:
    """What a user has in hand after a run."""

    report: Report
    folder: Path
    events: Sequence[Event]
    endpoint: Endpoint | None
    waits: list[float] = field(default_factory=list)

    @property
    def markdown(self) -> str:
        """The report in words: what comes after the references are the run's own figures."""
        text = (self.folder / "report.md").read_text("utf-8")
        return re.split(r"^## (?:How it went|Usage)$", text, maxsplit=1, flags=re.MULTILINE)[0]

    @property
    def json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.folder / "report.json").read_text("utf-8"))
        return data

    @property
    def queries(self) -> list[str]:
        """What the branches of the root asked."""
        assert self.report.tree
        return [child.query.text for child in self.report.tree.children]

    @property
    def nodes(self) -> int:
        """How many queries were researched, the root's included."""
        assert self.report.tree
        return sum(1 for _ in self.report.tree.walk())

    @property
    def learned(self) -> list[str]:
        return [x.text for x in self.report.learnings if x.evidence]

    @property
    def warnings(self) -> list[str]:
        return [str(e.data["message"]) for e in self.events if e.kind is Kind.WARNING]

    def check(self) -> None:
        """What has to hold whatever went wrong: bound quotes, known numbers, nothing leaked."""
        data = self.json
        texts = {p.stem: p.read_bytes().decode() for p in self.folder.glob("sources/*")}
        pages = {r["n"]: r["sha256"] for r in data["references"]}
        cited = [(pages[c["reference"]], c) for x in data["claims"] for c in x["citations"]]
        for sha, place in [
            *cited,
            *((e["sha256"], e) for x in data["learnings"] for e in x["evidence"]),
        ]:
            assert texts[sha][place["start"] : place["end"]] == place["quote"]
        assert {c["reference"] for x in data["claims"] for c in x["citations"]} == set(pages)
        marked = {int(n) for n in re.findall(r"\[(\d+)\]", data["body"])}
        assert marked == set(pages), "every reference is cited, and nothing else is"
        assert sorted(pages) == list(range(1, len(pages) + 1))
        learned = "\n".join(x["text"] for x in data["learnings"] if self.endpoint)
        shown = "\n".join((data["body"], learned, *self.queries, *data["gaps"]))
        leak = LEAKS.search(shown)
        assert leak is None, (
            f"{leak} leaked: {shown[max(0, leak.start() - 60) : leak.end() + 60]!r}"
        )
        assert data["stop_reason"].strip()
        assert bool(data["body"].strip()) == bool(pages)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Do a whole run: `said` by the model (None: no model at all), over `docs`, with settings.

    `reach` names a step that has to be asked something.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    async def do(
        said: Mapping[str, Say] | None,
        *,
        docs: Mapping[str, str | bytes] = COAST,
        question: str = QUESTION,
        key: str = "sk-test",
        address: Callable[[str], str] | None = None,
        approver: object = None,
        clarifier: object = None,
        reach: str = "",
        **settings: Any,
    ) -> Outcome:
        settings = reached(reach) | settings
        docs = settings.pop("docs", docs)
        for name, text in docs.items():
            path = tmp_path / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        waits: list[float] = []

        async def wait(seconds: float) -> None:
            waits.append(seconds)

        monkeypatch.setattr(wiring, "Gate", partial(wiring.Gate, sleep=wait))
        given = {"breadth": 3, "depth": 1, **({"docs": [str(tmp_path / "docs")]} if docs else {})}
        events: list[Event] = []

        async def research(**model: Any) -> tuple[Report, Path]:
            config = load(arguments={**given, **model, **settings}, check=check_engine)
            run = Run(question, config, emit=events.append, approver=approver, clarifier=clarifier)
            return await run.execute(), run.folder

        if said is None:
            endpoint = None
            report, folder = await research(llm="none")
        else:
            endpoint = Endpoint(said)
            async with endpoint:
                monkeypatch.setenv("OPENAI_API_KEY", key)
                if "models.base_url" not in settings:
                    url = address(endpoint.url()) if address else endpoint.base_url
                    monkeypatch.setenv("OPENAI_BASE_URL", url)
                report, folder = await research()
            assert not reach or endpoint.count(reach), f"nothing was asked of {reach!r}"
        return Outcome(report, folder, events, endpoint, waits)

    return do


# --- the web: a search endpoint and pages of one's own -----------------------

BRIDGE = "How long is the Zephyr bridge at Orlin?"
FACT = "The Zephyr bridge at Orlin is 4,321 metres long."
MORE = (
    " It was opened by the harbour board in May 1998 after six years of work on the piers."
    " Two tolls pay for the lamps and the painting of its cables."
)


def bridge_page(text: str = FACT + MORE, title: str = "Zephyr bridge", head: str = "") -> str:
    """An HTML page that answers `BRIDGE`."""
    return f"<html><head><title>{title}</title>{head}</head><body><p>{text}</p></body></html>"


@dataclass
class Found:
    """What a user has in hand after a run over a `FakeWeb`."""

    report: Report
    folder: Path
    events: Sequence[Event]
    web: FakeWeb

    @property
    def body(self) -> str:
        return self.report.body

    @property
    def failures(self) -> str:
        return "\n".join(f"{f.kind}: {f.message}" for f in self.report.failures)

    @property
    def warnings(self) -> str:
        return "\n".join(str(e.data["message"]) for e in self.events if e.kind is Kind.WARNING)

    @property
    def cited(self) -> list[str]:
        """Paths (or whole addresses elsewhere) of the references."""
        return [r.url.removeprefix(self.web.url()) for r in self.report.references]

    def check(self) -> None:
        """What has to hold whatever went wrong: bound quotes, a reason, nothing unread cited."""
        texts = {p.stem: p.read_bytes().decode() for p in self.folder.glob("sources/*")}
        data = json.loads((self.folder / "report.json").read_text("utf-8"))
        pages = {r["n"]: r["sha256"] for r in data["references"]}
        for claim in data["claims"]:
            for c in claim["citations"]:
                assert texts[pages[c["reference"]]][c["start"] : c["end"]] == c["quote"]
        assert data["stop_reason"].strip()
        shown = (self.folder / "report.md").read_text("utf-8")
        assert data["body"].strip() or "> Nothing was found" in shown or "> Failed" in shown
        assert "Traceback" not in shown
        assert data["body"].strip() or not data["references"]


def served(web: FakeWeb, pages: Mapping[str, Any], hits: Any = None) -> FakeWeb:
    """Let `web` serve `pages` (by path) and find all of them, or `hits` (a function of the web)."""
    for path, answers in pages.items():
        if callable(answers):
            web.route(path, answers)
        else:
            web.page(path, *(answers if isinstance(answers, list) else [answers]))
    given = hits(web) if callable(hits) else hits
    if given is None:
        given = [{"href": web.url(path)} for path in pages if not path.startswith("/-")]
    answers = given if isinstance(given, tuple) else (given,)
    web.page("/-search", *(a if isinstance(a, FakePage) else FakePage(a) for a in answers))
    return web


@pytest.fixture
def surf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Do a whole run over a web of one's own: `pages` by path, what the endpoint finds, settings."""
    from deep_research.runtime.http import Http

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(wiring, "Http", partial(Http, retry_delay=0.0))

    async def at_once(_seconds: float) -> None:
        """Wait for nothing."""

    monkeypatch.setattr(wiring, "Gate", partial(wiring.Gate, sleep=at_once))

    async def do(
        pages: Mapping[str, Any] | None = None,
        hits: Any = None,
        *,
        question: str = BRIDGE,
        **settings: Any,
    ) -> Found:
        async with FakeWeb() as web:
            served(web, {"/page": bridge_page()} if pages is None else pages, hits)
            given = {
                "breadth": 1,
                "depth": 1,
                "llm": "none",
                "search.engines": "http",
                "search.http.url": web.url("/-search"),
                "network.allow_hosts": "127.0.0.1",
            }
            settings = {k: v(web) if callable(v) else v for k, v in settings.items()}
            events: list[Event] = []
            config = load(arguments={**given, **settings}, check=check_engine)
            run = Run(question, config, emit=events.append)
            found = Found(await run.execute(), run.folder, events, web)
            found.check()
            return found

    return do
