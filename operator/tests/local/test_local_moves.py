"""How the supervisor moves a primary, from what it sees."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.local.jobs import job
from tests.local.records import START, instance, record
from tests.local.test_decide import CAST, everyone, running, says, seen, subjob
from understudy.control.planned_move import Fail, Finish, Follow, Name, Retire, Step, Withdraw
from understudy.control.replacing import TOO_MANY
from understudy.local.report.move_costs import migrations_of
from understudy.local.run import intents
from understudy.local.run.decide import PATIENCE_MS, decide
from understudy.local.run.fault_plan import Planned, parse_migration
from understudy.local.run.local_moves import Underway, begun, overloaded, steps
from understudy.local.run.nemesis import Schedule
from understudy.local.run.observed import Observed, Seen
from understudy.protocol.move_limits import LIMIT_MS, too_late
from understudy.protocol.statuspage import Departure, TakeOver

PLAN = Planned("beats", 5_000)
MOVE = Underway(PLAN, subjob("beats", 0), subjob("beats", 2), 105_000)
TAKES_ITS_PLACE = "beats-2 takes its place"
NAME = Name("beats-0", "beats-2", "beats-0 is to hand over to it: planned")


def decided(observed: Observed, *moves: Underway) -> list[Step]:
    return [step for _, step in steps(moves, observed)]


def with_target(state: str | None, *, standby: bool = True, **known: Any) -> Observed:
    instances = everyone() if standby else everyone()[:-1]
    return running(*instances, seen(subjob("beats", 2), state), at=9_000, **known)


def test_a_move_begins_when_it_is_time() -> None:
    assert list(begun([PLAN], [], running(at=4_999))) == []
    assert list(begun([PLAN], [], running(at=5_000))) == [MOVE]
    assert list(begun([PLAN], [MOVE], running(at=5_000))) == []


def test_a_move_waits_for_a_primary() -> None:
    assert list(begun([PLAN], [], running(at=5_000, holders={}))) == []


def test_the_standby_stays_until_the_target_is_warm() -> None:
    assert decided(with_target(None), MOVE) == []
    assert decided(with_target("rehearsing"), MOVE) == []
    assert decided(with_target("waiting"), MOVE) == [Retire("beats-1", TAKES_ITS_PLACE)]


def test_the_lease_names_the_target_until_it_has_moved() -> None:
    alone = with_target("waiting", standby=False)
    assert decided(alone, MOVE) == [NAME]
    assert decided(replace(alone, successors={"beats": "beats-2"}), MOVE) == []


def test_the_move_is_over_when_the_target_holds_the_lease() -> None:
    arrived = with_target("ready", standby=False, holders={"beats": "beats-2"})
    assert decided(arrived, MOVE) == [Finish()]
    assert decided(arrived, replace(MOVE, ended_ms=1)) == []


def test_a_move_is_not_over_until_the_old_primary_has_reported_what_its_leaving_cost() -> None:
    def after(told: Departure | None) -> Observed:
        source = says(seen(subjob("beats", 0)), departure=told)
        return running(source, seen(subjob("beats", 2)), at=9_000, holders={"beats": "beats-2"})

    asked = replace(MOVE, asked_ms=108_500)
    for told in (None, Departure("beats-2"), Departure("beats-1", left=1)):
        assert decided(after(told), asked) == []
    assert decided(after(Departure("beats-2", left=109_000)), asked) == [Finish()]
    assert decided(after(None), replace(asked, asked_ms=94_000)) == [Finish()]


def test_a_move_ends_with_its_target() -> None:
    assert decided(running(), MOVE) == [Fail("beats-2 is lost")]
    assert decided(running(successors={"beats": "beats-2"}), MOVE) == [Withdraw("beats-2", "beats-2 is lost")]


def test_a_move_goes_on_from_a_primary_that_took_over_meanwhile() -> None:
    replaced = with_target("ready", holders={"beats": "beats-1"})
    assert decided(replaced, replace(MOVE, asked_ms=1)) == [Follow("beats-1", "it leads instead of beats-0")]
    on_from_there = replace(MOVE, source=subjob("beats", 1))
    assert decided(replaced, on_from_there) == [Retire("beats-0", TAKES_ITS_PLACE)]


def test_a_move_because_of_an_overload_is_over_when_another_leads() -> None:
    move = replace(MOVE, planned=Planned("beats", 0, "overload: the backlog grows", resource=True))
    replaced = with_target("ready", holders={"beats": "beats-1"})
    assert decided(replaced, move) == [Fail("beats-1 took over meanwhile")]


def test_a_subjob_that_cannot_move_is_refused() -> None:
    drawn = Random(1)
    assert parse_migration("beats@5s", job(), drawn) == PLAN
    for text in ("beats@standby@5s", "sink/alerts@5s", "beats", "nobody@5s"):
        assert isinstance(parse_migration(text, job(), drawn), str), text


def test_the_report_shows_the_pause_and_the_bytes_and_the_steps_of_a_move() -> None:
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
    of.moves = [replace(MOVE, ended_ms=1, failure="beats-2 is lost")]
    (told,) = migrations_of(of, job())
    assert (told.failure, told.pause_ms) == ("beats-2 is lost", None)
    of.moves = [replace(MOVE, ended_ms=1)]
    (told,) = migrations_of(of, job())
    assert told.failure == "beats-2 took over before it was handed to it"


def test_an_overloaded_primary_is_moved_once() -> None:
    busy = says(seen(subjob("beats", 0)), overload="the backlog grows")
    observed = running(*everyone()[:3], busy, *everyone()[4:])
    (plan,) = overloaded(CAST, (), observed)
    assert (plan.subjob, plan.why) == ("beats", "overload: the backlog grows")
    assert list(overloaded(CAST, (replace(MOVE, ended_ms=1),), observed)) == []


def test_a_move_that_takes_too_long_is_given_up() -> None:
    """The target is never ready."""
    waiting = with_target(None, successors={"beats": "beats-2"})
    begun_then = replace(MOVE, began_ms=waiting.now_ms - LIMIT_MS)
    assert decided(waiting, replace(begun_then, began_ms=begun_then.began_ms + 1)) == []
    assert decided(waiting, begun_then) == [Withdraw("beats-2", too_late())]
    assert decided(replace(waiting, successors={}), begun_then) == [Fail(too_late())]


def led_by(primary: int, *instances: Seen, **known: Any) -> Observed:
    """Whose secondary is beats-1."""
    page = {"mode": "passiveStandby", "secondary": "beats-1"}
    members = [says(s, **page) if s.process == subjob("beats", primary) else s for s in instances]
    return running(*everyone()[:3], *members, holders={"beats": f"beats-{primary}"}, **known)


def test_who_is_one_too_many_after_a_move_is_retired() -> None:
    zero, one, two = (seen(subjob("beats", n)) for n in range(3))
    over = led_by(0, zero, one, two)
    assert decide(CAST, Schedule(), 2, over) == [intents.Retire(subjob("beats", 2), TOO_MANY)]
    assert decide(CAST, Schedule(), 2, replace(over, under_way=frozenset({"beats"}))) == []
    assert decide(CAST, Schedule(), 2, led_by(0, zero, one)) == []


def test_the_run_goes_on_if_the_target_of_a_move_is_never_ready() -> None:
    late = seen(subjob("beats", 2), None, age_ms=PATIENCE_MS + 1)
    before = replace(running(*everyone(), late), started_ms=None)
    assert isinstance(decide(CAST, Schedule(), 2, before)[0], intents.Fail)
    move = replace(MOVE, ended_ms=1, failure=too_late())
    waiting = running(*everyone(), late, moving=frozenset(move.sides))
    assert not any(isinstance(intent, intents.Fail) for intent in decide(CAST, Schedule(), 2, waiting))


def test_a_move_that_took_place_at_the_last_moment_is_done() -> None:
    arrived = with_target("ready", standby=False, holders={"beats": "beats-2"})
    late = replace(MOVE, began_ms=arrived.now_ms - 2 * LIMIT_MS)
    assert decided(arrived, late) == [Finish()]
