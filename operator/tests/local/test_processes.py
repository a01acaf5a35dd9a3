"""Whatever happens to the parent, no child is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from understudy.local.processes import Child, Reaper, end_all, session_members

# A driver with a JVM in its process group and a worker in a group of its own, as Spark has them. None stops
# when asked.
FAMILY = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
sleep = [sys.executable, "-c", stubborn]
subprocess.Popen(sleep)
subprocess.Popen(sleep, process_group=0)
print("started", flush=True)
time.sleep(600)
"""

PARENT = """
import os, sys, time
from pathlib import Path
from understudy.local.processes import Child, Reaper

child = Child("family", [sys.executable, "-c", sys.argv[2]], Path(sys.argv[1]), Reaper(), os.environ)
print(child.pid, flush=True)
time.sleep(600)
"""


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def members(session: int) -> list[int]:
    return list(session_members(session))


def family(log: Path, reaper: Reaper) -> Child:
    child = Child("family", [sys.executable, "-c", FAMILY], log, reaper, os.environ)
    assert until(lambda: "started" in log.read_text() and len(members(child.pid)) == 3)
    return child


def test_a_kill_takes_the_whole_family(tmp_path: Path) -> None:
    reaper = Reaper()
    child = family(tmp_path / "log", reaper)
    child.kill()
    assert child.exit_code() == -signal.SIGKILL
    assert members(child.pid) == []
    reaper.close()


def test_a_pause_stops_the_whole_family_until_it_is_resumed(tmp_path: Path) -> None:
    reaper = Reaper()
    child = family(tmp_path / "log", reaper)
    child.pause()
    assert until(lambda: states(child.pid) == {"T"})
    child.resume()
    assert until(lambda: "T" not in states(child.pid))
    child.pause()
    child.kill()
    assert members(child.pid) == []
    reaper.close()


def states(session: int) -> set[str]:
    stats = [Path(f"/proc/{pid}/stat").read_text() for pid in members(session)]
    return {stat.rpartition(")")[2].split()[0] for stat in stats}


def test_a_driver_that_dies_by_itself_leaves_no_jvm(tmp_path: Path) -> None:
    reaper = Reaper()
    child = family(tmp_path / "log", reaper)
    os.kill(child.pid, signal.SIGKILL)
    assert until(lambda: child.exit_code() is not None)
    assert members(child.pid) == []
    reaper.close()


def test_a_process_that_does_not_stop_when_asked_is_killed(tmp_path: Path) -> None:
    reaper = Reaper()
    children = [family(tmp_path / f"log{n}", reaper) for n in range(2)]
    end_all(children, grace_seconds=0.2)
    assert [members(c.pid) for c in children] == [[], []]
    reaper.close()


def test_closing_the_janitor_ends_what_is_left(tmp_path: Path) -> None:
    reaper = Reaper()
    child = family(tmp_path / "log", reaper)
    reaper.close()
    assert until(lambda: members(child.pid) == [])
    assert child.exit_code() == -signal.SIGKILL


def test_a_parent_killed_outright_leaves_nothing_behind(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(log), FAMILY], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    session = int(parent.stdout.readline())
    assert until(lambda: len(members(session)) == 3)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert until(lambda: members(session) == [])


def test_the_log_keeps_what_a_child_said_last(tmp_path: Path) -> None:
    reaper = Reaper()
    child = Child(
        "talker", [sys.executable, "-c", "print('one\\ntwo\\nthree')"], tmp_path / "log", reaper, os.environ
    )
    assert until(lambda: child.exit_code() == 0)
    assert child.last_lines(2) == ["two", "three"]
    reaper.close()
