"""Upstream backup over inputs in the order of their arrival, with real shells and connections: the log of steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.modes.logged_backup import LoggedBackup

from .troupe import FORK, Troupe, until

ARRIVAL = FORK.replace("merge: eventTime", "merge: arrival")


@pytest.fixture
def troupe(tmp_path: Path) -> Iterator[Troupe]:
    found = Troupe("{mode: upstreamBackup}", tmp_path, ARRIVAL)
    yield found
    found.close()


def assert_each_once(rows: list[int]) -> None:
    """An interleaving of the two inputs, each in its order."""
    by_three = [n for n in rows if n % 3 == 0]
    others = [n for n in rows if n % 3]
    assert by_three == list(range(0, 3 * len(by_three), 3))
    assert others == [n for n in range(2 * len(others) + 2) if n % 3][: len(others)]


def protected(troupe: Troupe, name: str) -> None:
    until(lambda: bool(troupe.players[name].status()["protected"]))


def test_a_take_over_repeats_the_order_in_which_its_predecessor_took_its_inputs(troupe: Troupe) -> None:
    standby = troupe.add("second-1")
    troupe.begin()
    protected(troupe, "second-0")
    troupe.flows(100)
    assert isinstance(standby.scene.core, LoggedBackup)
    troupe.remove("second-0")
    troupe.flows(200)
    assert_each_once(list(troupe.reader.rows))
    taken = standby.status()["takeover"]
    assert (taken["lost"], taken["duplicated"]) == (0, 0)


def test_the_log_goes_to_the_next_standby(troupe: Troupe) -> None:
    troupe.add("second-1")
    troupe.begin()
    protected(troupe, "second-0")
    troupe.flows(100)
    for lost, leads, new in (("second-0", "second-1", "second-2"), ("second-1", "second-2", "second-3")):
        troupe.remove(lost)
        until(lambda leads=leads: troupe.leader("second") == leads)  # type: ignore[misc]
        troupe.add(new)
        protected(troupe, leads)
        troupe.flows(100)
    assert_each_once(list(troupe.reader.rows))


def test_the_log_goes_along_with_a_move(troupe: Troupe) -> None:
    troupe.begin()
    troupe.flows(40)
    target = troupe.add("second-1")
    protected(troupe, "second-0")

    def arrived() -> bool:
        troupe.surroundings.set_successor("second", "second-0", target.name)
        return troupe.leader("second") == target.name

    until(arrived)
    protected(troupe, target.name)
    troupe.flows(100)
    troupe.remove(target.name)
    troupe.flows(100)
    assert_each_once(list(troupe.reader.rows))
