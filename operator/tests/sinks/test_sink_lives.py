"""A sink that was only cut off, and the one that was made in its place: one of them writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.instance.in_process import CHAIN, InProcessJob, expected, patient, until
from tests.sinks.stopped_sink import SCENES
from tests.streams.rows import rows
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.modes.build import sink_consumer
from understudy.protocol.ids import Stream
from understudy.protocol.queue import Acks
from understudy.sinks.files import LineLog
from understudy.sinks.port import Life, Opening, Superseded
from understudy.sinks.sink import SinkProcess
from understudy.sinks.writers import writer_of

HA = "{mode: upstreamBackup}"
OPERATOR = Path(__file__).parents[2]


def seqs(path: Path) -> list[int]:
    return [json.loads(line)["_seq"] for line in path.read_text().splitlines()]


# ---- the folder ------------------------------------------------------------------------------------------


def test_a_life_that_was_superseded_writes_nothing_more(tmp_path: Path) -> None:
    earlier = LineLog(tmp_path, Life("a", 1))
    earlier.write(rows(0, 5))
    later = LineLog(tmp_path, Life("a", 2))
    with pytest.raises(Superseded, match="life 2 of the sink has taken"):
        earlier.write(rows(5, 9))
    later.write(rows(5, 7))
    assert (earlier.next, later.next, seqs(later.path)) == (5, 7, [0, 1, 2, 3, 4, 5, 6])


def test_a_life_that_was_superseded_does_not_take_the_folder_again(tmp_path: Path) -> None:
    """Its kubelet may start it anew before it hears that the pod was removed."""
    LineLog(tmp_path, Life("a", 2)).write(rows(0, 5))
    with pytest.raises(Superseded):
        LineLog(tmp_path, Life("a", 1))


def test_a_container_that_is_started_again_goes_on_in_the_same_life(tmp_path: Path) -> None:
    LineLog(tmp_path, Life("a", 2)).write(rows(0, 5))
    assert LineLog(tmp_path, Life("a", 2)).next == 5


def test_a_new_job_takes_over_the_folder_of_an_earlier_job_of_its_name(tmp_path: Path) -> None:
    before = LineLog(tmp_path, Life("a", 7))
    before.write(rows(0, 5))
    assert LineLog(tmp_path, Life("b", 1)).next == 5
    with pytest.raises(Superseded):
        before.write(rows(5, 6))


LONG = {"parquet_start", "parquet_file", "delta_start", "delta_write", "delta_first"}
"""These have hundreds of lines, and stop a process at each."""


@pytest.mark.parametrize(
    "context", [pytest.param(each, marks=pytest.mark.slow if each in LONG else ()) for each in SCENES]
)
def test_a_life_that_was_stopped_at_any_line_changes_nothing_when_it_goes_on(
    tmp_path: Path, context: str
) -> None:
    """See `stopped_sink.py`."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.exists() else tmp_path) as folder:
        command = [sys.executable, "-m", "tests.sinks.stopped_sink", context, folder]
        done = subprocess.run(command, cwd=OPERATOR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) > 20, "it was stopped at hardly any line"


def test_a_process_that_is_started_again_in_the_same_life_supersedes_the_one_before(tmp_path: Path) -> None:
    """The one before may hang in a write."""
    earlier = LineLog(tmp_path, Life("a", 1))
    later = LineLog(tmp_path, Life("a", 1))
    with pytest.raises(Superseded, match="another process of life 1"):
        earlier.write(rows(0, 5))
    later.write(rows(0, 3))
    assert seqs(later.path) == [0, 1, 2]


def test_the_folders_of_earlier_takes_do_not_pile_up(tmp_path: Path) -> None:
    for number in range(5):
        LineLog(tmp_path, Life("a", number)).write(rows(number, number + 1))
    assert len(list(tmp_path.glob(".take-*"))) == 1


def test_a_file_that_was_truncated_by_another_process_is_not_written_to(tmp_path: Path) -> None:
    log = LineLog(tmp_path, Life())
    log.write(rows(0, 5))
    os.truncate(log.path, 3)
    with pytest.raises(OSError, match="has 3 bytes"):
        log.write(rows(5, 6))
    assert log.path.stat().st_size == 3


# ---- producers -------------------------------------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    """Instances that send to the sink of the job, and to nobody else."""
    made = InProcessJob(HA, tmp_path)
    made.reader.stop()
    made.begin()
    yield made
    made.close()


def heard(running: InProcessJob) -> Acks:
    context = running.instances["second-0"].context
    with context.lock:
        return context.core.ledger.queues[Stream("second")].acks[sink_consumer("end")]


def spawn(folder: Path, life: int) -> subprocess.Popen[bytes]:
    (folder / "job.yaml").write_text(CHAIN.replace("HA", patient(HA)))
    own = ["sink", "--sink", "end", "--output", str(folder / "out"), "--life", str(life), "--run-id", "test"]
    common = ["--job", str(folder / "job.yaml"), "--surroundings", f"local:{folder / 'surroundings'}"]
    return subprocess.Popen([sys.executable, "-m", "understudy.cli", *own, *common])


def test_a_sink_that_was_stopped_and_goes_on_beside_its_successor_neither_writes_nor_acks(
    running: InProcessJob, tmp_path: Path
) -> None:
    path = tmp_path / "out" / "part-00000.jsonl"
    earlier = spawn(tmp_path, 1)
    until(lambda: heard(running).released > 40)
    os.kill(earlier.pid, signal.SIGSTOP)
    later = spawn(tmp_path, 2)
    try:
        until(lambda: heard(running).epoch == 2)
        at = heard(running).released
        until(lambda: heard(running).released > at + 40)
        os.kill(earlier.pid, signal.SIGCONT)
        assert earlier.wait(30) == 1
        at = heard(running).released
        until(lambda: heard(running).released > at + 40)
        assert heard(running).epoch == 2
    finally:
        for each in (earlier, later):
            each.terminate()
            os.kill(each.pid, signal.SIGCONT) if each.poll() is None else None
            each.wait(30)
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["_seq"] for row in written] == list(range(len(written)))
    assert [row["n"] for row in written] == expected(len(written))
    assert heard(running).released <= len(written)


def test_a_sink_that_is_started_again_knows_how_long_ago_the_life_before_wrote(
    running: InProcessJob, tmp_path: Path
) -> None:
    log = LineLog(tmp_path / "out", Life("a", 1))
    log.write(rows(0, 5))
    long_ago = time.time() - 100
    os.utime(log.path, (long_ago, long_ago))
    opening = Opening(running.job, running.job.sinks[0], tmp_path / "out", Life("a", 2))
    sink = SinkProcess(opening, writer_of(opening), running.surroundings)
    (age,) = sink.ages("second")
    assert (age.epoch, age.ms >= 100_000) == (0, True)
    quiet = sink.status().quiet_ms
    assert quiet is not None
    assert quiet >= 100_000


def test_a_sink_without_a_file_ends_when_its_producer_has_heard_a_later_life(
    running: InProcessJob, tmp_path: Path
) -> None:
    job = load(CHAIN.replace("HA", patient(HA)).replace("files: {path: out}", "console: {}"))
    assert isinstance(job, StreamJob), job
    openings = [Opening(job, job.sinks[0], tmp_path, Life("a", n)) for n in (1, 2)]
    sinks = [SinkProcess(opening, writer_of(opening), running.surroundings) for opening in openings]
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda sink=sink: codes.append(sink.run()), daemon=True) for sink in sinks
    ]
    threads[0].start()
    until(lambda: heard(running).released > 10)
    threads[1].start()
    threads[0].join(30)
    assert (codes, heard(running).epoch) == ([1], 2)
    assert "epoch 1, but 2 has begun" in str(sinks[0].error)
    sinks[1].stop()
    threads[1].join(30)
