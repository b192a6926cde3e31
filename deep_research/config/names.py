"""Under which names a setting can be written, and what a misspelt one was meant to be."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from deep_research.core.errors import ConfigError

from .catalogue import PREFIX, catalogue, sections
from .masking import without_login

ROLES: Final = ("models.planner", "models.reader", "models.writer")
SOURCE: Final = ".report_source"
DOC_PATH: Final = ".doc_path"

SHORT: Final = MappingProxyType(
    {
        "llm": ROLES,
        "engines": ("search.engines",),
        "retrievers": ("search.engines",),
        "query_domains": ("search.include_domains",),
        **{
            f"max_{name}": (f"budget.{name}",)
            for name in ("cost", "tokens", "calls", "searches", "pages", "seconds")
        },
    }
)
"""Short names of ours, beside the last part of a dotted name where it is unique ('breadth')."""

FOREIGN: Final = MappingProxyType(
    {
        "fast_llm": "models.reader",
        "smart_llm": "models.writer",
        "strategic_llm": "models.planner",
        "retriever": "search.engines",
        "max_search_results_per_query": "search.results",
        "temperature": "models.temperature",
        "reasoning_effort": "models.reasoning_effort",
        "llm_kwargs": "models.extra",
        "searx_url": "search.searxng.url",
        "retriever_endpoint": "search.http.url",
        "language": "report.language",
        "total_words": "report.words",
        "tone": "report.tone",
        "user_agent": "network.user_agent",
        "max_scraper_workers": "limits.fetch",
        "report_source": SOURCE,
        "doc_path": DOC_PATH,
    }
)
"""GPT Researcher's names, in files and (in upper case) in the environment."""

IGNORED: Final = frozenset(
    """
    agent_role browse_chunk_max_length compression_threshold curate_sources embedding
    embedding_kwargs embedding_model embedding_provider fast_llm_model fast_token_limit
    image_generation_enabled image_generation_max_images image_generation_model
    image_generation_provider image_generation_style llm_provider max_content_chars
    max_iterations max_subtopics mcp_allowed_root_paths mcp_auto_tool_selection mcp_servers
    mcp_strategy memory_backend prompt_family report_format report_type scraper
    scraper_rate_limit_delay similarity_threshold smart_llm_model smart_token_limit
    strategic_token_limit summary_token_limit verbose
    """.split()  # noqa: SIM905 - a list of forty quoted words reads worse
)
"""GPT Researcher's names that have no meaning here: accepted, and listed as such."""

ENGINES: Final = MappingProxyType({"searx": "searxng", "duckduckgo": "ddgs", "custom": "http"})
"""GPT Researcher's names of search engines that are called otherwise here."""

_SECRET: Final = re.compile(r"(^|[_.])(api_?key|key|secret|password|token)$")


def normal(key: object) -> str:
    """Return a key as it is looked up: lower case, dashes as underscores.

    The name of a plugin as 'module:Class' stays as Python spells it.
    """
    text = str(key).strip()
    if ":" in text:
        section, dot, rest = text.partition(".")
        return f"search.{rest}" if dot and section.lower() == "search" else text
    return text.lower().replace("-", "_")


def parts_of(key: str) -> list[str]:
    """Split a dotted key: the name of a plugin as 'module:Class' may hold dots and is one part."""
    if ":" not in key:
        return key.split(".")
    section, _, rest = key.partition(".")
    engine, _, option = rest.rpartition(".")
    return [section, engine, option]


def is_option(key: str) -> bool:
    """Tell whether a key is a search engine's option: search.<engine>.<option>."""
    section, *rest = parts_of(key)
    return section == "search" and len(rest) == 2 and all(rest)  # noqa: PLR2004 - engine, option


def is_secret(key: str) -> bool:
    """Tell whether a normalised key names something that belongs in the environment only."""
    return _SECRET.search(key) is not None


def keys_of(key: str) -> tuple[str, ...]:
    """Return the dotted settings that the normalised name `key` stands for; () if it is ignored.

    Raises:
        KeyError: Nothing is called so.
    """
    key = key.removeprefix(PREFIX.lower())
    if key in catalogue():
        return (key,)
    if is_option(key):
        return (key,)
    if key in FOREIGN:
        return (FOREIGN[key],)
    if key in IGNORED:
        return ()
    return _index()[key]


@cache
def _index() -> Mapping[str, tuple[str, ...]]:
    """Short names, 'tree_breadth' for 'tree.breadth', and last parts that only one setting has."""
    keys = [key for key in catalogue() if "." in key]
    leaves = Counter(key.split(".")[1] for key in keys)
    index = {key.split(".")[1]: (key,) for key in keys if leaves[key.split(".")[1]] == 1}
    return index | {key.replace(".", "_"): (key,) for key in keys} | dict(SHORT)


def engine_option(key: str) -> tuple[str, ...]:
    """Read 'search_searxng_url' (of an environment variable) as an engine's option.

    Raises:
        KeyError: It is not of that form, or is more likely a misspelt setting.
    """
    match = re.fullmatch(r"search_([a-z0-9]+)_(\w+)", key)
    if match is None or difflib.get_close_matches(key, _index(), n=1, cutoff=0.9):
        raise KeyError(key)
    return (f"search.{match[1]}.{match[2]}",)


def variables() -> dict[str, tuple[str, ...]]:
    """Return the environment variables that set something; ours come last and override."""
    foreign = {name.upper(): (key,) for name, key in FOREIGN.items()}
    short = {PREFIX + name.upper(): keys for name, keys in _index().items()}
    return foreign | short | {s.variable: (s.key,) for s in catalogue().values()}


def unknown(raw: str, value: object, where: str) -> ConfigError:
    """Make the error for a name that nothing is called by."""
    key = normal(raw)
    candidates = [*catalogue(), *sections(), *_index(), *FOREIGN, *IGNORED]
    candidates += [PREFIX.lower() + name for name in _index()]
    near = difflib.get_close_matches(key, candidates, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0].upper() if raw.isupper() else near[0]!r}?" if near else ""
    shown = without_login(repr(value))
    return ConfigError(f"{where}: unknown setting {raw!r} (value {shown}){hint}")
