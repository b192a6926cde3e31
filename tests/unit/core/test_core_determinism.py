"""The same answers in any order and at any speed give the same run.

A seeded world stands for model, search and people: what it answers depends on what it is asked
only, when it answers on chance. Everything that a run hands over has to come out alike.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import asdict, dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.budget import Budget
from deep_research.core.compose import Composer
from deep_research.core.errors import BadAnswer, ProviderUnavailable
from deep_research.core.merge import Bank
from deep_research.core.model import (
    Brief,
    Decision,
    Findings,
    Learning,
    Query,
    ResearchNode,
    Shape,
    Usage,
)
from deep_research.core.ports import Proposal, Verdict
from deep_research.core.review import onward
from deep_research.core.seams import Case, DraftSection, Outline, Review, Scope, Sentence
from deep_research.core.supervisor import Limits, Supervisor
from deep_research.core.tree import Tree

TOWNS = ("Ashford", "Barnsley", "Corby", "Dover", "Egham", "Frome")
THINGS = ("dam", "mill", "tower", "foundry")


@dataclass
class World:
    """Researcher, planner, critic, approver and writer in one.

    Attributes:
        kit: Makes learnings.
        seed: Of what is answered.
        clock: Of when.
        trouble: How likely a call fails, 0 to 1.
        price: Calls that one answer costs at most; what it costs in the end may be more.
    """

    kit: Any
    seed: int
    clock: random.Random
    trouble: float
    price: int

    async def _asked(self, scope: Scope | None, *about: object) -> random.Random:
        """Take some time and money; fail now and then; return what the answer is made from."""
        left = sorted(scope.budget.left.items()) if scope else ()
        dice = random.Random(repr((self.seed, about, left)))  # noqa: S311 - no secret
        held = {"calls": dice.randint(0, self.price)}
        if scope:
            scope.budget.hold(held)
        await asyncio.sleep(self.clock.choice((0.0, 0.0, 1.0, self.clock.random() * 9)))
        if scope:
            used = held["calls"] + dice.choice((-1, 0, 0, 1)) * bool(held["calls"])
            scope.budget.settle(held, {"calls": used})
            scope.usage.add(Usage(llm_calls=used))
        if scope and dice.random() < self.trouble:
            raise dice.choice((BadAnswer("nonsense"), ProviderUnavailable("down")))
        return dice

    def _queries(self, dice: random.Random, most: int) -> tuple[Query, ...]:
        texts = [
            f"{dice.choice(THINGS)} of {dice.choice(TOWNS)}" for _ in range(dice.randint(0, most))
        ]
        return tuple(Query(text, gain=dice.choice((0.0, 0.5, 1.0))) for text in texts)

    async def investigate(self, node: ResearchNode, brief: Brief, scope: Scope) -> Findings:
        known = [x.text for x in node.known]
        about = (node.path, node.query, known, node.asked, sorted(node.read), node.room, node.dry)
        dice = await self._asked(scope, *about, brief)
        found = []
        for _ in range(dice.randint(0, 3)):
            text = f"The {dice.choice(THINGS)} in {dice.choice(TOWNS)} is {dice.randint(1, 3)} metres high."
            found.append(self.kit.learning(text) if dice.random() < 0.9 else Learning(text))
        read = tuple(f"https://{dice.choice(TOWNS)}.example/" for _ in found)
        return Findings(tuple(found), self._queries(dice, 6), read)

    async def brief(self, question: str, scope: Scope, *_: Any) -> Brief:
        dice = await self._asked(scope, "brief", question)
        return Brief(
            question, queries=tuple(q.text for q in self._queries(dice, 2)), acceptance=TOWNS
        )

    async def decide(
        self, node: ResearchNode, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        dice = await self._asked(scope, "decide", node.path, node.findings, node.news, shape)
        wanted = (*node.findings.follow_ups, *self._queries(dice, 2))
        if node.path and dice.random() < 0.2:
            return Decision(stop="saturated", queued=wanted)
        return Decision(wanted[: dice.randint(0, 9)], queued=wanted[-2:])

    async def decide_turn(
        self, case: Case, review: Review, brief: Brief, shape: Shape, scope: Scope
    ) -> Decision:
        known = [x.text for x in case.bank.learnings]
        about = (known, case.bank.conflicts, case.turn, case.due, case.queued, case.failures)
        dice = await self._asked(scope, "turn", *about, review)
        if dice.random() < 0.1:
            return Decision(stop="answered")
        return replace(onward(case, review, shape), queued=self._queries(dice, 3))

    async def review(self, case: Case, brief: Brief, scope: Scope) -> Review:
        ids = [(item.id, item.learning.text) for item in case.bank.items]
        dice = await self._asked(scope, "review", ids, case.due, case.queued, case.failures)
        queries = self._queries(dice, 3)
        outline: Outline = (("All", tuple(i for i, _ in ids)),)
        return Review(dice.random() < 0.7, queries, tuple(q.text for q in queries), outline)

    async def approve(self, proposal: Proposal) -> Verdict:
        dice = await self._asked(None, "approve", proposal)
        kept = tuple(q for q in proposal.queries if dice.random() < 0.8)
        return Verdict((*kept, *self._queries(dice, 1)))

    async def write(
        self, brief: Brief, bank: Bank, scope: Scope, outline: Outline = ()
    ) -> tuple[DraftSection, ...]:
        dice = await self._asked(scope, "write", [x.learning.text for x in bank.items], outline)
        items = dice.sample(bank.items, len(bank.items))
        return (DraftSection("All", tuple(Sentence(i.learning.text, (i.id,)) for i in items)),)

    async def rewrite(self, sentence: Sentence, *rest: Any) -> Sentence:
        await self._asked(rest[-1], "rewrite", sentence)
        return sentence


class Plain(World):
    """Writes what the other could not; costs nothing and always works."""

    async def _asked(self, scope: Scope | None, *about: object) -> random.Random:
        return await super()._asked(None, *about)


async def picture(
    world: World, permits: int, shape: Shape, left: dict[str, int], turns: int
) -> Any:
    """Lead one run; return all that must not depend on time."""
    stream = world.kit.Stream()
    tree = Tree(world, world, stream, asyncio.Semaphore(permits), {"calls": 1}, spare=2)
    composer = Composer(world, Plain(**vars(world)), stream)
    chief = Supervisor(tree, world, composer, stream, world, world)
    limits = Limits(shape, Budget(left), turns=turns)
    done = await chief.research("Question?", limits, asyncio.Event())
    report = await chief.report("r", done)
    report.usage.seconds = 0.0
    told: dict[Any, list[Any]] = {}
    for event in stream.events:
        told.setdefault(event.path, []).append((event.kind, event.data))
    spent = report.usage.llm_calls
    assert not left or spent + done.reserve.left["calls"] == left["calls"], "every unit is there"
    return asdict(report), dict(sorted(told.items())), done.reserve.left


@given(
    seed=st.integers(0, 10**6),
    clocks=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    permits=st.tuples(st.integers(1, 16), st.integers(1, 16)),
    shape=st.builds(Shape, st.integers(1, 4), st.integers(0, 3), st.just(2), st.integers(1, 3)),
    calls=st.none() | st.integers(0, 120),
    trouble=st.sampled_from((0.0, 0.1, 0.4)),
    price=st.integers(0, 3),
    turns=st.integers(1, 5),
)
@settings(max_examples=100, deadline=None)
def test_neither_speed_nor_permits_change_anything_that_a_run_hands_over(
    virtual: Any, kit: Any, *, clocks: tuple[int, int], permits: tuple[int, int], **how: Any
) -> None:
    pictures = []
    for clock, permit in zip(clocks, permits, strict=True):
        timing = random.Random(clock)  # noqa: S311 - no secret
        world = World(kit, how["seed"], timing, how["trouble"], how["price"])
        left = {} if how["calls"] is None else {"calls": how["calls"]}
        pictures.append(virtual(picture(world, permit, how["shape"], left, how["turns"])))
    assert pictures[0] == pictures[1]


def test_the_world_reaches_every_part_of_a_run(virtual: Any, kit: Any) -> None:
    """The property above would hold of a world in which nothing happens."""
    stops, sizes, rounds, bodies, conflicts = set(), set(), set(), 0, 0
    for seed in range(40):
        world = World(kit, seed, random.Random(seed), 0.1, 2)  # noqa: S311 - no secret
        left = {"calls": 40} if seed % 2 else {}
        report, _, _ = virtual(picture(world, 4, Shape(3, 2), left, 4))
        nodes = [report["tree"]]
        for node in nodes:
            nodes.extend(node["children"])
        stops |= {node["decision"]["stop"] for node in nodes} | {report["stop_reason"]}
        sizes.add(len(nodes))
        rounds.add(len(report["rounds"]))
        bodies += bool(report["body"])
        conflicts += len(report["conflicts"])
    assert {"", "depth", "budget", "saturated"} <= stops
    assert max(sizes) > 12
    assert {1, 2, 3, 4} <= rounds
    assert bodies > 20
    assert conflicts > 20
