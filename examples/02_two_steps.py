"""Research first, look at what was found, then have the report written.

python examples/02_two_steps.py
"""

import asyncio
from collections import Counter
from pathlib import Path

from deep_research import DeepResearcher, ResearchProgress

CORPUS = Path(__file__).parent / "corpus"


def show(progress: ResearchProgress) -> None:
    """Tell where the run stands: counts are of the whole tree and never go back."""
    if progress.event and progress.event.kind == "learned":
        print(
            f"level {progress.current_depth} of {progress.total_depth},"
            f" {progress.completed_queries} of {progress.total_queries} queries done,"
            f" {progress.learnings} learnings: {progress.current_query}"
        )


async def main() -> None:
    researcher = DeepResearcher(
        "How was the longitude problem solved?", docs=CORPUS, breadth=3, depth=2
    )
    context = await researcher.conduct_research(on_progress=show)
    print(f"\n{len(context.splitlines())} findings from {len(researcher.get_source_urls())} pages")
    for source in researcher.get_research_sources()[:3]:
        print(f"- {source['title']}: {source['content'].splitlines()[0]}")

    print(f"\n{await researcher.write_report()}")
    support = Counter(claim.support for claim in researcher.result.claims)
    print("cited sentences:", ", ".join(f"{n} {word}" for word, n in support.items()))
    print(f"cost: {researcher.get_costs()} USD; files: {researcher.folder}")


asyncio.run(main())
