"""A question in, a report out in which every cited sentence can be traced to words on a saved page.

    report = await deep_research.research("…", docs=["papers/"])   # or, blocking, run("…")

    researcher = DeepResearcher("…", report_type="deep")           # in two steps, with progress
    context = await researcher.conduct_research(on_progress=callback)
    markdown = await researcher.write_report()

Importing does nothing: names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .version import __version__

if TYPE_CHECKING:
    from .api import DeepResearcher, research, run
    from .config import Config, load
    from .core.errors import ConfigError, DeepResearchError
    from .core.events import Event
    from .core.model import Evidence, Learning, Query, Source
    from .core.ports import Proposal, Verdict
    from .core.report import Report
    from .runtime.tally import ResearchProgress

_HOMES = {
    "DeepResearcher": ".api",
    "research": ".api",
    "run": ".api",
    "Config": ".config",
    "load": ".config",
    "ConfigError": ".core.errors",
    "DeepResearchError": ".core.errors",
    "Event": ".core.events",
    "Evidence": ".core.model",
    "Learning": ".core.model",
    "Query": ".core.model",
    "Source": ".core.model",
    "Proposal": ".core.ports",
    "Verdict": ".core.ports",
    "Report": ".core.report",
    "ResearchProgress": ".runtime.tally",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Config",
    "ConfigError",
    "DeepResearchError",
    "DeepResearcher",
    "Event",
    "Evidence",
    "Learning",
    "Proposal",
    "Query",
    "Report",
    "ResearchProgress",
    "Source",
    "Verdict",
    "__version__",
    "load",
    "research",
    "run",
]
