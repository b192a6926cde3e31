"""Outline: which finding stands in which section of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pydantic import AliasChoices, Field

from deep_research.core.merge import Bank, Item
from deep_research.core.model import Brief
from deep_research.core.ports import Prompt
from deep_research.core.seams import Outline, Outside, Scope
from deep_research.core.text import fold, likeness, shorten

from ._ask import Answer, ask
from ._prompt import DATA_RULE, assignment, bullets, data, numbered

SYSTEM: Final = f"""You arrange the findings of a research run into a report.
- sections: at most 9, in reading order, each with a short title and the numbers of the findings
  that belong in it.
- Put every finding that helps to answer the assignment into exactly one section.
{DATA_RULE}"""
EVIDENCE: Final = AliasChoices("evidence", "findings", "ids", "finding_ids", "sources", "citations")
_NO_TITLES: Final = frozenset(
    {"references", "sources", "bibliography", "works cited", "citations", "quellen", "参考文献"}
)
"""The list of references is code's; findings under such a title go elsewhere."""
_LONGEST_TITLE: Final = 120
_TOKENS: Final = 12_000


class OutlineSection(Answer):
    """A heading and what belongs under it."""

    title: str = Field(validation_alias=AliasChoices("title", "heading", "name"))
    evidence: list[int] = Field(default_factory=list, max_length=80, validation_alias=EVIDENCE)


class OutlineAnswer(Answer):
    """What the model is asked for."""

    sections: list[OutlineSection] = Field(default_factory=list, max_length=9)


async def make_outline(
    outside: Outside, count: Callable[[str], int], brief: Brief, bank: Bank, scope: Scope
) -> Outline:
    """Ask the writer model which finding of the bank stands in which section."""
    user = (
        assignment(brief)
        + bullets("headings", brief.outline)
        + numbered("findings", ((i.id, i.learning.text) for i in first(bank.items, count)))
    )
    prompt = Prompt("writer", SYSTEM, user, name="outline", max_tokens=4000)
    answer = await ask(outside, prompt, OutlineAnswer, scope, "outline")
    return arranged(answer.sections, bank)


def first(items: Iterable[Item], count: Callable[[str], int]) -> list[Item]:
    """Return the first items of a bank, as many as one prompt may show."""
    shown: list[Item] = []
    left = _TOKENS
    for item in items:
        left -= count(item.learning.text) + 4
        if left < 0:
            break
        shown.append(item)
    return shown


def arranged(sections: Iterable[OutlineSection], bank: Bank) -> Outline:
    """Return the sections that can be used: with a title of their own and findings, each once."""
    free = {item.id for item in bank.items}
    kept: list[tuple[str, tuple[int, ...]]] = []
    for section in sections:
        ids = tuple(i for i in dict.fromkeys(section.evidence) if i in free)
        title = shorten(data(section.title), _LONGEST_TITLE)
        if ids and title and fold(title).strip("#*: ") not in _NO_TITLES:
            kept.append((title, ids))
            free.difference_update(ids)
    return tuple(kept)


def placed(outline: Outline, bank: Bank, further: str) -> list[tuple[str, list[Item]]]:
    """Return sections with their items, every item of the bank in exactly one.

    What the outline left out stands beside its neighbours, or in a last section called `further`.
    """
    by_id = {item.id: item for item in bank.items}
    plan = [(title, [by_id.pop(i) for i in ids if i in by_id]) for title, ids in outline]
    rest = [item for item in by_id.values() if not _joined(item, plan)]
    return [(title, items) for title, items in (*plan, (further, rest)) if items]


def _joined(item: Item, plan: Sequence[tuple[str, list[Item]]]) -> bool:
    """Put an item where the most alike stands; tell whether there is such a place."""
    best, score = None, 0.3
    for _, items in plan:
        near = max((likeness(item.learning.text, o.learning.text) for o in items), default=0.0)
        same_node = any(other.learning.path == item.learning.path for other in items)
        if (value := near + 0.2 * same_node) > score:
            best, score = items, value
    if best is None:
        return False
    best.append(item)
    return True
