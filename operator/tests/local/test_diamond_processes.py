"""One subjob that feeds two, and a join of what they make, each in another mode, on real processes."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.local.command import Command, until

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(900)]

DIAMOND = Path(__file__).parents[3] / "examples" / "diamond.yaml"


def test_the_join_behind_a_fan_out_is_precise_after_kills_of_the_producer_and_of_one_branch(
    tmp_path: Path,
) -> None:
    kills = ("--kill", "clean@protected@6s", "--kill", "spikes@protected@14s")
    command = Command("run", DIAMOND, *kills, "--output", "out", cwd=tmp_path)
    assert until(lambda: command.said().count("killed: ") == 2 or _is_over(command), 300), command.said()
    before = _written(tmp_path)
    assert until(lambda: _written(tmp_path) > before + 300 or _is_over(command), 200), command.said()
    command.signal(signal.SIGINT)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    sink = report["sinks"]["unusual"]
    assert sink.pop("lag") is not None
    assert sink == {
        "tuples": sink["tuples"],
        "lost": 0,
        "duplicated": 0,
        "reordered": 0,
        "recovery": "precise",
    }
    assert {incident["subjob"] for incident in report["incidents"]} >= {"clean", "spikes"}
    assert Command("verify", "out", cwd=tmp_path).wait() == 0


def _is_over(command: Command) -> bool:
    return command.process.poll() is not None


def _written(folder: Path) -> int:
    return sum(
        len(file.read_text().splitlines()) for file in (folder / "out" / "sinks" / "unusual").glob("*.jsonl")
    )
