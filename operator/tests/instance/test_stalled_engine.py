"""What becomes of a subjob whose engine says that it stands still: real shells, Leases and streams, without
Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.instance.enginewatch import GRACE_MS
from understudy.modes.leadership import Role
from understudy.protocol.engine import SHOWN_MS, leaves

from .in_process import InProcessInstance, InProcessJob, expected, until

BEAT = "heartbeat: {interval: 100ms, misses: 30}"
MODES = {
    "passiveStandby": f"{{mode: passiveStandby, checkpoint: {{interval: 100ms}}, {BEAT}}}",
    "activeStandby": f"{{mode: activeStandby, {BEAT}}}",
    "upstreamBackup": f"{{mode: upstreamBackup, {BEAT}}}",
    "savepoint": f"{{mode: savepoint, {BEAT}}}",
    "replicaBackup": f"{{mode: replicaBackup, {BEAT}}}",
}
WHY = "the JVM did not answer for 3.1 s"


@pytest.fixture(params=MODES)
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessJob]:
    made = InProcessJob(MODES[request.param], tmp_path)
    made.add("first-1")
    made.begin()
    made.flows()
    until(lambda: bool(made.instances["first-0"].status()["protected"]))
    yield made
    made.close()


def hang(instance: InProcessInstance) -> None:
    """It makes nothing any more, and says so."""
    instance.inbox.close()
    instance.context.story.engine_stalled = WHY


def assert_right(running: InProcessJob) -> None:
    rows = list(running.reader.rows)
    assert rows == expected(len(rows))


def test_a_primary_that_says_it_is_stalled_is_replaced_while_its_process_lives(running: InProcessJob) -> None:
    hang(running.instances["first-0"])
    until(lambda: running.leader("first") == "first-1")
    running.flows()
    assert_right(running)
    assert "its engine stands still" in running.instances["first-1"].status()["takeover"]["cause"]
    until(lambda: running.instances["first-0"].context.core.role is Role.STANDBY)
    at = running.instances["first-1"].context.core.epoch
    running.flows()
    assert running.instances["first-1"].context.core.epoch == at == 2, (
        "the one that stands still took the Lease"
    )
    stand = running.instances["first-0"].shell.stand()
    assert leaves(stand, SHOWN_MS, GRACE_MS), "what it was is with its successor: it is restarted at once"


def test_a_standby_that_says_it_is_stalled_protects_no_primary(running: InProcessJob) -> None:
    hang(running.instances["first-1"])
    primary = running.instances["first-0"]
    until(lambda: not primary.status()["protected"])
    assert primary.context.core.role is Role.PRIMARY
    running.flows()
    assert running.leader("first") == "first-0"
    assert_right(running)


@pytest.mark.parametrize("mode", ["passiveStandby", "activeStandby"])
def test_a_hung_primary_without_a_standby_gives_its_state_to_the_next_one(mode: str, tmp_path: Path) -> None:
    """Its state is in its own process, not in the JVM."""
    made = InProcessJob(MODES[mode], tmp_path)
    try:
        made.begin()
        made.flows()
        hang(made.instances["first-0"])
        made.add("first-1")
        until(lambda: made.leader("first") == "first-1")
        made.flows()
        assert_right(made)
    finally:
        made.close()
