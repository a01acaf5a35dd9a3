"""Weather in the simulator: that there is some of every kind, and what each does."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.simulation.jobs import chain, expected, run
from understudy.modes.leadership import Role
from understudy_lab.exploration.explore import has_weather
from understudy_lab.exploration.fault import Fault
from understudy_lab.exploration.fault_schedules import run as explore
from understudy_lab.exploration.networks import Cores, draw
from understudy_lab.exploration.weather import KINDS, Weather, forecast
from understudy_lab.simulation.cluster import Cluster
from understudy_lab.simulation.world import MS

MODES = ("passiveStandby", "activeStandby", "upstreamBackup")


def with_weather(mode: str, *faults: Fault) -> tuple[Cluster, list[object]]:
    """A chain of two subjobs that is run to its end under this weather."""
    cluster, seen = chain(mode)
    weather = cluster.weather = Weather(cluster, 1)
    cluster.lossy = True
    for source in cluster.sources.values():
        source.begin_to_beat()
    for fault in faults:
        cluster.world.at(fault.at, begin, weather, fault)
    run(cluster)
    return cluster, list(seen.rows)


def begin(weather: Weather, fault: Fault) -> None:
    assert weather.brings(fault)


def test_a_seed_has_the_same_job_and_the_same_other_faults_without_weather() -> None:
    fair, foul = explore(3), explore(3, weather=True)
    assert fair.job.describe() == foul.job.describe()
    assert fair.faults == [f for f in foul.faults if f.kind not in KINDS]
    assert len(foul.faults) > len(fair.faults)


def test_every_second_seed_has_weather_and_there_is_some_of_every_kind() -> None:
    assert [has_weather(seed) for seed in range(4)] == [False, True, False, True]
    jobs = ((seed, draw(random.Random(seed), Cores())) for seed in range(200))
    assert Counter(f.kind for seed, job in jobs for f in forecast(seed, job)).keys() == set(KINDS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", dict.fromkeys(KINDS))
@pytest.mark.parametrize("variant", [False, True])
def test_a_sink_gets_the_same_whatever_the_weather(mode: str, kind: str, variant: bool) -> None:
    subjob = "out" if kind == "paused sink" else "A"
    cluster, rows = with_weather(mode, Fault(300 * MS, kind, subjob, 300 * MS, variant))
    assert cluster.finished
    assert rows == expected()


def test_an_engine_that_hangs_for_ever_is_succeeded_and_its_process_ends() -> None:
    cluster, _ = with_weather("passiveStandby", Fault(300 * MS, "hung engine", "A", 100 * MS, True))
    first = cluster.processes["A-0.1"]
    assert not first.alive
    assert any(p.alive and p.core.role is Role.PRIMARY for p in cluster.running["A"] if p is not first)


def test_two_lives_of_a_sink_write_each_tuple_once() -> None:
    cluster, rows = with_weather("activeStandby", Fault(300 * MS, "paused sink", "out", 300 * MS, True))
    assert cluster.sinks["out"].name == "out.2"
    assert not cluster.processes["out"].alive
    assert rows == expected()


def test_tuples_that_a_replaced_amnesia_life_still_sends_are_lost_with_it() -> None:
    assert explore(2093, weather=True).problems == []


def test_a_sink_that_begins_at_the_end_of_its_stream_is_finished() -> None:
    assert explore(2805, weather=True).problems == []
