"""Looks at what a run needs, and says how to mend what is missing."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from deep_research import registry
from deep_research.config import PROVIDERS, Config, resolve_engines, resolve_llm
from deep_research.core.errors import ConfigError, DeepResearchError
from deep_research.core.ports import LLM, Prompt, SearchEngine
from deep_research.runtime.http import Http

_PATIENCE: Final = 20.0
_OLDEST: Final = (3, 11)
_EXTRAS: Final = {"ddgs": "ddgs", "gpt_researcher": "gpt-researcher"}
_SEARCH_KEYS: Final = ("TAVILY_API_KEY",)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `text` says what to do where `level` is not 'ok'."""

    level: Literal["ok", "warn", "fail"]
    text: str


async def examine(config: Config) -> list[Check]:
    """Look at everything, also outside: one model call of one token, one search per free engine."""
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
                "ok", f"extra {extra} is not installed: pip install 'deep-research[{extra}]'"
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
        try:
            llm: LLM = registry.build(
                "llms",
                choice.plugin,
                {},
                model=choice.model,
                base_url=choice.base_url,
                api_key=choice.api_key,
                key_name=choice.key_name,
                timeout=_PATIENCE,
            )
            async with asyncio.timeout(_PATIENCE):
                answer = await llm.complete(Prompt("reader", "", "Say yes.", max_tokens=1))
        except TimeoutError:
            yield Check("fail", f"model {choice.label}: no answer within {_PATIENCE:.0f} s")
        except DeepResearchError as error:
            yield Check("fail", f"model {choice.label}: {error}")
        else:
            yield Check("ok", f"model {answer.model or choice.label} answers")


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
    key = config.secret(f"{name.upper()}_API_KEY")
    try:
        engine: SearchEngine = registry.build(
            "search",
            name,
            config.search.options(name),
            http=http,
            paths=config.docs,
            **({"api_key": key} if key else {}),
        )
        if key:
            return Check("ok", f"search engine {name} has its key (not tried: it would be billed)")
        async with asyncio.timeout(_PATIENCE):
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
