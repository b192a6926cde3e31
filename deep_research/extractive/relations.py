"""Words for one relation: a question asks for the 'mother', a page says 'daughter of'."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from deep_research.core.text import stem

_FAMILIES: Final = (
    "mother father parent daughter son child children born sibling brother sister grandfather",
    "husband wife spouse married marry widow widower wed consort partner",
    "director directed direct film filmmaker",
    "performer performed perform sing singer sung song record recorded album single artist band",
    "composer composed compose music score opera soundtrack",
    "author wrote written write writer novel book play poem story",
    "producer produced produce production",
    "death die died dead buried killed",
    "country state city county located location region province district town village capital",
    "birth born birthplace birthday native",
    "university school educated attend attended study studied graduate graduated alma college",
    "found founded founder establish established create created creator invented inventor",
    "company own owned owner parent subsidiary manufacture manufacturer developer developed made",
    "team club play played player football",
    "publish published publisher",
    "award won prize winner",
    "citizen citizenship national nationality",
    "use used uses application applied",
    "cause caused effect lead led result due",
    "cost price expensive cheap dollar euro",
)
_GROUPS: Final = tuple(frozenset(stem(w) for w in family.split()) for family in _FAMILIES)
_ROOT: Final = 5


@lru_cache(maxsize=1024)
def kin(term: str) -> frozenset[str]:
    """Return the stems that may answer a question which asks with the stem `term`."""
    return frozenset().union(*(group for group in _GROUPS if term in group)) - {term}


def akin(asked: str, said: str) -> bool:
    """Tell whether two stems speak of one thing: one relation, or the same long beginning."""
    if said in kin(asked):
        return True
    return len(said) >= _ROOT and len(asked) >= _ROOT and said[:_ROOT] == asked[:_ROOT]
