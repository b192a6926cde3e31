"""Whatever a search service answers becomes a clean list of sources here, and nowhere else."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from deep_research.core.errors import BadAnswer
from deep_research.core.model import Source
from deep_research.core.text import shorten
from deep_research.core.urls import canonical, in_domains, same_page

LIST_KEYS: Final = ("results", "data", "items", "hits", "organic", "web", "response", "search")
URL_KEYS: Final = ("url", "href", "link", "uri", "web_url", "sourceUrl", "source_url")
TITLE_KEYS: Final = ("title", "name")
TEXT_KEYS: Final = ("content", "body", "snippet", "description", "text", "raw_content")
DATE_KEYS: Final = ("publishedDate", "published_date", "published", "date", "pubdate")
_WRAPPERS: Final = ("_source", "document", "item", "page")
_ERROR_KEYS: Final = ("error", "errors", "detail", "message")
_TITLE_LIMIT: Final = 300
_SNIPPET_LIMIT: Final = 2000
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")  # ESC among them: it commands terminals
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MANY_SITES: Final = 6
_BARE = re.compile(r"(?:[\w-]+\.)+[\w-]+(?::\d+)?(?:[/?#]\S*)?")  # an address without its scheme


def to_sources(
    answer: object,
    *,
    engine: str,
    limit: int,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> list[Source]:
    """Return at most `limit` sources in the answer's order, each page once, addresses canonical.

    Args:
        answer: The service's answer: a list of hits, a mapping that holds one, nothing, or
            nonsense.
        engine: Becomes `Source.engine` and opens error messages.
        limit: Most sources to return.
        include: Domains to keep; empty keeps all.
        exclude: Domains to drop.

    Items without a usable http(s) address are dropped; missing titles and texts become ''.

    Raises:
        BadAnswer: The answer reports an error, is no list of hits at all, or none of its hits has
            an address.
    """
    found: list[Source] = []
    seen: set[str] = set()
    junk = 0
    for raw in items(answer, engine=engine):
        item = _unwrapped(raw)
        url = web_address(item)
        junk += not url
        if not url or not in_domains(url, include, exclude):
            continue
        key = same_page(url)
        if key in seen:
            continue
        seen.add(key)
        fields = item if isinstance(item, Mapping) else {}
        found.append(
            Source(
                url,
                title=shorten(plain(first(fields, TITLE_KEYS)), _TITLE_LIMIT),
                snippet=shorten(plain(first(fields, TEXT_KEYS)), _SNIPPET_LIMIT),
                engine=engine,
                rank=len(found),
                published=iso_date(first(fields, DATE_KEYS)),
            )
        )
        if len(found) >= limit:
            break
    if junk and not seen and not (include or exclude):
        raise BadAnswer(f"{engine}: {junk} hits, none with a usable address")
    return found[: max(0, limit)]


def items(answer: object, *, engine: str, depth: int = 3) -> Iterator[Any]:
    """Yield the raw hits of an answer, unwrapping mappings such as `{"results": […]}`.

    Raises:
        BadAnswer: It reports an error, or it is text, a number or a mapping without hits.
    """
    if answer is None:
        return
    if isinstance(answer, Mapping):
        if any(answer.get(key) for key in URL_KEYS):
            yield answer
            return
        named = [answer[key] for key in LIST_KEYS if key in answer] or _lists(answer)
        inner = next(iter(named), None)
        if not inner and (problem := _reported(answer, empty=bool(named))):
            raise BadAnswer(f"{engine}: {problem}")
        if depth == 0 or not named:
            keys = ", ".join(str(key) for key in list(answer)[:8]) or "none"
            raise BadAnswer(f"{engine}: the answer holds no list of results (keys: {keys})")
        yield from items(inner, engine=engine, depth=depth - 1)
        return
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise BadAnswer(f"{engine}: expected a list of results, got {shorten(repr(answer), 120)}")
    yield from answer


def _lists(answer: Mapping[Any, Any]) -> list[Any]:
    """Return the lists of objects in an answer, whatever they are called."""
    lists = [v for k, v in answer.items() if isinstance(v, list | tuple) and k not in _ERROR_KEYS]
    return [v for v in lists if v and all(isinstance(item, Mapping) for item in v)]


def _unwrapped(item: object) -> object:
    """Return a hit out of what services wrap it in, the names of its fields in small letters."""
    if not isinstance(item, Mapping) or any(item.get(key) for key in URL_KEYS):
        return item
    inner = next((item[k] for k in _WRAPPERS if isinstance(item.get(k), Mapping)), item)
    return {**inner, **{str(key).lower(): value for key, value in inner.items()}}


def _reported(answer: Mapping[Any, Any], *, empty: bool) -> str:
    """Return the error that an answer reports, '' if none: text, or a mapping that holds it.

    With an `empty` list beside it a message such as 'ok' is no error.
    """
    problem = first(answer, _ERROR_KEYS[:2] if empty else _ERROR_KEYS)
    if isinstance(problem, Mapping):
        problem = first(problem, _ERROR_KEYS) or repr(problem)
    return shorten(plain(problem) or (repr(problem) if problem else ""), 200)


def first(fields: Mapping[Any, Any], keys: Iterable[str]) -> Any:  # noqa: ANN401 - values are whatever came
    """Return the first value under `keys` that is not empty, else ''."""
    return next((fields[key] for key in keys if fields.get(key)), "")


def web_address(item: object) -> str:
    """Return the canonical http(s) address of a raw hit, or ''."""
    raw = first(item, URL_KEYS) if isinstance(item, Mapping) else item
    if isinstance(raw, bytes):
        raw = raw.decode("utf-8", "replace")
    if not isinstance(raw, str):
        return ""
    raw = raw.strip().replace("&amp;", "&")
    if raw.startswith("//"):
        raw = f"http:{raw}"  # sites that have https redirect to it
    elif _BARE.fullmatch(raw):
        raw = f"http://{raw}"
    try:
        url = canonical(raw)
    except ValueError:
        return ""
    return url if url.startswith(("http://", "https://")) else ""


def plain(value: object) -> str:
    """Return text without markup, entities and extra white space; '' for what is no text."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        value = " ".join(v for v in value if isinstance(v, str))
    if not isinstance(value, str):
        return ""
    text = html.unescape(_TAG.sub("", value)).encode("utf-8", "replace").decode()
    return " ".join(_CONTROL.sub(" ", text).split())


def iso_date(value: object) -> str:
    """Return 'YYYY-MM-DD' for an ISO or RFC 2822 date or epoch seconds; '' for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC).date().isoformat()
        except (ValueError, OverflowError, OSError):
            return ""
    if not isinstance(value, str):
        return ""
    text = value.strip()
    try:
        if match := _ISO_DATE.match(text):
            return date.fromisoformat(match.group()).isoformat()
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return ""


def cut(query: str, limit: int) -> str:
    """Return the query in one printable line, at most `limit` characters, cut between words."""
    text = " ".join("".join(c if c.isprintable() else " " for c in query).split())
    if len(text) <= limit:
        return text
    head = text[: limit + 1].rsplit(" ", 1)[0]
    return head if len(head) <= limit else text[:limit]


def with_sites(query: str, include: Sequence[str], exclude: Sequence[str]) -> str:
    """Add `site:` operators, which most web engines know; the rest is filtered afterwards."""
    sites = [f"site:{domain}" for domain in include[:_MANY_SITES]]
    wanted = f"({' OR '.join(sites)})" if len(sites) > 1 else "".join(sites)
    unwanted = [f"-site:{domain}" for domain in exclude[:_MANY_SITES]]
    return " ".join(part for part in (query, wanted, *unwanted) if part)


def query_with_sites(query: str, include: Sequence[str], exclude: Sequence[str], limit: int) -> str:
    """Cut the query so that it still fits into `limit` characters with its `site:` operators."""
    room = limit - len(with_sites("", include, exclude)) - 1
    text = cut(query, max(room, limit // 2))
    return with_sites(text, include, exclude) if text else ""
