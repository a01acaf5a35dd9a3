"""Seqs of late consumers, and acks that came before the roll call was over."""

from __future__ import annotations

from understudy.modes.renumbering import Numbering
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Seq, Stream

OUT, SIDE = Stream("out"), Stream("side")
HERE, AWAY = Consumer("here"), Consumer("away")


def ack(stream: Stream, consumer: Consumer, upto: int, epoch: int = 1) -> on.Acked:
    return on.Acked(stream, consumer, 1, Seq(upto), Epoch(epoch))


def test_a_consumer_that_is_shifted_loses_only_its_own_early_acks_of_that_stream() -> None:
    numbering = Numbering()
    for each in (ack(OUT, AWAY, 7), ack(OUT, HERE, 8), ack(SIDE, AWAY, 9)):
        numbering = numbering.with_early(each)
    shifted = numbering.shifted((OUT, AWAY), 5)
    assert set(shifted.early) == {(OUT, HERE, 1), (SIDE, AWAY, 1)}
    assert (shifted.theirs(OUT, AWAY, 10), shifted.ours(OUT, AWAY, 15)) == (15, 10)


def test_shifts_are_told_apart_by_stream_and_come_back_as_they_were() -> None:
    shifts = {(OUT, AWAY): 5, (OUT, HERE): 2, (SIDE, AWAY): 9}
    by_stream = Numbering(shifts=shifts).shifts_by_stream
    assert by_stream == {OUT: {AWAY: 5, HERE: 2}, SIDE: {AWAY: 9}}
    assert Numbering().with_shifts(by_stream).shifts == shifts


def test_of_two_early_acks_the_newest_counts_whatever_order_they_came_in() -> None:
    for first, second in (
        (ack(OUT, HERE, 9), ack(OUT, HERE, 4, 2)),
        (ack(OUT, HERE, 4, 2), ack(OUT, HERE, 9)),
    ):
        (kept,) = Numbering().with_early(first).with_early(second).early.values()
        assert (kept.epoch, kept.upto) == (2, 4)


def test_after_the_roll_call_only_acks_of_late_consumers_keep_waiting() -> None:
    numbering = Numbering().without([(OUT, AWAY)])
    settled, free = numbering.with_early(ack(OUT, AWAY, 7)).with_early(ack(OUT, HERE, 8)).settled()
    assert [each.consumer for each in free] == [HERE]
    assert set(settled.early) == {(OUT, AWAY, 1)}
