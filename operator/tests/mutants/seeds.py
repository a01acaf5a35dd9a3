"""Which jobs explore which file, and what a seed came to."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from understudy_lab.exploration.explore import has_weather
from understudy_lab.exploration.fault_schedules import run

SEEDS = 500
LIMIT = 5.0  # seconds of the processor for one seed or one test: the slowest needs 0.1
Only: TypeAlias = str | None
MODES: dict[str, tuple[Only, ...]] = {
    "active_standby": ("activeStandby",),
    "amnesia": ("amnesia",),
    "logged_backup": ("upstreamBackup",),
    "passive_standby": ("passiveStandby",),
    "replica_backup": ("replicaBackup",),
    "savepoint": ("savepoint",),
    "synchronized_backup": ("passiveStandby/synchronized", "passiveStandby/extended"),
    "upstream_backup": ("upstreamBackup",),
}
"""Jobs with this mode wherever it can be; in turns. Other files are explored by jobs of all modes."""


def modes(file: str) -> tuple[Only, ...]:
    return MODES.get(Path(file).stem, (None,))


def mode(file: str, seed: int) -> Only:
    found = modes(file)
    return found[seed % len(found)]


class TooLong(BaseException):
    """Nothing that runs under a limit can take it for an error of its own."""


@contextmanager
def limited(seconds: float = LIMIT) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def finding(seed: int, only: Only) -> str | None:
    """What is wrong in this seed, with the weather that exploration gives it."""
    try:
        with limited():
            problems = run(seed, None, only, weather=has_weather(seed)).problems
    except TooLong:
        return "it does not end"
    return problems[0] if problems else None


def rarely_collecting() -> None:
    """As exploration does."""
    gc.set_threshold(50_000, 20, 20)
