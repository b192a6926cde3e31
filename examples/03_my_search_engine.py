"""A search engine of your own in twenty lines, used without installing anything.

    python examples/03_my_search_engine.py

A plugin is named as 'module:Class'. Here the module is this file; with the class in my_engine.py it
is `--search my_engine:Notes` on the command line. A name in the entry-point group
`deep_research.search` makes it `--search notes` for everybody who installs your package.
"""

import hashlib

import deep_research
from deep_research.core.model import Page, Source

NOTES = {
    "note:kettle": "The red kettle of the Halden workshop was made by Ada Brandt in 1911.",
    "note:brandt": "Ada Brandt learned her trade in Sorvik. She made 40 kettles, all of copper.",
    "note:sorvik": "Sorvik is a harbour town. Its copper came from a mine closed in 1932.",
}


class Notes:
    """Finds notes that share a word with the query, and serves their text itself."""

    name = "notes"

    async def search(self, query: str, *, limit: int) -> list[Source]:
        """Return at most `limit` hits, best first; an empty list if there are none."""
        words = set(query.lower().strip("?").split()) - {"who", "made", "the", "of"}
        hits = [key for key, text in NOTES.items() if words & set(text.lower().split())]
        address = "https://notes.example/"
        return [
            Source(address + key, title=key, snippet=NOTES[key], engine=self.name, rank=rank)
            for rank, key in enumerate(hits[:limit])
        ]

    def holds(self, source: Source) -> bool:
        """Say that pages of this engine are read here, not fetched from the web."""
        return source.url.startswith("https://notes.example/")

    async def read(self, source: Source) -> Page:
        """Return the text that quotes point into."""
        text = NOTES[source.url.rpartition("/")[2]]
        return Page(source, text, hashlib.sha256(text.encode()).hexdigest())


report = deep_research.run("Who made the red kettle of Halden?", engines=f"{__name__}:Notes")
print(report.body)
for reference in report.references:
    print(f"{reference.n:3}. {reference.url}")
