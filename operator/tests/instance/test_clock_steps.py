"""Somebody sets the wall clock by a minute: no suspicion comes later or at all for that, and no stream
stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from understudy.local.surroundings import LocalSurroundings
from understudy.process.clock import Anchor, now_ms
from understudy.protocol.ids import Millis, WallMillis

from .in_process import RATE, until

ROOT = Path(__file__).parents[3]
LIMIT = 30  # seconds, of the 60 by which the clock is set

pytestmark = pytest.mark.timeout(200)


def faked_clock() -> Path:
    """Debian's libfaketime. Continuous integration installs it; elsewhere the test does without."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found and os.environ.get("CI"):
        pytest.fail("libfaketime is missing")
    if not found:
        pytest.skip("needs libfaketime (Debian: apt-get install libfaketime)")
    return found[0]


class Process:
    """Both instances with one number."""

    def __init__(self, folder: Path, number: int, clock: Path) -> None:
        self._said, self._clock = folder / f"said-{number}", clock
        faked = {
            "LD_PRELOAD": str(faked_clock()),
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "DONT_FAKE_MONOTONIC": "1",
        }
        paths = {"PYTHONPATH": str(ROOT / "operator"), "FAKETIME_CACHE_DURATION": "1"}
        command = [sys.executable, "-m", "tests.instance.stepped", str(folder), str(number)]
        with self._said.open("w") as said, (folder / f"log-{number}").open("w") as log:
            self.child = subprocess.Popen(
                command, env={**os.environ, **faked, **paths}, stdout=said, stderr=log, cwd=ROOT
            )

    def newest(self) -> dict[str, Any]:
        lines = [
            line
            for line in self._said.read_text().splitlines()
            if line.startswith("{") and line.endswith("}")
        ]
        found: dict[str, Any] = (
            json.loads(lines[-1]) if lines else {"available": 0, "made": 0, "ready": False}
        )
        return found

    def set_clock(self, seconds: int) -> None:
        """Until the process sees it."""
        before = self.newest()
        self._clock.write_text(f"{seconds:+d}\n")
        until(lambda: abs(_apart(self.newest()) - _apart(before)) > 50_000)

    def goes_on_evenly(self) -> None:
        """The stream neither stops nor brings what is due only later."""
        until(lambda: self.newest()["available"] > 0, LIMIT)
        before = self.newest()
        until(lambda: self.newest()["made"] > before["made"] + 200, LIMIT)
        after = self.newest()
        elapsed = (after["steady"] - before["steady"]) / 1000
        assert after["available"] - before["available"] < RATE * (elapsed + 10)


def _apart(told: dict[str, Any]) -> int:
    return int(told["wall"] - told["steady"])


@contextmanager
def started(folder: Path, number: int) -> Iterator[Process]:
    clock = folder / f"clock-{number}"
    clock.write_text("+0\n")
    process = Process(folder, number, clock)
    try:
        yield process
    finally:
        process.child.kill()
        process.child.wait()


@pytest.mark.parametrize("seconds", [-60, 60])
def test_a_step_of_the_wall_clock_neither_delays_a_suspicion_nor_causes_one_nor_stops_a_stream(
    seconds: int, tmp_path: Path
) -> None:
    surroundings = LocalSurroundings(tmp_path / "surroundings")

    def leaders() -> set[str]:
        leases = (surroundings.read_lease(name) for name in ("first", "second"))
        return {lease.holder for lease in leases if lease is not None}

    with started(tmp_path, 0) as primaries:
        until(lambda: leaders() == {"first-0", "second-0"})
        surroundings.set_start_time(now_ms())
        with started(tmp_path, 1) as standbys:
            until(lambda: standbys.newest()["ready"])
            standbys.set_clock(seconds)
            primaries.set_clock(seconds)
            primaries.goes_on_evenly()
            assert leaders() == {"first-0", "second-0"}
            primaries.child.send_signal(signal.SIGSTOP)
            standbys.set_clock(0)
            until(lambda: leaders() == {"first-1", "second-1"}, LIMIT)
            standbys.goes_on_evenly()
            standbys.set_clock(seconds)
            standbys.goes_on_evenly()


def test_times_are_shown_by_the_wall_clock_of_the_moment_they_were_recorded() -> None:
    anchor = Anchor(WallMillis(1_000_000), Millis(500))
    assert [anchor.shown(Millis(n)) for n in (400, 500, 750)] == [999_900, 1_000_000, 1_000_250]
