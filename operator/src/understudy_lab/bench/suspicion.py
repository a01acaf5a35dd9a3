"""Whether anybody is suspected wrongly while the machine has twice the work that it can do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from understudy.local.environment import for_children
from understudy.local.folder import Folder
from understudy.local.processes import Child, Reaper
from understudy.local.run.intents import Hurt
from understudy.local.run.observed import Observed
from understudy.model.ha import Mode
from understudy_lab.bench.jobs import two_subjobs
from understudy_lab.bench.watching import Say, perform

RATE: Final = 500
LOAD: Final = 2
"""Busy processes for each core, besides the job itself."""
MODES: Final = (Mode.PASSIVE_STANDBY, Mode.REPLICA_BACKUP)
BUSY: Final = "while True: pass"


@dataclass(frozen=True, slots=True)
class Suspicion:
    seconds: int
    burners: int
    take_overs: dict[str, int]
    """By mode: how often a living primary was replaced."""

    @property
    def ratio(self) -> int:
        return sum(self.take_overs.values())

    @property
    def met(self) -> bool:
        return self.ratio == 0


def measure(seconds: int, folder: Path, say: Say) -> Suspicion:
    """`seconds`: for each mode."""
    burners = LOAD * (os.cpu_count() or 1)
    found = {}
    for mode in MODES:
        load = UnderLoad(seconds * 1_000, burners, folder / f"{mode.value}-burners")
        try:
            record = perform(two_subjobs(RATE, mode), Folder(folder / mode.value), load, say)
        finally:
            load.end()
        found[mode.value] = len(record.takeovers)
        say(
            f"{mode.value}: {found[mode.value]} take-overs in {seconds} s with {burners} busy processes "
            "beside it"
        )
    return Suspicion(seconds, burners, found)


@dataclass(slots=True)
class UnderLoad:
    """Hurts nobody, but keeps every core busy from the moment the streams begin."""

    ends_after_ms: int
    burners: int
    logs: Path
    _reaper: Reaper | None = field(default=None, init=False)

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        if observed.started_ms is not None and self._reaper is None:
            self._reaper = Reaper()
            for n in range(self.burners):
                command = [sys.executable, "-c", BUSY]
                Child(f"busy-{n}", command, self.logs / f"{n}.log", self._reaper, for_children())
        return iter(())

    def satisfied(self, observed: Observed) -> bool:
        return observed.started_ms is not None and observed.now_ms - observed.started_ms > self.ends_after_ms

    def end(self) -> None:
        if self._reaper is not None:
            self._reaper.close()
