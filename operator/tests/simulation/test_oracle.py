"""The oracle judges from a history of plain values: written by hand here, or recorded."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args

from tests.simulation.test_weather import begin
from understudy_lab.exploration import history as seen
from understudy_lab.exploration.causes import LATEST, LINGERS
from understudy_lab.exploration.history import Observation, State
from understudy_lab.exploration.networks import Cores, draw
from understudy_lab.exploration.oracle import Oracle
from understudy_lab.exploration.recorder import Recorder, measured
from understudy_lab.exploration.stillness import ASKED, REPEATED
from understudy_lab.exploration.survival import LASTING
from understudy_lab.exploration.weather import Weather, forecast
from understudy_lab.simulation.cluster import Cluster
from understudy_lab.simulation.made_up_operators import Operator
from understudy_lab.simulation.specs import Job, SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS, SECOND, World

PLAIN = (str, int, bool, type(None))
ROWS = ((1, 1), (2, 2), (3, 4))
STATE = State(1, {"s": 2}, {"a": (0, 2)}, {"a": {"s": 2}})


def job(mode: str = "passiveStandby") -> Job:
    """s → a → out"""
    spec = SubjobSpec("a", (("a", Operator(), ("s",)),), lambda *_: None, mode=mode)
    return Job([SourceSpec("s", ROWS, MS)], [spec], {"out": "a"})


def judged(*events: Observation, mode: str = "passiveStandby") -> Oracle:
    found = Oracle(job(mode))
    begun: list[Observation] = [
        seen.Launched("a-0", "a", 1),
        seen.Launched("a-1", "a", 1),
        seen.Launched("out", "out", 1),
    ]
    led: list[Observation] = [seen.LeaseTaken("a", "a-0", 1), seen.Led("a-0", 1, None, False)]
    found.look([(0, event) for event in (*begun, *led, *events)])
    return found


# --- the history


def parts(value: Any) -> Iterator[Any]:
    """All that can be reached from a value."""
    yield value
    if isinstance(value, tuple):
        inner: Any = value
    elif isinstance(value, Mapping):
        inner = (*value.keys(), *value.values())
    elif is_dataclass(value):
        inner = (getattr(value, f.name) for f in fields(value))
    else:
        return
    for part in inner:
        yield from parts(part)


def recorded(seed: int) -> list[Observation]:
    """A random job under random weather."""
    drawn = draw(random.Random(seed), Cores())
    world = World(seed)
    cluster = Cluster(world, recorder := Recorder(world), tick=20 * MS, interval=40, lossy=True)
    weather = cluster.weather = Weather(cluster, seed)
    cluster.build(drawn.sources, drawn.subjobs, drawn.sinks)
    for fault in forecast(seed, drawn):
        cluster.world.at(fault.at, begin, weather, fault)
    cluster.world.run(2 * SECOND)
    return [*(event for _, event in recorder.history), *measured(cluster)]


def test_a_history_has_only_plain_values_that_cannot_change() -> None:
    for kind in (*get_args(Observation), State):
        assert kind.__dataclass_params__.frozen
    values = {type(part) for seed in range(5) for event in recorded(seed) for part in parts(event)}
    values -= {*get_args(Observation), State, tuple, dict}
    assert all(issubclass(kind, PLAIN) for kind in values), values


def test_a_recorded_history_has_most_kinds_of_observations() -> None:
    assert len({type(event) for seed in range(5) for event in recorded(seed)}) >= 20


# --- findings


def test_a_sink_that_writes_a_tuple_twice_is_a_finding() -> None:
    first = seen.Delivered("out", "a", 0, ROWS[:2], 1)
    assert judged(first).problems == []
    assert "again" in " ".join(judged(first, seen.Delivered("out", "a", 1, ROWS[1:2], 1)).problems)


def test_two_lives_that_lead_in_one_epoch_are_a_finding() -> None:
    assert "both lead" in judged(seen.Led("a-1", 1, None, False)).problems[0]
    gone = seen.Crashed("a-0", False)
    assert judged(gone, seen.LeaseTaken("a", "a-1", 2), seen.Led("a-1", 2, STATE, False)).problems == []


def test_a_trim_of_tuples_that_are_not_stored_is_a_finding() -> None:
    stored = seen.Stored("a-1", STATE)
    assert judged(stored, seen.Trimmed("s", 2)).problems == []
    assert "stored only up to 2" in judged(stored, seen.Trimmed("s", 3)).problems[0]


def test_a_trim_of_tuples_that_one_active_instance_has_not_processed_is_a_finding() -> None:
    ran = seen.Ran("a-1", 1, STATE)
    processed = seen.Processed("a-1", "a", {"s": 3}, 3)
    assert "only processed 2" in judged(ran, seen.Trimmed("s", 3), mode="activeStandby").problems[0]
    assert judged(ran, processed, seen.Trimmed("s", 3), mode="activeStandby").problems == []


def test_a_mode_survives_a_failure_if_another_living_instance_has_stored_the_state() -> None:
    acked, crashed = seen.Acked("a-0", "s", 1, 2), seen.Crashed("a-0", False)
    stored = seen.Stored("a-1", STATE)
    assert "a" in judged(acked, crashed).exceeded
    assert judged(crashed).exceeded == {}, "nothing was released: a start from zero does the same again"
    assert judged(stored, acked, crashed).exceeded == {}
    assert "a" in judged(stored, acked, seen.Ended("a-1"), crashed).exceeded
    disturbed = seen.Disturbed("slow", ("a",), 1)
    assert "a" in judged(stored, acked, disturbed, seen.SteppedDown("a-1", None), crashed).exceeded


def test_a_state_that_is_given_up_for_a_short_hang_is_a_finding() -> None:
    acked, gives_up = seen.Acked("a-0", "s", 1, 2), seen.Crashed("a-0", True)
    for lasts, wrong in ((LASTING - 1, True), (LASTING, False)):
        found = judged(acked, seen.EngineHung("a-0", lasts), gives_up)
        assert bool(found.problems) == wrong
        assert "a" in found.exceeded


def test_a_standby_may_end_for_a_short_hang_though_its_primary_has_just_died() -> None:
    gone = (seen.Acked("a-0", "s", 1, 2), seen.Crashed("a-0", False), seen.Ended("a-0"))
    hangs = (seen.EngineHung("a-1", 200), seen.Crashed("a-1", True))
    assert judged(*gone, *hangs).problems == []
    found = judged(seen.Stored("a-1", STATE), *gone, *hangs)
    assert (found.problems, [*found.exceeded]) == ([], ["a"])


# --- when all is quiet


def test_a_subjob_is_protected_if_its_secondary_has_stored_and_the_primary_has_heard_so() -> None:
    joined, stored, heard = seen.Joined("a-0", "a-1"), seen.Stored("a-1", STATE), seen.Confirmed("a-0", 1)
    assert [*judged(joined, stored, heard).stillness([]).unprotected()] == []
    for missing in (
        (stored, heard),
        (joined, heard),
        (joined, stored),
        (joined, stored, heard, seen.Ended("a-0")),
    ):
        assert [*judged(*missing).stillness([]).unprotected()]
    alone = judged(joined, stored, heard, seen.Ended("a-1"))
    assert [*alone.stillness([]).unprotected()] == [], "no instance is left that could protect it"


def test_a_long_queue_is_a_finding() -> None:
    joined, stored, heard = seen.Joined("a-0", "a-1"), seen.Stored("a-1", STATE), seen.Confirmed("a-0", 1)
    found = judged(joined, stored, heard)
    assert [*found.stillness([seen.QueueMeasured("s", "s", 0, 40)]).long_queues()] == []
    assert [*found.stillness([seen.QueueMeasured("s", "s", 0, 41)]).long_queues()]


# --- causes and times


def findings(*timed: tuple[int, Observation], mode: str = "passiveStandby") -> list[str]:
    """The findings in this history, which begins when a-0 leads and a-1 has stored its state."""
    found = Oracle(job(mode))
    lives = (seen.Launched("a-0", "a", 1), seen.Launched("a-1", "a", 1), seen.Launched("out", "out", 1))
    led = (seen.LeaseTaken("a", "a-0", 1), seen.Led("a-0", 1, None, False), seen.Joined("a-0", "a-1"))
    found.look([*((0, event) for event in (*lives, *led, seen.Stored("a-1", STATE))), *timed])
    return [*found.problems, *found.causes.open_moves()]


def test_a_take_over_without_a_cause_is_a_finding() -> None:
    taken = seen.LeaseTaken("a", "a-1", 2)
    assert "though nothing had happened" in findings((500, taken))[0]
    assert findings((400, seen.Disturbed("slow", ("a",), 450)), (500, taken)) == []
    assert findings((400, seen.Disturbed("lease", (), 450)), (500, taken)) == []
    assert findings((400, seen.Ordered("a", "a-0", "a-1")), (500, taken)) == []


def test_a_cause_that_is_long_over_or_lay_elsewhere_explains_nothing() -> None:
    taken = seen.LeaseTaken("a", "a-1", 2)
    assert findings((100, seen.Disturbed("slow", ("a",), 200)), (200 + LINGERS + 1, taken))
    assert findings((400, seen.Disturbed("slow", ("b",), 450)), (500, taken))


def test_an_instance_that_steps_down_without_a_cause_is_a_finding() -> None:
    down = seen.SteppedDown("a-0", None)
    assert "though it held the Lease" in findings((500, down))[0]
    assert (
        findings(
            (400, seen.Disturbed("slow", ("a",), 450)), (450, seen.LeaseTaken("a", "a-1", 2)), (500, down)
        )
        == []
    )
    gives_up = seen.SteppedDown("a-1", None)
    assert "gave up its state" in findings((500, gives_up))[0]
    assert findings((400, seen.Disturbed("slow", ("s",), 450)), (500, gives_up)) == []


def test_a_standby_that_could_go_on_takes_over_in_time() -> None:
    dies, taken, later = seen.Crashed("a-0", False), seen.LeaseTaken("a", "a-1", 2), seen.Trimmed("s", 0)
    assert findings((500, dies), (500 + LATEST, taken)) == []
    assert "no standby took over" in findings((500, dies), (501 + LATEST, later))[0]
    away = seen.Disturbed("lease", (), 900)
    assert findings((500, dies), (600, away), (900 + LATEST, taken)) == []
    assert (
        findings((500, dies), (600, seen.Crashed("a-1", False)), (600, seen.Ended("a-1")), (9_000, later))
        == []
    )


def test_an_ordered_move_takes_place_or_is_given_up() -> None:
    order = (500, seen.Ordered("a", "a-0", "a-1"))
    assert "neither took place" in findings(order)[0]
    assert findings(order, (600, seen.Resumed("a-0"))) == []
    assert findings(order, (600, seen.GivenUp("a", "a-1"))) == []
    assert findings(order, (600, seen.LeaseTaken("a", "a-1", 2))) == []
    assert findings(order, (600, seen.Disturbed("link", ("a",), 700))) == []


def test_an_instance_that_asks_without_end_is_a_finding() -> None:
    found = judged()
    assert [*found.stillness([seen.Sent("rx_subscribe", ASKED)]).restless()] == []
    assert [*found.stillness([seen.Sent("rx_subscribe", ASKED + 1)]).restless()]
    assert [*found.stillness([seen.Sent("rx_ack", 3 * REPEATED)]).restless()] == []
    assert [*found.stillness([seen.Sent("rx_ack", 3 * REPEATED + 1)]).restless()]
