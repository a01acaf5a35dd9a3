"""A sink that is dead for longer than its job's queues last: the source waits, and nothing is lost. Real
processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.local.command import Command

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(600)]

TUPLES = 72_000  # an hour of 20 a second
QUEUE = "{memory: 1Mi, disk: 1Mi}"
JOB = f"""
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {{name: absent}}
spec:
  sources:
    - name: numbers
      generator: {{rate: 2000, limit: {TUPLES}, fields: {{n: "_seq", text: "repeat('x', 100)"}}}}
  subjobs:
    - name: made
      inputs: [numbers]
      operators: [{{filter: {{where: "n >= 0"}}}}]
      ha: {{mode: savepoint}}
      queue: {QUEUE}
    - {{name: passed, inputs: [made], operators: [{{filter: {{where: "n >= 0"}}}}], queue: {QUEUE}}}
  sinks: [{{name: end, input: passed, files: {{path: end}}}}]
"""


def test_a_sink_that_comes_back_after_an_hour_gets_every_tuple(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    away = ("--stop", "sink/end@2s+120s", "--kill", "sink/end@34s")
    command = Command("run", "job.yaml", *away, "--output", "out", "--json", cwd=tmp_path)
    command.wait_for("queue of passed full")
    assert command.wait() == 0, command.said()
    assert "queue of made full" in command.said(), "backpressure goes on up to the source"
    sink = command.json()["sinks"]["end"]
    assert (sink["tuples"], sink["lost"], sink["duplicated"], sink["recovery"]) == (TUPLES, 0, 0, "precise")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert [page["losses"] for page in record["status"].values() if "losses" in page] == [[]] * 4
