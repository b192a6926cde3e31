"""Search results of several engines, made one list: canonical, each page once, best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from deep_research.core.model import Source
from deep_research.core.urls import canonical, same_page

_SMOOTH: Final = 60
"""Keeps one engine's first place from outweighing two engines' agreement; the paper's value."""


def usable(found: object) -> tuple[list[Source], int]:
    """Return the sources in what an engine answered, canonical, and how many items were no source.

    Raises:
        TypeError: Not a sequence of anything; the engine breaks its contract.
    """
    if found is None:
        return [], 0
    if isinstance(found, str | bytes) or not isinstance(found, Sequence):
        raise TypeError(f"answered with {type(found).__name__}, not with a list of Source")
    kept: list[Source] = []
    for item in found:
        if isinstance(item, Source) and isinstance(item.url, str):
            try:
                kept.append(replace(item, url=canonical(item.url)))
            except ValueError:
                continue  # no address that could be read or cited
    return kept, len(found) - len(kept)


def fuse(
    lists: Sequence[Sequence[Source]], accept: Callable[[Source], bool], limit: int
) -> tuple[Source, ...]:
    """Merge ranked lists by reciprocal rank fusion.

    Ties go to the better place, then to the earlier engine. What one engine leaves empty (title,
    snippet, date) is filled from the next. `rank` becomes the place in the merged list. Formula:
    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009.
    """
    merged: dict[str, Source] = {}
    scores: dict[str, float] = {}
    places: dict[str, tuple[int, int]] = {}
    for engine, hits in enumerate(lists):
        keys: set[str] = set()
        for source in hits:
            key = same_page(source.url)
            if key in keys or not accept(source):
                continue
            place = len(keys)
            keys.add(key)
            scores[key] = scores.get(key, 0.0) + 1 / (_SMOOTH + place)
            places[key] = min(places.get(key, (place, engine)), (place, engine))
            merged[key] = _filled(merged.get(key, source), source)
    order = sorted(merged, key=lambda key: (-scores[key], places[key]))
    return tuple(replace(merged[key], rank=i) for i, key in enumerate(order[:limit]))


def _filled(source: Source, other: Source) -> Source:
    return replace(
        source,
        title=source.title or other.title,
        snippet=source.snippet or other.snippet,
        published=source.published or other.published,
    )
