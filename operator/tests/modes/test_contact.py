"""What a standby may conclude when it does not hear the holder of the Lease, in every mode, event by
event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Instance
from understudy.modes.leadership import PATIENCE
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Stream
from understudy.protocol.ledger import Wiring

WIRING = Wiring({"job": (Stream("up"),)}, {"job": (Consumer("down"),)})
LEASE = LeaseRecord("job-0", "job-0:1", Epoch(1))
ASKED = replace(LEASE, question="job-1 asks")
Build = Callable[[], Instance]


def _newcomers() -> dict[str, Build]:
    detector = Detector.of(100, 3)
    return {
        "amnesia": lambda: Amnesia("job-1", WIRING, detector),
        "passiveStandby": lambda: PassiveStandby("job-1", WIRING, detector, interval=500),
        "activeStandby": lambda: ActiveStandby("job-1", WIRING, detector, interval=500),
        "replicaBackup": lambda: ReplicaBackup("job-1", WIRING, detector, interval=500),
        "upstreamBackup": lambda: UpstreamBackup("job-1", WIRING, detector, interval=500),
        "loggedBackup": lambda: LoggedBackup("job-1", WIRING, detector, interval=500),
        "savepoint": lambda: SavepointMode("job-1", WIRING, detector),
    }


SPARES = (
    "amnesia",
    "upstreamBackup",
    "savepoint",
)  # standbys that hold nothing, and need nothing to take over


@pytest.fixture(params=_newcomers())
def newcomer(request: pytest.FixtureRequest) -> Instance:
    found = _newcomers()[request.param]()
    found.handle(on.LeaseSeen(LEASE))
    found.handle(on.FirstContact(Millis(2_000), Epoch(1)))
    return found


def kinds(commands: Commands) -> list[type]:
    return [type(c) for c in commands]


def attempts(
    found: Instance, record: LeaseRecord, until: int, since: int = 0, every: int = 1_000
) -> list[type]:
    """A connection that can't be made, again and again; each time the Lease is looked at."""
    commands: list[type] = []
    for now in range(since, until + 1, every):
        found.handle(on.Tick(Millis(now)))
        found.handle(on.LeaseSeen(record))
        commands += kinds(found.handle(on.PeerUnreachable(Millis(now))))
    return commands


def test_a_connection_that_could_not_be_made_is_a_reason_to_ask_not_to_take_over(newcomer: Instance) -> None:
    (asked,) = newcomer.handle(on.PeerUnreachable(Millis(100)))
    assert isinstance(asked, do.AskHolder)
    assert asked.expected == LEASE


@pytest.mark.parametrize("mode", sorted(set(_newcomers()) - set(SPARES)))
def test_a_newcomer_without_state_whose_connection_is_reset_asks_the_holder_before_it_takes_over(
    mode: str,
) -> None:
    """The connection had carried a keep-alive; whatever reset it, the primary may live, and others may hear
    it."""
    newcomer = _newcomers()[mode]()
    newcomer.handle(on.LeaseSeen(LEASE))
    newcomer.handle(on.KeepAlive(Millis(0), Epoch(1)))
    (asked,) = newcomer.handle(on.PeerClosed(Millis(100)))
    assert isinstance(asked, do.AskHolder)
    assert do.TryLease not in attempts(newcomer, ASKED, PATIENCE - 1_000)
    newcomer.handle(on.Tick(Millis(PATIENCE)))
    newcomer.handle(on.LeaseSeen(ASKED))
    (tried,) = newcomer.handle(on.PeerUnreachable(Millis(PATIENCE)))
    assert isinstance(tried, do.TryLease)
    assert tried.expected is not None
    assert tried.expected.question == ASKED.question, "whoever hears the holder can say so"


@pytest.mark.parametrize("mode", sorted(set(_newcomers()) - set(SPARES)))
def test_a_holder_that_answers_after_a_reset_keeps_its_lease(mode: str) -> None:
    newcomer = _newcomers()[mode]()
    newcomer.handle(on.LeaseSeen(LEASE))
    newcomer.handle(on.KeepAlive(Millis(0), Epoch(1)))
    newcomer.handle(on.PeerClosed(Millis(100)))
    for start in range(0, 30_000, 2_000):
        assert do.TryLease not in attempts(newcomer, ASKED, start, start)
        assert do.TryLease not in attempts(newcomer, LEASE, start + 1_000, start + 1_000)


def test_neither_is_silence_before_the_first_keep_alive(newcomer: Instance) -> None:
    said = [c for now in range(0, 2_500, 100) for c in kinds(newcomer.handle(on.Tick(Millis(now))))]
    assert said == [do.AskHolder]


def test_a_holder_that_answers_keeps_its_lease_however_long_it_is_not_heard(newcomer: Instance) -> None:
    for start in range(0, 200_000, 2_000):
        assert do.TryLease not in attempts(newcomer, ASKED, start, start)
        assert do.TryLease not in attempts(newcomer, LEASE, start + 1_000, start + 1_000)


def test_a_holder_that_does_not_answer_is_replaced_and_the_question_must_still_stand(
    newcomer: Instance,
) -> None:
    said = attempts(newcomer, ASKED, PATIENCE)
    assert said == [*[do.ReadLease] * (PATIENCE // 1_000), do.TryLease]
    again = _newcomers()["amnesia"]()
    attempts(again, ASKED, PATIENCE - 1_000)
    again.handle(on.Tick(Millis(PATIENCE)))
    again.handle(on.LeaseSeen(ASKED))
    (tried,) = again.handle(on.PeerUnreachable(Millis(PATIENCE)))
    assert isinstance(tried, do.TryLease)
    assert tried.expected is not None
    assert tried.expected.question == ASKED.question


def test_another_question_means_that_the_one_before_was_answered(newcomer: Instance) -> None:
    assert do.TryLease not in attempts(newcomer, ASKED, PATIENCE - 1_000)
    other = replace(LEASE, question="job-2 asks")
    assert do.TryLease not in attempts(newcomer, other, 2 * PATIENCE - 1_000, PATIENCE)
    assert do.TryLease in attempts(newcomer, other, 2 * PATIENCE, 2 * PATIENCE)


def test_while_the_lease_store_is_away_nobody_counts_as_silent(newcomer: Instance) -> None:
    """The holder may be cut off from it, too: only looks at the question count, and each only for so much."""
    newcomer.handle(on.Tick(Millis(0)))
    newcomer.handle(on.LeaseSeen(ASKED))
    assert attempts(newcomer, ASKED, 60_000, 60_000) == [do.ReadLease]
    assert attempts(newcomer, ASKED, 61_000, 61_000) == [do.ReadLease]


def test_a_holder_that_somebody_else_hears_is_asked_anew(newcomer: Instance) -> None:
    assert do.TryLease in attempts(newcomer, ASKED, PATIENCE)
    assert kinds(newcomer.handle(on.HolderHeard("down-0"))) == [do.ReadLease]
    assert do.TryLease not in attempts(newcomer, ASKED, 2 * PATIENCE, PATIENCE + 1_000)


def test_a_keep_alive_ends_the_doubt(newcomer: Instance) -> None:
    attempts(newcomer, ASKED, PATIENCE - 1_000)
    newcomer.handle(on.KeepAlive(Millis(PATIENCE), Epoch(1)))
    assert do.TryLease not in attempts(newcomer, ASKED, PATIENCE + 1_000, PATIENCE)


@pytest.mark.parametrize("mode", SPARES)
def test_a_spare_that_has_heard_its_primary_replaces_it_as_soon_as_it_is_silent(mode: str) -> None:
    spare = _newcomers()[mode]()
    spare.handle(on.LeaseSeen(LEASE))
    spare.handle(on.KeepAlive(Millis(1_000), Epoch(1)))
    for now in (1_100, 1_200, 1_300):
        assert spare.handle(on.Tick(Millis(now))) == ()
    assert kinds(spare.handle(on.Tick(Millis(1_301)))) == [do.TryLease]


def test_a_standby_that_holds_nothing_has_nothing_to_keep(newcomer: Instance) -> None:
    """If its engine hangs it need not wait for somebody to give it to, whether or not it hears a primary."""
    assert not newcomer.stand(follows=False).needed


@pytest.mark.parametrize("mode", SPARES)
def test_a_spare_needs_no_answer_from_a_holder_whose_process_has_ended(mode: str) -> None:
    assert kinds(_newcomers()[mode]().handle(on.LeaseSeen(replace(LEASE, gone=True)))) == [do.TryLease]


def test_a_newcomer_without_state_leaves_the_lease_of_an_ended_process_to_one_that_has_it() -> None:
    late = _newcomers()["passiveStandby"]()
    assert late.handle(on.LeaseSeen(replace(LEASE, gone=True))) == ()
    late.handle(on.Tick(Millis(0)))
    assert late.handle(on.Tick(Millis(1_500))) == ()
    assert kinds(late.handle(on.Tick(Millis(2_000)))) == [do.TryLease]
