"""How a run ended and what it could not find."""

from collections import Counter

from .merge import Bank
from .model import Brief, Failure, ResearchNode, Status
from .report import RunStatus
from .text import likeness, terms

_ANSWERED = 0.34
_MOST_GAPS = 8


def outcome(root: ResearchNode, bank: Bank, *, late: bool, stopped: bool) -> tuple[RunStatus, str]:
    """Return the run's status and stop reason.

    Reasons: 'cancelled', 'deadline', 'budget', 'no_evidence', 'depth', 'no_follow_ups', 'saturated', or the kind and
    message of the failure that left nothing to report.
    """
    nodes = list(root.walk())
    budget = any(
        n.decision.stop == "budget" or (n.failure and n.failure.kind == "budget") for n in nodes
    )
    if stopped:
        return RunStatus.CANCELLED, "cancelled"
    if late:
        return (RunStatus.PARTIAL if bank.items else RunStatus.NOTHING_FOUND), "deadline"
    fatal = _fatal(root)
    if fatal and not bank.items:
        return RunStatus.FAILED, f"{fatal.kind}: {fatal.message}"
    if not bank.items:
        return RunStatus.NOTHING_FOUND, "budget" if budget else "no_evidence"
    if budget:
        return RunStatus.PARTIAL, "budget"
    if root.failure:
        return RunStatus.PARTIAL, f"{root.failure.kind}: {root.failure.message}"
    stops = Counter(n.decision.stop for n in nodes if n.decision.stop)
    return RunStatus.COMPLETE, "depth" if stops["depth"] else max(stops, key=lambda s: stops[s], default="done")


def _fatal(root: ResearchNode) -> Failure | None:
    """The failure that kept the run from finding anything: the root's own, or one that all branches share."""
    if root.failure and root.failure.kind != "budget":
        return root.failure
    branches = root.children
    failed = [n.failure for n in branches if n.failure and n.failure.kind != "budget"]
    if branches and len(failed) == len(branches):
        return failed[0]
    broken = [f for n in root.walk() for f in n.findings.failures]
    if not branches and any(f.kind in {"auth", "unavailable", "timeout", "provider"} for f in broken):
        return broken[0]
    return None


def failures(root: ResearchNode) -> tuple[Failure, ...]:
    """Return everything that failed, in tree order: pages, searches, nodes."""
    found: list[Failure] = []
    for node in root.walk():
        found.extend(node.findings.failures)
        if node.failure:
            found.append(node.failure)
    return tuple(found)


def gaps(root: ResearchNode, brief: Brief, bank: Bank) -> tuple[str, ...]:
    """Return what the report should have and has not: headings without evidence, branches that brought nothing."""
    said = [item.learning.text for item in bank.items]
    open_headings = [h for h in brief.outline if not any(_touches(h, text) for text in said)]
    barren = [
        node.query.text
        for node in root.walk()
        if node.path and not node.findings.learnings and node.status is not Status.PENDING
    ]
    return tuple(dict.fromkeys((*open_headings, *barren)))[:_MOST_GAPS]


def _touches(heading: str, text: str) -> bool:
    wanted = set(terms(heading))
    return not wanted or len(wanted & set(terms(text))) / len(wanted) >= _ANSWERED or likeness(heading, text) >= _ANSWERED
