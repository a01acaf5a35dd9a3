"""What is sent so that a failure can be survived: bytes per second, nothing failing.

Checkpoints are counted as they leave the primary, acks with their savepoint trees as they leave the subjob or
are kept for its sources. Plain PySpark writes offsets, commits and state-store deltas into its checkpoint;
every byte that is written there counts, also of files that Spark cleans up later.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.local.folder import Folder
from understudy.model.ha import Mode, Strategy
from understudy.process.clock import now_ms
from understudy.protocol.statuspage import InstancePage
from understudy_lab.bench.jobs import four_by_two, one_subjob
from understudy_lab.bench.plain import TUNED, Plain
from understudy_lab.bench.watching import Progress, Say, perform, primaries

RATE: Final = 500
SWEEPING_TARGET: Final = 0.25
SAVEPOINT_TARGET: Final = 0.02
LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Shipping:
    """Bytes a second."""

    synchronous: float
    individual: float
    sweeping: float
    savepoint: float
    plain: float
    tuples: int
    """A second."""

    @property
    def ratio(self) -> dict[str, float]:
        return {"sweeping": self.sweeping / self.synchronous, "savepoint": self.savepoint / self.plain}

    @property
    def met(self) -> bool:
        return self.ratio["sweeping"] <= SWEEPING_TARGET and self.ratio["savepoint"] <= SAVEPOINT_TARGET


def measure(seconds: int, folder: Path, say: Say) -> Shipping:
    found = {}
    for strategy in Strategy:
        found[strategy] = _of_chain(strategy, seconds, folder / strategy.value, say)
        say(f"four subjobs of two elements, {strategy}: {found[strategy]:,.0f} bytes/s of checkpoints")
    savepoint = _of_savepoint(seconds, folder / "savepoint", say)
    say(f"savepoint: {savepoint:,.0f} bytes/s of acks with savepoint trees")
    plain = _of_plain(seconds, folder / "plain")
    say(f"plain PySpark: {plain:,.0f} bytes/s of checkpoint")
    chain = (found[Strategy.SYNCHRONOUS], found[Strategy.INDIVIDUAL], found[Strategy.SWEEPING])
    return Shipping(*chain, savepoint, plain, RATE)


def _of_chain(strategy: Strategy, seconds: int, folder: Path, say: Say) -> float:
    progress = Progress("one", _checkpoints, seconds * 1_000)
    record = perform(four_by_two(RATE, strategy), Folder(folder), progress, say)
    return sum(map(_checkpoints, primaries(record))) / seconds


def _of_savepoint(seconds: int, folder: Path, say: Say) -> float:
    progress = Progress("beats", _acks, seconds * 1_000)
    record = perform(one_subjob(RATE, Mode.SAVEPOINT), Folder(folder), progress, say)
    return sum(map(_acks, primaries(record))) / seconds


def _checkpoints(page: InstancePage) -> int:
    return page.sent.checkpoint_bytes


def _acks(page: InstancePage) -> int:
    return page.sent.ack_bytes


def _of_plain(seconds: int, folder: Path) -> float:
    """From the second micro-batch on: the first sets up the state store."""
    with Plain("beats", folder, ["--rate", str(RATE), "--start-ms", str(now_ms())], TUNED) as plain:
        plain.start()
        plain.wait_for_batches(2)
        seen: dict[str, int] = {}
        _look(plain.checkpoint, seen)
        before, until = sum(seen.values()), time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            _look(plain.checkpoint, seen)
    return (sum(seen.values()) - before) / seconds


def _look(checkpoint: Path, seen: dict[str, int]) -> None:
    """The greatest size that each file was seen with. Checksums of Hadoop's file system do not count."""
    for path in checkpoint.rglob("*"):
        if path.name.startswith("."):
            continue
        try:
            size = path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
        seen[str(path)] = max(seen.get(str(path), 0), size)
