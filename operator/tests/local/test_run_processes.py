"""Whole jobs in real processes on real Spark, killed by SIGKILL; the sinks are compared with a batch
execution."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.local.command import Command, until
from tests.local.jobs import TWO_SUBJOBS

pytestmark = [pytest.mark.processes, pytest.mark.timeout(900)]

ONE_SUBJOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: one}
spec:
  sources:
    - name: numbers
      generator: {rate: 100, fields: {n: "_seq * 3", g: "_seq % 5"}}
  subjobs:
    - name: odd
      inputs: [numbers]
      operators: [{filter: {where: "n % 2 = 1"}}]
      ha: {mode: amnesia}
  sinks:
    - {name: out, input: odd, files: {path: out}}
"""


def lines(path: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for file in sorted(path.glob("*.jsonl")) for line in file.read_text().splitlines()
    ]


@pytest.fixture(scope="module")
def hurt_everywhere(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, Path]:
    """A primary, a standby of another subjob and the sink are killed in one run."""
    folder = tmp_path_factory.mktemp("passive")
    (folder / "job.yaml").write_text(TWO_SUBJOBS.replace("MODE", "passiveStandby"))
    kills = ["--kill", "beats@5s", "--kill", "strong@standby@8s", "--kill", "sink/alerts@11s"]
    command = Command("run", "job.yaml", "--duration", "20s", *kills, "--output", "out", "--json", cwd=folder)
    command.wait()
    return command, folder / "out"


def test_kills_of_primary_standby_and_sink_are_precise(hurt_everywhere: tuple[Command, Path]) -> None:
    command, out = hurt_everywhere
    assert command.process.returncode == 0, command.said()
    sink = json.loads((out / "report.json").read_text())["sinks"]["alerts"]
    assert sink["tuples"] > 0
    assert sink.pop("lag") is not None
    assert sink == {
        "tuples": sink["tuples"],
        "lost": 0,
        "duplicated": 0,
        "reordered": 0,
        "recovery": "precise",
    }
    assert [row["_seq"] for row in lines(out / "sinks" / "alerts")] == list(range(sink["tuples"]))


def test_the_report_tells_of_the_take_over(hurt_everywhere: tuple[Command, Path]) -> None:
    command, out = hurt_everywhere
    report = json.loads((out / "report.json").read_text())
    assert command.json() == report
    failover, standby = report["incidents"]
    assert (failover["subjob"], failover["mode"]) == ("beats", "passiveStandby")
    steps = [failover[step] for step in ("detectedMs", "promotedMs", "firstOutputMs", "caughtUpMs")]
    assert steps == sorted(steps)
    assert (failover["lost"], failover["duplicated"]) == (0, 0)
    assert (standby["subjob"], standby["promotedMs"]) == ("strong", None)
    assert "<svg" in (out / "report.html").read_text()


def test_the_job_as_it_was_run_is_written_down(hurt_everywhere: tuple[Command, Path]) -> None:
    _, out = hurt_everywhere
    assert "limit: 4000" in (out / "job.yaml").read_text()
    assert {p.name for p in (out / "logs").iterdir()} >= {
        "beats-0.log",
        "beats-1.log",
        "beats-2.log",
        "sink-alerts.log",
    }


def test_nothing_is_left_behind(hurt_everywhere: tuple[Command, Path]) -> None:
    command, out = hurt_everywhere
    assert command.left_behind() == []
    assert not (out / "scratch").exists()


def test_amnesia_loses_what_came_while_nobody_was_there_and_says_how_much(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(ONE_SUBJOB)
    command = Command(
        "run", "job.yaml", "--duration", "40s", "--kill", "odd@4s", "--output", "out", cwd=tmp_path
    )
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    sink, (incident,) = report["sinks"]["out"], report["incidents"]
    assert sink["recovery"] == "gap"
    assert sink["lost"] > 0
    assert sink["tuples"] + sink["lost"] == 2_000
    assert incident["lost"] > 0
    assert [row["_seq"] for row in lines(tmp_path / "out" / "sinks" / "out")] == list(range(sink["tuples"]))


def test_a_spare_takes_over_from_amnesia_and_the_loss_is_told(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(ONE_SUBJOB.replace("mode: amnesia", "mode: amnesia, spare: true"))
    kill = ("--kill", "odd@protected@4s")
    command = Command("run", "job.yaml", "--duration", "20s", *kill, "--output", "out", cwd=tmp_path)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    sink, (incident,) = report["sinks"]["out"], report["incidents"]
    assert (incident["subjob"], incident["mode"]) == ("odd", "amnesia")
    first = [(tmp_path / "out" / "logs" / f"odd-{number}.log").read_text() for number in (0, 1)]
    followed_then_led = [-1 < log.find("following") < log.find("leading") for log in first]
    assert sorted(followed_then_led) == [False, True], "who was there already took over, not a new process"
    assert incident["lost"] > 0
    assert sink["recovery"] == "gap"
    assert (sink["tuples"] + sink["lost"], sink["duplicated"]) == (1_000, 0)
    assert [row["_seq"] for row in lines(tmp_path / "out" / "sinks" / "out")] == list(range(sink["tuples"]))


def test_a_job_that_reads_files_writes_what_is_made_of_each_row_and_ends(tmp_path: Path) -> None:
    (tmp_path / "numbers").mkdir()
    for part in range(3):
        rows = [{"n": n * 3, "g": n % 5} for n in range(part * 100, part * 100 + 100)]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / "numbers" / f"{part}.jsonl").write_text(text)
    files = 'files: {path: numbers, schema: "n bigint, g bigint"}'
    generator = 'generator: {rate: 100, fields: {n: "_seq * 3", g: "_seq % 5"}}'
    (tmp_path / "job.yaml").write_text(ONE_SUBJOB.replace(generator, files))
    command = Command("run", "job.yaml", "--output", "out", "--json", cwd=tmp_path)
    assert command.wait() == 0, command.said()
    sink = command.json()["sinks"]["out"]
    assert (sink["recovery"], sink["tuples"], sink["lost"], sink["duplicated"]) == ("precise", 150, 0, 0)
    assert [row["n"] for row in lines(tmp_path / "out" / "sinks" / "out")] == list(range(3, 900, 6))


def test_an_endless_job_runs_until_it_is_stopped_and_is_compared_as_far_as_it_came(tmp_path: Path) -> None:
    """It calls a Python function; the module is beside the manifest at the start, and is not any more at the
    end."""
    function = '{python: {function: "parity:odd", schema: "n bigint, g bigint", deterministic: true}}'
    (tmp_path / "job.yaml").write_text(ONE_SUBJOB.replace('{filter: {where: "n % 2 = 1"}}', function))
    (tmp_path / "parity.py").write_text("def odd(numbers):\n    return numbers.where('n % 2 = 1')\n")
    command = Command("run", "job.yaml", "--output", "out", cwd=tmp_path)
    command.wait_for("the streams begin")
    (tmp_path / "parity.py").unlink()
    assert until(lambda: len(lines(tmp_path / "out" / "sinks" / "out")) > 100, 60)
    command.signal(signal.SIGINT)
    assert command.wait() == 0, command.said()
    assert command.left_behind() == []
    sink = json.loads((tmp_path / "out" / "report.json").read_text())["sinks"]["out"]
    assert (sink["recovery"], sink["lost"]) == ("precise", 0)


def test_a_function_that_is_nowhere_is_refused_before_anything_starts(tmp_path: Path) -> None:
    function = '{python: {function: "parity:odd"}}'
    (tmp_path / "job.yaml").write_text(ONE_SUBJOB.replace('{filter: {where: "n % 2 = 1"}}', function))
    command = Command("run", "job.yaml", "--output", "out", cwd=tmp_path)
    assert command.wait(60) == 2
    assert "there is no parity.py beside the manifest, and no module parity is installed" in command.said()


def test_a_supervisor_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(ONE_SUBJOB)
    command = Command("run", "job.yaml", "--output", "out", cwd=tmp_path)
    assert until(lambda: any("SparkSubmit" in line for line in command.left_behind()), 60), command.said()
    command.signal(signal.SIGKILL)
    command.wait()
    assert until(lambda: command.left_behind() == [])


def test_a_process_that_fails_before_it_is_ready_is_shown(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(ONE_SUBJOB)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho this java is broken >&2\nexit 1\n")
    java.chmod(0o755)
    command = Command("run", "job.yaml", "--output", "out", cwd=tmp_path, env={"JAVA_HOME": str(tmp_path)})
    assert command.wait(120) == 3
    assert "install Java 17 or later" in command.said()
    assert "odd-0.log" in command.said()
    assert command.left_behind() == []
