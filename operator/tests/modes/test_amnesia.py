"""Amnesia: what a replacement says was lost."""

from __future__ import annotations

import pytest

from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Commands
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.watermarks import Step

SOURCE, JOB, SINK = Stream("numbers"), Stream("job"), Consumer("sink:out")
WIRING = Wiring({"job": (SOURCE,)}, {"job": (SINK,)}, frozenset({SOURCE}))


def leading(name: str, epoch: int) -> tuple[Amnesia, Commands]:
    core = Amnesia(name, WIRING, Detector.of(100, 3))
    return core, core.handle(on.LeaseWon(LeaseRecord(name, "here", Epoch(epoch))))


def processed(core: Amnesia, upto: int, emitted: int) -> None:
    at = {SOURCE: Seq(upto)}
    core.handle(on.Processed("job", at, at, emitted))


def losses(commands: Commands) -> list[Range]:
    return [command.missing for command in commands if isinstance(command, do.ReportLoss)]


def taken_up(core: Amnesia, start: int, mark: Step | None, newest: int) -> Commands:
    """A consumer that has `start` tuples answers, then the source is read."""
    asked = core.handle(on.Subscribed(JOB, SINK, Seq(start), Epoch(1), mark))
    assert do.ReadInput(SOURCE, None) in asked
    return core.handle(on.Resumes(SOURCE, Seq(0), Seq(newest)))


def test_the_watermark_that_comes_back_tells_what_was_lost_of_a_source() -> None:
    former, _ = leading("job-0", 1)
    processed(former, upto=10, emitted=4)
    processed(former, upto=15, emitted=2)
    core, begun = leading("job-1", 2)
    assert do.ReadInput not in {type(command) for command in begun}, "consumers are heard first"
    resumed = taken_up(core, 4, former.mark(JOB, Seq(4)), 90)
    assert losses(resumed) == [Range(Seq(10), Seq(90))]
    assert do.Skip(SOURCE, Seq(90)) in resumed
    processed(core, upto=95, emitted=3)
    assert core.ledger.queues[JOB].next == 7


def test_nothing_is_lost_where_the_source_has_not_come_further() -> None:
    former, _ = leading("job-0", 1)
    processed(former, upto=10, emitted=4)
    core, _ = leading("job-1", 2)
    assert taken_up(core, 4, former.mark(JOB, Seq(4)), 10) == ()


@pytest.mark.parametrize(("start", "found"), [(0, [Range(Seq(0), Seq(90))]), (4, [])])
def test_without_a_watermark_all_is_lost_if_nothing_came_out_and_else_nobody_knows(
    start: int, found: list[Range]
) -> None:
    core, _ = leading("job-1", 2)
    resumed = taken_up(core, start, None, 90)
    assert losses(resumed) == found
    assert do.Skip(SOURCE, Seq(90)) in resumed


def test_a_replacement_says_from_where_on_its_tuples_are_others_than_before() -> None:
    core, _ = leading("job-1", 2)
    taken_up(core, 4, None, 90)
    assert core.anew == {JOB: Seq(4)}
    first, _ = leading("job-0", 1)
    assert first.anew == {}
