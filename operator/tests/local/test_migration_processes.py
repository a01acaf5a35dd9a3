"""Primaries that move while the stream flows, on real processes: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.drills.programme import SOURCES
from tests.local.command import Command, until

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(600)]

WINDOW = (
    '{aggregate: {window: {on: _seq, size: 6, slide: 3}, groupBy: [g], select: {n: "count(*)", k: "max(k)"}}}'
)
CHAINS = (("passiveStandby", "upstreamBackup", "activeStandby"), ("savepoint", "replicaBackup", "amnesia"))


def job(modes: tuple[str, ...]) -> str:
    """A chain of windows, so that each instance that moves has state."""
    inputs = ["odd", *modes]
    subjobs = "".join(
        "    - "
        f"{{name: {mode.lower()}, inputs: [{source.lower()}], operators: [{WINDOW}], ha: {{mode: {mode}}}}}\n"
        for source, mode in zip(inputs, modes, strict=False)
    )
    sinks = f"  sinks: [{{name: end, input: {modes[-1].lower()}, files: {{path: out/end}}}}]\n"
    head = "apiVersion: understudy.dev/v1alpha1\nkind: StreamJob\nmetadata: {name: movers}\nspec:"
    return f"{head}{SOURCES}  subjobs:\n{subjobs}{sinks}"


@pytest.mark.parametrize("modes", CHAINS, ids="-".join)
def test_a_move_loses_nothing_and_repeats_nothing(modes: tuple[str, ...], tmp_path: Path) -> None:
    """The job has no end: it is stopped when all have moved and tuples have come after that. Three sessions
    start at once for it, so a primary may be suspected: then its successor moves."""
    (tmp_path / "job.yaml").write_text(job(modes))
    moves = [word for mode in modes for word in ("--migrate", f"{mode.lower()}@2s")]
    command = Command("run", "job.yaml", *moves, "--output", "out", cwd=tmp_path)
    assert until(lambda: command.said().count(" has moved to ") == len(modes) or _is_over(command), 300), (
        command.said()
    )
    before = _written(tmp_path)
    assert until(lambda: _written(tmp_path) > before or _is_over(command), 60), command.said()
    command.signal(signal.SIGINT)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    sink = report["sinks"]["end"]
    assert (sink["lost"], sink["duplicated"], sink["reordered"], sink["recovery"]) == (0, 0, 0, "precise")
    assert [i["cause"] for i in report["incidents"] if not i["cause"].startswith("false suspicion")] == []
    told = {m["subjob"]: m for m in report["migrations"]}
    assert {name: m["failure"] for name, m in told.items()} == {mode.lower(): None for mode in modes}
    for migration in told.values():
        assert migration["movedBytes"] > 0
        assert 0 <= migration["pauseMs"] <= migration["restoredMs"]
    assert command.left_behind() == []


def _is_over(command: Command) -> bool:
    return command.process.poll() is not None


def _written(folder: Path) -> int:
    return sum(
        len(file.read_text().splitlines()) for file in (folder / "out" / "sinks" / "end").glob("*.jsonl")
    )


def test_a_primary_that_is_starved_moves_away_by_itself(tmp_path: Path) -> None:
    """It gets a fifth of the processor: it notices, is moved to a new instance, and nothing is lost."""
    manifest = job(("passiveStandby",)).replace(
        "ha: {", "ha: {overload: {withheld: 50}, heartbeat: {misses: 10}, "
    )
    (tmp_path / "job.yaml").write_text(manifest)
    command = Command(
        "run", "job.yaml", "--overload", "passivestandby@2s+120s", "--output", "out", cwd=tmp_path
    )
    assert until(lambda: " has moved to " in command.said() or _is_over(command), 240), command.said()
    before = _written(tmp_path)
    assert until(lambda: _written(tmp_path) > before or _is_over(command), 60), command.said()
    command.signal(signal.SIGINT)
    assert command.wait() == 0, command.said()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    sink = report["sinks"]["end"]
    assert (sink["lost"], sink["duplicated"], sink["recovery"]) == (0, 0, "precise")
    (migration,) = report["migrations"]
    assert migration["failure"] is None
    assert migration["why"].startswith("overload: the processor was withheld")
