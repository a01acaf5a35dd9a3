"""Upstream backup that logs its steps, on real processes: precise over chance, and over several elements."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.drills.programme import COUNT, SOURCES
from tests.local.command import Command, until

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(600)]

HEAD = "apiVersion: understudy.dev/v1alpha1\nkind: StreamJob\nmetadata: {name: determinants}\nspec:"
JOB = f"""{HEAD}{SOURCES}
  subjobs:
    - name: arb
      inputs: [odd, even]
      operators: [{{union: {{}}}}]
      ha: {{mode: upstreamBackup, guarantee: precise}}
    - name: det
      inputs: [odd]
      operators: [{COUNT}, {COUNT}]
      ha: {{mode: upstreamBackup, guarantee: precise}}
  sinks:
    - {{name: arbs, input: arb, files: {{path: out/arbs}}}}
    - {{name: dets, input: det, files: {{path: out/dets}}}}
"""
SINKS = ("arbs", "dets")


def test_a_killed_primary_is_succeeded_with_the_same_tuples_under_the_same_seqs(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    kills = ("--kill", "arb@protected@10s", "--kill", "det@protected@14s")
    command = Command("run", "job.yaml", *kills, "--output", "out", cwd=tmp_path)
    assert until(lambda: command.said().count("killed: ") == 2 or _is_over(command), 300), command.said()
    before = {sink: _written(tmp_path, sink) for sink in SINKS}
    assert until(lambda: all(_written(tmp_path, s) > n + 20 for s, n in before.items()) or _is_over(command), 120), (
        command.said()
    )
    command.signal(signal.SIGINT)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    for sink in SINKS:
        found = report["sinks"][sink]
        assert (found["lost"], found["duplicated"], found["recovery"]) == (0, 0, "precise")
    assert {incident["subjob"] for incident in report["incidents"]} == {"arb", "det"}


def _is_over(command: Command) -> bool:
    return command.process.poll() is not None


def _written(folder: Path, sink: str) -> int:
    return sum(len(file.read_text().splitlines()) for file in (folder / "out" / "sinks" / sink).glob("*.jsonl"))
