"""Every setting once: name, type, default, bounds, sentence; all other views come from here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PrivateAttr, field_validator

from .kinds import Extra, Language, Paths, Prices, Text, Texts, Url, Word
from .masking import masked

MICRO: Final = 1_000_000


def _setting(default: Any, sentence: str, *, timing: bool = False, **bounds: Any) -> Any:  # noqa: ANN401 - as Field
    """One setting. `timing` ones never change what is found: they are not digested."""
    extra: dict[str, JsonValue] | None = {"timing": True} if timing else None
    return Field(default, description=sentence, json_schema_extra=extra, **bounds)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool(cls, value: object) -> object:
        """Refuse `true` as a number: pydantic would read it as 1. No section has a truth value."""
        if isinstance(value, bool):
            raise ValueError("is a truth value")  # noqa: TRY004 - pydantic collects ValueErrors only
        return value


class Tree(_Section):
    """The shape of the research tree."""

    breadth: int = _setting(4, "Branches below the question; halved at each level.", ge=1, le=32)
    depth: int = _setting(2, "Levels of the tree.", ge=1, le=8)
    concurrency: int = _setting(
        4, "Nested researchers at work at the same time.", ge=1, le=256, timing=True
    )
    min_breadth: int = _setting(2, "Halving stops at this breadth.", ge=1, le=32)
    queries_per_branch: int | None = _setting(
        None,
        "Search texts of one branch; null is 4 where a supervisor packs them with a model, else 2.",
        ge=1,
        le=4,
    )


class Supervisor(_Section):
    """How the supervisor leads a run."""

    turns: int = _setting(
        5, "Times that research may be delegated from the top; 1 grows one tree.", ge=1, le=20
    )
    clarify: int = _setting(
        3, "Questions back at most, where somebody can answer; 0 asks none.", ge=0, le=5
    )
    tool_calls: int = _setting(10, "Tool calls of one researcher that uses tools.", ge=1, le=50)


class Approval(_Section):
    """Whether a person approves what is searched for, and what happens without an answer."""

    ask: Literal["never", "rounds"] = _setting(
        "never", "'rounds' asks before each round of retrieval."
    )
    seconds: float | None = _setting(
        None, "Seconds to wait for an answer; null waits for ever.", gt=0, le=604_800
    )
    unanswered: Literal["approve", "stop", "reject"] = _setting(
        "stop",
        "Without an answer: approve, stop (write from what is there) or reject (cancel the run).",
    )


class Memory(_Section):
    """What earlier runs established, offered to later ones as leads to verify."""

    file: Text | None = _setting(
        None,
        "SQLite file that remembers verified claims across runs; null keeps none.",
    )


class Models(_Section):
    """The language models, as 'provider:model'; 'none' researches without one."""

    planner: Text | None = _setting(None, "Model that plans; null for the writer's.")
    reader: Text | None = _setting(None, "Model that reads pages; null for the writer's.")
    writer: Text | None = _setting(None, "Model that writes; null for any other that is named.")
    base_url: Url | None = _setting(None, "Address of an OpenAI-compatible endpoint.")
    temperature: float | None = _setting(
        None, "Sampling temperature; null for the model's own.", ge=0, le=2
    )
    reasoning_effort: Word | None = _setting(
        None, "How long a reasoning model may think, for instance 'low'; null for its own."
    )
    context: int | None = _setting(
        None, "Tokens that the model can read; null finds out.", ge=1000, le=10_000_000
    )
    timeout: float = _setting(
        300.0, "Seconds that one model call may take.", gt=0, le=86_400, timing=True
    )
    prices: Prices = _setting({}, "Per model: USD per million tokens [in, out].")
    extra: Extra = _setting({}, "Further parameters of every model request.")


class Search(_Section):
    """Where to search. A section of an engine's own name holds its options: search.searxng.url."""

    # Sections of engines; checked against the engine's class by whoever loads.
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, Any]]

    engines: Texts | None = _setting(None, "Search engines; null chooses what is at hand.")
    results: int = _setting(10, "Hits asked of each engine for a query.", ge=1, le=100)
    include_domains: Texts = _setting((), "Only pages of these domains count.")
    exclude_domains: Texts = _setting((), "Pages of these domains never count.")

    def options(self, engine: str) -> Mapping[str, Any]:
        """Return what is set for `engine` by its own section."""
        return (self.__pydantic_extra__ or {}).get(engine, {})


class Reading(_Section):
    """How pages are read."""

    pages_per_query: int = _setting(6, "Pages read for one query.", ge=1, le=50)
    timeout: float = _setting(20.0, "Seconds that one page may take.", gt=0, le=600, timing=True)
    stall: float = _setting(
        6.0, "Seconds without a byte after which a page is given up.", gt=0, le=600, timing=True
    )
    tokens: int = _setting(
        6000, "Tokens of page text that the reader sees at once.", ge=500, le=200_000
    )
    max_bytes: int = _setting(
        10_000_000, "Bytes of one page, unpacked.", ge=10_000, le=1_000_000_000
    )


class Network(_Section):
    """How the outside is reached."""

    allow_hosts: Texts = _setting(
        (), "Private hosts that may be dialled, as '127.0.0.1', 'wiki.local:8080' or '10.0.0.0/8'."
    )
    user_agent: Text = _setting(
        "deep-research/0.1 (research assistant; reads pages once)", "How requests sign themselves."
    )
    per_host: int | None = _setting(
        None,
        "Requests to one host at the same time; null is 4, and no limit for allow_hosts.",
        ge=1,
        le=64,
        timing=True,
    )


class Limits(_Section):
    """How many outside calls of one kind are in flight."""

    llm: int | None = _setting(
        None, "Model calls in flight; null for tree.concurrency.", ge=1, le=256, timing=True
    )
    search: int = _setting(8, "Searches in flight.", ge=1, le=256, timing=True)
    fetch: int = _setting(16, "Page reads in flight.", ge=1, le=256, timing=True)


class Budget(_Section):
    """What a run may spend; null is without limit."""

    cost: float | None = _setting(None, "Money to spend, in USD.", ge=0)
    tokens: int | None = _setting(None, "Tokens to spend, in and out.", ge=0)
    calls: int | None = _setting(None, "Model calls to make.", ge=0)
    searches: int | None = _setting(None, "Searches to make.", ge=0)
    pages: int | None = _setting(None, "Pages to read.", ge=0)
    seconds: float | None = _setting(None, "Seconds that the whole run may take.", gt=0)
    writer_share: float = _setting(0.25, "Part of all this that is kept for writing.", ge=0, le=0.9)

    def amounts(self) -> dict[str, int]:
        """Return the limits as the core counts them: cost in micro-dollars, no seconds."""
        limits = {n: getattr(self, n) for n in ("tokens", "calls", "searches", "pages")}
        cost = None if self.cost is None else round(self.cost * MICRO)
        return {n: v for n, v in ({"cost": cost} | limits).items() if v is not None}


class ReportSettings(_Section):
    """What is written."""

    formats: Texts = _setting(
        (), "Formats besides report.md and report.json, which are always written.", timing=True
    )
    tone: str = _setting("", "Tone of the report, in a word or two.")
    language: Language | None = _setting(
        None, "Language of the report (ISO 639-1, as 'en'); null for the question's."
    )
    words: int | None = _setting(
        None, "Length to aim at; null for what the evidence carries.", ge=50, le=50_000
    )
    folder: Text | None = _setting(
        None, "Folder of the run's files; null for runs/<id>.", timing=True
    )


class Config(BaseModel):
    """The settings of one run. Make one with `load`, which keeps where each value comes from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    planner: Literal["supervisor", "tree"] = _setting(
        "supervisor", "Who decides what is researched next; 'tree' always goes to the full depth."
    )
    researcher: Text = _setting("pipeline", "Who answers one query.")
    docs: Paths = _setting((), "Folders, files or globs of local documents to search.")
    web: bool | None = _setting(
        None, "Whether to search the web; null does where there are no documents."
    )
    tree: Tree = Field(default_factory=Tree, description="The shape of the research tree.")
    supervisor: Supervisor = Field(
        default_factory=Supervisor, description="How the supervisor leads a run."
    )
    approval: Approval = Field(
        default_factory=Approval, description="Whether a person approves what is searched for."
    )
    memory: Memory = Field(default_factory=Memory, description="What earlier runs established.")
    models: Models = Field(default_factory=Models, description="The language models.")
    search: Search = Field(
        default_factory=lambda: Search.model_validate({}), description="Where to search."
    )
    reading: Reading = Field(default_factory=Reading, description="How pages are read.")
    network: Network = Field(default_factory=Network, description="How the outside is reached.")
    limits: Limits = Field(
        default_factory=Limits, description="How many calls of one kind are in flight."
    )
    budget: Budget = Field(default_factory=Budget, description="What a run may spend.")
    report: ReportSettings = Field(default_factory=ReportSettings, description="What is written.")

    _origins: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _environ: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _warnings: tuple[str, ...] = PrivateAttr(())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was accepted but has no effect, one sentence each."""
        return self._warnings

    @property
    def llm_permits(self) -> int:
        """Model calls that may be in flight."""
        return self.limits.llm or self.tree.concurrency

    @property
    def turns(self) -> int:
        """Times that research may be delegated from the top: a fixed tree grows once."""
        return 1 if self.planner == "tree" else self.supervisor.turns

    def origin(self, key: str) -> str:
        """Say where the value of `key` ('tree.breadth') comes from; 'default' if nobody set it."""
        return self._origins.get(key, "default")

    def secret(self, name: str) -> str | None:
        """Return the environment's value of a key such as 'OPENAI_API_KEY'; None if unset or blank.

        The one way to a secret: it is never part of a dump, a digest or a log.
        """
        return self._environ.get(name, "").strip() or None

    def dump(self) -> dict[str, Any]:
        """Return all settings as plain nested data; what looks like a secret is masked."""
        data: dict[str, Any] = masked(self.model_dump(mode="json"))
        return data

    def digest(self) -> str:
        """Return the SHA-256 of what can change the findings: no timing, no secrets."""
        data = self.dump()
        for name, field in type(self).model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                for key, inner in field.annotation.model_fields.items():
                    if isinstance(inner.json_schema_extra, dict):
                        del data[name][key]
        text = json.dumps(data, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()
