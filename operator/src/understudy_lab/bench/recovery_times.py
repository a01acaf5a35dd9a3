"""What a kill costs at the sink: each mode against plain PySpark restarted from its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from understudy.local.folder import Folder
from understudy.local.report.fault_effects import incidents_of
from understudy.model.ha import Mode
from understudy.process.clock import now_ms
from understudy_lab.bench.jobs import two_subjobs
from understudy_lab.bench.plain import TUNED, Plain
from understudy_lab.bench.watching import KillEach, Say, detections, perform

RATE = 500
QUIET_MS = 5_000
AROUND_MS = 10_000
TARGETS: Final[Mapping[Mode, float]] = {
    Mode.PASSIVE_STANDBY: 1 / 8,
    Mode.ACTIVE_STANDBY: 1 / 20,
    Mode.REPLICA_BACKUP: 1 / 40,
    Mode.UPSTREAM_BACKUP: 1 / 6,
    Mode.SAVEPOINT: 1 / 6,
}
"""Median excess gap over plain PySpark's, at the most."""
DETECTION_MS: Final = 50
"""Median, at the most: the kernel of a killed process closes its connections."""


@dataclass(frozen=True, slots=True)
class Kills:
    """Milliseconds, one figure per kill."""

    silence: tuple[int, ...]
    """From the fault until the silence that it caused ended at the sink."""
    excess: tuple[int, ...]
    """The longest gap between tuples around the fault, beyond the steady p99 gap."""
    steady_ms: float
    """That p99 gap."""
    detected: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovery:
    modes: Mapping[Mode, Kills]
    plain: Kills

    def ratio_of(self, mode: Mode) -> float:
        return median(self.modes[mode].excess) / median(self.plain.excess)

    @property
    def ratio(self) -> dict[str, float]:
        return {mode.value: self.ratio_of(mode) for mode in self.modes}

    @property
    def met(self) -> bool:
        soon = all(median(kills.detected) <= DETECTION_MS for kills in self.modes.values())
        return soon and all(self.ratio_of(mode) <= TARGETS[mode] for mode in self.modes)


def measure(modes: Sequence[Mode], kills: int, folder: Path, say: Say) -> Recovery:
    found = {mode: _understudy(mode, kills, Folder(folder / mode.value), say) for mode in modes}
    return Recovery(found, _plain(kills, folder / "plain", say))


def _understudy(mode: Mode, kills: int, folder: Folder, say: Say) -> Kills:
    say(f"{mode.value}: {kills} kills")
    job = two_subjobs(RATE, mode)
    record = perform(job, folder, KillEach(tuple(s.name for s in job.subjobs), kills, QUIET_MS), say)
    incidents = [i for i in incidents_of(record, job) if i.role == "primary"]
    times = [
        a.at_ms for a in record.arrivals["out"] if a.at_ms != record.ended_ms
    ]  # the end is looked at late
    found = gaps(times, [i.at_ms for i in incidents], detections(incidents))
    for incident, silence, excess in zip(incidents, found.silence, found.excess, strict=True):
        say(
            f"{incident.victim} killed: {silence} ms to the first new output at the sink, excess gap "
            f"{excess} ms"
        )
    return found


def _plain(kills: int, folder: Path, say: Say) -> Kills:
    """Killed by SIGKILL and restarted in the same moment: no time at all is counted for detection."""
    faults = []
    with Plain("beats", folder, ["--rate", str(RATE), "--start-ms", str(now_ms())], TUNED) as plain:
        plain.start()
        plain.wait_for_output(set())
        for number in range(kills):
            time.sleep(QUIET_MS / 1000)
            faults.append(plain.kill())
            known = plain.files()
            plain.start()
            came = plain.wait_for_output(known)
            say(f"plain PySpark, kill {number + 1}: {came - faults[-1]} ms to the first new output")
        time.sleep(AROUND_MS / 1000)
        return gaps(plain.arrivals(), faults)


def gaps(arrivals: Sequence[int], faults: Sequence[int], detected: tuple[int, ...] = ()) -> Kills:
    """What the faults did to a sink that got something at these times."""
    pairs = list(pairwise(arrivals))
    steady = p99([b - a for a, b in pairs if not any(_around(a, b, fault) for fault in faults)])
    around = [[(a, b) for a, b in pairs if _around(a, b, fault)] for fault in faults]
    return Kills(
        silence=tuple(_silence(near, fault, steady) for near, fault in zip(around, faults, strict=True)),
        excess=tuple(max(0, round(max((b - a for a, b in near), default=0) - steady)) for near in around),
        steady_ms=steady,
        detected=detected,
    )


def _silence(around: Sequence[tuple[int, int]], fault: int, steady: float) -> int:
    """To the end of the longest gap that began before the fault, or so soon after it that tuples on their way
    explain it: any later one is not the fault's."""
    begun = [(before, after) for before, after in around if before <= fault + steady]
    return max(begun, key=lambda gap: gap[1] - gap[0], default=(fault, fault))[1] - fault


def _around(before: int, after: int, fault: int) -> bool:
    return after > fault and before < fault + AROUND_MS


def p99(values: Sequence[int]) -> float:
    return quantiles(values, n=100)[-1] if len(values) > 1 else 0.0
