"""`report.json`: the whole result as data, and back again (see `docs/reference/report.md`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from deep_research.core.errors import ConfigError
from deep_research.core.model import (
    Decision,
    Evidence,
    Failure,
    Learning,
    Query,
    ResearchNode,
    Source,
    Status,
    Usage,
)
from deep_research.core.report import (
    Citation,
    Claim,
    Conflict,
    Reference,
    Report,
    Round,
    RunStatus,
    Section,
    Spent,
    Support,
)

SCHEMA: Final = 1
_MICRO: Final = 1_000_000


class JsonExporter:
    """The report as JSON, indented, in UTF-8."""

    suffix = "json"

    def export(self, report: Report) -> bytes:
        """Return the file's bytes."""
        text = json.dumps(as_dict(report), ensure_ascii=False, indent=1)
        return text.encode("utf-8", "backslashreplace") + b"\n"


def as_dict(report: Report) -> dict[str, Any]:
    """Return the report in the shape of `report.json`."""
    return {
        "schema": SCHEMA,
        "run": report.run,
        "question": report.question,
        "status": str(report.status),
        "stop_reason": report.stop_reason,
        "body": report.body,
        "sections": [asdict(section) for section in report.sections],
        "claims": [_claim(claim) for claim in report.claims],
        "references": [asdict(reference) for reference in report.references],
        "learnings": [_learning(learning) for learning in report.learnings],
        "conflicts": [
            {
                "preferred": _learning(conflict.preferred),
                "other": _learning(conflict.other),
                "reason": conflict.reason,
                "settled": conflict.settled,
            }
            for conflict in report.conflicts
        ],
        "gaps": list(report.gaps),
        "failures": [_failure(failure) for failure in report.failures],
        "tree": _node(report.tree) if report.tree else None,
        "usage": _usage(report.usage),
        "spent": [_spent(spent) for spent in report.spent],
        "rounds": [asdict(one) for one in report.rounds],
        "notes": list(report.notes),
        "config_digest": report.config_digest,
        "version": report.version,
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "text": claim.text,
        "section": claim.section,
        "support": str(claim.support),
        "missing": list(claim.missing),
        "citations": [asdict(citation) for citation in claim.citations],
    }


def _learning(learning: Learning) -> dict[str, Any]:
    return {
        "text": learning.text,
        "path": list(learning.path),
        "evidence": [
            {
                "url": e.source.url,
                "title": e.source.title,
                "published": e.source.published,
                "fetched_at": e.fetched_at,
                "sha256": e.sha256,
                "quote": e.quote,
                "start": e.start,
                "end": e.end,
                "mark": e.mark,
            }
            for e in learning.evidence
        ],
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {"path": list(failure.path), "kind": failure.kind, "message": failure.message}


def _node(node: ResearchNode) -> dict[str, Any]:
    return {
        "query": node.query.text,
        "goal": node.query.goal,
        "also": list(node.query.also),
        "path": list(node.path),
        "status": str(node.status),
        "failure": _failure(node.failure) if node.failure else None,
        "decision": {
            "delegate": [query.text for query in node.decision.delegate],
            "stop": node.decision.stop,
            "reason": node.decision.reason,
            "queued": [query.text for query in node.decision.queued],
        },
        "news": node.news,
        "usage": _usage(node.usage),
        "children": [_node(child) for child in node.children],
    }


def _spent(spent: Spent) -> dict[str, Any]:
    data = asdict(spent)
    del data["cost"]
    return {**data, "cost_usd": _usd(spent.cost)}


def _usd(cost: int | None) -> float | None:
    return None if cost is None else cost / _MICRO


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "llm_calls": usage.llm_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": _usd(usage.cost),
        "searches": usage.searches,
        "pages": usage.pages,
        "seconds": usage.seconds,
    }


def parse(data: bytes | str) -> Report:
    """Read a `report.json` back: everything but what the nodes of the tree had learned.

    Raises:
        ConfigError: It is not a report, or one of another schema.
    """
    try:
        raw = json.loads(data)
        if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
            raise ConfigError(f"is not a report of schema {SCHEMA}")
        return _report(raw)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"is not a report ({type(error).__name__}: {error})") from error


def _report(raw: Mapping[str, Any]) -> Report:
    return Report(
        run=raw["run"],
        question=raw["question"],
        status=RunStatus(raw["status"]),
        stop_reason=raw["stop_reason"],
        body=raw["body"],
        sections=tuple(Section(**section) for section in raw["sections"]),
        claims=tuple(_read_claim(claim) for claim in raw["claims"]),
        references=tuple(Reference(**reference) for reference in raw["references"]),
        learnings=tuple(_read_learning(learning) for learning in raw["learnings"]),
        conflicts=tuple(_read_conflict(conflict) for conflict in raw["conflicts"]),
        gaps=tuple(raw["gaps"]),
        failures=tuple(_read_failure(failure) for failure in raw["failures"]),
        tree=_read_node(raw["tree"]) if raw["tree"] else None,
        usage=_read_usage(raw["usage"]),
        # The first reports have neither of these.
        spent=tuple(_read_spent(spent) for spent in raw.get("spent", ())),
        rounds=tuple(_read_round(one) for one in raw.get("rounds", ())),
        notes=tuple(raw["notes"]),
        config_digest=raw["config_digest"],
        version=raw["version"],
    )


def _read_claim(raw: Mapping[str, Any]) -> Claim:
    citations = tuple(Citation(**citation) for citation in raw["citations"])
    return Claim(
        raw["text"], raw["section"], Support(raw["support"]), citations, tuple(raw["missing"])
    )


def _read_learning(raw: Mapping[str, Any]) -> Learning:
    evidence = tuple(_read_evidence(e) for e in raw["evidence"])
    return Learning(raw["text"], evidence, tuple(raw["path"]))


def _read_conflict(raw: Mapping[str, Any]) -> Conflict:
    preferred, other = _read_learning(raw["preferred"]), _read_learning(raw["other"])
    return Conflict(preferred, other, raw["reason"], raw.get("settled", False))


def _read_evidence(raw: Mapping[str, Any]) -> Evidence:
    source = Source(raw["url"], raw["title"], published=raw["published"])
    return Evidence(
        source,
        raw["sha256"],
        raw["quote"],
        raw["start"],
        raw["end"],
        raw["fetched_at"],
        raw["mark"],
    )


def _read_failure(raw: Mapping[str, Any]) -> Failure:
    return Failure(raw["kind"], raw["message"], tuple(raw["path"]))


def _read_node(raw: Mapping[str, Any]) -> ResearchNode:
    decision = raw["decision"]
    return ResearchNode(
        Query(raw["query"], raw["goal"], tuple(raw["also"])),
        tuple(raw["path"]),
        decision=Decision(
            tuple(Query(text) for text in decision["delegate"]),
            decision["stop"],
            tuple(Query(text) for text in decision.get("queued", ())),
            decision.get("reason", ""),
        ),
        news=raw.get("news", 0.0),
        children=[_read_node(child) for child in raw["children"]],
        status=Status(raw["status"]),
        failure=_read_failure(raw["failure"]) if raw["failure"] else None,
        usage=_read_usage(raw["usage"]),
    )


def _read_spent(raw: Mapping[str, Any]) -> Spent:
    return Spent(
        raw["step"],
        raw["role"],
        raw["model"],
        raw["calls"],
        raw["input_tokens"],
        raw["output_tokens"],
        _read_usd(raw["cost_usd"]),
    )


def _read_round(raw: Mapping[str, Any]) -> Round:
    return Round(
        raw["n"],
        raw["learnings"],
        raw["news"],
        raw["verdict"],
        tuple(raw["gaps"]),
        tuple(raw["delegated"]),
        raw["stop"],
        raw["reason"],
    )


def _read_usd(cost: float | None) -> int | None:
    return None if cost is None else round(cost * _MICRO)


def _read_usage(raw: Mapping[str, Any]) -> Usage:
    return Usage(
        raw["llm_calls"],
        raw["input_tokens"],
        raw["output_tokens"],
        _read_usd(raw["cost_usd"]),
        raw["searches"],
        raw["pages"],
        raw["seconds"],
    )
