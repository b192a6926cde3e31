"""Looks at what a run needs, and says how to mend what is missing."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from deep_research import registry
from deep_research.config import PROVIDERS, Config, ModelChoice, resolve_engines, resolve_llm
from deep_research.core.errors import ConfigError, DeepResearchError
from deep_research.core.ports import Prompt
from deep_research.runtime.http import Http
from deep_research.wiring import close_plugin, make_engine, make_model

_PATIENCE: Final = 20.0
_ROOM: Final = 256  # less, and some endpoints refuse, or a reasoning model says nothing
_OLDEST: Final = (3, 11)
_EXTRAS: Final = {"ddgs": "ddgs", "gpt_researcher": "gpt-researcher"}
_SEARCH_KEYS: Final = ("TAVILY_API_KEY",)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `text` says what to do where `level` is not 'ok'.

    A 'note' is of something that nothing needs.
    """

    level: Literal["ok", "note", "warn", "fail"]
    text: str


async def examine(config: Config) -> list[Check]:
    """Look at everything, also outside: a short call per model, a search per free engine."""
    checks = [*_python(), *_keys(config), *_runs(config)]
    checks += [check async for check in _models(config)]
    checks += [check async for check in _engines(config)]
    return checks


def _python() -> Iterator[Check]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < _OLDEST:
        yield Check("fail", f"Python {version} is too old; 3.11 or newer is needed")
    else:
        yield Check("ok", f"Python {version}")
    for module, extra in _EXTRAS.items():
        if find_spec(module):
            yield Check("ok", f"extra {extra} {metadata.version(extra)}")
        else:
            yield Check(
                "note", f"extra {extra} is not installed: pip install 'deep-research[{extra}]'"
            )


def _keys(config: Config) -> Iterator[Check]:
    """Say which keys are there; never what they are."""
    names = [provider.key for provider in PROVIDERS.values()]
    there = [name for name in (*names, *_SEARCH_KEYS) if config.secret(name)]
    yield Check("ok", f"keys in the environment: {', '.join(there) or 'none'}")


def _runs(config: Config) -> Iterator[Check]:
    folder = Path(config.report.folder or "runs")
    existing = next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
    try:
        with tempfile.TemporaryFile(dir=existing):
            yield Check("ok", f"runs can be written to {folder}")
    except OSError as error:
        yield Check("fail", f"{existing} cannot be written to ({error.strerror}): choose -o DIR")


async def _models(config: Config) -> AsyncIterator[Check]:
    try:
        choices = resolve_llm(config, registry.names("llms"))
    except ConfigError as error:
        yield Check("fail", str(error))
        return
    if not choices:
        yield Check(
            "warn",
            "no language model: research goes without one; set OPENAI_API_KEY, or"
            " OPENAI_BASE_URL for an endpoint of your own, or --llm provider:model",
        )
    for choice in dict.fromkeys(choices.values()):
        yield await _model(config, choice)


async def _model(config: Config, choice: ModelChoice) -> Check:
    try:
        async with asyncio.timeout(_PATIENCE), AsyncExitStack() as stack:
            llm = make_model(choice, config)
            stack.push_async_callback(close_plugin, llm)
            answer = await llm.complete(Prompt("reader", "", "Say yes.", max_tokens=_ROOM))
    except TimeoutError:
        return Check("fail", f"model {choice.label}: no answer within {_PATIENCE:.0f} s")
    except DeepResearchError as error:
        return Check("fail", f"model {choice.label}: {error}")
    return Check("ok", f"model {answer.model or choice.label} answers")


async def _engines(config: Config) -> AsyncIterator[Check]:
    try:
        names = resolve_engines(config)
    except ConfigError as error:
        yield Check("fail", str(error))
        return
    async with Http(
        allow_hosts=config.network.allow_hosts, user_agent=config.network.user_agent
    ) as http:
        for name in names:
            yield await _engine(config, name, http)


async def _engine(config: Config, name: str, http: Http) -> Check:
    try:
        async with asyncio.timeout(_PATIENCE), AsyncExitStack() as stack:
            engine = make_engine(name, config, http)
            stack.push_async_callback(close_plugin, engine)
            if config.secret(f"{name.upper()}_API_KEY"):
                return Check(
                    "ok", f"search engine {name} has its key (not tried: it would be billed)"
                )
            hits = await engine.search("history of science", limit=1)
    except TimeoutError:
        return Check("fail", f"search engine {name}: no answer within {_PATIENCE:.0f} s")
    except DeepResearchError as error:
        return Check("fail", f"search engine {name}: {error}")
    if name == "folder":
        problems = getattr(engine, "problems", ())
        unread = f"; {len(problems)} files cannot be read" if problems else ""
        return Check(
            "warn" if unread else "ok", f"documents are indexed: {', '.join(config.docs)}{unread}"
        )
    return Check("ok" if hits else "warn", f"search engine {name} answers with {len(hits)} hits")
