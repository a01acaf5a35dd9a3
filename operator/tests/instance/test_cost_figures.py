"""What the page says that a failure would cost, held against what the next one costs: in every mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from understudy.protocol.pace import replay_ms

from .in_process import RATE, InProcessInstance, InProcessJob, until

MODES = {
    "amnesia": "{mode: amnesia, spare: true}",
    "passiveStandby": "{mode: passiveStandby, checkpoint: {interval: 1s}}",
    "activeStandby": "{mode: activeStandby}",
    "replicaBackup": "{mode: replicaBackup}",
    "upstreamBackup": "{mode: upstreamBackup, ackInterval: 1s}",
    "savepoint": "{mode: savepoint, ackInterval: 1s}",
}
SLACK = RATE // 5  # what comes in 200 ms: the standby hears of positions every 100 ms
WORTH = 80  # tuples: well above the slack


@pytest.fixture(params=MODES)
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessJob]:
    found = InProcessJob(MODES[request.param], tmp_path)
    yield found
    found.close()


def cost_and_story(
    running: InProcessJob, subjob: str, wanted: Callable[[dict[str, Any]], bool]
) -> tuple[Any, Any]:
    """What the primary says when its cost is as wanted, and what is told of the take-over that follows at
    once."""
    primary, standby = running.instances[f"{subjob}-0"], running.add(f"{subjob}-1")
    running.begin()
    until(lambda: bool(primary.status()["protected"]))
    running.flows(100)
    cost = said(primary, wanted)
    running.remove(primary.name)
    until(lambda: running.leader(subjob) == standby.name)
    until(lambda: (standby.status()["takeover"] or {}).get("recoveryMs") is not None)
    story = standby.status()["takeover"]
    print(
        f"{subjob} in {standby.context.subjob.ha.mode}: {cost}, {story['replayed']} replayed, "
        f"{story['lost']} lost"
    )
    return cost, story


def said(primary: InProcessInstance, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def is_wanted() -> bool:
        nonlocal found
        found = primary.status()["ifItFailedNow"] or {}
        return bool(found) and wanted(found)

    until(is_wanted)
    return found


def assert_alike(told: int, happened: int) -> None:
    assert told / 2 - SLACK <= happened <= told * 2 + SLACK


@pytest.mark.parametrize("subjob", ["first", "second"])
@pytest.mark.parametrize("running", ["passiveStandby", "upstreamBackup", "savepoint"], indirect=True)
def test_the_next_failure_replays_what_the_page_says(running: InProcessJob, subjob: str) -> None:
    """`first` reads a source, `second` another subjob."""
    if (running.instances["first-0"].context.subjob.ha.mode, subjob) == ("upstreamBackup", "first"):
        cost, story = cost_and_story(
            running, subjob, lambda cost: True
        )  # consumers know where to read a source again
    else:
        cost, story = cost_and_story(running, subjob, lambda cost: cost["replayTuples"] >= WORTH)
    if (
        running.instances["first-1" if subjob == "first" else "second-1"].context.core.ships_state,
        subjob,
    ) == (
        False,
        "first",
    ):
        # an instance that is asked to stop writes down its acks to sources once more, and one that is killed
        # does not
        assert story["replayed"] <= cost["replayTuples"] * 2 + SLACK
    else:
        assert_alike(cost["replayTuples"], story["replayed"])
    assert (cost["lostTuples"], story["lost"]) == (0, 0)


@pytest.mark.parametrize("subjob", ["first", "second"])
@pytest.mark.parametrize("running", ["activeStandby", "replicaBackup"], indirect=True)
def test_an_instance_that_runs_beside_the_primary_replays_nothing(running: InProcessJob, subjob: str) -> None:
    cost, story = cost_and_story(running, subjob, lambda cost: True)
    assert (cost["replayTuples"], cost["replaySeconds"], cost["lostTuples"]) == (0, 0, 0)
    assert (story["replayed"], story["lost"]) == (0, 0)


@pytest.mark.parametrize("subjob", ["first", "second"])
@pytest.mark.parametrize("running", ["amnesia"], indirect=True)
def test_amnesia_loses_what_the_page_says(running: InProcessJob, subjob: str) -> None:
    cost, story = cost_and_story(running, subjob, lambda cost: True)
    assert_alike(cost["lostTuples"], story["lost"])
    assert (cost["replayTuples"], story["replayed"]) == (0, 0)


# --- how long a replay takes


def test_a_replay_costs_a_fixed_time_and_a_time_per_tuple() -> None:
    lately = [(rows, 80 + rows // 10) for rows in range(100, 1_100, 100)]
    assert replay_ms(lately, 5_000) == pytest.approx(80 + 55 + 500, rel=0.2)


def test_delays_of_a_busy_machine_are_not_taken_for_the_cost_of_tuples() -> None:
    lately = [(20, 80), (22, 300), (40, 500), (24, 90), (38, 81), (21, 400), (36, 600), (39, 85)]
    assert replay_ms(lately, 1_000) < 600


def test_equal_micro_batches_give_the_cost_of_one() -> None:
    assert replay_ms([(20, 90)] * 9, 100) == 90
    assert replay_ms([], 100) == replay_ms([(20, 90)], 0) == 0
