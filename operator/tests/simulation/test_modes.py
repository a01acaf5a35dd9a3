"""Every mode in the simulator: what a sink gets without and with failures."""

from __future__ import annotations

import pytest

from tests.simulation.jobs import MODES, chain, expected, kill, run
from understudy_lab.simulation.world import MS

EXACT = [m for m in MODES if m != "amnesia"]


@pytest.mark.parametrize("mode", MODES)
def test_without_failures_a_sink_gets_everything_once(mode: str) -> None:
    cluster, seen = chain(mode)
    run(cluster)
    assert cluster.finished
    assert seen.rows == expected()


@pytest.mark.parametrize("mode", EXACT)
@pytest.mark.parametrize("silent", [False, True])
def test_after_two_failures_a_sink_has_got_the_same(mode: str, silent: bool) -> None:
    cluster, seen = chain(mode)
    kill(cluster, "A", 500 * MS, silent)
    kill(cluster, "B", 900 * MS, silent)
    run(cluster)
    assert cluster.finished, "\n".join(cluster.world.history or ())
    assert seen.rows == expected()
    assert seen.losses == []


@pytest.mark.parametrize(
    "mode", ["replicaBackup", "activeStandby", "passiveStandby", "upstreamBackup", "savepoint"]
)
def test_a_second_failure_after_recovery_is_survived(mode: str) -> None:
    cluster, seen = chain(mode)
    for at in (300, 600, 900):
        kill(cluster, "A", at * MS)
    run(cluster)
    assert seen.rows == expected()


def test_savepoint_recovers_adjacent_operators_that_fail_together() -> None:
    cluster, seen = chain("savepoint")
    for at in (400, 700):
        kill(cluster, "A", at * MS)
        kill(cluster, "B", at * MS)
    run(cluster)
    assert seen.rows == expected()


def test_amnesia_loses_and_says_so() -> None:
    cluster, seen = chain("amnesia")
    kill(cluster, "A", 500 * MS)
    run(cluster)
    assert cluster.finished
    assert [loss[:2] for loss in seen.losses] == [("A", "S")]
    assert len(seen.rows) < len(expected())


@pytest.mark.parametrize("silent", [False, True])
def test_a_spare_of_amnesia_takes_over_and_its_replacement_is_the_next_spare(silent: bool) -> None:
    cluster, seen = chain("amnesia")
    leads = cluster.running["B"][0]
    cluster.world.run(400 * MS, lambda: leads.core.protected)
    spare = next(p for p in cluster.running["B"] if p is not leads)
    assert leads.core.secondary == spare.name
    kill(cluster, "B", 100 * MS, silent)
    cluster.world.run(2_000 * MS, lambda: spare.serving and spare.core.protected)
    assert spare.serving
    again = next(p for p in cluster.running["B"] if p is not spare)
    assert spare.core.secondary == again.name, "started again in its place, it is the spare now"
    run(cluster)
    assert cluster.finished
    assert {loss[:2] for loss in seen.losses} <= {("B", "A")}
    lost = sum(len(loss[2]) for loss in seen.losses)
    assert seen.rows == [row for row in expected() if row in seen.rows], "none twice, none out of order"
    assert 0 < len(expected()) - len(seen.rows) <= lost


def test_the_same_seed_gives_the_same_history() -> None:
    histories = []
    for _ in range(2):
        cluster, _ = chain("activeStandby", seed=7)
        cluster.world.network.jitter = 3 * MS
        kill(cluster, "A", 500 * MS)
        run(cluster)
        histories.append((cluster.world.history, cluster.world.steps, cluster.world.network.bytes))
    assert histories[0] == histories[1]
