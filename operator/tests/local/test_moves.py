"""How the supervisor moves a primary, from what it sees."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.local.jobs import job
from tests.local.records import START, instance, record
from tests.local.test_decide import CAST, everyone, running, says, seen, subjob
from understudy.local.report.migrations import migrations_of
from understudy.local.run.decide import PATIENCE_MS, Fail, Observed, Schedule, decide
from understudy.local.run.faults import Planned, parse_migration
from understudy.local.run.members import Members
from understudy.local.run.moves import (
    Ask,
    Begin,
    End,
    Follow,
    GiveUp,
    Retire,
    Step,
    Underway,
    overloaded,
    steps,
)
from understudy.protocol.moves import LIMIT_MS, too_late
from understudy.protocol.statuspage import Departure, TakeOver

PLAN = Planned("beats", 5_000)
MOVE = Underway(PLAN, subjob("beats", 0), subjob("beats", 2), 105_000)


def decided(observed: Observed, *moves: Underway, members: Members = CAST) -> list[Step]:
    return list(steps(members, (PLAN,), moves, observed))


def with_target(state: str | None, *, standby: bool = True, **known: Any) -> Observed:
    instances = everyone() if standby else everyone()[:-1]
    return running(*instances, seen(subjob("beats", 2), state), at=9_000, **known)


def test_a_new_instance_is_started_when_it_is_time() -> None:
    assert decided(running(at=4_999)) == []
    (begin,) = decided(running(at=5_000))
    assert begin == Begin(MOVE)


def test_a_move_waits_for_a_primary() -> None:
    assert decided(running(at=5_000, holders={})) == []


def test_the_standby_stays_until_the_target_is_warm() -> None:
    assert decided(with_target(None), MOVE) == []
    assert decided(with_target("rehearsing"), MOVE) == []
    (retire,) = decided(with_target("waiting"), MOVE)
    assert retire == Retire(subjob("beats", 1), "beats-2 takes its place")


def test_the_primary_is_asked_again_until_it_has_moved() -> None:
    alone = with_target("waiting", standby=False)
    assert decided(alone, MOVE) == [Ask(MOVE)]
    assert decided(alone, replace(MOVE, asked_ms=alone.now_ms - 500)) == []
    asked = replace(MOVE, asked_ms=alone.now_ms - 1_000)
    assert decided(alone, asked) == [Ask(asked)]


def test_the_move_is_over_when_the_target_holds_the_lease() -> None:
    arrived = with_target("ready", standby=False, holders={"beats": "beats-2"})
    assert decided(arrived, MOVE) == [End(MOVE)]
    assert decided(arrived, replace(MOVE, ended_ms=1)) == []


def test_the_old_primary_stays_until_it_has_told_what_its_leaving_cost() -> None:
    alone = replace(CAST, instances={"strong": 2, "beats": 1})

    def after(told: Departure | None) -> Observed:
        source = says(seen(subjob("beats", 0)), departure=told)
        return running(source, seen(subjob("beats", 2)), at=9_000, holders={"beats": "beats-2"})

    asked = replace(MOVE, asked_ms=108_500)
    for told in (None, Departure("beats-2"), Departure("beats-1", left=1)):
        assert decided(after(told), asked, members=alone) == []
    over = [End(asked), Retire(subjob("beats", 0), "it has moved")]
    assert decided(after(Departure("beats-2", left=109_000)), asked, members=alone) == over
    late = replace(asked, asked_ms=94_000)
    assert decided(after(None), late, members=alone)[0] == End(late)


def test_without_standbys_the_old_primary_is_retired() -> None:
    arrived = with_target("ready", standby=False, holders={"beats": "beats-2"})
    alone = replace(CAST, instances={"strong": 2, "beats": 1})
    assert decided(arrived, MOVE, members=alone) == [End(MOVE), Retire(subjob("beats", 0), "it has moved")]


def test_a_move_ends_with_its_target() -> None:
    assert decided(running(), MOVE) == [GiveUp(MOVE, "beats-2 is gone")]


def test_a_move_goes_on_from_who_took_over_meanwhile() -> None:
    replaced = with_target("ready", holders={"beats": "beats-1"})
    assert decided(replaced, replace(MOVE, asked_ms=1)) == [
        Follow(replace(MOVE, asked_ms=1), subjob("beats", 1))
    ]
    (retire,) = decided(replaced, replace(MOVE, source=subjob("beats", 1)))
    assert retire == Retire(subjob("beats", 0), "beats-2 takes its place")


def test_a_move_because_of_an_overload_is_over_when_another_leads() -> None:
    move = replace(MOVE, planned=Planned("beats", 0, "overload: the backlog grows", resource=True))
    replaced = with_target("ready", holders={"beats": "beats-1"})
    over = GiveUp(move, "beats-0 is no longer primary: beats-1 has taken over instead")
    assert decided(replaced, move)[:1] == [over]
    failed = replace(move, ended_ms=1, failure="another leads")
    retire = Retire(subjob("beats", 2), "its move has failed", by_force=True)
    assert retire in decided(replaced, failed)
    alone = running(
        *everyone()[:3], *everyone()[4:], seen(subjob("beats", 2), "ready"), holders={"beats": "beats-1"}
    )
    assert decided(alone, move)[:1] == [over]


def test_what_can_not_move_is_refused() -> None:
    drawn = Random(1)
    assert parse_migration("beats@5s", job(), drawn) == PLAN
    for text in ("beats@standby@5s", "sink/alerts@5s", "beats", "nobody@5s"):
        assert isinstance(parse_migration(text, job(), drawn), str), text


def test_the_report_tells_of_pause_bytes_and_steps() -> None:
    of = record()
    at = START + 20_000
    of.moves = [Underway(PLAN, subjob("beats", 1), subjob("beats", 2), at - 9_000, ended_ms=at + 500)]
    of.departures = {
        ("beats-1", "beats-2"): Departure(
            "beats-2", requested=at, paused=at + 2, settled=at + 80, handed_over=at + 95, bytes=4_711
        )
    }
    of.takeovers[instance(2), 3] = TakeOver(
        gone="beats-1", planned=True, promoted=at + 110, restored=at + 122, first_output=at + 300
    )
    (told,) = migrations_of(of, job())
    assert (told.source, told.target, told.failure) == ("beats-1", "beats-2", None)
    assert (told.pause_ms, told.moved_bytes, told.promoted_ms) == (120, 4_711, 110)


def test_a_move_that_did_not_take_place_says_why() -> None:
    of = record()
    of.moves = [replace(MOVE, ended_ms=1, failure="beats-2 is gone")]
    (told,) = migrations_of(of, job())
    assert (told.failure, told.pause_ms) == ("beats-2 is gone", None)
    of.moves = [replace(MOVE, ended_ms=1)]
    (told,) = migrations_of(of, job())
    assert told.failure == "beats-2 took over before it was handed to it"


def test_an_overloaded_primary_is_moved_once() -> None:
    busy = says(seen(subjob("beats", 0)), overload="the backlog grows")
    observed = running(*everyone()[:3], busy, *everyone()[4:])
    (plan,) = overloaded(CAST, (), observed)
    assert (plan.subjob, plan.why) == ("beats", "overload: the backlog grows")
    assert list(overloaded(CAST, (replace(MOVE, ended_ms=1),), observed)) == []


def test_a_move_that_takes_too_long_is_given_up_and_its_target_goes() -> None:
    """The target is never ready."""
    waiting = with_target(None)
    begun = replace(MOVE, began_ms=waiting.now_ms - LIMIT_MS)
    assert decided(waiting, replace(begun, began_ms=begun.began_ms + 1)) == []
    assert decided(waiting, begun) == [GiveUp(begun, too_late())]
    failed = replace(begun, ended_ms=waiting.now_ms, failure=too_late())
    assert decided(waiting, failed) == [Retire(subjob("beats", 2), "its move has failed", by_force=True)]


def test_the_run_goes_on_if_the_target_of_a_move_is_never_ready() -> None:
    late = seen(subjob("beats", 2), None, age_ms=PATIENCE_MS + 1)
    before = replace(running(*everyone(), late), started_ms=None)
    assert isinstance(decide(CAST, Schedule(), 2, before)[0], Fail)
    move = replace(MOVE, ended_ms=1, failure=too_late())
    waiting = running(*everyone(), late, moving=frozenset(move.sides))
    assert not any(isinstance(intent, Fail) for intent in decide(CAST, Schedule(), 2, waiting))


def test_a_move_that_took_place_at_the_last_moment_is_done() -> None:
    arrived = with_target("ready", standby=False, holders={"beats": "beats-2"})
    late = replace(MOVE, began_ms=arrived.now_ms - 2 * LIMIT_MS)
    assert decided(arrived, late) == [End(late)]
