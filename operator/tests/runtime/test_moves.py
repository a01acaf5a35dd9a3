"""Moves between shells over real connections, in every mode; only Spark is left out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.backends.local.surroundings import LocalSurroundings
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Stream

from .troupe import CHAIN, FORK, SIZE, SLIDE, Player, Troupe, expected, patient, until

MODES = {
    "amnesia": "{mode: amnesia}",
    "passiveStandby": "{mode: passiveStandby, checkpoint: {interval: 100ms}}",
    "synchronized": "{mode: passiveStandby, checkpoint: {interval: 100ms, backups: synchronized}}",
    "upstreamBackup": "{mode: upstreamBackup}",
    "activeStandby": "{mode: activeStandby}",
    "replicaBackup": "{mode: replicaBackup}",
    "savepoint": "{mode: savepoint}",
}


def some(*modes: str) -> list[object]:
    return [pytest.param(MODES[mode], id=mode) for mode in modes]


@pytest.fixture(params=list(MODES.values()), ids=list(MODES))
def troupe(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Troupe]:
    found = Troupe(request.param, tmp_path)
    yield found
    found.close()


def has_left(source: Player) -> bool:
    """It has stepped down. A replica is back beside the other at once, so that its role does not tell."""
    departure = source.status()["departure"]
    return departure is not None and departure["leftMs"] is not None


def assert_right(troupe: Troupe) -> None:
    rows = list(troupe.reader.rows)
    assert rows == expected(len(rows))


@pytest.mark.parametrize("subjob", ["first", "second"])
def test_a_move_to_a_new_instance_loses_nothing_and_repeats_nothing(troupe: Troupe, subjob: str) -> None:
    source = troupe.players[f"{subjob}-0"]
    troupe.add("second-1" if subjob == "first" else "first-1")  # the neighbour's standby
    troupe.begin()
    troupe.flows()
    target = troupe.add(f"{subjob}-1")
    until(lambda: target.status()["state"] in ("waiting", "ready") and source.shell.peers.secondary == target.name)

    def arrived() -> bool:
        troupe.surroundings.set_successor(subjob, source.name, target.name)
        return troupe.leader(subjob) == target.name

    until(arrived)
    until(lambda: target.status()["role"] == "primary" and has_left(source))
    troupe.flows()
    assert_right(troupe)
    told, taken = source.status()["departure"], target.status()["takeover"]
    assert told["to"] == target.name
    assert taken["planned"]
    assert taken["lost"] == 0
    assert troupe.players[f"{subjob}-1"].status()["losses"] == []


class Stopped(LocalSurroundings):
    """Of a target that is stopped when it has been handed to, and before it takes the Lease."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reached, self.wakes, self.tried = threading.Event(), threading.Event(), threading.Event()

    def try_lease(self, subjob: str, expected: LeaseRecord | None, holder: str, address: str) -> LeaseRecord | None:
        self.reached.set()
        self.wakes.wait()
        won = super().try_lease(subjob, expected, holder, address)
        self.tried.set()
        return won


def test_a_move_that_is_given_up_while_its_target_is_stopped_never_takes_place(troupe: Troupe) -> None:
    source, at = troupe.players["first-0"], Stopped(troupe.surroundings.folder)
    troupe.begin()
    troupe.flows()
    target = troupe.add("first-1", at)
    until(lambda: target.status()["state"] in ("waiting", "ready") and source.shell.peers.secondary == target.name)
    troupe.surroundings.set_successor("first", source.name, target.name)
    until(at.reached.is_set)
    assert troupe.surroundings.take_successor_away("first", target.name)
    troupe.flows(200)
    assert troupe.leader("first") == source.name
    at.wakes.set()
    until(at.tried.is_set)
    troupe.flows(100)
    assert troupe.leader("first") == source.name
    assert not has_left(source)
    assert_right(troupe)


@pytest.mark.parametrize("troupe", some("passiveStandby", "savepoint", "replicaBackup"), indirect=True)
def test_there_and_back_again(troupe: Troupe) -> None:
    """The former primary is the new one's standby, and has its state."""
    troupe.begin()
    troupe.add("first-1")
    troupe.add("second-1")
    for source, target in (("second-0", "second-1"), ("second-1", "second-0")):
        player = troupe.players[source]
        until(lambda player=player, target=target: player.shell.peers.secondary == target)  # type: ignore[misc]
        troupe.flows()

        def arrived(source: str = source, target: str = target) -> bool:
            troupe.surroundings.set_successor("second", source, target)
            return troupe.leader("second") == target

        until(arrived)
        troupe.flows()
    assert_right(troupe)


@pytest.mark.parametrize("troupe", some("passiveStandby", "synchronized"), indirect=True)
def test_neighbours_that_are_lost_together_go_on_from_their_backups(troupe: Troupe) -> None:
    standbys = [troupe.add("first-1"), troupe.add("second-1")]
    troupe.begin()
    until(lambda: all(troupe.players[name].status()["protected"] for name in ("first-0", "second-0")))
    troupe.flows()
    for name in ("first-0", "second-0"):
        troupe.remove(name)
    troupe.flows()
    assert_right(troupe)
    assert all(standby.status()["takeover"]["lost"] == 0 for standby in standbys)


@pytest.mark.parametrize("troupe", some("passiveStandby", "activeStandby"), indirect=True)
def test_a_newcomer_waits_while_there_is_a_secondary(troupe: Troupe) -> None:
    troupe.begin()
    primary, standby = troupe.players["first-0"], troupe.add("first-1")
    until(lambda: primary.shell.peers.secondary == standby.name)
    troupe.add("first-2")
    troupe.flows(20)
    assert primary.shell.peers.secondary == standby.name
    troupe.remove(standby.name)
    until(lambda: primary.shell.peers.secondary == "first-2")
    troupe.flows()
    assert_right(troupe)


def test_a_join_of_extended_backups_is_lost_together_with_its_producers(tmp_path: Path) -> None:
    troupe = Troupe("{mode: passiveStandby, checkpoint: {interval: 100ms, backups: extended}}", tmp_path, FORK)
    try:
        subjobs = [subjob.name for subjob in troupe.job.subjobs]
        for name in subjobs:
            troupe.add(f"{name}-1")
        troupe.begin()
        until(lambda: all(troupe.players[f"{name}-0"].status()["protected"] for name in subjobs))
        troupe.flows(600)
        for name in subjobs:
            troupe.remove(f"{name}-0")
        troupe.flows(300)
        rows = list(troupe.reader.rows)
        assert rows == list(range(len(rows)))
    finally:
        troupe.close()


def test_a_savepoint_operator_is_lost_together_with_its_producer_that_backs_up_synchronized(tmp_path: Path) -> None:
    """The producer's standby is told the savepoints of the acks that made its backup permanent."""
    first, _, second = CHAIN.rpartition("ha: HA")
    troupe = Troupe(MODES["synchronized"], tmp_path, f"{first}ha: {patient(MODES['savepoint'])}{second}")
    try:
        standbys = [troupe.add("first-1"), troupe.add("second-1")]
        troupe.begin()
        until(lambda: all(troupe.players[name].status()["protected"] for name in ("first-0", "second-0")))
        troupe.flows(200)
        for name in ("first-0", "second-0"):
            troupe.remove(name)
        troupe.flows(200)
        assert_right(troupe)
        assert all(standby.status()["losses"] == [] for standby in standbys)
    finally:
        troupe.close()


def test_what_an_amnesiac_producer_makes_anew_is_no_duplicate_of_what_its_consumer_had(tmp_path: Path) -> None:
    """Both are lost after the consumer's checkpoint: its standby gets other tuples under the seqs that it had."""
    first, _, second = CHAIN.rpartition("ha: HA")
    rarely = patient("{mode: passiveStandby, checkpoint: {interval: 60s}}")
    troupe = Troupe("{mode: amnesia}", tmp_path, f"{first}ha: {rarely}{second}")
    try:
        troupe.add("second-1")
        troupe.begin()
        until(lambda: bool(troupe.players["second-0"].status()["protected"]))
        troupe.flows(100)
        for name in ("first-0", "second-0"):
            troupe.remove(name)
        replacement = troupe.add("first-1")
        troupe.flows(200)
        base = replacement.scene.core.anew[Stream("first")]
        begins = replacement.status()["losses"][-1]["to"]
        kept = [n for n in range(begins, begins + 400) if n % 3]
        places = range(-(-base // SLIDE) * SLIDE - base, len(kept) - SIZE, SLIDE)
        sums = [sum(kept[at : at + SIZE]) for at in places]
        assert sums[0] in troupe.reader.rows, "the first that comes of the new life's tuples"
        since = troupe.reader.rows.index(sums[0])
        assert troupe.reader.rows[since : since + 50] == sums[:50]
    finally:
        troupe.close()
