"""What a queue tells a consumer that asks for what it does not hold any more."""

from __future__ import annotations

import pytest

from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.queue import OutputQueue

DOWN = Consumer("down")


def held_from(first: int) -> OutputQueue:
    return OutputQueue.empty(Stream("out"), (DOWN,), Seq(first))


def test_without_a_renumbering_all_that_is_not_held_is_missing() -> None:
    assert held_from(50).known_until(Seq(30), None) == 30


def test_what_had_seqs_that_were_given_up_is_sent_again_and_not_missing() -> None:
    """Of 38 to 58, which were held, the first got the seq 50."""
    assert held_from(50).known_until(Seq(40), Range(Seq(38), Seq(50))) == 50


def test_who_asks_for_everything_lacks_as_many_as_were_not_held_any_more() -> None:
    assert held_from(50).known_until(Seq(0), Range(Seq(38), Seq(50))) == 12
    assert held_from(38).known_until(Seq(0), Range(Seq(38), Seq(38))) == 0


def test_what_was_trimmed_since_is_missing() -> None:
    assert held_from(60).known_until(Seq(40), Range(Seq(38), Seq(50))) == 50


def test_a_stranger_is_not_heard_and_has_not_been_replaced() -> None:
    queue, stranger = held_from(50), Consumer("stranger")
    assert queue.acked(stranger, 1, Seq(50), Epoch(1)) == queue
    assert not queue.replaced(stranger, Epoch(1))


def test_a_range_does_not_end_before_it_starts() -> None:
    assert len(Range(Seq(4), Seq(4))) == 0
    with pytest.raises(ValueError, match="ends before it starts"):
        Range(Seq(4), Seq(3))
