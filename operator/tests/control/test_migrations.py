"""What became of a Migration is told by the job's record: a move that is over is not ordered again."""

from __future__ import annotations

from dataclasses import replace

from understudy.control.migrations import Give, SeenMigration, TakeBack, WriteDown, decide_migration
from understudy.control.observed import Moved, Order
from understudy.control.times import iso_ms
from understudy.model.kinds import MigrationPhase, MigrationSpec, MigrationStatus
from understudy.protocol.move_limits import LIMIT_MS, START_MS

STARTED_MS = 1_000_000
RUNNING = MigrationStatus(phase=MigrationPhase.RUNNING, started_at=iso_ms(STARTED_MS))
SEEN = SeenMigration(
    now_ms=STARTED_MS + 5_000,
    name="away",
    spec=MigrationSpec(job="numbers", subjob="keep", to_node="n3"),
    status=RUNNING,
    job={"subjobs": [{"name": "keep", "currentPrimary": "numbers-keep-2"}]},
    orders={},
    moves={},
    moved={},
)
MOVED = Moved(
    "away", "numbers-keep-0", "numbers-keep-2", "ordered", STARTED_MS + 100, STARTED_MS + 900, lost=0
)


def test_an_order_that_no_instance_has_is_given_again() -> None:
    assert decide_migration(SEEN) == (Give("keep", "n3"),)


def test_an_order_that_is_known_or_carried_out_is_not_given_again() -> None:
    assert decide_migration(replace(SEEN, orders={"keep": Order("n3", "away")})) == ()
    assert decide_migration(replace(SEEN, moves={"keep": "away"})) == ()


def test_a_finished_move_completes_the_migration_before_the_job_status_shows_it() -> None:
    (step,) = decide_migration(replace(SEEN, moved={"keep": MOVED}))
    assert isinstance(step, WriteDown)
    assert (step.status.phase, step.status.to, step.status.lost) == (
        MigrationPhase.COMPLETED,
        "numbers-keep-2",
        0,
    )


def test_a_move_that_failed_says_why() -> None:
    (step,) = decide_migration(replace(SEEN, moved={"keep": replace(MOVED, failure="n3 is lost")}))
    assert isinstance(step, WriteDown)
    assert step.status.phase is MigrationPhase.FAILED
    assert "n3 is lost" in step.status.message


def test_the_move_of_an_earlier_migration_of_that_name_is_not_taken_for_its_own() -> None:
    before = replace(MOVED, at_ms=STARTED_MS - 2_000, ended_ms=STARTED_MS - 1_000)
    assert decide_migration(replace(SEEN, moved={"keep": before})) == (Give("keep", "n3"),)


def test_an_order_that_could_not_begin_is_taken_back_before_the_migration_fails() -> None:
    stands = replace(SEEN, orders={"keep": Order("n3", "away")}, now_ms=STARTED_MS + START_MS)
    assert decide_migration(replace(stands, now_ms=stands.now_ms - 1)) == ()
    assert decide_migration(stands) == (TakeBack("keep"),)
    taken = replace(stands, orders={})
    assert decide_migration(taken) == (), (
        "the job may have begun it at the same moment, and it is not ordered again"
    )
    assert decide_migration(replace(taken, moves={"keep": "away"}, now_ms=STARTED_MS + 2 * LIMIT_MS)) == ()
    (step,) = decide_migration(replace(taken, now_ms=STARTED_MS + LIMIT_MS))
    assert isinstance(step, WriteDown)
    assert step.status.phase is MigrationPhase.FAILED
