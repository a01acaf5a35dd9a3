"""A sink's process that is killed again and again while tuples flow."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.instance.in_process import CHAIN, InProcessJob, expected, patient, until

HA = "{mode: upstreamBackup}"
KILLS = 6


def kill_often(
    running: InProcessJob, folder: Path, target: str, count: Callable[[], int], arguments: Sequence[str] = ()
) -> int:
    """Kills a life after it has written, and begins the next one. Returns how many tuples are there at
    the end. `target`: the sink's target in the manifest."""
    seed = random.randrange(1_000)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for life in range(1, KILLS + 1):
        before = count()
        process = spawn(folder, target, life, arguments)
        try:
            until(lambda before=before: count() > before)  # type: ignore[misc]
            time.sleep(drawn.uniform(0, 0.6))
        finally:
            process.kill()
            process.wait(30)
    process = spawn(folder, target, KILLS + 1, arguments)
    try:
        at = count()
        until(lambda: count() > at + 40)
        process.terminate()
        assert process.wait(30) == 143
    finally:
        process.kill()
        process.wait(30)
    return count()


def spawn(folder: Path, target: str, life: int, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    text = CHAIN.replace("HA", patient(HA)).replace("files: {path: out}", target)
    (folder / "job.yaml").write_text(text)
    own = ["sink", "--sink", "end", "--output", str(folder / "out"), "--life", str(life), "--run-id", "test"]
    common = ["--job", str(folder / "job.yaml"), "--surroundings", f"local:{folder / 'surroundings'}"]
    return subprocess.Popen([sys.executable, "-m", "understudy.cli", *own, *common, *arguments])


def assert_exact(found: Sequence[tuple[int, int]]) -> None:
    """`found`: `_seq` and `n` of each tuple, as a reader finds them."""
    assert [seq for seq, _ in found] == list(range(len(found)))
    assert [n for _, n in found] == expected(len(found))
