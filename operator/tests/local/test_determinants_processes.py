"""Determinants on real processes: precise over chance, over the clock, and over several elements."""

from __future__ import annotations

import json
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

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
    assert until(
        lambda: all(_written(tmp_path, s) > n + 20 for s, n in before.items()) or _is_over(command), 120
    ), command.said()
    command.signal(signal.SIGINT)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    for sink in SINKS:
        found = report["sinks"][sink]
        assert (found["lost"], found["duplicated"], found["recovery"]) == (0, 0, "precise")
    assert {incident["subjob"] for incident in report["incidents"]} == {"arb", "det"}


DRAWN = (
    '[{filter: {where: "rand() < 0.7"}}, {map: {select: {k: k, at: "unix_micros(now())", luck: "rand()"}}}]'
)
TIMED = f"""{HEAD}{SOURCES}
  subjobs:
    - {{name: act, inputs: [odd], operators: {DRAWN}, ha: {{mode: activeStandby, guarantee: precise}}}}
    - {{name: up, inputs: [odd], operators: {DRAWN}, ha: {{mode: upstreamBackup, guarantee: precise}}}}
  sinks:
    - {{name: acts, input: act, files: {{path: out/acts}}}}
    - {{name: ups, input: up, files: {{path: out/ups}}}}
"""


def test_what_is_drawn_and_what_time_it_is_survive_a_killed_primary(tmp_path: Path) -> None:
    """Each tuple is there at most once, in order; those that a draw let pass are as many as it should,
    throughout."""
    (tmp_path / "job.yaml").write_text(TIMED)
    kills = ("--kill", "act@protected@8s", "--kill", "up@protected@11s")
    command = Command("run", "job.yaml", *kills, "--duration", "22s", "--output", "out", cwd=tmp_path)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {incident["subjob"] for incident in report["incidents"]} == {"act", "up"}
    for sink in ("acts", "ups"):
        rows = _rows(tmp_path, sink)
        assert [row["_seq"] for row in rows] == list(range(len(rows)))
        keys, times = [row["k"] for row in rows], [row["at"] for row in rows]
        assert keys == sorted(set(keys))
        assert times == sorted(times)
        assert len({row["luck"] for row in rows}) == len(rows)
        assert max(b - a for a, b in pairwise(keys)) <= 2 * 25, "so many in a row are not dropped by chance"
        assert 0.6 < len(rows) / (keys[-1] // 2 + 1) < 0.8


def _is_over(command: Command) -> bool:
    return command.process.poll() is not None


def _written(folder: Path, sink: str) -> int:
    return len(_lines(folder, sink))


def _rows(folder: Path, sink: str) -> list[dict[str, Any]]:
    return sorted((json.loads(line) for line in _lines(folder, sink)), key=lambda row: int(row["_seq"]))


def _lines(folder: Path, sink: str) -> list[str]:
    files = (folder / "out" / "sinks" / sink).glob("*.jsonl")
    return [line for file in files for line in file.read_text().splitlines()]
