"""Hwang, Figure 5: one iteration of upstream backup."""

from __future__ import annotations

from understudy.modes.leadership import Role
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.watermarks import Step, StepLog, cause, newest, older

I1, I2, S, OUT = (Stream(s) for s in ("I1", "I2", "S", "O"))
NB, NC = Consumer("Nb"), Consumer("Nc")


def node() -> UpstreamBackup:
    """Na: a filter on I1 makes S; a union of S and I2 makes OUT, which Nb and Nc read."""
    wiring = Wiring({"S": (I1,), "O": (S, I2)}, {"S": (Consumer("O"),), "O": (NB, NC)})
    na = UpstreamBackup("Na", wiring, Detector.of(100, 3), interval=50)
    na.handle(on.LeaseWon(LeaseRecord("Na", "here", Epoch(1))))
    assert na.role is Role.PRIMARY
    return na


def step(na: UpstreamBackup, element: str, emitted: int, **positions: int) -> None:
    at = {Stream(s): Seq(p) for s, p in positions.items()}
    na.handle(on.Processed(element, at, at, emitted))


def ready_node() -> UpstreamBackup:
    """O[0..122] came of what precedes I1[200] and I2[100]; O[123] of I1[200] and then I2[100] was next."""
    na = node()
    step(na, "S", 150, I1=200)  # S[0..149]
    step(na, "O", 123, S=150, I2=100)  # O[0..122]
    step(na, "S", 1, I1=201)  # S[150] from I1[200]
    step(na, "O", 1, S=151, I2=100)  # O[123]
    step(na, "S", 349, I1=900)
    step(na, "O", 63, S=500, I2=257)  # O[124..186]
    return na


def test_an_iteration_trims_at_the_oldest_level_1_ack_and_maps_the_lowest_level_0_ack_to_its_cause() -> None:
    na = ready_node()
    assert na.handle(on.Acked(OUT, NB, 0, Seq(126), Epoch(1)))[0] == do.Trim(OUT, Seq(0))  # ACK(0, O, 125)
    na.handle(on.Acked(OUT, NC, 0, Seq(124), Epoch(1)))  # ACK(0, O, 123)
    na.handle(on.Acked(OUT, NB, 1, Seq(50), Epoch(1)))
    trims = na.handle(on.Acked(OUT, NC, 1, Seq(55), Epoch(1)))
    assert do.Trim(OUT, Seq(50)) in trims  # everything that precedes O[50] goes
    na.handle(on.Arrived(I1, Range(Seq(0), Seq(902)), Epoch(1)))
    na.handle(on.Arrived(I2, Range(Seq(0), Seq(258)), Epoch(1)))
    step(na, "S", 0, I1=902)
    step(na, "O", 0, S=500, I2=258)
    acks = na.handle(on.Tick(Millis(50)))
    assert do.SendAck(I1, 0, Seq(902)) in acks  # I1[901] was received, and processed
    assert do.SendAck(I2, 0, Seq(258)) in acks
    assert do.SendAck(I1, 1, Seq(200)) in acks  # cause((O, 123), I1)
    assert do.SendAck(I2, 1, Seq(100)) in acks  # cause((O, 123), I2)


def test_indicators_of_the_new_tuples_are_the_ones_of_the_figure() -> None:
    na = ready_node()
    step(na, "S", 1, I1=901)  # the filter makes S[500] from I1[900]
    step(na, "O", 1, S=501, I2=257)  # the union makes O[187] from S[500]
    step(na, "O", 1, S=501, I2=258)  # and O[188] from I2[257]
    low = {v: cause(na.logs, na.logs[OUT].find(Seq(v)).low) for v in (187, 188)}  # type: ignore[union-attr]
    assert low[187][I1] == 900
    assert low[188][I2] == 257


def test_both_acks_go_out_every_interval_and_not_more_often() -> None:
    na = ready_node()
    assert na.handle(on.Tick(Millis(0)))
    assert na.handle(on.Tick(Millis(49))) == ()
    assert na.handle(on.Tick(Millis(50)))


def test_a_tuple_with_equal_high_watermarks_is_not_duplicate() -> None:
    assert not older({I1: Seq(5)}, {I1: Seq(5)})
    assert older({I1: Seq(5), I2: Seq(3)}, {I1: Seq(6), I2: Seq(3)})
    assert not older({I1: Seq(5), I2: Seq(4)}, {I1: Seq(6), I2: Seq(3)})


def test_watermarks_pass_through_inner_elements() -> None:
    logs = {S: StepLog([Step(Seq(0), Seq(10), {I1: Seq(3)}, {I1: Seq(4)}, {I1: Seq(20)})])}
    assert cause(logs, {S: Seq(5), I2: Seq(7)}) == {S: 5, I1: 3, I2: 7}
    assert newest(logs, {S: Seq(5), I2: Seq(7)}) == {I1: 20, I2: 7}


def test_a_log_keeps_the_step_before_the_trim() -> None:
    log = StepLog(Step(Seq(i), Seq(i + 1), {}, {}, {}) for i in range(200))
    log.trim(Seq(150))
    assert log.before(Seq(150)) is not None
    assert log.find(Seq(150)) is not None
    assert log.find(Seq(10)) is None


def test_the_steps_behind_tuples_that_are_renumbered_move_with_them() -> None:
    log = StepLog(Step(Seq(i), Seq(i + 10), {}, {}, {}) for i in (0, 10, 20))
    moved = log.moved(Seq(10), Seq(100))
    assert [(step.first, step.stop) for step in moved.steps] == [(100, 110), (110, 120)]
    amid = log.moved(Seq(15), Seq(100))
    assert [(step.first, step.stop) for step in amid.steps] == [(95, 105), (105, 115)]
    assert log.moved(Seq(30), Seq(100)).steps == ()
