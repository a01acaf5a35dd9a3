"""The thread that tries and reads the Lease, while its store is away and comes back."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest

from understudy.instance.leases import LeaseKeeper
from understudy.local.surroundings import LocalSurroundings
from understudy.process.ports import Unreachable
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.leasing import News

PATIENCE = 30


class Away(LocalSurroundings):
    """Does not answer until it is told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.answers = False

    def try_lease(
        self, subjob: str, expected: LeaseRecord | None, holder: str, address: str
    ) -> LeaseRecord | None:
        away = not self.answers
        self.asked.put(subjob)
        if away:
            raise Unreachable("away")
        return super().try_lease(subjob, expected, holder, address)


def test_a_lease_that_was_tried_before_stepping_down_is_not_won_when_the_store_comes_back(
    tmp_path: Path,
) -> None:
    store = Away(tmp_path)
    seen: queue.SimpleQueue[News] = queue.SimpleQueue()
    keeper = LeaseKeeper(store, "job", "job-1", "here", seen.put, lambda: False)
    keeper.start()
    keeper.order(do.TryLease(None, "suspected"))
    assert store.asked.get(timeout=PATIENCE) == "job"
    keeper.withdraw()
    keeper.order(do.ReadLease("to follow anew"))
    store.answers = True
    assert seen.get(timeout=PATIENCE) == on.LeaseSeen(None)
    keeper.order(do.TryLease(None, "nobody holds the Lease"))
    assert isinstance(seen.get(timeout=PATIENCE), on.LeaseWon)
    keeper.stop()


@pytest.mark.parametrize("taken", [True, False])
def test_an_instance_that_could_not_serve_takes_the_lease_only_if_no_other_does(
    taken: bool, tmp_path: Path
) -> None:
    store = LocalSurroundings(tmp_path)
    seen: queue.SimpleQueue[News] = queue.SimpleQueue()
    hung = "the JVM did not answer for 3.1 s"
    keeper = LeaseKeeper(store, "job", "job-1", "here", seen.put, lambda: False, unfit=lambda: hung)
    keeper.start()
    keeper.order(do.TryLease(None, "nobody holds the Lease"))
    if taken:
        assert store.try_lease("job", None, "job-2", "there") is not None
    news = seen.get(timeout=PATIENCE)
    assert isinstance(news, on.LeaseSeen if taken else on.LeaseWon)
    assert news.record is not None
    assert news.record.holder == ("job-2" if taken else "job-1")
    keeper.stop()
