"""A JVM that hangs in a process that lives: SIGSTOP to the JVM alone, seen through the sink."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.local.command import Command, until
from tests.local.jobs import TWO_SUBJOBS
from tests.sinks.disks import disk, needs_disk

pytestmark = [pytest.mark.processes, pytest.mark.timeout(900)]

BURNING = """
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf


@udf("long")
def _burn(n: int, mv: int) -> int:
    if n % 4000 == 3000:
        import time

        done = time.process_time() + 8
        while time.process_time() < done:
            pass
    return mv


def burn(rows: DataFrame) -> DataFrame:
    return rows.withColumn("mv", _burn("n", "mv"))
"""


def test_a_hung_primary_is_succeeded_and_a_hung_standby_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TWO_SUBJOBS.replace("MODE", "activeStandby"))
    hangs = ["--hang", "beats@5s+60s", "--hang", "strong@standby@7s+60s"]
    command = Command(
        "run", "job.yaml", "--duration", "25s", *hangs, "--output", "out", "--json", cwd=tmp_path
    )
    assert command.wait() == 0, command.said()
    report = command.json()
    assert report["sinks"]["alerts"]["recovery"] == "precise", report
    hung = {i["subjob"]: i for i in report["incidents"] if "SIGSTOP to the JVM alone" in i["cause"]}
    assert set(hung) == {"beats", "strong"}, report["incidents"]
    assert (
        2_000 < hung["beats"]["detectedMs"] < 20_000
    )  # by default after 3 s; a busy machine may take longer
    assert hung["beats"]["firstOutputMs"] < 40_000  # the hang lasts longer: somebody else put it out
    logs = {path.stem: path.read_text() for path in (tmp_path / "out" / "logs").iterdir()}
    gone = [
        name
        for name, text in logs.items()
        if "the engine stands still" in text and '"event": "failed"' in text
    ]
    assert len([name for name in gone if name.startswith("beats")]) == 1, gone
    assert len([name for name in gone if name.startswith("strong")]) == 1, gone
    assert command.left_behind() == []


@needs_disk
def test_a_sink_whose_disk_hangs_is_started_again_and_the_report_says_so(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TWO_SUBJOBS.replace("MODE", "passiveStandby"))
    with disk(tmp_path / "disk") as made:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "sinks").symlink_to(made.path)
        command = Command("run", "job.yaml", "--duration", "30s", "--output", "out", "--json", cwd=tmp_path)
        command.wait_for("the streams begin")
        assert until(lambda: any(made.path.glob("alerts/part-*")), 60)
        made.freeze()
        command.wait_for("sink-alerts is killed, to be started again")
        made.thaw()
        assert command.wait() == 0, command.said()
        report = command.json()
    assert report["sinks"]["alerts"]["recovery"] == "precise", report
    (stall,) = [i for i in report["incidents"] if "the disk of sink alerts stood still" in i["cause"]]
    assert "did not end within 10 s" in stall["cause"]
    assert (stall["lost"], stall["duplicated"]) == (0, 0)
    assert stall["firstOutputMs"] is not None
    assert command.said().count("starting sink-alerts") == 2


@contextmanager
def twice_the_load() -> Iterator[None]:
    """Two processes for each core that do nothing but use it."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()


@pytest.mark.slow
def test_a_micro_batch_of_a_hundred_times_the_median_is_no_hang(tmp_path: Path) -> None:
    """Every 20 s one uses the processor for 8 s, far beyond the default engine timeout of 3 s, on a busy
    machine."""
    (tmp_path / "slowly.py").write_text(BURNING)
    burning = TWO_SUBJOBS.replace("MODE", "passiveStandby").replace('% 100"}', '% 100", n: "_seq"}')
    select = '{filter: {where: "mv > 0"}}, {map: {select: {patient: patient, mv: mv}}}'
    assert select in burning
    function = '{python: {function: "slowly:burn", schema: "patient bigint, mv bigint", deterministic: true}}'
    (tmp_path / "job.yaml").write_text(burning.replace(select, function))
    command = Command("run", "job.yaml", "--duration", "60s", "--output", "out", "--json", cwd=tmp_path)
    command.wait_for("the streams begin")
    with twice_the_load():
        command.wait_for("computing the result", 900)
    assert command.wait() == 0, command.said()
    report = command.json()
    assert report["sinks"]["alerts"]["recovery"] == "precise", report
    assert not [i for i in report["incidents"] if "engine" in i["cause"]], json.dumps(report["incidents"])
