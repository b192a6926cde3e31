"""The tree without a model follows chains of documents that one search cannot find.

The small collection is built in; the public question sets are used where they lie beside the checkout.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "../shared/data/multihop"
SCRIPT = ROOT / "benchmarks" / "hops.py"

spec = importlib.util.spec_from_file_location("hops", SCRIPT)
assert spec
assert spec.loader
hops = importlib.util.module_from_spec(spec)
sys.modules["hops"] = hops
spec.loader.exec_module(hops)

CHAIN = [
    ("Silver Ford (film)", "Silver Ford is a 1950 film that was directed by Ilse Marn."),
    ("Ilse Marn", "Ilse Marn was a director. She was born in Tollin and died in 1980."),
    ("Tollin", "Tollin is a harbour town. It lies on the coast of the Grey Sea."),
]
QUESTION = "On which coast lies the town where the director of Silver Ford was born?"


def collection(noise=60):
    docs = [{"id": i, "title": t, "text": x} for i, (t, x) in enumerate(CHAIN)]
    for i in range(noise):
        text = f"The director of film number {i} was born on which coast? In a town that lies far away."
        docs.append({"id": len(docs), "title": f"Film {i}", "text": text})
    return docs


async def test_a_chain_of_three_is_read_to_its_end():
    """One search for the question finds the noise; the tree finds film, director and town."""
    library = await hops.research(hops.Collection(collection()), QUESTION, 12, 25)
    assert {0, 1, 2} <= set(library.read_ids)
    found = hops.Collection(collection()).search(QUESTION, 25)
    assert not {1, 2} <= {doc_id for doc_id, _, _ in found}


@pytest.mark.parametrize(("searches", "passages"), [(12, 25), (3, 5), (1, 1)])
async def test_no_more_is_searched_and_read_than_allowed(searches, passages):
    library = await hops.research(hops.Collection(collection()), QUESTION, searches, passages)
    assert 0 < library.searches <= searches
    assert 0 < len(library.read_ids) <= passages


async def test_the_same_question_reads_the_same_pages():
    first, second = [
        list((await hops.research(hops.Collection(collection()), QUESTION, 12, 25)).read_ids)
        for _ in range(2)
    ]
    assert first == second


def test_the_command_prints_both_sides(tmp_path):
    docs, questions = tmp_path / "d.jsonl", tmp_path / "q.jsonl"
    docs.write_text("\n".join(json.dumps(d) for d in collection()), encoding="utf-8")
    item = {"q": QUESTION, "gold": [0, 1, 2]}
    questions.write_text(json.dumps(item) + "\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(docs), str(questions), "--missed"],
        capture_output=True,
        text=True,
        check=True,
    )
    tree, single = run.stdout.splitlines()[1:3]
    assert "all gold read 100.0%" in tree
    assert "all gold read   0.0%" in single


@pytest.mark.skipif(not DATA.is_dir(), reason="the public question sets are not at hand")
@pytest.mark.parametrize(
    ("docs", "questions", "recall", "whole"),
    [
        ("2wiki", "2wiki_first50", 0.9, 0.8),
        ("musique_train100", "musique_train100", 0.74, 0.53),
        ("hotpot_train100", "hotpot_train100", None, None),
    ],
)
async def test_public_questions(docs, questions, recall, whole):
    """Gold passages among at most 25 read; None: no worse than one BM25 search for 25.

    The first 50 questions of each set, to be quick; the command runs them all.
    """
    result = await hops.compare(
        DATA / f"{docs}.docs.jsonl", DATA / f"{questions}.questions.jsonl", 12, 25, 50
    )
    tree, single = result["tree"], result["bm25"]
    assert result["most"][0] <= 12
    assert result["most"][1] <= 25
    assert tree.recall >= (single.recall if recall is None else recall)
    assert tree.whole >= (single.whole if whole is None else whole)
