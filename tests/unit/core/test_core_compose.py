"""Writing: a report comes out whatever the writer does, and sentences are said again once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from deep_research.core.compose import Composer
from deep_research.core.errors import BadAnswer, ProviderUnavailable
from deep_research.core.events import Kind
from deep_research.core.merge import Bank
from deep_research.core.model import Brief
from deep_research.core.report import Report, RunStatus, Support
from deep_research.core.seams import DraftSection, Outline, Scope, Sentence

IRON = "Iron melts at 1811 kelvin."
TIN = "Tin melts at 505 kelvin."


def composed(
    virtual: Any,
    kit: Any,
    writer: Any,
    bank: Bank | None = None,
    *,
    seconds: float | None = None,
    status: RunStatus = RunStatus.COMPLETE,
    outline: Outline = (),
) -> tuple[Report, Any]:
    stream = kit.Stream()

    async def main() -> Report:
        report = Report("run", "Q", status, "depth")
        until = None if seconds is None else asyncio.get_running_loop().time() + seconds
        composer = Composer(writer, kit.ScriptedWriter(), stream)
        await composer.compose(
            report, Brief("Q"), bank or kit.bank(IRON, TIN), Scope(), until=until, outline=outline
        )
        return report

    return virtual(main()), stream


def test_a_good_draft_is_rendered_as_it_is(virtual: Any, kit: Any) -> None:
    writer = kit.ScriptedWriter([kit.draft(IRON, TIN, title="Metals")])
    report, stream = composed(virtual, kit, writer)
    assert report.body == f"## Metals\n\n{IRON} [1] {TIN} [2]"
    assert (report.status, report.stop_reason, report.notes) == ("complete", "depth", ())
    assert (len(report.sections), len(report.claims), len(report.references)) == (1, 2, 2)
    assert stream.of(Kind.WRITING)[0].data == {"learnings": 2}
    assert writer.rewritten == []
    assert writer.outlines == [()]


def test_the_writer_is_told_the_outline(virtual: Any, kit: Any) -> None:
    writer = kit.ScriptedWriter()
    composed(virtual, kit, writer, outline=(("Metals", (1, 2)),))
    assert writer.outlines == [(("Metals", (1, 2)),)]


@pytest.mark.parametrize(
    ("writer", "seconds", "reason"),
    [
        ({"drafts": ProviderUnavailable("model down.")}, None, "model down"),
        ({"seconds": 9.0}, 5.0, "no time left"),
        (
            {"drafts": [DraftSection("x", (Sentence(" "), Sentence("It is 99.")))]},
            None,
            "cited nothing",
        ),
        ({"drafts": [DraftSection("x", (Sentence("Nice.", (7,)),))]}, None, "cited nothing"),
    ],
)
def test_a_writer_that_fails_is_replaced_and_the_report_says_so(
    writer: dict[str, Any], seconds: float | None, reason: str, virtual: Any, kit: Any
) -> None:
    report, stream = composed(virtual, kit, kit.ScriptedWriter(**writer), seconds=seconds)
    assert report.body == f"## All\n\n{IRON} [1] {TIN} [2]"
    assert report.status is RunStatus.PARTIAL
    assert report.stop_reason.startswith("writer: ")
    assert reason in report.stop_reason
    assert report.notes == (f"Written without a language model: {report.stop_reason[8:]}.",)
    assert len(stream.of(Kind.WARNING)) == 1


def test_the_research_s_own_reason_is_kept(virtual: Any, kit: Any) -> None:
    writer = kit.ScriptedWriter(ProviderUnavailable("down"))
    report, _ = composed(virtual, kit, writer, status=RunStatus.CANCELLED)
    assert (report.status, report.stop_reason) == ("cancelled", "depth")


def test_bugs_of_a_writer_stay_loud(virtual: Any, kit: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        composed(virtual, kit, kit.ScriptedWriter(ZeroDivisionError()))


WRONG = "Iron melts at 9999 kelvin in air."


def rewriting(kit: Any, *answers: Any) -> Any:
    """A writer whose draft has one wrong sentence; each rewrite takes the next answer."""
    left = list(answers)

    async def again(sentence: Sentence) -> Sentence:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return sentence
        assert isinstance(answer, Sentence)
        return answer

    draft = DraftSection("M", (Sentence(WRONG, (1,), 2), Sentence(TIN, (2,), 2)))
    return kit.ScriptedWriter([draft], again)


def test_a_sentence_that_fails_is_said_again_once_and_told_what_is_missing(
    virtual: Any, kit: Any
) -> None:
    writer = rewriting(kit, Sentence(IRON, (1,), 7))
    report, _ = composed(virtual, kit, writer)
    assert writer.rewritten == [WRONG]
    assert list(writer.told[0]) == ["9999 kelvin"] or list(writer.told[0]) == ["9999"]
    assert report.body == f"## M\n\n{IRON} [1] {TIN} [2]", "in its old paragraph"


@pytest.mark.parametrize(
    "answer",
    [
        Sentence("Iron melts at 8888 kelvin.", (1,)),
        Sentence(IRON, ()),
        Sentence(IRON, (99,)),
        Sentence(" ", (1,)),
        BadAnswer("no JSON"),
    ],
)
def test_a_rewrite_that_is_no_better_leaves_the_old_wording_marked(
    answer: Any, virtual: Any, kit: Any
) -> None:
    writer = rewriting(kit, answer)
    report, _ = composed(virtual, kit, writer)
    assert len(writer.rewritten) == 1
    assert report.claims[0].text == WRONG
    assert report.claims[0].support is Support.UNSUPPORTED
    assert report.status is RunStatus.COMPLETE


def test_a_rewrite_that_is_only_better_is_kept(virtual: Any, kit: Any) -> None:
    report, _ = composed(
        virtual, kit, rewriting(kit, Sentence("Iron melts at 1811 dollars.", (1,)))
    )
    assert report.claims[0].support is Support.PARTIAL


def test_no_time_to_rewrite_keeps_the_draft(virtual: Any, kit: Any) -> None:
    report, _ = composed(virtual, kit, rewriting(kit, 60.0), seconds=5.0)
    assert [c.support for c in report.claims] == ["unsupported", "verified", "verified"]
    assert report.status is RunStatus.COMPLETE


def test_loose_sentences_are_bound_connect_or_are_dropped(virtual: Any, kit: Any) -> None:
    texts = (Sentence(IRON), Sentence("Metals differ."), Sentence("Lead melts at 77 kelvin."))
    report, _ = composed(virtual, kit, kit.ScriptedWriter([DraftSection("M", texts)]))
    assert report.body == f"## M\n\n{IRON} [1] Metals differ."


def test_conflicts_are_shown(virtual: Any, kit: Any) -> None:
    from deep_research.core.report import Conflict

    bank = kit.bank(IRON)
    other = kit.learning("Iron melts at 1790 kelvin.")
    bank = replace(bank, conflicts=(Conflict(bank.items[0].learning, other, "newer"),))
    report, _ = composed(virtual, kit, kit.ScriptedWriter(), bank)
    assert report.sections[-1].title == "Where sources disagree"


def test_a_sentence_that_points_at_the_wrong_finding_is_bound_to_the_right_one(
    virtual: Any, kit: Any
) -> None:
    writer = kit.ScriptedWriter(
        [DraftSection("Metals", (Sentence(IRON, (2,)), Sentence(TIN, (2, 1))))]
    )
    report, _ = composed(virtual, kit, writer)
    assert report.body.startswith(f"## Metals\n\n{IRON} [1] {TIN} [2]")
    assert {claim.support for claim in report.claims} == {Support.VERIFIED}
    assert writer.rewritten == []


def test_titles_and_repetitions_are_not_sentences(virtual: Any, kit: Any) -> None:
    writer = kit.ScriptedWriter(
        [
            DraftSection("Metals", (Sentence("Metals.", (1,)), Sentence(IRON, (1,)))),
            DraftSection("Again", (Sentence(IRON.upper(), (1,)), Sentence(TIN, (2,)))),
        ]
    )
    report, _ = composed(virtual, kit, writer)
    assert report.body == f"## Metals\n\n{IRON} [1]\n\n## Again\n\n{TIN} [2]"


def test_a_finding_of_which_only_a_wrong_sentence_tells_is_told_in_its_own_words(
    virtual: Any, kit: Any
) -> None:
    wrong = Sentence("Iron melts at 1899 kelvin.", (1,))
    writer = kit.ScriptedWriter([DraftSection("Metals", (wrong, Sentence(TIN, (2,))))])
    report, _ = composed(virtual, kit, writer)
    assert report.body.index("1899") < report.body.index(IRON) < report.body.index(TIN)
    assert [c.support for c in report.claims] == ["unsupported", "verified", "verified"]


def test_a_finding_that_another_sentence_tells_is_not_told_twice(virtual: Any, kit: Any) -> None:
    wrong = Sentence("Tin and iron melt at 9 kelvin.", (1, 2))
    writer = kit.ScriptedWriter(
        [DraftSection("Metals", (wrong, Sentence(IRON, (1,)), Sentence(TIN, (2,))))]
    )
    report, _ = composed(virtual, kit, writer)
    assert report.body.count(IRON) == report.body.count(TIN) == 1
