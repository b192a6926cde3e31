"""How a run ended and what it could not find."""

from collections import Counter
from collections.abc import Iterable

from .merge import Bank
from .model import Brief, Failure, ResearchNode, Status
from .report import RunStatus
from .text import terms

_CUT_SHORT = frozenset({"not_approved", "undecided"})
_ANSWERED = 0.34
_MOST_GAPS = 8
_OUTAGES = frozenset(
    {"auth", "bad_answer", "rate_limited", "unavailable", "timeout", "provider", "journal"}
)


def outcome(
    root: ResearchNode, bank: Bank, *, late: bool, stopped: str, course: str = ""
) -> tuple[RunStatus, str]:
    """Return the run's status and stop reason.

    Reasons: `stopped` ('cancelled', 'rejected'), 'deadline', 'budget', 'no_evidence',
    'not_approved' if a person agreed to nothing that could have found something; the supervisor's
    word if it has led the run (`course`: 'answered', 'turns', 'no_gain' …); without one 'depth' if
    the tree grew as deep as it may, else the planner's most frequent word ('saturated',
    'no_follow_ups') or 'done'; or the kind and message of the failure that ended the run or left
    nothing to report.
    """
    nodes = list(root.walk())
    budget = (
        course == "budget"
        or any(n.decision.stop == "budget" for n in nodes)
        or any(f.kind == "budget" for f in failures(root))
    )
    if stopped:
        return RunStatus.CANCELLED, stopped
    if late:
        return (RunStatus.PARTIAL if bank.items else RunStatus.NOTHING_FOUND), "deadline"
    fatal = _fatal(root)
    if fatal and not bank.items:
        return RunStatus.FAILED, _told(fatal)
    if not bank.items:
        refused = "not_approved" in {root.decision.stop, course}
        reason = "not_approved" if refused else "no_evidence"
        return RunStatus.NOTHING_FOUND, "budget" if budget else reason
    ended = "budget" if budget else _told(root.failure) if root.failure else ""
    word = course or root.decision.stop
    if ended or word in _CUT_SHORT:
        return RunStatus.PARTIAL, ended or word
    return RunStatus.COMPLETE, course or _usual_stop(nodes)


def _usual_stop(nodes: Iterable[ResearchNode]) -> str:
    stops = Counter(n.decision.stop for n in nodes if n.decision.stop)
    return "depth" if stops["depth"] else max(stops, key=lambda s: stops[s], default="done")


def _fatal(root: ResearchNode) -> Failure | None:
    """Return the failure that kept the run from finding anything.

    The root's own; or, if all branches failed, the first one's; or what an outage kept from the
    root: its brief, its search, what it could learn. A page that cannot be read is no outage.
    """
    if root.failure and root.failure.kind != "budget":
        return root.failure
    branches = root.children
    failed = [n.failure for n in branches if n.failure and n.failure.kind != "budget"]
    if branches and len(failed) == len(branches):
        return failed[0]
    unsaved = [f for f in root.findings.failures if f.kind == "journal"]
    return next((f for f in (*root.mishaps, *unsaved) if f.kind in _OUTAGES), None)


def failures(root: ResearchNode) -> tuple[Failure, ...]:
    """Return everything that failed, in tree order: pages and searches (each once), nodes."""
    found: list[Failure] = []
    told: set[tuple[str, str]] = set()
    for node in root.walk():
        found.extend(node.mishaps)
        for failure in node.findings.failures:
            if (failure.kind, failure.message) not in told:
                told.add((failure.kind, failure.message))
                found.append(failure)
        if node.failure:
            found.append(node.failure)
    return tuple(found)


def _told(failure: Failure) -> str:
    return f"{failure.kind}: {failure.message}"


def gaps(
    root: ResearchNode, brief: Brief, bank: Bank, seen: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return what is missing, and the queries that no page was read for.

    Missing is what the last review has `seen`; without one, the headings without evidence.
    """
    missing = unmet(brief.outline, bank) if seen is None else seen
    barren = [
        node.query.goal or node.query.text
        for node in root.walk()
        if node.path
        and not (node.findings.learnings or node.findings.read)
        and node.status is not Status.PENDING
    ]
    return tuple(dict.fromkeys((*missing, *barren)))[:_MOST_GAPS]


def unmet(wanted: Iterable[str], bank: Bank) -> tuple[str, ...]:
    """Return what of `wanted` no citable finding touches."""
    said = [item.learning.text for item in bank.items]
    return tuple(x for x in wanted if not any(touches(x, text) for text in said))


def touches(heading: str, text: str) -> bool:
    """Tell whether a finding bears on a heading: a third of its terms."""
    wanted = set(terms(heading))
    return not wanted or len(wanted & set(terms(text))) / len(wanted) >= _ANSWERED
