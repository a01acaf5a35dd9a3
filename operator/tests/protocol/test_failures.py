"""Classes of failures and what is done about each (Brettlecker §3.2, §4.1, §4.2)."""

from __future__ import annotations

import pytest

from understudy.protocol.failures import (
    ActivateElsewhere,
    AlternativeBranch,
    Buffer,
    Failure,
    FailureProcess,
    Handling,
    LoadWatch,
    Means,
    MigrateFromBackup,
    MigrateLive,
    Overload,
    Permanent,
    Phase,
    Report,
    Resource,
    ServiceWatch,
    ShareWatch,
    Temporary,
    handle,
)
from understudy.protocol.ids import Millis

WATCH = ServiceWatch(suspect=100, timeout=1_000, room=50, heard=Millis(0))
NODE, NOWHERE = Means("n2"), Means(None)
PERMANENT, OVERLOAD = Permanent("gone"), Overload(Resource.COMPUTATION, "slow")


def test_silence_without_waiting_tuples_is_no_failure() -> None:
    assert WATCH.classify(Millis(5_000), waiting=0) is None
    assert WATCH.classify(Millis(100), waiting=1) is None


def test_silence_is_temporary_until_the_timeout() -> None:
    assert isinstance(WATCH.classify(Millis(101), waiting=1), Temporary)
    assert isinstance(WATCH.classify(Millis(1_000), waiting=1), Temporary)
    assert isinstance(WATCH.classify(Millis(1_001), waiting=1), Permanent)


def test_without_room_to_buffer_a_failure_is_permanent_at_once() -> None:
    assert isinstance(WATCH.classify(Millis(101), waiting=51), Permanent)


def test_an_ack_ends_a_temporary_failure() -> None:
    assert WATCH.acked(Millis(900)).classify(Millis(950), waiting=10) is None


def test_only_a_backlog_that_keeps_growing_is_an_overload() -> None:
    watch, found = LoadWatch(limit=10, rounds=3, interval=100), []
    for now, backlog in enumerate((11, 12, 5, 11, 12, 13, 13)):
        watch, overload = watch.look(Millis(now * 100), backlog)
        found.append(overload is not None)
    assert found == [False, False, False, False, False, True, False]


def test_looks_between_two_intervals_do_not_count() -> None:
    watch = LoadWatch(limit=1, rounds=2, interval=100)
    for now, backlog in ((0, 2), (10, 3), (20, 4)):
        watch, overload = watch.look(Millis(now), backlog)
        assert overload is None


@pytest.mark.parametrize(
    ("failure", "phase", "owes", "means", "handling"),
    [
        (Temporary("quiet"), Phase.RUNNING, True, NOWHERE, Buffer),
        (PERMANENT, Phase.ACTIVATION, False, NODE, ActivateElsewhere),
        (PERMANENT, Phase.RUNNING, True, NODE, MigrateFromBackup),
        (PERMANENT, Phase.DEACTIVATION, True, NODE, MigrateFromBackup),
        (PERMANENT, Phase.DEACTIVATION, False, NODE, Report),
        (OVERLOAD, Phase.RUNNING, True, NODE, MigrateLive),
        (OVERLOAD, Phase.DEACTIVATION, True, NODE, Report),
        (OVERLOAD, Phase.RUNNING, True, NOWHERE, Report),
        (PERMANENT, Phase.RUNNING, True, Means(None, "simple", True), AlternativeBranch),
        (PERMANENT, Phase.RUNNING, True, Means(None, None, True), FailureProcess),
        (PERMANENT, Phase.RUNNING, True, NOWHERE, Report),
    ],
)
def test_the_table_of_handlings(
    failure: Failure, phase: Phase, owes: bool, means: Means, handling: type[Handling]
) -> None:
    assert isinstance(handle(failure, phase, owes, means), handling)


def test_a_share_above_its_limit_is_an_overload_only_if_it_stays_there() -> None:
    watch, found = ShareWatch(Resource.MEMORY, "memory is used up to", limit=90, rounds=3), []
    for percent in (95, 96, 80, 91, 92, 93):
        watch, overload = watch.look(percent)
        found.append(overload)
    assert found[:-1] == [None] * 5
    assert found[-1] is not None
    assert "93 %" in found[-1].why
