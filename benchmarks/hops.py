"""How much of what a question needs does the tree read, without any model?

    python benchmarks/hops.py DOCS.jsonl QUESTIONS.jsonl [--searches 12] [--passages 25] [--limit N]
    python benchmarks/hops.py DOCS.jsonl QUESTIONS.jsonl --turns 5

Runs the extractive tree over a closed collection for each question and counts the gold passages
among those it read. Beside it stands one BM25 search that reads the same number of passages. With
`--turns` above 1 the supervisor's rule-bound rounds follow the tree, on the same searches.

DOCS.jsonl has one passage a line, {"id", "title", "text"}; QUESTIONS.jsonl one question a line,
{"q", "gold": [ids]}. 2WikiMultihopQA, MuSiQue and HotpotQA can be brought into this form. Searching
is SQLite's FTS5 with its own bm25 (https://www.sqlite.org/fts5.html); both sides use one index.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from deep_research.core.budget import Budget
from deep_research.core.events import Event
from deep_research.core.model import Page, Query, ResearchNode, Shape, Source
from deep_research.core.pipeline import Pipeline
from deep_research.core.ports import Completion, Prompt
from deep_research.core.review import PlainCritic
from deep_research.core.rounds import Course, Rounds
from deep_research.core.seams import Scope
from deep_research.core.text import STOPWORDS
from deep_research.core.tree import Tree
from deep_research.extractive.learn import ExtractiveLearner
from deep_research.extractive.plan import ExtractivePlanner

HITS = 20
"""Hits of one search. They are titles and snippets; only what is read counts."""
PAGES_PER_QUERY = 4
SHAPE = Shape(breadth=4, depth=3, per_branch=1)
"""Few passages a step and three hops, so that a dozen searches can follow a chain to its end."""
FLOOR = {"searches": 1, "pages": 1}


class Collection:
    """Passages with a full-text index in memory."""

    def __init__(self, docs: Iterable[dict[str, Any]]) -> None:
        self.docs = {doc["id"]: doc for doc in docs}
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE passages USING "
            "fts5(id UNINDEXED, title, text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        rows = ((doc["id"], doc["title"], doc["text"]) for doc in self.docs.values())
        self._db.executemany("INSERT INTO passages VALUES (?, ?, ?)", rows)

    def search(self, query: str, limit: int) -> list[tuple[Any, str, str]]:
        """Return (id, title, snippet) of the best passages; a title counts twice."""
        words = dict.fromkeys(re.findall(r"\w+", query.lower()))
        content = [w for w in words if w not in STOPWORDS] or list(words)
        match = " OR ".join(f'"{word}"' for word in content)
        if not match:
            return []
        sql = (
            "SELECT id, title, snippet(passages, 2, '', '', '…', 40) FROM passages "
            "WHERE passages MATCH ? ORDER BY bm25(passages, 0, 2, 1) LIMIT ?"
        )
        return list(self._db.execute(sql, (match, limit)))


@dataclass(slots=True)
class Library:
    """The `Outside` of one run: searches and reads on the node's budget, keeps what was read."""

    collection: Collection
    read_ids: dict[Any, None] = field(default_factory=dict)
    searches: int = 0

    async def complete(self, prompt: Prompt, scope: Scope, step: str) -> Completion:
        """There is no model here."""
        raise NotImplementedError

    async def search(self, query: str, scope: Scope) -> Sequence[Source]:
        """Search the collection; one search of the budget."""
        scope.budget.hold({"searches": 1})
        self.searches += 1
        found = self.collection.search(query, HITS)
        return [
            Source(f"file:///{doc_id}", title, snippet, "collection", rank)
            for rank, (doc_id, title, snippet) in enumerate(found)
        ]

    async def read(self, source: Source, scope: Scope) -> Page:
        """Read a passage; one page of the budget, also if another branch has read it."""
        scope.budget.hold({"pages": 1})
        doc_id = type(next(iter(self.collection.docs)))(source.url.rpartition("/")[2])
        self.read_ids[doc_id] = None
        text = self.collection.docs[doc_id]["text"]
        return Page(source, text, hashlib.sha256(text.encode()).hexdigest())


def ignore(_: Event) -> None:
    """Nobody watches."""


async def nobody(_: Sequence[str]) -> Mapping[str, str]:
    """Nobody can be asked."""
    return {}


async def research(
    collection: Collection, question: str, searches: int, passages: int, turns: int = 1
) -> Library:
    """Grow one tree, take further turns if there are any, and return what was read."""
    library = Library(collection)
    planner = ExtractivePlanner()
    pipeline = Pipeline(library, ExtractiveLearner(), ignore, PAGES_PER_QUERY)
    spare = SHAPE.breadth if turns > 1 else 0
    tree = Tree(pipeline, planner, ignore, asyncio.Semaphore(4), FLOOR, spare)
    budget = Budget({"searches": searches, "pages": passages})
    brief = await planner.brief(question, Scope((), budget), nobody)
    first, *rest = brief.queries[: max(1, searches)]
    root = ResearchNode(Query(first, question, tuple(rest)))
    await tree.investigate(root, brief, SHAPE, budget)
    if turns > 1 and not root.failure:
        rounds = Rounds(tree, planner, PlainCritic(), ignore, turns)
        await rounds.lead(root, brief, SHAPE, budget, Course())
    return library


@dataclass(slots=True)
class Tally:
    """Recall of gold passages, and how often all of them were read."""

    recalls: list[float] = field(default_factory=list)

    def add(self, read: Iterable[Any], gold: Sequence[Any]) -> None:
        """Count one question."""
        self.recalls.append(len(set(read) & set(gold)) / len(set(gold)))

    @property
    def recall(self) -> float:
        """Mean share of a question's gold passages that were read, 0 to 1."""
        return sum(self.recalls) / (len(self.recalls) or 1)

    @property
    def whole(self) -> float:
        """Share of questions with all gold passages read, 0 to 1."""
        return sum(r == 1 for r in self.recalls) / (len(self.recalls) or 1)

    def __str__(self) -> str:
        return f"recall {self.recall:6.1%}   all gold read {self.whole:6.1%}"


def load(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


async def compare(
    docs: Path,
    questions: Path,
    searches: int,
    passages: int,
    limit: int | None,
    *,
    turns: int = 1,
) -> dict[str, Any]:
    """Run all questions; return both tallies and the mean numbers of searches and passages."""
    collection = Collection(load(docs))
    tree, single = Tally(), Tally()
    asked, read, missed = [], [], []
    for item in load(questions)[:limit]:
        library = await research(collection, item["q"], searches, passages, turns)
        tree.add(library.read_ids, item["gold"])
        found = collection.search(item["q"], passages)
        single.add([doc_id for doc_id, _, _ in found], item["gold"])
        asked.append(library.searches)
        read.append(len(library.read_ids))
        missed.append((item, [g for g in item["gold"] if g not in library.read_ids]))
    n = len(asked) or 1
    return {
        "tree": tree,
        "bm25": single,
        "questions": len(asked),
        "searches": sum(asked) / n,
        "passages": sum(read) / n,
        "most": (max(asked, default=0), max(read, default=0)),
        "missed": [(item, gone) for item, gone in missed if gone],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("docs", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--searches", type=int, default=12, help="searches a question, at most")
    parser.add_argument("--passages", type=int, default=25, help="passages read, at most")
    parser.add_argument("--limit", type=int, help="only the first N questions")
    parser.add_argument("--turns", type=int, default=1, help="turns of the supervisor; 1: the tree")
    parser.add_argument("--missed", action="store_true", help="list the questions with gold unread")
    args = parser.parse_args()
    began = time.perf_counter()
    result = asyncio.run(
        compare(
            args.docs, args.questions, args.searches, args.passages, args.limit, turns=args.turns
        )
    )
    print(f"{args.questions.name}: {result['questions']} questions, no language model")
    searches, passages = result["most"]
    print(
        f"  tree            {result['tree']}   "
        f"(mean {result['searches']:.1f} searches, {result['passages']:.1f} passages; "
        f"most {searches}, {passages})"
    )
    print(f"  one BM25 search {result['bm25']}   (1 search, {args.passages} passages)")
    print(f"  {time.perf_counter() - began:.1f} s")
    if args.missed:
        for item, gone in result["missed"]:
            print(f"  unread {gone}: {item['q']}")


if __name__ == "__main__":
    main()
