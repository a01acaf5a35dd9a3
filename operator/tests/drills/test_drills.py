"""Every mode under every fault, on real processes. `make drills` runs all programmes, `make test` the first two."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest

from tests.drills.programmes import ALL, QUICK, Programme
from tests.drills.table import write
from tests.local.command import Command
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.validate import check

EVERYTHING = "UNDERSTUDY_DRILLS"  # names the folder for results: all programmes are run, and the page is written
SEED = int(os.environ.get("UNDERSTUDY_SEED", random.randrange(1 << 31)))
PAGE = Path(__file__).parents[3] / "docs" / "drills.md"


@pytest.mark.parametrize("programme", ALL, ids=lambda p: p.name)
def test_every_programme_is_accepted(programme: Programme) -> None:
    job = load(programme.manifest)
    assert isinstance(job, StreamJob), job
    assert check(job) == ()


@pytest.mark.processes
@pytest.mark.timeout(900)
@pytest.mark.parametrize("programme", ALL if EVERYTHING in os.environ else QUICK, ids=lambda p: p.name)
def test_promises_are_kept(programme: Programme, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(programme.manifest)
    options = [*programme.options, "--seed", SEED, "--output", "out", "--json"]
    command = Command("run", "job.yaml", *options, cwd=tmp_path)
    code = command.wait(800)
    if results := os.environ.get(EVERYTHING):
        record(programme, tmp_path, Path(results))
    assert code == 0, f"seed {SEED}\n{command.said()}"
    faults = len(programme.kills) + len(programme.stops)
    assert len(re.findall(r"(?:killed|stopped for [\d.]+ s): ", command.said())) == faults, command.said()
    assert command.left_behind() == []


def record(programme: Programme, folder: Path, results: Path) -> None:
    """Kept or not: the page says what happened."""
    report = json.loads((folder / "out" / "report.json").read_text())
    verdicts = json.loads((folder / "out" / "verify.json").read_text())
    promised = {name: verdict["promised"] for name, verdict in verdicts.items()}
    told = {"name": programme.name, "seed": SEED, "report": report, "promised": promised}
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{programme.name}.json").write_text(json.dumps(told))
    write(results, [p.name for p in ALL], PAGE)
