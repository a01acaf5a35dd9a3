"""The acks to sources that an instance writes down, in simulated time, with its own code."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.instance.in_process import InProcessInstance, InProcessJob, until
from understudy.local.surroundings import LocalSurroundings
from understudy.protocol.ids import Epoch, Millis, Seq, Stream
from understudy.protocol.keeping import LONGEST, Phase, SourceAcks
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.sources.acks import AckKeeper, read_kept

ECG, NUMBERS = Stream("ecg"), Stream("numbers")
TEN_MINUTES = 600_000


@dataclass
class Life:
    """A primary that acks 50 tuples each second and looks as often, as an instance does."""

    at: LocalSurroundings
    now: int = 0
    kept: list[SourceAcks] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keeper = AckKeeper(self.at, "beats", lambda: Millis(self.now))

    @property
    def acks(self) -> SourceAcks:
        return SourceAcks().acked(ECG, Seq(self.now // 20), None)

    def live(self, milliseconds: int, phase: Phase = Phase.FLOWING) -> None:
        for _ in range(0, milliseconds, 1_000):
            self.now += 1_000
            if self.keeper.look(self.acks, Epoch(1), phase, LONGEST):
                self.kept.append(self.acks)


def led(tmp_path: Path) -> LocalSurroundings:
    at = LocalSurroundings(tmp_path)
    assert at.try_lease("beats", None, "beats-0", "a:1") is not None
    return at


def test_ten_busy_minutes_cost_one_write_in_ten_seconds(tmp_path: Path) -> None:
    life = Life(led(tmp_path))
    life.live(TEN_MINUTES)
    assert len(life.kept) == TEN_MINUTES // LONGEST


def test_stored_acks_are_at_most_one_interval_old(tmp_path: Path) -> None:
    life = Life(led(tmp_path))
    for _ in range(100):
        life.live(1_000)
        behind = life.acks.released[ECG] - read_kept(life.at, "beats").released[ECG]
        assert behind < LONGEST // 20


def test_a_life_that_leaves_keeps_all_that_it_has_acked(tmp_path: Path) -> None:
    life = Life(led(tmp_path))
    life.live(15_000)
    assert read_kept(life.at, "beats") != life.acks
    life.keeper.look(life.acks, Epoch(1), Phase.LEAVING, LONGEST)
    assert read_kept(life.at, "beats") == life.acks


def test_a_write_that_failed_is_tried_again_at_the_next_look(tmp_path: Path) -> None:
    at = led(tmp_path)
    life = Life(at)
    life.live(2_000)
    lease = tmp_path / "leases" / "beats.json"
    hidden = lease.rename(tmp_path / "hidden")
    life.live(15_000)
    assert len(life.kept) == 1
    hidden.rename(lease)
    life.live(1_000)
    assert len(life.kept) == 2


def test_a_life_after_another_in_the_same_process_writes_its_first_acks_at_once(tmp_path: Path) -> None:
    life = Life(led(tmp_path))
    life.live(2_000)
    life.keeper.forget()
    assert life.keeper.kept is None
    life.live(1_000)
    assert life.keeper.kept == life.acks


def test_savepoint_trees_come_back_as_they_were_kept(tmp_path: Path) -> None:
    at = led(tmp_path)
    tree = Tree(Savepoint({ECG: Seq(3)}, {ECG: Seq(9)}, Seq(4)))
    acks = SourceAcks().acked(ECG, Seq(3), tree)
    assert AckKeeper(at, "beats").look(acks, Epoch(1), Phase.FLOWING, LONGEST) > 0
    assert read_kept(at, "beats") == acks


def test_a_primary_that_is_asked_to_stop_leaves_the_acks_of_its_last_moment(tmp_path: Path) -> None:
    running = InProcessJob("{mode: upstreamBackup}", tmp_path)
    try:
        running.begin()
        first = running.instances["first-0"]
        until(lambda: bool(read_kept(running.surroundings, "first").released))
        began = read_kept(running.surroundings, "first").released[NUMBERS]
        until(lambda: _acked(first) > began + 100)
        acked = _acked(first)
        first.leave()
        assert read_kept(running.surroundings, "first").released[NUMBERS] >= acked
    finally:
        running.close()


def _acked(instance: InProcessInstance) -> Seq:
    return instance.shell.recovery._acks.released.get(NUMBERS, Seq(0))
