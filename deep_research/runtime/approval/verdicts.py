"""What a hook's answer means: whatever a person's function returned, checked and made one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from deep_research.core.errors import ConfigError
from deep_research.core.model import Query
from deep_research.core.ports import Proposal, Verdict
from deep_research.core.text import fold, shorten

Warn = Callable[[str], None]
"""Is told what was put right, in one sentence."""

_SHOWN: Final = 60
_FORMS: Final = "True, False, None, 'approve', 'reject', a list of queries or a Verdict"


def verdict_of(answer: object, proposal: Proposal, warn: Warn) -> Verdict | None:
    """Return what `answer` says of `proposal`; None if it is no answer.

    True or 'approve' is all of it, False or 'reject' ends the run, None is no answer. A sequence of
    `Query` or text is what may be searched for instead: a text that was proposed keeps its goal, a
    new one is its own goal, an empty sequence plans nothing more here.

    Raises:
        ConfigError: It is something else. No other text is a yes or a no: 'ok?' and 'not yet' are
            words about an answer.
    """
    if isinstance(answer, str):
        said = {"approve": True, "reject": False}.get(answer.strip().lower())
        if said is None:
            raise ConfigError(f"{_shown(answer)} is no answer: return {_FORMS}")
        answer = said
    match answer:
        case None:
            return None
        case True:
            return Verdict(proposal.queries)
        case False:
            return Verdict(rejected=True, reason="rejected")
        case Verdict(rejected=bool(rejected), reason=str(reason)):
            return Verdict(
                () if rejected else _queries(answer.queries, proposal, warn), rejected, reason
            )
        case Sequence():
            return Verdict(_queries(answer, proposal, warn))
    raise ConfigError(f"{_shown(answer)} is no answer: return {_FORMS}")


def _queries(given: object, proposal: Proposal, warn: Warn) -> tuple[Query, ...]:
    """Check queries; blank ones and repeated ones are none, and no more count than were proposed.

    A round must stay within what was announced and can be paid for.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise ConfigError(f"queries = {_shown(given)}: must be a list of queries")
    proposed = {fold(query.text): query for query in proposal.queries}
    found: dict[str, Query] = {}
    for item in given:
        query = _query(item, proposed)
        if query.text:
            found.setdefault(fold(query.text), query)
    if given and not found:
        raise ConfigError("all queries are blank; return an empty list to plan nothing more here")
    most = len(proposal.queries)
    if len(found) > most:
        warn(f"{len(found)} queries came back and {most} had been proposed: the first {most} count")
    return tuple(found.values())[:most]


def _query(item: object, proposed: Mapping[str, Query]) -> Query:
    match item:
        case str():
            text = one_line(item)
            return proposed.get(fold(text)) or Query(text, text)
        case Query(text=str(text), goal=str(goal), also=tuple(also)):
            if all(isinstance(more, str) for more in also):
                texts = tuple(filter(None, map(one_line, also)))
                return replace(item, text=one_line(text), goal=one_line(goal), also=texts)
    raise ConfigError(f"{_shown(item)} is no query: a query is a text or a Query")


def answers_of(answer: object, questions: Sequence[str], warn: Warn) -> tuple[str, ...]:
    """Return one answer per question, '' where it stays open; () if all do.

    A sequence answers in order, a mapping by question, a text alone answers a question alone.

    Raises:
        ConfigError: It is something else.
    """
    found: list[object]
    match answer:
        case None:
            return ()
        case str() if len(questions) == 1:
            found = [answer]
        case str():
            raise ConfigError(
                f"{_shown(answer)} is one text for {len(questions)} questions: return a list"
            )
        case Mapping():
            for key in answer:
                if key not in questions:
                    warn(f"{_shown(key)} was not asked")
            found = [answer.get(question) for question in questions]
        case Sequence():
            found = list(answer)
            if len(found) > len(questions):
                warn(f"{len(found)} answers to {len(questions)} questions: the first ones count")
        case _:
            raise ConfigError(
                f"{_shown(answer)} is no answer: return a list of texts, a mapping or None"
            )
    texts = [_text(found[i] if i < len(found) else "") for i in range(len(questions))]
    return tuple(texts) if any(texts) else ()


def _text(answer: object) -> str:
    if answer is None:
        return ""
    if not isinstance(answer, str):
        raise ConfigError(f"{_shown(answer)} is no answer: an answer is a text")
    return one_line(answer)


def one_line(text: str) -> str:
    """Return a text without what cannot be seen and with white space folded."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _shown(value: object) -> str:
    return shorten(repr(value), _SHOWN)
