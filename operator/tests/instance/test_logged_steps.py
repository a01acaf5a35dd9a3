"""Upstream backup over inputs in the order of their arrival, with real shells and connections: the log of
steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.modes.logged_backup import LoggedBackup

from .in_process import FORK, InProcessJob, until

ARRIVAL = FORK.replace("merge: eventTime", "merge: arrival")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    found = InProcessJob("{mode: upstreamBackup}", tmp_path, ARRIVAL)
    yield found
    found.close()


def assert_each_once(rows: list[int]) -> None:
    """An interleaving of the two inputs, each in its order."""
    by_three = [n for n in rows if n % 3 == 0]
    others = [n for n in rows if n % 3]
    assert by_three == list(range(0, 3 * len(by_three), 3))
    assert others == [n for n in range(2 * len(others) + 2) if n % 3][: len(others)]


def protected(running: InProcessJob, name: str) -> None:
    until(lambda: bool(running.instances[name].status()["protected"]))


def test_a_take_over_repeats_the_order_in_which_its_predecessor_took_its_inputs(
    running: InProcessJob,
) -> None:
    standby = running.add("second-1")
    running.begin()
    protected(running, "second-0")
    running.flows(100)
    assert isinstance(standby.context.core, LoggedBackup)
    running.remove("second-0")
    running.flows(200)
    assert_each_once(list(running.reader.rows))
    taken = standby.status()["takeover"]
    assert (taken["lost"], taken["duplicated"]) == (0, 0)


def test_the_log_goes_to_the_next_standby(running: InProcessJob) -> None:
    running.add("second-1")
    running.begin()
    protected(running, "second-0")
    running.flows(100)
    for lost, leads, new in (("second-0", "second-1", "second-2"), ("second-1", "second-2", "second-3")):
        running.remove(lost)
        until(lambda leads=leads: running.leader("second") == leads)  # type: ignore[misc]
        running.add(new)
        protected(running, leads)
        running.flows(100)
    assert_each_once(list(running.reader.rows))


def test_the_log_goes_along_with_a_move(running: InProcessJob) -> None:
    running.begin()
    running.flows(40)
    target = running.add("second-1")
    protected(running, "second-0")

    def arrived() -> bool:
        running.surroundings.set_successor("second", "second-0", target.name)
        return running.leader("second") == target.name

    until(arrived)
    protected(running, target.name)
    running.flows(100)
    running.remove(target.name)
    running.flows(100)
    assert_each_once(list(running.reader.rows))
