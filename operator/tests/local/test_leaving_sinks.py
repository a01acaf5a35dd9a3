"""A sink that has read to the end and left must not hold up a producer that restarts. Real processes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.local.command import Command, until

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(900)]

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: leaving}
spec:
  sources:
    - {name: numbers, generator: {rate: 100, fields: {n: "_seq * 3"}}}
  subjobs:
    - {name: odd, inputs: [numbers], operators: [{filter: {where: "n % 2 = 1"}}], ha: {mode: upstreamBackup}}
  sinks:
    - {name: quick, input: odd, files: {path: quick}}
    - {name: slow, input: odd, files: {path: slow}}
"""


def test_a_roll_call_does_not_wait_for_a_sink_that_has_left(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    command = Command("run", "job.yaml", "--duration", "6s", "--output", "out", "--json", cwd=tmp_path)
    command.wait_for("the streams begin")
    known = tmp_path / "out" / "surroundings"

    def pid_of(instance: str) -> int:
        found: dict[str, Any] = json.loads((known / "instances" / f"{instance}.json").read_text())
        return int(found["pid"])

    slow = pid_of("sink-slow")
    os.kill(slow, signal.SIGSTOP)
    assert until(lambda: (known / "ends" / "quick.json").exists(), 60), command.said()
    os.kill(pid_of(json.loads((known / "leases" / "odd.json").read_text())["holder"]), signal.SIGKILL)
    os.kill(slow, signal.SIGCONT)
    assert command.wait(120) == 0, command.said()
    sinks = command.json()["sinks"]
    assert [(s["tuples"], s["lost"], s["duplicated"]) for s in sinks.values()] == [(300, 0, 0)] * 2
