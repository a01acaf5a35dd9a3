"""A primary and a sink of its stream are lost together: the other sink is served. Then the lost one comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.runtime.status import status_of

from .troupe import CHAIN, Player, Reader, Troupe, expected, until

TWO_SINKS = CHAIN.replace("sinks: [", "sinks: [{name: away, input: second, files: {path: away}}, ")
SOON_SUSPECTED = "heartbeat: {interval: 50ms, misses: 8}"


def lose_both(troupe: Troupe) -> tuple[Reader, Player]:
    """The sink that was lost, and the one that took over."""
    away = Reader(troupe.job, troupe.surroundings, [], "away")
    troupe.begin()
    until(lambda: min(len(away.rows), len(troupe.reader.rows)) > 50)
    spare = troupe.add("second-1")
    until(lambda: troupe.players["second-0"].scene.core.protected)
    away.stop()
    troupe.flows(20)
    troupe.remove("second-0")
    return away, spare


def come_back(troupe: Troupe, away: Reader) -> Reader:
    """With all that it had."""
    return Reader(troupe.job, troupe.surroundings, list(away.rows), "away", away.last)


@pytest.mark.parametrize("mode", ["upstreamBackup", "passiveStandby", "activeStandby", "replicaBackup"])
def test_a_take_over_serves_those_that_are_there_and_the_lost_one_gets_everything_later(
    mode: str, tmp_path: Path
) -> None:
    troupe = Troupe(f"{{mode: {mode}, {SOON_SUSPECTED}}}", tmp_path, TWO_SINKS)
    try:
        away, spare = lose_both(troupe)
        troupe.flows(100)
        assert not spare.scene.core.roll_open
        assert status_of(spare.scene)["takeover"]["firstOutputMs"] is not None
        back = come_back(troupe, away)
        until(lambda: len(back.rows) >= len(troupe.reader.rows) - 20)
        troupe.flows(40)
        until(lambda: len(back.rows) >= len(troupe.reader.rows) - 20)
        assert back.rows == expected(len(back.rows))
        assert troupe.reader.rows == expected(len(troupe.reader.rows))
        back.stop()
    finally:
        troupe.close()


def test_a_late_sink_that_had_more_than_the_others_goes_on_behind_what_it_had(tmp_path: Path) -> None:
    """With amnesia nobody can make again what it had: it counts on from there, and skips none of the new tuples."""
    ha = f"{{mode: amnesia, spare: true, {SOON_SUSPECTED}}}"
    troupe = Troupe(ha, tmp_path, TWO_SINKS)
    try:
        away, spare = lose_both(troupe)
        troupe.flows(100)
        had = [-1] * (len(away.rows) + 500)
        away.rows = had
        back = come_back(troupe, away)
        until(lambda: len(back.rows) > len(had) + 60)
        until(lambda: spare.scene.core.shifts != {})
        news = back.rows[len(had) :]
        at = troupe.reader.rows.index(news[0])
        assert troupe.reader.rows[at : at + 60] == news[:60]
        back.stop()
    finally:
        troupe.close()
