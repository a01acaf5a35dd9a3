"""Upstream backup with a log of steps, event by event (Hwang §6, Table 4)."""

from __future__ import annotations

from dataclasses import replace

from tests.modes.test_passive_standby_roles import OUT, UP, WIRING, lease
from understudy.modes.logged_backup import LoggedBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring

DOWN = Consumer("down")
FIRST, SECOND = Epoch(1), Epoch(2)
INNER = Stream("job.a")
CHAIN = Wiring({"job.a": (UP,), "job": (INNER,)}, {"job.a": (Consumer("job"),), "job": (DOWN,)})


def instance(name: str, wiring: Wiring = WIRING) -> LoggedBackup:
    return LoggedBackup(name, wiring, Detector.of(100, 3), interval=50)


def step(upto: int, emitted: int = 1, took: int = 10) -> on.Processed:
    """A random filter's: it holds nothing."""
    at, to = {UP: Seq(upto - took)}, {UP: Seq(upto)}
    return on.Processed("job", to, to, emitted, choice=Determinant("job", at, to, (1,) * took))


def deliver(primary: LoggedBackup, standby: LoggedBackup, now: int) -> list[do.Command]:
    """A tick at the primary; the standby gets the log of it, and its word comes back."""
    return passed_on(primary, standby, primary.handle(on.Tick(Millis(now))))


def passed_on(
    primary: LoggedBackup, standby: LoggedBackup, commands: tuple[do.Command, ...]
) -> list[do.Command]:
    found: list[do.Command] = []
    for c in commands:
        if isinstance(c, do.ShipDeterminants):
            arrived = on.DeterminantsArrived(c.epoch, c.number, c.determinants, c.whole, c.needed)
            (word,) = standby.handle(arrived)
            assert isinstance(word, do.ConfirmDeterminants)
            found += primary.handle(on.DeterminantsStored(word.epoch, word.number))
        else:
            found.append(c)
    return found


def pair(wiring: Wiring = WIRING) -> tuple[LoggedBackup, LoggedBackup]:
    primary, standby = instance("job-0", wiring), instance("job-1", wiring)
    primary.handle(on.LeaseWon(lease("job-0", 1)))
    standby.handle(on.LeaseSeen(lease("job-0", 1)))
    standby.handle(on.KeepAlive(Millis(0), FIRST))
    passed_on(primary, standby, primary.handle(on.SecondaryJoined("job-1")))
    return primary, standby


def level1(found: LoggedBackup, now: int) -> Seq:
    (ack,) = (
        c
        for c in found.handle(on.Tick(Millis(now)))
        if isinstance(c, do.SendAck) and (c.level, c.stream) == (1, UP)
    )
    return ack.upto


def taken_over(standby: LoggedBackup, held: int, has: int, epoch: int = 2) -> tuple[do.Command, ...]:
    standby.handle(on.LeaseWon(lease("job-1", epoch)))
    standby.handle(on.Released(UP, Seq(held)))
    return standby.handle(on.Subscribed(OUT, DOWN, Seq(has), FIRST))


def test_nothing_is_sent_before_the_standby_holds_the_step_behind_it() -> None:
    primary, standby = pair()
    assert primary.handle(step(10)) == ()
    assert do.Publish(OUT, Seq(1), False) in deliver(primary, standby, 1)


def test_nobody_counts_on_a_standby_that_has_not_confirmed_the_log() -> None:
    primary, standby = instance("job-0"), instance("job-1")
    primary.handle(on.LeaseWon(lease("job-0", 1)))
    primary.handle(step(10))
    offer = primary.handle(on.SecondaryJoined("job-1"))
    assert (primary.protected, standby.could_continue()) == (False, False)
    (whole,) = (c for c in offer if isinstance(c, do.ShipDeterminants))
    assert [d.made.stop for d in whole.determinants] == [1], "what was done while it was alone"
    passed_on(primary, standby, offer)
    assert (primary.protected, standby.could_continue()) == (True, True)


def test_a_take_over_takes_the_logged_choices_and_gives_the_logged_seqs() -> None:
    primary, standby = pair()
    for n in (1, 2, 3):
        primary.handle(step(10 * n, 4))
        deliver(primary, standby, n)
    skip, choose, number = taken_over(standby, held=0, has=5)
    assert skip == do.Skip(UP, Seq(10), "job")
    assert isinstance(choose, do.Choose)
    assert [d.at for d in choose.determinants] == [{UP: 10}, {UP: 20}]
    assert number == do.Number("job", Seq(4), {UP: Seq(10)})


def test_who_lacks_nothing_of_the_log_is_served_from_its_end() -> None:
    primary, standby = pair()
    primary.handle(step(10, 4))
    deliver(primary, standby, 1)
    assert taken_over(standby, held=0, has=4) == (
        do.Skip(UP, Seq(10), "job"),
        do.Choose(()),
        do.Number("job", Seq(4), {UP: Seq(10)}),
    )


def test_a_replay_begins_where_a_step_began_that_has_all_the_state() -> None:
    """The third step needs input from 15 on: that is in the middle of the second."""
    primary, standby = pair()
    for upto, selection in ((10, 5), (20, 15), (30, 25)):
        primary.handle(on.Processed("job", {UP: Seq(upto)}, {UP: Seq(selection)}, 4))
        deliver(primary, standby, upto)
    skip, choose, number = taken_over(standby, held=0, has=9)
    assert skip == do.Skip(UP, Seq(10), "job")
    assert choose == do.Choose(()), "nothing was left to chance"
    assert number == do.Number("job", Seq(8), {UP: Seq(20)}), "what the second step makes again is dropped"


def test_elements_inside_begin_where_what_is_read_of_them_was_made() -> None:
    primary, standby = pair(CHAIN)
    for n in (1, 2, 3):
        primary.handle(on.Processed("job.a", {UP: Seq(10 * n)}, {UP: Seq(10 * n)}, 5))
        primary.handle(on.Processed("job", {INNER: Seq(5 * n)}, {INNER: Seq(5 * n - 2)}, 1))
        deliver(primary, standby, n)
    commands = taken_over(standby, held=0, has=2)
    assert do.Skip(INNER, Seq(5), "job") in commands, "the third step needs input from 8 on, amid the second"
    assert do.Skip(UP, Seq(10), "job.a") in commands
    assert do.Number("job", Seq(2), {INNER: Seq(10)}) in commands
    assert do.Number("job.a", Seq(5), {UP: Seq(10)}) in commands


def test_elements_that_share_a_stream_begin_at_places_of_their_own() -> None:
    """`job` reads the input and `job.a`; it had come less far on the input than `job.a`."""
    shared = Wiring({"job.a": (UP,), "job": (UP, INNER)}, {"job.a": (Consumer("job"),), "job": (DOWN,)})
    primary, standby = pair(shared)
    for n in (1, 2, 3):
        primary.handle(on.Processed("job.a", {UP: Seq(10 * n)}, {UP: Seq(10 * n)}, 5))
        at = {UP: Seq(7 * n), INNER: Seq(5 * n)}
        primary.handle(on.Processed("job", at, at, 12))
        deliver(primary, standby, n)
    primary.handle(on.Acked(OUT, DOWN, 0, Seq(24), FIRST))
    assert level1(primary, 100) == 14, "as far as the hindmost of them"
    commands = taken_over(standby, held=14, has=24)
    assert do.Skip(UP, Seq(14), "job") in commands
    assert do.Skip(UP, Seq(20), "job.a") in commands
    assert do.Skip(INNER, Seq(10), "job") in commands
    assert do.Number("job", Seq(24), {UP: Seq(14), INNER: Seq(10)}) in commands
    assert do.Number("job.a", Seq(10), {UP: Seq(20)}) in commands
    assert standby.ledger.position(UP) == standby.ledger.received(UP) == 14


def test_input_is_released_by_steps_that_the_standby_holds() -> None:
    primary, standby = pair()
    primary.handle(step(10))
    deliver(primary, standby, 1)
    primary.handle(on.Acked(OUT, DOWN, 0, Seq(1), FIRST))
    primary.handle(step(20, emitted=0))
    assert level1(primary, 100) == 10
    primary.handle(on.DeterminantsStored(FIRST, 3))
    assert level1(primary, 200) == 20, "a step that makes nothing moves it on, too"


def test_the_log_goes_no_further_back_than_a_replay_can_begin() -> None:
    primary, standby = pair()
    for n in range(1, 50):
        primary.handle(step(10 * n))
        deliver(primary, standby, 100 * n)
        primary.handle(on.Acked(OUT, DOWN, 0, Seq(n), FIRST))
    assert max(len(primary.log.steps), len(standby.log.steps)) < 4


def test_a_primary_that_loses_its_standby_fences_it_off_before_it_goes_on() -> None:
    primary, _ = pair()
    assert primary.handle(step(10)) == ()
    (fence,) = primary.handle(on.SecondaryLeft("job-1"))
    assert isinstance(fence, do.TryLease)
    assert primary.handle(step(20)) == ()
    assert primary.handle(on.LeaseWon(lease("job-0", 2))) == (do.Publish(OUT, Seq(2), False),)
    assert primary.handle(step(30)) == (do.Publish(OUT, Seq(3), False),)


def test_who_joins_while_the_lost_one_is_fenced_off_gets_the_log_after_that() -> None:
    primary, _ = pair()
    primary.handle(on.SecondaryLeft("job-1"))
    primary.handle(step(10))
    (again,) = primary.handle(on.SecondaryJoined("job-2"))
    assert isinstance(again, do.TryLease)
    *_, whole = primary.handle(on.LeaseWon(lease("job-0", 2)))
    assert isinstance(whole, do.ShipDeterminants)
    assert (whole.epoch, whole.whole, len(whole.determinants)) == (SECOND, True, 1)


def test_an_older_log_does_not_count() -> None:
    """The primary took the Lease anew since, and has been alone."""
    _, standby = pair()
    standby.handle(on.KeepAlive(Millis(10), SECOND))
    assert not standby.could_continue()
    primary, late = pair()
    primary.handle(step(10, 4))
    deliver(primary, late, 1)
    assert do.Number("job", Seq(4), None, as_new=True) in taken_over(late, held=0, has=4, epoch=3)


def test_without_the_log_all_is_sent_as_new_tuples() -> None:
    alone = instance("job-1")
    alone.handle(on.LeaseSeen(lease("job-0", 1)))
    commands = taken_over(alone, held=20, has=5)
    assert commands == (do.Number("job", Seq(5), None, as_new=True),)


def test_a_standby_that_missed_a_part_of_the_log_joins_anew() -> None:
    _, standby = pair()
    down, again = standby.handle(on.DeterminantsArrived(FIRST, 3, ()))
    assert isinstance(down, do.StepDown)
    assert isinstance(again, do.ReadLease)
    assert not standby.could_continue()


def test_a_log_that_is_never_confirmed_is_given_anew() -> None:
    primary, _ = pair()
    primary.handle(step(10))
    asked = [c for now in range(0, 5_000, 50) for c in primary.handle(on.Tick(Millis(now)))]
    assert do.TryLease in map(type, asked)
    freed = primary.handle(on.LeaseWon(lease("job-0", 2)))
    assert do.Publish(OUT, Seq(1), False) in freed
    assert do.ShipDeterminants in map(type, freed)


def test_after_a_loss_the_log_begins_anew_at_both() -> None:
    """What was lost is needed for nothing that is made from here on."""
    primary, standby = pair()
    primary.handle(step(10, 4))
    deliver(primary, standby, 1)
    passed_on(primary, standby, primary.handle(on.Resumes(UP, Seq(10), Seq(50))))
    assert [d.at for d in primary.log.steps] == [d.at for d in standby.log.steps] == [{UP: 50}]
    assert primary.protected


def test_the_log_goes_along_with_a_move() -> None:
    primary, _ = pair()
    primary.handle(step(10, 4))
    primary.handle(on.Acked(OUT, DOWN, 0, Seq(4), FIRST))
    target = instance("job-2")
    live = replace(primary.state(0), steps=primary.steps())
    target.handle(on.HandedOver(lease("job-0", 1), live))
    target.handle(on.LeaseWon(lease("job-2", 2)))
    assert [d.made.stop for d in target.log.steps] == [4], "also what was not confirmed yet"


def test_a_new_life_that_cuts_its_steps_differently_logs_the_one_that_came_further() -> None:
    primary, standby = pair()
    for n in (1, 2):
        primary.handle(on.Processed("job", {UP: Seq(10 * n)}, {UP: Seq(10 * n)}, 4))
        deliver(primary, standby, n)
    taken_over(standby, held=0, has=4)
    standby.handle(on.Processed("job", {UP: Seq(35)}, {UP: Seq(35)}, 10))
    assert [(d.at[UP], d.made.start, d.made.stop) for d in standby.log.steps] == [(0, 0, 4), (10, 4, 14)]


def test_who_stands_still_for_a_move_asks_a_new_producer_for_what_only_waits_there() -> None:
    primary, _ = pair()
    primary.handle(on.Arrived(UP, Range(Seq(0), Seq(30)), FIRST))
    primary.handle(step(10))
    assert primary.goes_on_from(UP) == 30
    primary.handle(on.MigrationRequested("job-1", "planned"))
    assert primary.goes_on_from(UP) == 10


def test_what_a_log_passed_over_is_lost_if_its_producer_learns_later_that_it_makes_other_tuples() -> None:
    """It answers before it knows that its own input is gone."""
    primary, standby = pair()
    primary.handle(step(10, 4))
    deliver(primary, standby, 1)
    taken_over(standby, held=0, has=4)
    commands = standby.handle(on.Arrived(UP, Range(Seq(0), Seq(12)), SECOND, anew=Seq(3)))
    assert do.ReportLoss(UP, Range(Seq(3), Seq(10))) in commands
    assert standby.handle(on.Arrived(UP, Range(Seq(12), Seq(13)), SECOND, anew=Seq(3))) == (
        do.Take(UP, Range(Seq(12), Seq(13))),
    )


def passing_over(redirected_to: int) -> LoggedBackup:
    """It has the producer's answer that 10 were released, and a log that ends at 20."""
    primary, standby = pair()
    for n in (1, 2):
        primary.handle(step(10 * n, 4))
        deliver(primary, standby, n)
    standby.handle(on.LeaseWon(lease("job-1", 2)))
    for epoch in range(SECOND, redirected_to + 1):
        standby.handle(on.Redirected(UP, Epoch(epoch)))
    standby.handle(on.Released(UP, Seq(10), released=Seq(10)))
    assert do.Skip(UP, Seq(20), "job") in standby.handle(on.Subscribed(OUT, DOWN, Seq(8), FIRST))
    return standby


def test_a_log_may_skip_tuples_after_a_diverged_stream_if_an_earlier_life_released_some_of_them() -> None:
    """The log speaks of the same tuples: nothing is lost. From 10 on, the producer would have said so in its
    answer."""
    arrived = on.Arrived(UP, Range(Seq(10), Seq(22)), SECOND, anew=Seq(3))
    assert passing_over(SECOND).handle(arrived) == (do.Take(UP, Range(Seq(20), Seq(22))),)
    later = replace(arrived, anew=Seq(10))
    assert do.ReportLoss(UP, Range(Seq(10), Seq(20))) in passing_over(SECOND).handle(later)


def test_what_is_passed_over_is_not_settled_by_a_message_that_ends_before() -> None:
    standby = passing_over(SECOND)
    standby.handle(on.Arrived(UP, Range(Seq(10), Seq(12)), SECOND))
    commands = standby.handle(on.Arrived(UP, Range(Seq(12), Seq(22)), SECOND, anew=Seq(12)))
    assert do.ReportLoss(UP, Range(Seq(12), Seq(20))) in commands


def test_what_is_passed_over_is_settled_by_a_message_that_goes_beyond() -> None:
    standby = passing_over(SECOND)
    standby.handle(on.Arrived(UP, Range(Seq(10), Seq(22)), SECOND))
    commands = standby.handle(on.Arrived(UP, Range(Seq(22), Seq(30)), SECOND, anew=Seq(12)))
    assert do.ReportLoss not in {type(command) for command in commands}


def test_a_producer_may_say_during_the_roll_call_that_it_makes_other_tuples() -> None:
    primary, standby = pair()
    primary.handle(step(10, 4))
    deliver(primary, standby, 1)
    standby.handle(on.LeaseWon(lease("job-1", 2)))
    standby.handle(on.Released(UP, Seq(0)))
    standby.handle(on.Arrived(UP, Range(Seq(0), Seq(12)), SECOND, anew=Seq(0)))
    commands = standby.handle(on.Subscribed(OUT, DOWN, Seq(4), FIRST))
    assert commands == (do.Number("job", Seq(4), None, as_new=True),)


def test_what_a_producer_said_of_earlier_lives_does_not_tell_which_tuples_the_next_one_makes() -> None:
    arrived = on.Arrived(UP, Range(Seq(10), Seq(22)), Epoch(3), anew=Seq(3))
    lost = Range(Seq(10), Seq(20))
    assert do.ReportLoss(UP, lost) in passing_over(3).handle(arrived), "it may be the word of the one before"
    standby = passing_over(SECOND)
    standby.handle(on.Redirected(UP, Epoch(3)))
    assert do.ReportLoss(UP, lost) in standby.handle(arrived), "it has answered before"


def test_a_log_of_input_that_was_lost_with_its_producer_is_not_followed() -> None:
    """The producer gives seqs anew that the log speaks of: to skip them as known would lose them silently."""
    primary, standby = pair()
    primary.handle(step(10, 4))
    deliver(primary, standby, 1)
    standby.handle(on.LeaseWon(lease("job-1", 2)))
    standby.handle(on.Released(UP, Seq(0), anew=Seq(0), released=Seq(0)))
    commands = standby.handle(on.Subscribed(OUT, DOWN, Seq(4), FIRST))
    assert commands == (do.Number("job", Seq(4), None, as_new=True),)


def test_what_consumers_lack_of_input_that_its_producer_has_lost_is_reported() -> None:
    primary, standby = pair()
    for n in (1, 2):
        primary.handle(step(10 * n, 4))
        deliver(primary, standby, n)
    standby.handle(on.LeaseWon(lease("job-1", 2)))
    standby.handle(on.Released(UP, Seq(0), anew=Seq(0)))
    commands = standby.handle(on.Subscribed(OUT, DOWN, Seq(6), FIRST))
    assert do.ReportLoss(UP, Range(Seq(10), Seq(20))) in commands
