"""From the fault to the first new output at the sink: passive standby against a restart from Spark's checkpoint."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from understudy.backends.local.bench.jobs import two_subjobs
from understudy.backends.local.bench.plain import TUNED, Plain
from understudy.backends.local.bench.watching import KillEach, Say, first_new_output, perform
from understudy.backends.local.folder import Folder
from understudy.backends.local.incidents import incidents_of
from understudy.runtime.clock import now_ms

RATE = 500
QUIET_MS = 5_000
TARGET = 1 / 5


@dataclass(frozen=True, slots=True)
class Recovery:
    understudy: tuple[int, ...]
    """Milliseconds from the fault to the first new output at the sink, per kill."""
    detected: tuple[int, ...]
    plain: tuple[int, ...]

    @property
    def ratio(self) -> float:
        return median(self.understudy) / median(self.plain)

    @property
    def met(self) -> bool:
        return self.ratio <= TARGET


def measure(kills: int, folder: Path, say: Say) -> Recovery:
    found, detected = _understudy(kills, Folder(folder / "understudy"), say)
    return Recovery(found, detected, _plain(kills, folder / "plain", say))


def _understudy(kills: int, folder: Folder, say: Say) -> tuple[tuple[int, ...], tuple[int, ...]]:
    job = two_subjobs(RATE)
    record = perform(job, folder, KillEach(tuple(s.name for s in job.subjobs), kills, QUIET_MS), say)
    found, detected = [], []
    for incident in incidents_of(record, job):
        at = incident.at_ms
        producing = at + (incident.first_output_ms or 0)
        arrived = first_new_output(record.arrivals["out"], at, producing)
        if arrived is not None and incident.detected_ms is not None:
            found.append(arrived - at)
            detected.append(incident.detected_ms)
            say(f"{incident.victim} killed: {arrived - at} ms to the first new output at the sink")
    return tuple(found), tuple(detected)


def _plain(kills: int, folder: Path, say: Say) -> tuple[int, ...]:
    """Killed by SIGKILL and restarted in the same moment: no time at all is counted for detection."""
    found = []
    with Plain("beats", folder, ["--rate", str(RATE), "--start-ms", str(now_ms())], TUNED) as plain:
        plain.start()
        plain.wait_for_output(set())
        for number in range(kills):
            time.sleep(QUIET_MS / 1000)
            at = plain.kill()
            known = plain.files()
            plain.start()
            found.append(plain.wait_for_output(known) - at)
            say(f"plain PySpark, kill {number + 1}: {found[-1]} ms to the first new output")
    return tuple(found)
