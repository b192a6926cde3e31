"""Watch a run through its events, as the terminal and a dashboard do.

    python examples/04_watch_events.py

The same events stand in the run's `events.jsonl` and come with `deep-research run --json`;
docs/reference/events.md lists them.
"""

import asyncio
from collections import Counter
from pathlib import Path

from deep_research import DeepResearcher, Event

CORPUS = Path(__file__).parent / "corpus"


class Dashboard:
    """Keeps one line up to date: how many nodes work at each level, and what was read."""

    def __init__(self) -> None:
        self.working: Counter[int] = Counter()
        self.pages = self.failed = 0

    async def __call__(self, event: Event) -> None:
        """Take one event in. Sync would do as well; an error here could not harm the run."""
        level = len(event.path)
        if event.kind == "node_started":
            self.working[level] += 1
        elif event.kind in {"node_finished", "node_failed"}:
            self.working[level] -= 1
        elif event.kind == "page_read":
            self.pages += 1
        elif event.kind == "page_failed":
            self.failed += 1
        else:
            return
        levels = " ".join(f"L{n}:{count}" for n, count in sorted(self.working.items()))
        print(f"{event.at:6.2f} s  {levels}  pages {self.pages}  unreadable {self.failed}")


async def main() -> None:
    researcher = DeepResearcher(
        "How was the longitude problem solved?", docs=CORPUS, on_event=Dashboard()
    )
    await researcher.write_report()
    print(f"{researcher.result.status}; all events: {researcher.folder / 'events.jsonl'}")


asyncio.run(main())
