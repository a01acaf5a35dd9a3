"""Moves between shells over real connections, in every mode; only Spark is left out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.local.surroundings import LocalSurroundings
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Stream

from .in_process import CHAIN, FORK, SIZE, SLIDE, InProcessInstance, InProcessJob, expected, patient, until

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
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessJob]:
    found = InProcessJob(request.param, tmp_path)
    yield found
    found.close()


def has_left(source: InProcessInstance) -> bool:
    """It has stepped down. A replica is back beside the other at once, so that its role does not tell."""
    departure = source.status()["departure"]
    return departure is not None and departure["leftMs"] is not None


def assert_right(running: InProcessJob) -> None:
    rows = list(running.reader.rows)
    assert rows == expected(len(rows))


@pytest.mark.parametrize("subjob", ["first", "second"])
def test_a_move_to_a_new_instance_loses_nothing_and_repeats_nothing(
    running: InProcessJob, subjob: str
) -> None:
    source = running.instances[f"{subjob}-0"]
    running.add("second-1" if subjob == "first" else "first-1")  # the neighbour's standby
    running.begin()
    running.flows()
    target = running.add(f"{subjob}-1")
    until(
        lambda: (
            target.status()["state"] in ("waiting", "ready") and source.shell.peers.secondary == target.name
        )
    )

    def arrived() -> bool:
        running.surroundings.set_successor(subjob, source.name, target.name)
        return running.leader(subjob) == target.name

    until(arrived)
    until(lambda: target.status()["role"] == "primary" and has_left(source))
    running.flows()
    assert_right(running)
    told, taken = source.status()["departure"], target.status()["takeover"]
    assert told["to"] == target.name
    assert taken["planned"]
    assert taken["lost"] == 0
    assert running.instances[f"{subjob}-1"].status()["losses"] == []


class Stopped(LocalSurroundings):
    """Of a target that is stopped when it has been handed to, and before it takes the Lease."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reached, self.wakes, self.tried = threading.Event(), threading.Event(), threading.Event()

    def try_lease(
        self, subjob: str, expected: LeaseRecord | None, holder: str, address: str
    ) -> LeaseRecord | None:
        self.reached.set()
        self.wakes.wait()
        won = super().try_lease(subjob, expected, holder, address)
        self.tried.set()
        return won


def test_a_move_that_is_given_up_while_its_target_is_stopped_never_takes_place(running: InProcessJob) -> None:
    source, at = running.instances["first-0"], Stopped(running.surroundings.folder)
    running.begin()
    running.flows()
    target = running.add("first-1", at)
    until(
        lambda: (
            target.status()["state"] in ("waiting", "ready") and source.shell.peers.secondary == target.name
        )
    )
    running.surroundings.set_successor("first", source.name, target.name)
    until(at.reached.is_set)
    assert running.surroundings.take_successor_away("first", target.name)
    running.flows(200)
    assert running.leader("first") == source.name
    at.wakes.set()
    until(at.tried.is_set)
    running.flows(100)
    assert running.leader("first") == source.name
    assert not has_left(source)
    assert_right(running)


@pytest.mark.parametrize("running", some("passiveStandby", "savepoint", "replicaBackup"), indirect=True)
def test_there_and_back_again(running: InProcessJob) -> None:
    """The former primary is the new one's standby, and has its state."""
    running.begin()
    running.add("first-1")
    running.add("second-1")
    for source, target in (("second-0", "second-1"), ("second-1", "second-0")):
        instance = running.instances[source]
        until(lambda instance=instance, target=target: instance.shell.peers.secondary == target)  # type: ignore[misc]
        running.flows()

        def arrived(source: str = source, target: str = target) -> bool:
            running.surroundings.set_successor("second", source, target)
            return running.leader("second") == target

        until(arrived)
        running.flows()
    assert_right(running)


@pytest.mark.parametrize("running", some("passiveStandby", "synchronized"), indirect=True)
def test_neighbours_that_are_lost_together_go_on_from_their_backups(running: InProcessJob) -> None:
    standbys = [running.add("first-1"), running.add("second-1")]
    running.begin()
    until(lambda: all(running.instances[name].status()["protected"] for name in ("first-0", "second-0")))
    running.flows()
    for name in ("first-0", "second-0"):
        running.remove(name)
    running.flows()
    assert_right(running)
    assert all(standby.status()["takeover"]["lost"] == 0 for standby in standbys)


@pytest.mark.parametrize("running", some("passiveStandby", "activeStandby"), indirect=True)
def test_a_newcomer_waits_while_there_is_a_secondary(running: InProcessJob) -> None:
    running.begin()
    primary, standby = running.instances["first-0"], running.add("first-1")
    until(lambda: primary.shell.peers.secondary == standby.name)
    running.add("first-2")
    running.flows(20)
    assert primary.shell.peers.secondary == standby.name
    running.remove(standby.name)
    until(lambda: primary.shell.peers.secondary == "first-2")
    running.flows()
    assert_right(running)


def test_a_join_of_extended_backups_is_lost_together_with_its_producers(tmp_path: Path) -> None:
    running = InProcessJob(
        "{mode: passiveStandby, checkpoint: {interval: 100ms, backups: extended}}", tmp_path, FORK
    )
    try:
        subjobs = [subjob.name for subjob in running.job.subjobs]
        for name in subjobs:
            running.add(f"{name}-1")
        running.begin()
        until(lambda: all(running.instances[f"{name}-0"].status()["protected"] for name in subjobs))
        running.flows(600)
        for name in subjobs:
            running.remove(f"{name}-0")
        running.flows(300)
        rows = list(running.reader.rows)
        assert rows == list(range(len(rows)))
    finally:
        running.close()


def test_a_savepoint_operator_is_lost_together_with_its_producer_that_backs_up_synchronized(
    tmp_path: Path,
) -> None:
    """The producer's standby is told the savepoints of the acks that made its backup permanent."""
    first, _, second = CHAIN.rpartition("ha: HA")
    running = InProcessJob(
        MODES["synchronized"], tmp_path, f"{first}ha: {patient(MODES['savepoint'])}{second}"
    )
    try:
        standbys = [running.add("first-1"), running.add("second-1")]
        running.begin()
        until(lambda: all(running.instances[name].status()["protected"] for name in ("first-0", "second-0")))
        running.flows(200)
        for name in ("first-0", "second-0"):
            running.remove(name)
        running.flows(200)
        assert_right(running)
        assert all(standby.status()["losses"] == [] for standby in standbys)
    finally:
        running.close()


def test_new_tuples_of_a_restarted_amnesia_producer_are_no_duplicates_of_its_old_ones(
    tmp_path: Path,
) -> None:
    """Both are lost after the consumer's checkpoint: its standby gets other tuples under the seqs that it
    had."""
    first, _, second = CHAIN.rpartition("ha: HA")
    rarely = patient("{mode: passiveStandby, checkpoint: {interval: 60s}}")
    running = InProcessJob("{mode: amnesia}", tmp_path, f"{first}ha: {rarely}{second}")
    try:
        running.add("second-1")
        running.begin()
        until(lambda: bool(running.instances["second-0"].status()["protected"]))
        running.flows(100)
        for name in ("first-0", "second-0"):
            running.remove(name)
        replacement = running.add("first-1")
        running.flows(200)
        base = replacement.context.core.numbering.diverged_at[Stream("first")]
        begins = replacement.status()["losses"][-1]["to"]
        kept = [n for n in range(begins, begins + 400) if n % 3]
        places = range(-(-base // SLIDE) * SLIDE - base, len(kept) - SIZE, SLIDE)
        sums = [sum(kept[at : at + SIZE]) for at in places]
        assert sums[0] in running.reader.rows, "the first that comes of the new life's tuples"
        since = running.reader.rows.index(sums[0])
        assert running.reader.rows[since : since + 50] == sums[:50]
    finally:
        running.close()
