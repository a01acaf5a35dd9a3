"""Tuples per second, as fast as it goes: amnesia against plain PySpark with the same generator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from understudy.backends.local.bench.jobs import rows
from understudy.backends.local.bench.plain import Plain
from understudy.backends.local.bench.watching import Progress, Say, growth, perform
from understudy.backends.local.folder import Folder
from understudy.runtime.clock import now_ms
from understudy.runtime.engine.inbox import MAX_ROWS

RATE = 10_000_000  # far more than anyone processes: everything is due at once
CORES = 2
TARGET = 0.8
COUNTED_FROM = 0.25  # the first quarter warms up


@dataclass(frozen=True, slots=True)
class Throughput:
    understudy: float
    plain: float
    tuples: int

    @property
    def ratio(self) -> float:
        return self.understudy / self.plain

    @property
    def met(self) -> bool:
        return self.ratio >= TARGET


def measure(tuples: int, folder: Path, say: Say) -> Throughput:
    progress = Progress("rows", lambda status: sum(i["position"] for i in status.get("inputs", {}).values()))
    perform(rows(RATE, tuples, CORES), Folder(folder / "understudy"), progress, say)
    ours = growth(progress.points, tuples * COUNTED_FROM)
    say(f"understudy: {ours:,.0f} tuples/s")
    plain = _plain(tuples, folder / "plain")
    say(f"plain PySpark: {plain:,.0f} tuples/s")
    return Throughput(ours, plain, tuples)


def _plain(tuples: int, folder: Path) -> float:
    arguments = ["--rate", str(RATE), "--start-ms", str(now_ms() - 3_600_000), "--limit", str(tuples)]
    size = ["--max-rows", str(MAX_ROWS), "--partitions", str(CORES)]
    with Plain("rows", folder, [*arguments, *size], [f"spark.master=local[{CORES}]"]) as plain:
        plain.start()
        batches = plain.wait_for_end()
    done, points = 0, []
    for batch in batches:
        done += batch.rows
        points.append((batch.ended_ms, done))
    return growth(points, tuples * COUNTED_FROM)
