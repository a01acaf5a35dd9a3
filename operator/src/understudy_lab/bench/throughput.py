"""Tuples per second, as fast as it goes: modes against amnesia, and amnesia against plain PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from understudy.engine.inbox import MAX_ROWS
from understudy.local.folder import Folder
from understudy.process.clock import now_ms
from understudy_lab.bench.jobs import rows
from understudy_lab.bench.plain import Plain
from understudy_lab.bench.watching import Progress, Say, growth, perform

RATE = 10_000_000  # far more than anyone processes: everything is due at once
CORES = 2
TARGET = 0.8
AMNESIA = "amnesia"
MODES = {
    AMNESIA: "{mode: amnesia}",
    "upstreamBackup": "{mode: upstreamBackup}",
    "savepoint": "{mode: savepoint}",
    "passiveStandby, sweeping": "{mode: passiveStandby, checkpoint: {strategy: sweeping}}",
}
LEAST = {"upstreamBackup": 0.95, "savepoint": 0.95, "passiveStandby, sweeping": 0.9}  # of amnesia
COUNTED_FROM = 0.25  # the first quarter warms up


@dataclass(frozen=True, slots=True)
class Throughput:
    modes: Mapping[str, float]
    plain: float
    tuples: int

    @property
    def ratio(self) -> float:
        return self.modes[AMNESIA] / self.plain

    def of_amnesia(self, mode: str) -> float:
        return self.modes[mode] / self.modes[AMNESIA]

    @property
    def met(self) -> bool:
        return self.ratio >= TARGET and all(self.of_amnesia(mode) >= least for mode, least in LEAST.items())


def measure(tuples: int, folder: Path, say: Say) -> Throughput:
    modes = {name: _ours(name, tuples, folder / f"understudy-{n}", say) for n, name in enumerate(MODES)}
    plain = _plain(tuples, folder / "plain")
    say(f"plain PySpark: {plain:,.0f} tuples/s")
    return Throughput(modes, plain, tuples)


def _ours(name: str, tuples: int, folder: Path, say: Say) -> float:
    progress = Progress("rows", lambda page: sum(stream.position for stream in page.inputs.values()))
    perform(rows(RATE, tuples, CORES, MODES[name]), Folder(folder), progress, say)
    found = growth(progress.points, tuples * COUNTED_FROM)
    say(f"{name}: {found:,.0f} tuples/s")
    return found


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
