"""What an instance reads and serves, by how its elements are wired."""

from __future__ import annotations

from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring

SOURCE, UP, INNER, OUT = Stream("source"), Stream("up"), Stream("job.a"), Stream("job")


def test_streams_between_elements_neither_enter_nor_leave_and_sources_are_not_external() -> None:
    consumers = {"job.a": (Consumer("job"),), "job": (Consumer("down"),)}
    wiring = Wiring({"job.a": (SOURCE, UP), "job": (INNER, UP)}, consumers, replayable=frozenset({SOURCE}))
    assert (wiring.entering, wiring.external, wiring.leaving) == ((SOURCE, UP), (UP,), (OUT,))


DOWN = Consumer("down")
SIMPLE = Ledger.empty(Wiring({"job": (UP,)}, {"job": (DOWN,)}))


def made(ledger: Ledger, tuples: int) -> Ledger:
    after, _ = ledger.processed(on.Processed("job", {UP: Seq(9)}, {UP: Seq(9)}, tuples))
    return after


def test_an_empty_queue_goes_on_behind_the_end_of_an_earlier_life() -> None:
    assert SIMPLE.rebased(OUT, Seq(40)).queues[OUT].next == 40


def test_a_queue_that_holds_tuples_or_has_come_as_far_keeps_its_numbers() -> None:
    holding = made(SIMPLE, 5)
    assert holding.rebased(OUT, Seq(40)) is holding
    acked, _ = holding.acked(on.Acked(OUT, DOWN, 1, Seq(5), Epoch(1)))
    assert len(acked.queues[OUT].held) == 0
    for at in (3, 5):
        assert acked.rebased(OUT, Seq(at)) is acked


def test_a_producer_that_is_known_already_changes_nothing() -> None:
    known = SIMPLE.redirected(UP, Epoch(3))
    assert known.admits(UP, Epoch(3))
    assert not known.admits(UP, Epoch(2))
    assert known.redirected(UP, Epoch(3)) is known


def test_books_are_restored_for_the_streams_that_the_checkpoint_covers() -> None:
    side = Stream("side")
    wiring = Wiring({"job": (UP, side)}, {"job": (DOWN,)})
    held = Range(Seq(2), Seq(5))
    state = ElementState({UP: Seq(7)}, {UP: Seq(6)}, held, ended=True)
    found = Ledger.restored(wiring, Checkpoint(Epoch(1), 1, {"job": state}))
    assert (found.position(UP), set(found.filters)) == (7, {UP})
    assert (found.queues[OUT].held, found.queues[OUT].ended) == (held, True)
