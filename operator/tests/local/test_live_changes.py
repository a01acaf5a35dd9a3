"""The mode of a running subjob is edited, on real processes; the sink must not notice, with or without a
kill."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.local.command import Command, until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(900)]

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: live}
spec:
  sources:
    - name: ecg
      generator: {rate: 100, fields: {patient: "_seq % 3", mv: "hash(_seq) % 100"}}
  subjobs:
    STRONG
    - name: beats
      inputs: [INPUT]
      operators:
        - aggregate:
            window: {on: _seq, size: 20, slide: 10}
            groupBy: [patient]
            select: {beats: "count(*)", peak: "max(mv)"}
      ha: {mode: MODE, guarantee: GUARANTEE}
  sinks:
    - {name: alerts, input: beats, files: {path: out/alerts}}
"""


STRONG = '- {name: strong, inputs: [ecg], operators: [{filter: {where: "mv > 0"}}], ha: {mode: amnesia}}'


def manifest(mode: str, reads: str = "strong") -> str:
    job = JOB.replace("MODE", mode).replace("GUARANTEE", "gap" if mode == "amnesia" else "precise")
    return job.replace("INPUT", reads).replace("STRONG", STRONG if reads == "strong" else "")


def page(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "surroundings" / name).read_text())
    return found


def primary(folder: Path) -> str:
    holder: str = page(folder, "leases/beats.json")["holder"]
    return holder


def kill_primary(folder: Path) -> None:
    os.kill(page(folder, f"instances/{primary(folder)}.json")["pid"], signal.SIGKILL)


class Show:
    """A running job whose manifest is edited."""

    def __init__(self, folder: Path, mode: str, duration: str, reads: str = "strong") -> None:
        self.folder, self._reads = folder, reads
        self.edit(manifest(mode, reads))
        self.command = Command(
            "run", "job.yaml", "--duration", duration, "--output", "out", "--json", cwd=folder
        )
        self.command.wait_for("the streams begin")

    def edit(self, text: str) -> None:
        made = self.folder / "new.yaml"
        made.write_text(text)
        made.replace(self.folder / "job.yaml")

    def change_to(self, mode: str) -> None:
        said = f"beats is kept alive by {mode} now"
        before = self.command.said().count(said)
        self.edit(manifest(mode, self._reads))
        assert until(lambda: self.command.said().count(said) > before, 60), self.command.said()

    def end(self) -> dict[str, Any]:
        assert self.command.wait() == 0, self.command.said()
        assert self.command.left_behind() == []
        found: dict[str, Any] = self.command.json()["sinks"]["alerts"]
        return found


def log_of(folder: Path, instance: str) -> str:
    return (folder / "out" / "logs" / f"{instance}.log").read_text()


def test_a_job_goes_through_all_modes_without_a_restart(tmp_path: Path) -> None:
    show = Show(tmp_path, "passiveStandby", "40s")
    first = primary(tmp_path)
    for mode in (
        "activeStandby",
        "replicaBackup",
        "upstreamBackup",
        "savepoint",
        "replicaBackup",
        "passiveStandby",
    ):
        show.change_to(mode)
    show.edit(manifest("savepoint").replace("size: 20", "size: 40"))
    show.command.wait_for(
        "edit refused, the job runs on as it was: spec.subjobs[beats].operators needs new instances"
    )
    show.edit("spec: {")
    assert until(lambda: show.command.said().count("edit refused") == 2)
    assert primary(tmp_path) == first, "nobody took over"  # in the end somebody may
    sink = show.end()
    assert (sink["lost"], sink["duplicated"], sink["recovery"]) == (0, 0, "precise")
    assert log_of(tmp_path, first).count("spark session started") == 1


@pytest.mark.slow
def test_a_kill_while_both_modes_run_is_survived_and_the_change_made_by_the_new_primary(
    tmp_path: Path,
) -> None:
    show = Show(tmp_path, "passiveStandby", "30s")
    show.edit(manifest("savepoint"))
    show.command.wait_for("edited: beats")
    kill_primary(tmp_path)
    show.command.wait_for("beats is kept alive by savepoint now", 60)
    sink = show.end()
    assert (sink["lost"], sink["duplicated"], sink["recovery"]) == (0, 0, "precise")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "reads"),
    [
        ("passiveStandby", "upstreamBackup", "strong"),
        ("activeStandby", "savepoint", "strong"),
        ("replicaBackup", "savepoint", "ecg"),
        ("upstreamBackup", "activeStandby", "ecg"),
    ],
)
def test_a_kill_right_after_a_change_is_survived(tmp_path: Path, before: str, after: str, reads: str) -> None:
    show = Show(tmp_path, before, "30s", reads)
    show.change_to(after)
    kill_primary(tmp_path)
    sink = show.end()
    assert (sink["lost"], sink["duplicated"], sink["recovery"]) == (0, 0, "precise")
