"""A primary and a sink of its stream are lost together: the other sink is served. Then the lost one comes
back."""

from __future__ import annotations

from pathlib import Path

import pytest

from .in_process import CHAIN, InProcessInstance, InProcessJob, Reader, expected, until

TWO_SINKS = CHAIN.replace("sinks: [", "sinks: [{name: away, input: second, files: {path: away}}, ")
SOON_SUSPECTED = "heartbeat: {interval: 50ms, misses: 8}"


def lose_both(running: InProcessJob) -> tuple[Reader, InProcessInstance]:
    """The sink that was lost, and the one that took over."""
    away = Reader(running.job, running.surroundings, [], "away")
    running.begin()
    until(lambda: min(len(away.rows), len(running.reader.rows)) > 50)
    spare = running.add("second-1")
    until(lambda: running.instances["second-0"].context.core.protected)
    away.stop()
    running.flows(20)
    running.remove("second-0")
    return away, spare


def come_back(running: InProcessJob, away: Reader) -> Reader:
    """With all that it had."""
    return Reader(running.job, running.surroundings, list(away.rows), "away", away.last)


@pytest.mark.parametrize("mode", ["upstreamBackup", "passiveStandby", "activeStandby", "replicaBackup"])
def test_a_take_over_serves_the_consumers_that_are_there_and_a_lost_one_gets_every_tuple_later(
    mode: str, tmp_path: Path
) -> None:
    running = InProcessJob(f"{{mode: {mode}, {SOON_SUSPECTED}}}", tmp_path, TWO_SINKS)
    try:
        away, spare = lose_both(running)
        running.flows(100)
        assert not spare.context.core.roll_open
        assert spare.status()["takeover"]["firstOutputMs"] is not None
        back = come_back(running, away)
        until(lambda: len(back.rows) >= len(running.reader.rows) - 20)
        running.flows(40)
        until(lambda: len(back.rows) >= len(running.reader.rows) - 20)
        for rows in (list(back.rows), list(running.reader.rows)):  # more come meanwhile
            assert rows == expected(len(rows))
        back.stop()
    finally:
        running.close()


def test_a_late_sink_that_had_more_than_the_others_goes_on_after_its_last_tuple(tmp_path: Path) -> None:
    """With amnesia nobody can make again what it had: it counts on from there, and skips none of the new
    tuples."""
    ha = f"{{mode: amnesia, spare: true, {SOON_SUSPECTED}}}"
    running = InProcessJob(ha, tmp_path, TWO_SINKS)
    try:
        away, spare = lose_both(running)
        running.flows(100)
        had = [-1] * (len(away.rows) + 500)
        away.rows = had
        back = come_back(running, away)
        until(lambda: len(back.rows) > len(had) + 60)
        until(lambda: spare.context.core.numbering.shifts != {})
        news = back.rows[len(had) :]
        at = running.reader.rows.index(news[0])
        assert running.reader.rows[at : at + 60] == news[:60]
        back.stop()
    finally:
        running.close()
