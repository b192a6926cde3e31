"""The pages that a provider's own web search names as its sources.

Formats: `annotations` of https://platform.openai.com/docs/guides/tools-web-search (chat completions
and responses, OpenRouter alike), `citations` and `search_results` of
https://docs.perplexity.ai/api-reference/chat-completions-post (xAI and others alike).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from deep_research.core.model import Source
from deep_research.core.text import shorten
from deep_research.core.urls import canonical, same_page
from deep_research.steps._clean import tidy

ENGINE: Final = "native"
_MOST: Final = 50
_TITLE: Final = 200
_SNIPPET: Final = 1000
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def cited(body: Mapping[str, Any]) -> tuple[Source, ...]:
    """Return the web pages that an answer names, each once: cited ones first, 50 at most."""
    found: dict[str, Source] = {}
    for entry in _entries(body):
        source = _source(entry)
        if source is None:
            continue
        key = same_page(source.url)
        first = found.get(key)
        if first is None and len(found) < _MOST:
            found[key] = replace(source, rank=len(found))
        elif first is not None:
            found[key] = replace(
                first,
                title=first.title or source.title,
                snippet=first.snippet or source.snippet,
                published=first.published or source.published,
            )
    return tuple(found.values())


def _entries(body: Mapping[str, Any]) -> Iterator[object]:
    """Everything that may name a page: annotations, lists of sources, what was searched."""
    choices = [c.get("message") for c in _dicts(body.get("choices"))]
    output = _dicts(body.get("output"))
    holders = [*_dicts([*choices, body.get("message")]), *output]
    for holder in holders:
        for block in (holder, *_dicts(holder.get("content"))):
            for note in _dicts(block.get("annotations")):
                yield note.get("url_citation") or note
    for place in (body, *holders):
        for name in ("search_results", "citations"):
            yield from _list(place.get(name))
    for item in output:
        if item.get("type") == "search_results":
            yield from _list(item.get("results"))
        action = item.get("action")
        if item.get("type") == "web_search_call" and isinstance(action, dict):
            yield from (action, *_list(action.get("sources")))


def _source(entry: object) -> Source | None:
    given: Mapping[str, Any] = entry if isinstance(entry, dict) else {"url": entry}
    url = _first(given, "url", "link", "uri")
    try:
        url = canonical(url)
    except ValueError:
        return None
    if not url.startswith(("http://", "https://")):
        return None
    date = _DATE.match(_first(given, "date", "published_date", "last_updated"))
    return Source(
        url,
        shorten(tidy(_first(given, "title")), _TITLE),
        shorten(tidy(_first(given, "snippet", "content", "text")), _SNIPPET),
        ENGINE,
        published=date[0] if date else "",
    )


def _first(given: Mapping[str, Any], *names: str) -> str:
    return next((given[n] for n in names if given.get(n) and isinstance(given[n], str)), "")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]
