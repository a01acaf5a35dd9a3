"""Amnesia: what a replacement says was lost, and what a spare does."""

from __future__ import annotations

import pytest

from understudy.modes.amnesia import Amnesia
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
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
    assert core.numbering.diverged_at == {JOB: Seq(4)}
    first, _ = leading("job-0", 1)
    assert first.numbering.diverged_at == {}


# --- a spare


def spare_of(primary: Amnesia) -> Amnesia:
    core = Amnesia("job-1", WIRING, Detector.of(100, 3))
    assert primary.lease is not None
    assert core.handle(on.LeaseSeen(primary.lease)) == (do.Follow(primary.lease),)
    return core


def test_a_spare_protects_from_when_it_joins_until_it_leaves() -> None:
    core, _ = leading("job-0", 1)
    assert not core.protected
    core.handle(on.SecondaryJoined("job-1"))
    assert (core.protected, core.secondary) == (True, "job-1")
    core.handle(on.SecondaryLeft("job-7"))
    assert core.protected, "that was another"
    core.handle(on.SecondaryLeft("job-1"))
    assert (core.protected, core.secondary) == (False, None)


def test_a_spare_takes_over_like_any_replacement_and_reports_the_loss() -> None:
    former, _ = leading("job-0", 1)
    processed(former, upto=10, emitted=4)
    core = spare_of(former)
    (tried,) = core.handle(on.PeerClosed(Millis(0)))
    assert isinstance(tried, do.TryLease)
    assert tried.expected == former.lease
    lead, *begun = core.handle(on.LeaseWon(LeaseRecord("job-1", "there", Epoch(2))))
    assert isinstance(lead, do.Lead)
    assert lead.checkpoint is None
    assert begun == [], "consumers are heard first"
    core.handle(on.SecondaryJoined("job-2"))
    assert not core.protected, "who took over now would not know which seqs are taken"
    resumed = taken_up(core, 4, former.mark(JOB, Seq(4)), 90)
    assert losses(resumed) == [Range(Seq(10), Seq(90))]
    assert core.protected


def test_a_spare_takes_over_from_a_silent_primary_and_that_one_follows_without_a_spare() -> None:
    former, _ = leading("job-0", 1)
    former.handle(on.SecondaryJoined("job-1"))
    core = spare_of(former)
    core.handle(on.KeepAlive(Millis(0), Epoch(1)))
    quiet = [command for now in range(0, 1_000, 100) for command in core.handle(on.Tick(Millis(now)))]
    assert [type(command) for command in quiet] == [do.TryLease]
    stepped, *_ = former.handle(on.NewerEpoch(Epoch(2)))
    assert isinstance(stepped, do.StepDown)
    assert former.secondary is None


def test_a_spare_that_is_handed_the_state_loses_nothing() -> None:
    former, _ = leading("job-0", 1)
    processed(former, upto=10, emitted=4)
    former.handle(on.SecondaryJoined("job-1"))
    former.handle(on.MigrationRequested("job-1", "its node is drained"))
    (handed,) = former.handle(on.Paused())
    assert isinstance(handed, do.HandOver)
    core = spare_of(former)
    core.handle(on.HandedOver(handed.lease, handed.checkpoint))
    begun = core.handle(on.LeaseWon(LeaseRecord("job-1", "there", Epoch(2))))
    assert do.ReadInput(SOURCE, Seq(10)) in begun
    assert losses(begun) == []


def test_what_would_be_lost_now_is_what_no_consumer_has_anything_of() -> None:
    core, _ = leading("job-0", 1)
    processed(core, upto=10, emitted=4)
    assert core.loses_from(SOURCE) == 0, "nothing has come out yet"
    core.handle(on.Acked(JOB, SINK, 0, Seq(4), Epoch(1)))
    processed(core, upto=15, emitted=2)
    assert core.loses_from(SOURCE) == 10
    core.handle(on.Acked(JOB, SINK, 1, Seq(6), Epoch(1)))
    assert core.loses_from(SOURCE) == 15
