"""Checkpointing several processing elements (Zhang): synchronous, individual, sweeping."""

from __future__ import annotations

from tests.modes.test_passive_standby_roles import lease
from understudy.modes.passive_standby import PassiveStandby, Strategy
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Epoch, Millis, Seq, Stream
from understudy.protocol.ledger import Wiring

UP, INNER, OUT = Stream("up"), Stream("a"), Stream("b")
CHAIN = Wiring({"a": (UP,), "b": (INNER,)}, {"a": (Consumer("b"),), "b": (Consumer("down"),)})
FIRST = Epoch(1)


def protected(strategy: Strategy) -> PassiveStandby:
    """Element a makes a tuple of each of `up`, b of each of a. The secondary has the empty state."""
    found = PassiveStandby("j-0", CHAIN, Detector.of(100, 3), interval=500, strategy=strategy)
    found.handle(on.LeaseSeen(None))
    found.handle(on.LeaseWon(lease("j-0", 1)))
    found.handle(on.SecondaryJoined("j-1"))
    confirm(found, shipped(found.handle(on.Tick(Millis(1_000)))))
    step(found, 10)
    return found


def step(found: PassiveStandby, upto: int) -> None:
    for element, stream in (("a", UP), ("b", INNER)):
        at = {stream: Seq(upto)}
        made = upto - found.ledger.queues[Stream(element)].next
        found.handle(on.Processed(element, at, at, made))


def shipped(commands: Commands) -> Checkpoint:
    (ship,) = (c for c in commands if isinstance(c, do.Ship))
    return ship.checkpoint


def confirm(found: PassiveStandby, checkpoint: Checkpoint) -> Commands:
    return found.handle(on.CheckpointStored(FIRST, checkpoint.number))


def positions(checkpoint: Checkpoint) -> tuple[int, int]:
    return int(checkpoint.elements["a"].positions[UP]), int(checkpoint.elements["b"].positions[INNER])


def test_synchronous_takes_all_elements_at_once() -> None:
    found = protected(Strategy.SYNCHRONOUS)
    assert found.handle(on.Tick(Millis(1_400))) == ()
    assert positions(shipped(found.handle(on.Tick(Millis(1_500))))) == (10, 10)


def test_individual_takes_them_in_turn() -> None:
    found = protected(Strategy.INDIVIDUAL)
    one = shipped(found.handle(on.Tick(Millis(1_250))))
    confirm(found, one)
    step(found, 20)
    two = shipped(found.handle(on.Tick(Millis(1_500))))
    assert {positions(one), positions(two)} == {(10, 0), (10, 20)}


def test_sweeping_takes_an_element_right_after_an_ack_trimmed_its_queue() -> None:
    found = protected(Strategy.SWEEPING)
    assert found.handle(on.Tick(Millis(1_500))) == ()  # no ack, no sweep
    step(found, 15)
    checkpoint = shipped(found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(12), FIRST)))
    assert positions(checkpoint) == (0, 10)  # where the step began that made what is still needed
    assert not checkpoint.elements["b"].held  # so that no queue has to go with it


def test_sweeping_waits_while_the_step_that_was_checkpointed_last_is_needed() -> None:
    """Nothing could be released by it, and the queue would have to go with it."""
    found = protected(Strategy.SWEEPING)
    found.handle(on.Tick(Millis(1_500)))
    some = found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(8), FIRST))
    assert not any(isinstance(c, do.Ship) for c in some)
    assert positions(shipped(found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(10), FIRST)))) == (0, 10)


def test_the_sweep_runs_upstream_by_itself() -> None:
    found = protected(Strategy.SWEEPING)
    found.handle(on.Tick(Millis(1_500)))
    last = shipped(found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(10), FIRST)))
    assert do.SendAck(INNER, 1, Seq(10)) in confirm(found, last)  # processed and checkpointed by b
    first = shipped(found.handle(on.Acked(INNER, Consumer("b"), 1, Seq(10), FIRST)))
    assert positions(first) == (10, 10)
    assert len(first.elements["a"].held) == 0


def test_a_checkpoint_that_waited_for_another_is_shipped_before_the_acks_that_trim_its_queue() -> None:
    found = protected(Strategy.SWEEPING)
    step(found, 20)
    found.handle(on.Tick(Millis(1_500)))
    last = shipped(found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(15), FIRST)))
    found.handle(on.Acked(INNER, Consumer("b"), 1, Seq(10), FIRST))
    commands = confirm(found, last)
    (at,) = (n for n, c in enumerate(commands) if isinstance(c, do.Ship))
    assert at < commands.index(do.SendAck(INNER, 1, Seq(10)))


def test_a_queue_is_trimmed_only_by_what_is_processed_and_checkpointed() -> None:
    found = protected(Strategy.SWEEPING)
    found.handle(on.Tick(Millis(1_500)))
    last = shipped(found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(10), FIRST)))
    released = [c for c in confirm(found, last) if isinstance(c, do.SendAck)]
    assert do.SendAck(UP, 1, Seq(0)) in released  # a has processed ten tuples, but none of it is checkpointed


def test_an_ack_that_repeats_what_is_known_starts_no_sweep() -> None:
    found = protected(Strategy.SWEEPING)
    found.handle(on.Tick(Millis(1_500)))
    confirm(found, shipped(found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(10), FIRST))))
    step(found, 30)
    found.handle(on.Tick(Millis(2_100)))
    again = found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(10), FIRST))
    assert not any(isinstance(c, do.Ship) for c in again)
