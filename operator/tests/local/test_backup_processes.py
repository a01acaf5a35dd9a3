"""Synchronized and extended backups on real processes: neighbours that are killed together lose nothing."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.drills.programme import COUNT, SOURCES
from tests.local.command import Command, until

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(600)]

HEAD = "apiVersion: understudy.dev/v1alpha1\nkind: StreamJob\nmetadata: {name: backups}\nspec:"
JOB = f"""{HEAD}{SOURCES}
  subjobs:
    - name: one
      inputs: [odd]
      operators: [{COUNT}]
      ha: {{checkpoint: {{backups: synchronized}}}}
    - name: other
      inputs: [even]
      operators: [{{filter: {{where: "k >= 0"}}}}]
      ha: {{checkpoint: {{backups: synchronized}}}}
    - name: two
      inputs: [one, other]
      merge: eventTime
      operators: [{{join: {{with: other, on: "one.g = other.g", within: 100ms}}}}]
      ha: {{checkpoint: {{backups: extended}}}}
  sinks: [{{name: end, input: two, files: {{path: out/end}}}}]
"""


def test_neighbours_that_are_killed_together_go_on_from_their_backups(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    command = Command(
        "run", "job.yaml", "--kill", "one@12s", "--kill", "two@12s", "--output", "out", cwd=tmp_path
    )
    assert until(lambda: command.said().count("killed: ") == 2 or _is_over(command), 240), command.said()
    before = _written(tmp_path)
    assert until(lambda: _written(tmp_path) > before + 200 or _is_over(command), 120), command.said()
    command.signal(signal.SIGINT)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    sink = report["sinks"]["end"]
    assert (sink["lost"], sink["duplicated"], sink["recovery"]) == (0, 0, "precise")
    replayed = {incident["subjob"]: incident["replayed"] for incident in report["incidents"]}
    assert set(replayed) == {"one", "two"}
    logs = "".join(path.read_text() for path in (tmp_path / "out" / "logs").glob("*-1.log"))
    assert "continues from checkpoint" in logs, "they began anew instead"


def _is_over(command: Command) -> bool:
    return command.process.poll() is not None


def _written(folder: Path) -> int:
    return sum(
        len(file.read_text().splitlines()) for file in (folder / "out" / "sinks" / "end").glob("*.jsonl")
    )
