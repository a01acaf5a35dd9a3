"""The folder behaves as an API server would: one winner per epoch, never half a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from understudy.local.surroundings import LocalSurroundings
from understudy.process.ports import Unreachable
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch

CONTENDER = """
import sys
from pathlib import Path
from understudy.local.surroundings import LocalSurroundings

folder, me, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
here = LocalSurroundings(folder)
while (seen := here.read_lease("beats")) is None or seen.epoch < rounds:
    won = here.try_lease("beats", seen, me, "127.0.0.1:1")
    if won is not None:
        print(won.epoch, flush=True)
"""

HOLDER_OF_THE_LOCK = """
import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(60)
"""


def test_a_free_lease_goes_to_the_first_with_epoch_1(tmp_path: Path) -> None:
    here = LocalSurroundings(tmp_path)
    assert here.read_lease("beats") is None
    won = here.try_lease("beats", None, "beats-0", "127.0.0.1:7000")
    assert won == LeaseRecord("beats-0", "127.0.0.1:7000", Epoch(1))
    assert here.read_lease("beats") == won
    assert here.try_lease("beats", None, "beats-1", "127.0.0.1:7001") is None


def test_a_lease_that_changed_since_it_was_read_is_not_won(tmp_path: Path) -> None:
    here = LocalSurroundings(tmp_path)
    first = here.try_lease("beats", None, "beats-0", "a:1")
    assert here.try_lease("beats", first, "beats-1", "a:2") == LeaseRecord("beats-1", "a:2", Epoch(2))
    assert here.try_lease("beats", first, "beats-2", "a:3") is None


def test_each_epoch_has_one_winner_among_processes(tmp_path: Path) -> None:
    rounds, contenders = 300, 4
    LocalSurroundings(tmp_path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CONTENDER, str(tmp_path), f"beats-{n}", str(rounds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(contenders)
    ]
    epochs = Counter(int(line) for p in processes for line in p.communicate(timeout=60)[0].split())
    assert [p.returncode for p in processes] == [0] * contenders
    assert set(range(1, rounds + 1)) <= set(epochs)
    assert set(epochs.values()) == {1}


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    here = LocalSurroundings(tmp_path)
    lock = tmp_path / "leases" / "beats.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER_OF_THE_LOCK, str(lock)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    os.kill(holder.pid, signal.SIGKILL)
    began = time.monotonic()
    assert here.try_lease("beats", None, "beats-0", "a:1") is not None
    assert time.monotonic() - began < 5
    holder.wait()


def test_instances_are_found_by_their_subjob_until_withdrawn(tmp_path: Path) -> None:
    here = LocalSurroundings(tmp_path)
    here.announce("beats", "beats-0", "127.0.0.1:1", "127.0.0.1:2")
    here.announce("beats", "beats-1", "127.0.0.1:3", "127.0.0.1:4")
    here.announce("other", "other-0", "127.0.0.1:5", "127.0.0.1:6")
    assert here.addresses("beats") == ["127.0.0.1:1", "127.0.0.1:3"]
    found = here.announcement("beats-1")
    assert found is not None
    assert (found.status, found.pid) == ("127.0.0.1:4", os.getpid())
    here.withdraw("beats-0")
    assert here.addresses("beats") == ["127.0.0.1:3"]
    assert here.announcement("beats-0") is None


def test_there_is_no_start_time_until_it_is_set(tmp_path: Path) -> None:
    here = LocalSurroundings(tmp_path)
    assert here.start_time() is None
    here.set_start_time(1_760_000_000_000)
    assert LocalSurroundings(tmp_path).start_time() == 1_760_000_000_000


def test_acks_to_sources_are_kept_until_newer_ones_come(tmp_path: Path) -> None:
    here = LocalSurroundings(tmp_path)
    assert here.kept_acks("beats") is None
    first = here.try_lease("beats", None, "beats-0", "a:1")
    here.keep_acks("beats", "old", Epoch(1))
    assert here.try_lease("beats", first, "beats-1", "b:1") is not None
    here.keep_acks("beats", "new", Epoch(2))
    with pytest.raises(Unreachable):
        here.keep_acks("beats", "late", Epoch(1))
    assert LocalSurroundings(tmp_path).kept_acks("beats") == "new"


def test_of_two_readers_that_choose_at_once_one_wins(tmp_path: Path) -> None:
    one, other = LocalSurroundings(tmp_path), LocalSurroundings(tmp_path)
    assert one.chosen("beats", "ecg") is None
    assert one.choose("beats", "ecg", None, "a")
    assert not other.choose("beats", "ecg", None, "b")
    assert other.choose("beats", "ecg", "a", "b")
    assert one.chosen("beats", "ecg") == "b"
    assert one.chosen("beats", "pressure") is None
