"""What the command line asks for, and what of that did not happen."""

from __future__ import annotations

import argparse

from tests.local.jobs import job
from understudy.cli import run
from understudy.cli.fault_options import Programme, programme_of, undone
from understudy.local.report.record import Record
from understudy.local.run.local_moves import Underway
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Done


def asked(*words: str) -> Programme:
    parser = argparse.ArgumentParser()
    run.add(parser)
    found = programme_of(parser.parse_args(["job.yaml", *words]), job())
    assert isinstance(found, Programme), found
    return found


def record(programme: Programme, *, faults: list[int], moves: int = 0, cuts: int = 0) -> Record:
    """A run in which only these happened."""
    someone = Process(Kind.SUBJOB, "beats", 0)
    return Record(
        began_ms=0,
        done=[Done(programme.faults[n], someone, 0) for n in faults],
        moves=[Underway(plan, someone, someone, 0) for plan in programme.planned[:moves]],
        cuts=list(programme.partitions[:cuts]),
    )


def test_every_drawn_moment_follows_from_the_seed() -> None:
    words = (
        "--partition",
        "beats|strong@5s-50s+2s",
        "--partition",
        "beats|strong@5s-50s+2s",
        "--kill",
        "beats@1s-9s",
    )
    first = asked(*words)
    assert first.seed is not None
    assert f"--seed {first.seed}: primary of beats at " in first.drawn()
    assert "cut between beats and strong at " in first.drawn()
    assert asked(*words, "--seed", str(first.seed)) == first
    assert first.partitions[0] != first.partitions[1]


def test_moments_that_were_not_drawn_have_no_seed() -> None:
    assert asked("--kill", "beats@5s", "--seed", "7").seed is None


def test_a_fault_that_did_not_happen_is_reported_by_its_name() -> None:
    programme = asked("--kill", "beats@5s", "--kill", "strong@6s", "--stop", "beats@7s")
    assert list(undone(programme, record(programme, faults=[1, 2]))) == [
        "the primary of beats was not killed: the job was over before it could be"
    ]
    assert list(undone(programme, record(programme, faults=[2, 0, 1]))) == []


def test_a_fault_that_was_requested_twice_must_happen_twice() -> None:
    programme = asked("--kill", "beats@5s", "--kill", "beats@5s")
    assert len(list(undone(programme, record(programme, faults=[0])))) == 1


def test_cuts_and_moves_that_did_not_happen_are_reported() -> None:
    programme = asked("--partition", "beats|strong@5s+2s", "--migrate", "beats@5s")
    assert list(undone(programme, record(programme, faults=[]))) == [
        "beats did not move: the job was over before it could",
        "beats and strong were not cut apart: the job was over before they could be",
    ]
    assert list(undone(programme, record(programme, faults=[], moves=1, cuts=1))) == []


def test_only_a_primary_notices_that_it_is_overloaded() -> None:
    programme = asked(
        "--overload", "beats@5s", "--overload", "strong@standby@5s", "--overload", "sink/alerts@5s"
    )
    assert programme.overloaded == {"beats"}
