"""A subjob that cannot be started: its alternative stands in, or its failure process is run. Real
processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.command import Command

pytestmark = [pytest.mark.processes, pytest.mark.timeout(900)]

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: broken}
spec:
  sources:
    - {name: numbers, generator: {rate: 100, fields: {n: "_seq * 3"}}}
  subjobs:
    - name: fine
      inputs: [numbers]
      operators: [{map: {select: {n: n, kind: "'fine'"}}}]
      spark: {conf: {spark.serializer: no.such.Serializer}}
      ha: {mode: amnesia, onPermanentFailure: FAILURE}
    - name: coarse
      inputs: [numbers]
      operators: [{filter: {where: "n % 2 = 0"}}, {map: {select: {n: n, kind: "'coarse'"}}}]
      ha: {mode: amnesia}
  sinks:
    - {name: out, input: fine, files: {path: out}}
"""


def test_the_alternative_stands_in(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("FAILURE", "{alternative: coarse}"))
    command = Command("run", "job.yaml", "--duration", "5s", "--output", "out", "--json", cwd=tmp_path)
    assert command.wait() == 0, command.said()
    assert "coarse stands in for fine: fine-1 ended with exit code 1 before it was ready" in command.said()
    assert command.json()["sinks"]["out"]["recovery"] == "precise"
    written = (tmp_path / "out" / "sinks" / "out" / "part-00000.jsonl").read_text().splitlines()
    assert len(written) == 250
    assert all('"coarse"' in line for line in written)


@pytest.mark.slow
def test_the_alternative_stands_in_for_a_subjob_that_no_instance_gets_past_a_tuple_of(tmp_path: Path) -> None:
    job = JOB.replace("      spark: {conf: {spark.serializer: no.such.Serializer}}\n", "")
    job = job.replace("n: n, kind: \"'fine'\"", "n: n, kind: \"if(n = 600, raise_error('no'), 'fine')\"")
    job = job.replace(
        "{mode: amnesia, onPermanentFailure: FAILURE}", "{onPermanentFailure: {alternative: coarse}}"
    )
    (tmp_path / "job.yaml").write_text(job)
    command = Command("run", "job.yaml", "--duration", "5s", "--output", "out", cwd=tmp_path)
    command.wait()
    assert "coarse stands in for fine: fine-" in command.said()
    assert "ended with exit code 1 and so did 2 before it that came no less far" in command.said()
    assert "fine is kept alive by amnesia now" in command.said(), "who stands in did not begin"


@pytest.mark.slow
def test_the_failure_process_is_run_where_nothing_else_is_left(tmp_path: Path) -> None:
    container = f'{{name: tell, image: any, command: [sh, -c], args: ["echo lost > {tmp_path}/told"]}}'
    template = f"{{spec: {{template: {{spec: {{containers: [{container}], restartPolicy: Never}}}}}}}}"
    job = JOB.replace("FAILURE", f"{{process: {{jobTemplate: {template}}}}}")
    (tmp_path / "job.yaml").write_text(job)
    command = Command("run", "job.yaml", "--duration", "5s", "--output", "out", cwd=tmp_path)
    assert command.wait() == 1, command.said()
    assert (
        "fine has failed for good; its failure process was run: it ended with exit code 0" in command.said()
    )
    assert (tmp_path / "told").read_text() == "lost\n"
