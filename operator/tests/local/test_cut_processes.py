"""Processes that are cut off from each other for a while: the old primary is fenced by its epoch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.local.command import Command
from tests.local.jobs import TWO_SUBJOBS

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param("beats@primary|*", id="everybody"),
        pytest.param("beats@primary|beats@standby", id="standby"),
    ],
)
def test_a_primary_that_was_cut_off_writes_nothing_wrong(tmp_path: Path, cut: str) -> None:
    (tmp_path / "job.yaml").write_text(TWO_SUBJOBS.replace("MODE", "upstreamBackup"))
    command = Command(
        "run",
        "job.yaml",
        "--duration",
        "20s",
        "--partition",
        f"{cut}@6s+4s",
        "--output",
        "out",
        "--json",
        cwd=tmp_path,
    )
    assert command.wait() == 0, command.said()
    assert "cut apart: " in command.said()
    assert "mended: " in command.said()
    sink = command.json()["sinks"]["alerts"]
    assert (sink["lost"], sink["duplicated"], sink["recovery"]) == (0, 0, "precise")
    lease = json.loads((tmp_path / "out" / "surroundings" / "leases" / "beats.json").read_text())
    assert lease["epoch"] >= 2, "somebody took over"
    first = (tmp_path / "out" / "logs").glob("beats-[01].log")
    assert any("stepping down" in log.read_text() for log in first)
