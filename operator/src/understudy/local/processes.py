"""Children that leave nothing behind.

Each child leads a session of its own. A Spark driver's JVM and Python workers stay in that session even if
they make process groups of their own, so killing the session kills them all. A reaper process outlives its
parent just long enough to kill every remaining session, even if the parent was killed by SIGKILL.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from understudy.process.family import name_of

STOPPED_SECONDS, RUNNING_SECONDS = 0.08, 0.02  # short enough that no peer suspects it
SWEEPS = 50
SWEEP_PAUSE_SECONDS = 0.02


class Reaper:
    """Knows the sessions of this process's children, and ends them when this process is gone."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "understudy.local.reaper"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def guard(self, session: int) -> None:
        self._tell(f"+{session}\n")

    def release(self, session: int) -> None:
        self._tell(f"-{session}\n")

    def _tell(self, line: str) -> None:
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):
                pipe.write(line.encode())
                pipe.flush()

    def close(self) -> None:
        """Kills everything that is still guarded."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


class Child:
    """One process with its log; `end` ends its whole session."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, reaper: Reaper, env: Mapping[str, str]
    ) -> None:
        self.name = name
        self.log = log
        self._reaper = reaper
        self._ended = False
        self._throttling = threading.Event()
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab") as out:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=dict(env),
            )
        reaper.guard(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; minus the signal's number if a signal killed it. Processes that it left in its
        session are killed."""
        code = self._process.poll()
        if code is not None and not self._ended:
            self._sweep()
        return code

    def kill(self) -> None:
        """SIGKILL to the process, and as soon as it is gone to all that it started. A container ends in the
        same way."""
        self._process.kill()
        self._process.wait()
        self._sweep()

    def order_to_die(self) -> None:
        """SIGKILL, without waiting: a process that waits for a disk dies only when the disk works again."""
        self._process.kill()

    def pause(self) -> None:
        """SIGSTOP to the process and all that it started; its connections stay open, but no answer comes."""
        self._tell_all(signal.SIGSTOP)

    def hang(self) -> None:
        """SIGSTOP to its JVM only: the process lives, but Spark does not run."""
        for pid in session_members(self.pid):
            if name_of(pid) == "java":
                _signal(pid, signal.SIGSTOP)

    def throttle(self) -> None:
        """From now on it runs for a small part of the time, in slices, until `resume`."""
        self._throttling.set()
        threading.Thread(target=self._throttle, name=f"throttle-{self.name}", daemon=True).start()

    def _throttle(self) -> None:
        while self._throttling.is_set() and self._process.poll() is None:
            self._tell_all(signal.SIGSTOP)
            time.sleep(STOPPED_SECONDS)
            self._tell_all(signal.SIGCONT)
            time.sleep(RUNNING_SECONDS)

    def resume(self) -> None:
        self._throttling.clear()
        self._tell_all(signal.SIGCONT)

    def _tell_all(self, number: signal.Signals) -> None:
        for pid in session_members(self.pid):
            _signal(pid, number)

    def ask_to_stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()

    def _sweep(self) -> None:
        kill_session(self.pid)
        self._ended = True
        self._reaper.release(self.pid)

    def last_lines(self, count: int) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()[-count:]


def end_all(children: Sequence[Child], grace_seconds: float) -> None:
    """Asks every child to stop, then kills those that are left."""
    for child in children:
        child.ask_to_stop()
    deadline = time.monotonic() + grace_seconds
    while any(c.exit_code() is None for c in children) and time.monotonic() < deadline:
        time.sleep(SWEEP_PAUSE_SECONDS)
    for child in children:
        if child.exit_code() is None:
            child.kill()


def kill_session(session: int) -> None:
    """Kills until the session is empty: a process may start another while it is being killed."""
    _signal_group(session, signal.SIGKILL)
    for _ in range(SWEEPS):
        members = list(session_members(session))
        if not members:
            return
        for pid in members:
            _signal(pid, signal.SIGKILL)
        time.sleep(SWEEP_PAUSE_SECONDS)


def session_members(session: int) -> Iterator[int]:
    """The living processes of a session, without those that are dead but not yet waited for."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _belongs(int(entry), session):
            yield int(entry)


def _belongs(pid: int, session: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    state, _parent, _group, its_session = stat.rpartition(")")[2].split()[:4]
    return int(its_session) == session and state not in "ZX"


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)
