"""What a search text asks about: a name and the words still open, as in 'Hank Snow died state'."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.core.model import Brief, Page, Query, ResearchNode, Source

from . import names
from .question import Question, analyse


def follow_up(name: str, title: str, question: Question) -> Query:
    """Ask about `name`, which a page titled `title` gave, in the words that the page left open."""
    words = " ".join(question.open_words(title))
    return Query(f"{name} {words}".strip(), f"{name}: {question.text}")


def name_in(text: str, question: Question) -> str:
    """Return the key of the name that a search text made by `follow_up` begins with.

    The question's words behind it are in lower case; a name keeps its capitals.
    """
    tokens = text.split()
    content = set(question.content)
    while len(tokens) > 1 and _asks(tokens[-1], content):
        tokens.pop()
    return names.key(" ".join(tokens))


def _asks(token: str, content: set[str]) -> bool:
    return token == token.lower() and all(w in content for w in analyse(token).words)


def focus_of(node: ResearchNode, brief: Brief, titles: Sequence[str]) -> list[str]:
    """Return the keys of the names that a node asks about.

    Below the root these are the names of its search texts. At the root they are the names of the
    question: as the titles found spell them, else as it spells them itself.
    """
    question = analyse(brief.question)
    if node.path:
        return list(dict.fromkeys(name_in(text, question) for text in node.query.texts))
    titled = anchors(question, titles)
    loose = (names.key(n) for n in question.names)
    return [
        *titled,
        *(k for k in loose if not any(names.within(k, t) or names.within(t, k) for t in titled)),
    ]


def anchors(question: Question, titles: Sequence[str]) -> list[str]:
    """Return the keys of the question's names that are subjects of titles.

    The longest comes first, and none stands inside another.
    """
    found: list[str] = []
    keys = {question.names_title(title) for title in titles}
    for k in sorted(keys - {""}, key=lambda k: (-len(k), k)):
        if not any(names.within(k, other) for other in found):
            found.append(k)
    return found


def settled(node: ResearchNode, brief: Brief) -> set[str]:
    """Return the keys of all names that this node's ancestors and their branches ask about."""
    question = analyse(brief.question)
    return {name_in(text, question) for text in (*node.asked, *node.query.texts)}


def titles_of(found: Sequence[Source | Page]) -> list[str]:
    """Return the titles, in order."""
    return [x.source.title if isinstance(x, Page) else x.title for x in found]
