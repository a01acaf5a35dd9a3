"""Amnesia with a spare, between shells over real connections; only Spark is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.model.ha import Ha

from .in_process import InProcessInstance, InProcessJob, expected, until

SPARE = "{mode: amnesia, spare: true}"
PASSIVE = "{mode: passiveStandby, checkpoint: {interval: 100ms}}"


@pytest.fixture(params=[SPARE])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessJob]:
    found = InProcessJob(request.param, tmp_path)
    yield found
    found.close()


def joined(running: InProcessJob, primary: InProcessInstance, name: str) -> InProcessInstance:
    standby = running.add(name)
    until(lambda: bool(primary.status()["protected"]))
    assert primary.status()["secondary"] == name
    return standby


def told(running: InProcessJob, **ha: object) -> None:
    """As the operator does: every instance of the first subjob."""
    subjob = running.job.subjob("first")
    assert subjob is not None
    wanted = Ha.model_validate({"heartbeat": subjob.ha.heartbeat, **ha})
    for name, instance in running.instances.items():
        if name.startswith("first-"):
            instance.shell.changing.tell(wanted)


def killed(running: InProcessJob, name: str, successor: InProcessInstance) -> None:
    running.remove(name)
    until(lambda: running.leader("first") == successor.name)
    running.flows()


def assert_none_twice(running: InProcessJob) -> None:
    rows = list(running.reader.rows)
    assert rows == sorted(set(rows))


def assert_right(running: InProcessJob) -> None:
    rows = list(running.reader.rows)
    assert rows == expected(len(rows))


def test_a_spare_takes_over_and_reports_the_loss_and_gets_a_spare_of_its_own(running: InProcessJob) -> None:
    primary = running.instances["first-0"]
    assert (primary.status()["protected"], primary.status()["ifItFailedNow"]) == (False, None)
    spare = joined(running, primary, "first-1")
    assert spare.status()["state"] == "ready"
    running.begin()
    running.flows()
    cost = primary.status()["ifItFailedNow"]
    assert (cost["replayTuples"], cost["replaySeconds"]) == (0, 0.0)
    assert cost["lostTuples"] >= 0
    killed(running, "first-0", spare)
    status = spare.status()
    assert status["takeover"]["lost"] > 0
    assert sum(loss["to"] - loss["from"] for loss in status["losses"]) == status["takeover"]["lost"]
    joined(running, spare, "first-2")
    assert_none_twice(running)


def test_a_spare_that_leaves_is_missed(running: InProcessJob) -> None:
    primary = running.instances["first-0"]
    joined(running, primary, "first-1")
    running.remove("first-1")
    until(lambda: not primary.status()["protected"])


@pytest.mark.parametrize("running", [PASSIVE], indirect=True)
def test_a_standby_becomes_the_spare_of_amnesia_and_a_standby_again(running: InProcessJob) -> None:
    primary = running.instances["first-0"]
    standby = joined(running, primary, "first-1")
    running.begin()
    running.flows()
    told(running, mode="amnesia", spare=True)
    until(lambda: {p.status()["mode"] for p in (primary, standby)} == {"amnesia"})
    until(lambda: bool(primary.status()["protected"]))
    running.flows()
    told(running, mode="passiveStandby")
    until(lambda: {p.status()["mode"] for p in (primary, standby)} == {"passiveStandby"})
    until(lambda: bool(primary.status()["protected"]))
    assert_right(running)
    killed(running, "first-0", standby)
    assert standby.status()["takeover"]["lost"] == 0
    assert_right(running)


@pytest.mark.parametrize("running", [PASSIVE], indirect=True)
def test_a_standby_that_became_the_spare_takes_over_empty(running: InProcessJob) -> None:
    primary = running.instances["first-0"]
    standby = joined(running, primary, "first-1")
    running.begin()
    running.flows()
    told(running, mode="amnesia", spare=True)
    until(lambda: standby.status()["mode"] == "amnesia" and bool(primary.status()["protected"]))
    running.flows()
    killed(running, "first-0", standby)
    assert standby.status()["takeover"]["lost"] > 0
    assert_none_twice(running)


def test_a_spare_is_added_and_removed_without_a_new_primary(running: InProcessJob) -> None:
    primary = running.instances["first-0"]
    joined(running, primary, "first-1")
    running.begin()
    running.flows()
    for spare in (False, True):
        told(running, mode="amnesia", spare=spare)
        until(lambda spare=spare: primary.context.subjob.ha.spare is spare)  # type: ignore[misc]
    running.flows()
    assert running.leader("first") == "first-0"
    assert_right(running)
