"""What the supervisor decides, from what it sees: no process is needed to test that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.local.jobs import job
from understudy.control.giving_up import CRASHES
from understudy.control.replacing import TOO_MANY
from understudy.local.run.decide import PATIENCE_MS, decide, poison_of
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.intents import (
    Fail,
    Finish,
    Hurt,
    Intent,
    Kill,
    LastResort,
    Open,
    Resume,
    Retire,
    StandIn,
    Start,
    Tell,
)
from understudy.local.run.members import Kind, Members, Process
from understudy.local.run.nemesis import Schedule
from understudy.local.run.observed import Done, Observed, Seen
from understudy.protocol.failures import Means
from understudy.protocol.statuspage import (
    Consumer,
    Input,
    InstancePage,
    Queue,
    Role,
    SinkPage,
    State,
    TakeOver,
)

CAST = Members.of(job())
SINK = Process(Kind.SINK, "alerts", 0)
KILL = Fault("beats", Target.PRIMARY, 15_000)


def subjob(name: str, number: int) -> Process:
    return Process(Kind.SUBJOB, name, number)


def seen(process: Process, state: str | None = "ready", **known: Any) -> Seen:
    kind = SinkPage if process.kind is Kind.SINK else InstancePage
    page = None if state is None else kind(state=State(state))
    ready_ms = 500 if state in ("ready", "finished") else None
    return replace(Seen(process, 1_000, None, False, page, ready_ms), **known)


def says(known: Seen, **told: Any) -> Seen:
    """With this on its page."""
    return replace(known, page=replace(known.page or InstancePage(), **told))


def all_say(**told: Any) -> tuple[Seen, ...]:
    """Everyone, with this on the pages of the instances."""
    sink, *instances = everyone()
    return (sink, *(says(each, **told) for each in instances))


def everyone(state: str = "ready") -> tuple[Seen, ...]:
    return (seen(SINK), *(seen(subjob(name, n), state) for name in ("strong", "beats") for n in (0, 1)))


def running(*members: Seen, at: int = 5_000, **known: Any) -> Observed:
    holders = {"strong": "strong-0", "beats": "beats-0"}
    return replace(Observed(100_000 + at, 100_000, members or everyone(), holders), **known)


def directed(observed: Observed, *faults: Fault, at_once: int = 2) -> list[Intent]:
    return decide(CAST, Schedule(faults), at_once, observed)


def started(intents: list[Intent]) -> list[str]:
    return [i.process.name for i in intents if isinstance(i, Start)]


# --- starting


def test_sinks_and_primaries_come_first_upstream_before_downstream() -> None:
    assert started(directed(Observed(0, None, (), {}))) == ["sink-alerts", "strong-0", "beats-0"]


def test_no_more_sessions_warm_up_at_once_than_there_are_cores() -> None:
    assert started(directed(Observed(0, None, (), {}), at_once=1)) == ["sink-alerts", "strong-0"]
    one_up = (seen(SINK), seen(subjob("strong", 0)), seen(subjob("beats", 0), None))
    assert started(directed(Observed(0, None, one_up, {}))) == ["strong-1"]


def test_standbys_follow_when_primaries_are_up() -> None:
    up = (seen(SINK), seen(subjob("strong", 0)), seen(subjob("beats", 0)))
    assert started(directed(Observed(0, None, up, {}))) == ["strong-1", "beats-1"]


def test_amnesia_has_no_standby() -> None:
    assert Members.of(job(mode="amnesia")).instances == {"strong": 1, "beats": 2}
    assert Members.of(job(mode="amnesia, spare: true")).instances == {"strong": 2, "beats": 2}


def test_streams_begin_when_everyone_is_ready() -> None:
    waiting = Observed(7_000, None, (*everyone()[:-1], seen(subjob("beats", 1), "rehearsing")), {})
    assert directed(waiting) == []
    (opening,) = directed(replace(waiting, seen=everyone()))
    assert isinstance(opening, Open)
    assert opening.at_ms > 7_000


def test_a_replacement_whose_spark_does_not_start_is_killed_and_replaced_once() -> None:
    late = seen(subjob("beats", 2), "starting", age_ms=PATIENCE_MS + 1)
    stuck = running(*everyone()[:4], seen(subjob("beats", 1), exit_code=-9, hurt=True), late)
    assert directed(stuck) == [Kill(late.process, "Spark did not start within 300 s")]
    assert directed(replace(stuck, killed=frozenset({late.process}))) == []
    gone = replace(late, exit_code=-9)
    assert started(directed(replace(stuck, seen=(*stuck.seen[:-1], gone)))) == ["beats-3"]
    (failure,) = directed(
        replace(stuck, seen=(*stuck.seen[:-1], gone, replace(gone, process=subjob("beats", 3))))
    )
    assert isinstance(failure, Fail)
    assert "beats-3 ended with signal 9 before it was ready, not the first to" in failure.why


def test_a_replacement_that_may_still_start_is_left_alone() -> None:
    soon = seen(subjob("beats", 2), "starting", age_ms=PATIENCE_MS)
    assert directed(running(*everyone()[:4], soon)) == []


# --- faults


def test_a_kill_hits_whoever_holds_the_lease_at_that_moment() -> None:
    assert directed(running(at=14_999), KILL) == []
    assert directed(running(at=15_000), KILL) == [Hurt(KILL, subjob("beats", 0))]
    later = running(at=15_000, holders={"strong": "strong-0", "beats": "beats-1"})
    assert directed(later, KILL) == [Hurt(KILL, subjob("beats", 1))]


def test_a_kill_of_the_standby_spares_the_holder() -> None:
    fault = Fault("beats", Target.STANDBY, 1_000)
    assert directed(running(), fault) == [Hurt(fault, subjob("beats", 1))]


def test_a_stopped_process_is_resumed_when_its_time_is_over() -> None:
    stop = Done(Fault("beats", Target.PRIMARY, 15_000, stop_ms=2_000), subjob("beats", 0), 115_000)
    assert directed(running(at=16_999, done=(stop,)), stop.fault) == []
    assert directed(running(at=17_000, done=(stop,)), stop.fault) == [Resume(stop)]
    assert directed(running(at=17_000, done=(stop,), resumed=frozenset({stop})), stop.fault) == []


def test_a_fault_strikes_once() -> None:
    done = (Done(KILL, subjob("beats", 0), 115_000),)
    assert directed(running(at=16_000, done=done), KILL) == []


def test_faults_that_did_not_happen_are_left_over_in_any_order() -> None:
    early, late = Fault("strong", Target.STANDBY, 1_000), Fault("beats", Target.PROTECTED, 2_000)
    struck = [Done(late, subjob("beats", 0), 115_000)]
    assert Schedule((early, late, KILL)).left(struck) == [early, KILL]


def test_two_kills_at_the_same_time_hit_two_primaries_one_after_the_other() -> None:
    assert directed(running(at=15_000), KILL, KILL) == [Hurt(KILL, subjob("beats", 0))]
    members = (*everyone()[:3], seen(subjob("beats", 0), exit_code=-9, hurt=True), seen(subjob("beats", 1)))
    after = running(*members, at=15_100, done=(Done(KILL, subjob("beats", 0), 115_000),))
    assert started(directed(after, KILL, KILL)) == ["beats-2"]
    promoted = replace(after, holders={"beats": "beats-1"})
    assert Hurt(KILL, subjob("beats", 1)) in directed(promoted, KILL, KILL)


def test_a_fault_without_a_victim_waits_for_one() -> None:
    members = (*everyone()[:3], seen(subjob("beats", 0), exit_code=-9, hurt=True))
    assert [i for i in directed(running(*members, at=15_000), KILL) if isinstance(i, Hurt)] == []


# --- replacements


def test_a_killed_instance_is_replaced_under_a_new_name() -> None:
    members = (*everyone()[:3], seen(subjob("beats", 0), exit_code=-9, hurt=True), seen(subjob("beats", 1)))
    assert started(directed(running(*members))) == ["beats-2"]


def test_a_subjob_without_any_instance_waits_for_nobody() -> None:
    gone = [replace(s, exit_code=-9, hurt=True) for s in everyone() if s.process.owner == "beats"]
    others = [seen(SINK), seen(subjob("strong", 0)), seen(subjob("strong", 1), state="starting")]
    assert started(directed(running(*others, *gone), at_once=1)) == ["beats-2"]


def test_a_killed_sink_is_started_again() -> None:
    members = (seen(SINK, exit_code=-9, hurt=True), *everyone()[1:])
    assert directed(running(*members)) == [Start(Process(Kind.SINK, "alerts", 1))]


def test_an_instance_that_dies_by_itself_while_the_job_runs_is_replaced() -> None:
    members = (*everyone()[:-1], seen(subjob("beats", 1), exit_code=1))
    assert started(directed(running(*members))) == ["beats-2"]


def test_an_instance_that_keeps_dying_before_it_is_ready_ends_the_run() -> None:
    crashed = [seen(subjob("beats", n), None, exit_code=1) for n in range(1, 1 + CRASHES)]
    (failure,) = directed(running(*everyone()[:-1], *crashed))
    assert isinstance(failure, Fail)
    assert failure.exit_code == 1


def test_a_death_before_the_start_is_given_a_second_chance() -> None:
    members = (seen(SINK), seen(subjob("strong", 0), None, exit_code=1))
    assert started(directed(Observed(0, None, members, {}))) == ["strong-1", "beats-0"]
    (failure,) = directed(Observed(0, None, (*members, seen(subjob("strong", 1), None, exit_code=1)), {}))
    assert isinstance(failure, Fail)
    assert (failure.exit_code, failure.culprit) == (1, subjob("strong", 1))


def test_a_lacking_environment_is_exit_code_3() -> None:
    members = (seen(SINK), seen(subjob("strong", 0), None, exit_code=3))
    (failure,) = directed(Observed(0, None, members, {}))
    assert isinstance(failure, Fail)
    assert failure.exit_code == 3


def test_a_primary_that_was_replaced_and_warms_up_again_is_not_late() -> None:
    members = (*everyone()[:-1], seen(subjob("beats", 1), "rehearsing", age_ms=PATIENCE_MS + 1, ready_ms=10))
    assert directed(running(*members)) == []


def test_patience_has_an_end() -> None:
    members = (seen(SINK), seen(subjob("strong", 0), None, age_ms=PATIENCE_MS + 1))
    (failure,) = directed(Observed(0, None, members, {}))
    assert isinstance(failure, Fail)


# --- the end


def test_the_run_is_over_when_every_sink_has_written_its_stream() -> None:
    (over,) = directed(running(seen(SINK, "finished", exit_code=0), *everyone()[1:]))
    assert isinstance(over, Finish)
    assert over.complete


def test_a_run_that_is_asked_to_stop_is_over_but_not_complete() -> None:
    (over,) = directed(running(asked_to_stop=True))
    assert isinstance(over, Finish)
    assert not over.complete


def test_without_sinks_the_run_is_over_when_every_stream_has_ended() -> None:
    members = replace(CAST, sinks=())
    still = running(*everyone()[1:])
    assert decide(members, Schedule(), 2, still) == []
    (over,) = decide(members, Schedule(), 2, running(*everyone("finished")[1:]))
    assert isinstance(over, Finish)


def test_the_subjob_with_the_fewest_replacements_gets_the_next_one() -> None:
    dead = [replace(seen(subjob("strong", n)), exit_code=-9) for n in (1, 2)]
    lone = (
        seen(SINK),
        seen(subjob("strong", 0)),
        *dead,
        seen(subjob("beats", 0)),
        replace(seen(subjob("beats", 1)), exit_code=-9),
    )
    assert directed(running(*lone), at_once=1) == [Start(subjob("beats", 2))]


def test_a_primary_is_hurt_when_it_is_protected() -> None:
    fault = Fault("beats", Target.PROTECTED, 1_000)
    members = all_say(protected=False)
    assert not any(isinstance(i, Hurt) for i in decide(CAST, Schedule((fault,)), 2, running(*members)))
    members = all_say(protected=True)
    assert decide(CAST, Schedule((fault,)), 2, running(*members)) == [Hurt(fault, subjob("beats", 0))]


def test_a_primary_is_not_hurt_as_protected_while_a_neighbour_is_not() -> None:
    fault = Fault("beats", Target.PROTECTED, 1_000)
    outputs = {"beats": Queue(consumers={"sink/alerts": Consumer()})}
    near = all_say(protected=True, inputs={"strong": Input()}, outputs=outputs)
    members = {s.process.name: s for s in near}
    assert decide(CAST, Schedule((fault,)), 2, running(*members.values())) == [
        Hurt(fault, subjob("beats", 0))
    ]
    neighbour = subjob("strong", 0).name
    members[neighbour] = says(members[neighbour], protected=False)
    assert not any(
        isinstance(i, Hurt) for i in decide(CAST, Schedule((fault,)), 2, running(*members.values()))
    )


@pytest.mark.parametrize(
    ("story", "hurt"),
    [
        (None, False),
        (TakeOver(), True),
        (TakeOver(caught_up=1_700), False),
        (TakeOver(planned=True), False),
    ],
)
def test_a_recovering_primary_is_one_that_took_over_and_has_not_caught_up(story: object, hurt: bool) -> None:
    fault = Fault("beats", Target.RECOVERING, 1_000)
    members = all_say(take_over=story)
    wanted = [Hurt(fault, subjob("beats", 0))] if hurt else []
    assert decide(CAST, Schedule((fault,)), 2, running(*members)) == wanted


def test_an_instance_with_a_new_lease_counts_as_recovering_while_its_page_still_says_standby() -> None:
    fault = Fault("beats", Target.RECOVERING, 1_000)
    members = all_say(role=Role.STANDBY)
    assert directed(running(*members), fault) == [Hurt(fault, subjob("beats", 0))]
    assert directed(running(*members, moving=frozenset({subjob("beats", 0)})), fault) == []


@pytest.mark.parametrize(
    ("state", "hurt"),
    [(None, False), ("starting", False), ("rehearsing", True), ("waiting", True), ("ready", False)],
)
def test_a_joining_standby_is_one_that_was_never_ready_beside_a_living_primary(
    state: str | None, hurt: bool
) -> None:
    fault = Fault("beats", Target.JOINING, 1_000)
    members = (*everyone()[:-1], seen(subjob("beats", 1), state))
    assert directed(running(*members), fault) == ([Hurt(fault, subjob("beats", 1))] if hurt else [])
    alone = running(*members, holders={"strong": "strong-0", "beats": "beats-9"})
    assert directed(alone, fault) == []


def test_a_standby_that_was_ready_before_does_not_join() -> None:
    members = (*everyone()[:-1], seen(subjob("beats", 1), "waiting", ready_ms=500))
    assert directed(running(*members), Fault("beats", Target.JOINING, 1_000)) == []


# --- failed for good


@pytest.mark.parametrize(
    ("means", "done"),
    [
        (Means(None, "coarse", True), StandIn),
        (Means(None, None, True), LastResort),
        (Means(None), Fail),
    ],
)
def test_a_subjob_that_cannot_be_started_is_handled_as_declared(means: Means, done: type[Intent]) -> None:
    dead = [seen(subjob("beats", n), None, exit_code=1) for n in range(CRASHES)]
    members = replace(CAST, means={"beats": means})
    (intent,) = decide(members, Schedule(), 2, running(*dead))
    assert isinstance(intent, done)
    again = decide(replace(members, since={"beats": CRASHES}), Schedule(), 2, running(*dead))
    assert not any(isinstance(i, done) for i in again), "who stands in begins with a clean record"


def led(number: int, position: int, **known: Any) -> Seen:
    """A primary of beats that has come so far."""
    inputs, outputs = {"strong": Input(position)}, {"beats": Queue(next=position // 10)}
    return says(seen(subjob("beats", number), **known), role=Role.PRIMARY, inputs=inputs, outputs=outputs)


def crashed(number: int, position: int) -> Seen:
    return led(number, position, exit_code=1)


@pytest.mark.parametrize(("means", "done"), [(Means(None, "coarse"), StandIn), (Means(None), Fail)])
def test_a_subjob_whose_primaries_keep_dying_at_the_same_place_is_handled_as_declared(
    means: Means, done: type[Intent]
) -> None:
    members, others = replace(CAST, means={"beats": means}), everyone()[:3]
    assert started(decide(members, Schedule(), 2, running(*others, crashed(0, 100), crashed(1, 100)))) == [
        *("beats-2", "beats-3")
    ]
    dead = (crashed(0, 100), crashed(1, 90), crashed(2, 100))
    (intent,) = decide(members, Schedule(), 2, running(*others, *dead))
    assert isinstance(intent, done)
    assert isinstance(intent, StandIn | Fail)
    assert "beats-2 ended with exit code 1 and so did 2 before it" in intent.why


@pytest.mark.parametrize(
    "dead",
    [
        (crashed(0, 100), crashed(1, 100), crashed(2, 110)),
        (crashed(0, 100), crashed(1, 100), replace(crashed(2, 100), hurt=True)),
        (crashed(0, 100), *(seen(subjob("beats", n), exit_code=1) for n in (1, 2))),
        (crashed(0, 100), crashed(1, 100), crashed(2, 100), led(3, 110)),
    ],
    ids=["one came further", "one was killed", "two were standbys", "the next came further"],
)
def test_primaries_that_die_are_replaced_as_long_as_the_stream_goes_on(dead: tuple[Seen, ...]) -> None:
    intents = directed(running(*everyone()[:3], *dead))
    assert started(intents)
    assert not any(isinstance(i, Fail) for i in intents)


# --- edits


def test_an_instance_that_missed_an_edit_receives_it_once() -> None:
    wanted = CAST.settings["beats"]
    observed = running(
        *(says(s, settings="of-before") if s.process == subjob("beats", 1) else s for s in everyone())
    )
    assert decide(CAST, Schedule(), 2, observed) == [Tell(subjob("beats", 1), wanted)]
    assert (
        decide(CAST, Schedule(), 2, replace(observed, told=frozenset({(subjob("beats", 1), wanted)}))) == []
    )


def test_a_standby_goes_when_its_primary_does_without() -> None:
    members = replace(CAST, instances={**CAST.instances, "beats": 1})
    before = running(*all_say(mode="passiveStandby", secondary="beats-1"))
    assert decide(members, Schedule(), 2, before) == []
    after = running(*all_say(mode="amnesia", secondary="beats-1"))
    assert decide(members, Schedule(), 2, after) == [Retire(subjob("beats", 1), TOO_MANY)]
    moving = replace(after, under_way=frozenset({"beats"}))
    assert decide(members, Schedule(), 2, moving) == [], "it is a side of a move that is not over"


def killed(number: int, at: int, code: int = -9, caught_up: bool = False) -> Seen:
    """A primary that ended by itself at this place; the first has no predecessor."""
    story = TakeOver(caught_up=1 if caught_up else None) if number else None
    inputs = {"ecg": Input(at, at + 50)}
    dead = seen(subjob("beats", number), exit_code=code)
    return says(dead, role=Role.PRIMARY, inputs=inputs, take_over=story)


def test_primaries_that_are_killed_at_the_same_place_are_a_poison_plan() -> None:
    said = poison_of(CAST, [killed(0, 1_200), killed(1, 1_200)])
    assert said is not None
    assert said.startswith("beats was OOM-killed 2 times at the same place (ecg from 1200 to 1250)")


@pytest.mark.parametrize(
    "mates",
    [
        [killed(0, 1_200)],
        [killed(0, 1_200), killed(1, 1_300, caught_up=True)],
        [killed(0, 1_200, 1), killed(1, 1_200, 1)],
    ],
    ids=["one", "it had caught up", "another end"],
)
def test_other_ends_are_no_poison_plan(mates: list[Seen]) -> None:
    assert poison_of(CAST, mates) is None


def test_a_run_that_a_poison_plan_ends_says_so() -> None:
    dead = [killed(n, 1_200) for n in range(3)]
    (failure,) = directed(running(*everyone()[:3], *dead))
    assert isinstance(failure, Fail)
    assert "beats was OOM-killed 3 times at the same place" in failure.why


# --- a sink that stands still


def test_a_sink_whose_disk_stands_still_is_killed_once_and_replaced_when_it_is_gone() -> None:
    why = "a sync of part-00000.jsonl did not end within 10 s"
    stalled = says(seen(SINK, "stalled"), stalled=why)
    instances = everyone()[1:]
    assert directed(running(stalled, *instances)) == [Kill(SINK, why)]
    assert directed(running(stalled, *instances, killed=frozenset({SINK}))) == []
    gone = replace(stalled, exit_code=-9)
    again = directed(running(gone, *instances, killed=frozenset({SINK})))
    assert again == [Start(Process(Kind.SINK, "alerts", 1))]
    slow = seen(Process(Kind.SINK, "alerts", 1), "starting")
    assert directed(running(gone, slow, *instances, killed=frozenset({SINK}))) == []
