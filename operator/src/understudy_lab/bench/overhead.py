"""How long a micro-batch takes while nothing fails: one subjob with its standby against plain PySpark."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from understudy.local.folder import Folder
from understudy.process.clock import now_ms
from understudy_lab.bench.jobs import one_subjob
from understudy_lab.bench.plain import TUNED, Plain
from understudy_lab.bench.watching import Progress, Say, growth, perform, primaries

RATE = 500
WARM_UP = 3  # batches not counted
LEAST = 5  # batches counted, however long they take
TARGET = 0.7


@dataclass(frozen=True, slots=True)
class Steady:
    ms: float
    """One micro-batch."""
    batches: int


@dataclass(frozen=True, slots=True)
class Overhead:
    understudy: Steady
    """From one micro-batch to the next: nothing of it is left out."""
    inside_ms: float
    """From the moment a batch's input is chosen until its output is in the queue, median."""
    plain_default: Steady
    plain_tuned: Steady

    @property
    def ratio(self) -> float:
        return self.understudy.ms / self.plain_default.ms

    @property
    def met(self) -> bool:
        return self.ratio <= TARGET


def measure(seconds: int, folder: Path, say: Say) -> Overhead:
    """`seconds`: of each."""
    progress = Progress("beats", lambda page: page.batches.count, seconds * 1_000)
    record = perform(one_subjob(RATE), Folder(folder / "understudy"), progress, say)
    inside = next(page.batches.median_ms or 0 for page in primaries(record))
    ours = Steady(1_000 / growth(progress.points, WARM_UP), progress.points[-1][1] - WARM_UP)
    say(f"understudy: {ours.ms:.0f} ms from one micro-batch to the next, {inside} ms of it inside")
    default = _plain(seconds, folder / "plain-default", ())
    say(f"plain PySpark, default settings: {default.ms:.0f} ms")
    tuned = _plain(seconds, folder / "plain-tuned", TUNED)
    say(f"plain PySpark, two shuffle partitions: {tuned.ms:.0f} ms")
    return Overhead(ours, inside, default, tuned)


def _plain(seconds: int, folder: Path, conf: Sequence[str]) -> Steady:
    with Plain("beats", folder, ["--rate", str(RATE), "--start-ms", str(now_ms())], conf) as plain:
        plain.start()
        plain.wait_for_batches(WARM_UP)
        time.sleep(seconds)
        found = plain.wait_for_batches(WARM_UP + LEAST)[WARM_UP:]
    return Steady(median(b.ms for b in found), len(found))
