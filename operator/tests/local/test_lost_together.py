"""A primary is killed while one of two sinks of its stream is stopped: the other sink is served. Real
processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.command import Command

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(600)]

AWAY = 25_000  # milliseconds
JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: together}
spec:
  sources: [{name: numbers, generator: {rate: 100, fields: {n: "_seq"}}}]
  subjobs:
    - {name: kept, inputs: [numbers], operators: [{filter: {where: "n >= 0"}}], ha: HA}
  sinks:
    - {name: here, input: kept, files: {path: here}}
    - {name: away, input: kept, files: {path: away}}
"""


@pytest.mark.parametrize(
    "ha", ["{mode: upstreamBackup}", "{mode: activeStandby}", "{mode: amnesia, spare: true}"]
)
def test_the_other_sink_is_served_while_one_is_away(ha: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("HA", ha))
    faults = ["--stop", f"sink/away@4900ms+{AWAY}ms", "--kill", "kept@5s"]
    command = Command(
        "run", "job.yaml", "--duration", "35s", *faults, "--output", "out", "--json", cwd=tmp_path
    )
    assert command.wait() == 0, command.said()
    report = command.json()
    (incident,) = (i for i in report["incidents"] if "SIGKILL" in i["cause"])
    assert incident["firstOutputMs"] < AWAY / 2, "the sink was away for longer: nobody waited for it"
    lost = {sink: found["lost"] for sink, found in report["sinks"].items()}
    if "amnesia" not in ha:
        assert lost == {"here": 0, "away": 0}, report["sinks"]
        assert {found["recovery"] for found in report["sinks"].values()} == {"precise"}, report["sinks"]
