"""A job that reads a folder while files are renamed into it, with kills: exact counts by plain Python."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.local.command import Command, until

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(600)]

FILES, ROWS = 60, 100
JOB = f"""apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {{name: watched}}
spec:
  sources:
    - name: numbers
      files: {{path: in, schema: "n bigint", watch: true, limit: {FILES * ROWS}}}
  subjobs:
    - name: kept
      inputs: [numbers]
      operators: [{{map: {{select: {{n: n, k: "n % 7"}}}}}}]
      ha: {{mode: savepoint}}
    - name: sums
      inputs: [numbers]
      operators: [{{aggregate: {{window: {{on: _seq, size: 100, slide: 100}}, select: {{total: "sum(n)"}}}}}}]
      ha: {{mode: passiveStandby}}
  sinks:
    - {{name: all, input: kept, files: {{path: out/all}}}}
    - {{name: totals, input: sums, files: {{path: out/totals}}}}
"""


def put(folder: Path, number: int) -> None:
    made = folder / ".half"
    first = number * ROWS
    made.write_text("".join(f'{{"n": {n}}}\n' for n in range(first, first + ROWS)))
    made.rename(folder / f"{number:04}.jsonl")


def sink(folder: Path, name: str, column: str) -> list[int]:
    files = sorted((folder / "out" / "sinks" / name).glob("*.jsonl"))
    return [json.loads(line)[column] for file in files for line in file.read_text().splitlines()]


def test_every_row_of_a_watched_folder_arrives_once_through_kills(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    (tmp_path / "job.yaml").write_text(JOB)
    kills = ("--kill", "kept@3s", "--kill", "sums@6s")
    command = Command("run", "job.yaml", *kills, "--output", "out", cwd=tmp_path)
    for number in range(FILES):
        put(inbox, number)
        assert until(partial(reached, command, tmp_path, (number - 10) * ROWS), 240), command.said()
        assert not over(command), command.said()
        if command.said().count("killed: ") < 2 and number > FILES // 2:
            assert until(lambda: command.said().count("killed: ") == 2, 120), command.said()
    assert command.wait() == 0, command.said()
    assert sink(tmp_path, "all", "n") == list(range(FILES * ROWS))
    expected = [sum(range(first, first + 100)) for first in range(0, FILES * ROWS, 100)]
    assert sink(tmp_path, "totals", "total") == expected
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {i["subjob"] for i in report["incidents"]} == {"kept", "sums"}
    assert {s["recovery"] for s in report["sinks"].values()} == {"precise"}


def reached(command: Command, folder: Path, count: int) -> bool:
    return over(command) or len(sink(folder, "all", "n")) >= count


def over(command: Command) -> bool:
    return command.process.poll() is not None
