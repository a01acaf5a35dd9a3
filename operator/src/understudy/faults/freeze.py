"""A drill's faults: this process and all that it started are stopped (SIGSTOP) and continue after a while, or
run in slices.

For the peers this looks like a machine that hangs: connections stay open, and no answer comes.
"""

from __future__ import annotations

import os
import subprocess

from understudy.process.family import family, name_of


def freeze(seconds: float) -> None:
    """Returns at once. Another process does it, because a stopped process can't continue itself."""
    mine = " ".join(str(pid) for pid in family(os.getpid()))
    script = f"sleep 0.05; kill -STOP {mine}; sleep {seconds:.3f}; kill -CONT {mine}"
    subprocess.Popen(["sh", "-c", script], start_new_session=True, stdin=subprocess.DEVNULL)


def hang(seconds: float) -> None:
    """Only the JVM stops: this process lives, but Spark does not run. Returns at once."""
    jvms = " ".join(str(pid) for pid in family(os.getpid())[1:] if name_of(pid) == "java")
    script = f"kill -STOP {jvms}; sleep {seconds:.3f}; kill -CONT {jvms}"
    subprocess.Popen(["sh", "-c", script], start_new_session=True, stdin=subprocess.DEVNULL)


def throttle(seconds: float) -> None:
    """This process and all that it started get a fifth of the processor, in slices. Returns at once."""
    mine = " ".join(str(pid) for pid in family(os.getpid()))
    slices = round(seconds / 0.1)
    turn = f"kill -STOP {mine}; sleep 0.08; kill -CONT {mine}; sleep 0.02"
    script = f"n=0; while [ $n -lt {slices} ]; do {turn}; n=$((n+1)); done"
    subprocess.Popen(["sh", "-c", script], start_new_session=True, stdin=subprocess.DEVNULL)
