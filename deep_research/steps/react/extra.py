"""Tools beyond search and reading, for instance those of an MCP server."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from deep_research.core.errors import DeepResearchError, ProviderError, ProviderTimeout
from deep_research.core.model import Page, Source
from deep_research.steps._clean import clean

SCHEME: Final = "tool:"
"""What begins the address of a page that a tool said."""
_SECONDS: Final = 60.0


class ExtraTool(Protocol):
    """Something that a model may call; what it says can be quoted like a page.

    `parameters` is the JSON schema of its arguments: an object.
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...

    async def call(self, arguments: Mapping[str, Any]) -> object:
        """Return text, or anything that can be JSON; an error may be of any kind."""
        ...


async def text_from(tool: ExtraTool, arguments: Mapping[str, Any]) -> str | DeepResearchError:
    """Return what a tool says as text, or why it says nothing. Never raises."""
    try:
        return await _called(tool, arguments)
    except DeepResearchError as error:
        return error


async def _called(tool: ExtraTool, arguments: Mapping[str, Any]) -> str:
    try:
        async with asyncio.timeout(_SECONDS):
            result = await tool.call(arguments)
        return clean(as_text(result)).strip()  # a strange result may raise anything, too
    except DeepResearchError:
        raise
    except TimeoutError as error:
        raise ProviderTimeout(f"{tool.name}: no answer within {_SECONDS:g} s") from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise ProviderError(f"{tool.name} cancelled itself") from error
    except Exception as error:  # tools are foreign code: an error in one must not end the run
        raise ProviderError(f"{tool.name} failed: {type(error).__name__}: {error}") from error


def as_text(result: object) -> str:
    """Return a tool's result as text: the text of content blocks, anything else as JSON.

    Blocks: https://modelcontextprotocol.io/specification/2025-06-18/server/tools#tool-result
    """
    if result is None:
        return ""
    if isinstance(result, str):
        return result
    content = result.get("content") if isinstance(result, Mapping) else None
    blocks = content if isinstance(content, list) else result
    if isinstance(blocks, list | tuple) and blocks:
        texts = [_block(block) for block in blocks]
        if None not in texts:
            return "\n".join(filter(None, texts))
    return json.dumps(result, ensure_ascii=False, default=str)


def _block(block: object) -> str | None:
    """Return the text of a content block, or None if it is something else."""
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None)
    return text if isinstance(text, str) else None


def page_of(name: str, text: str) -> Page:
    """Return what a tool said as a page; its address is 'tool:NAME'."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Page(Source(SCHEME + name, name, engine=name), text, digest)
