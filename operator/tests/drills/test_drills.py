"""Every mode under every fault, on real processes. `make drills` runs all programmes; `make test` the first
few, and the others in turns."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from tests.drills.programme import MODULE, Programme
from tests.drills.programmes import ALL, QUICK
from tests.drills.results import is_done, remember, told_of
from tests.drills.table import put, section
from tests.local.command import Command

# Names the folder for results: all programmes are run that have none there yet
EVERYTHING = "UNDERSTUDY_DRILLS"
SEED = int(os.environ.get("UNDERSTUDY_SEED", random.randrange(1 << 31)))
PAGE = Path(__file__).parents[3] / "docs" / "drills.md"


def to_run() -> list[object]:
    results = os.environ.get(EVERYTHING)
    if results is None:
        return [*QUICK, *(pytest.param(p, marks=pytest.mark.slow) for p in ALL if p not in QUICK)]
    done = pytest.mark.skip(f"its promises were kept before: see {results}")
    return [pytest.param(p, marks=[done] if is_done(p, Path(results)) else []) for p in ALL]


@pytest.mark.processes
@pytest.mark.timeout(900)
@pytest.mark.parametrize("programme", to_run(), ids=lambda p: p.name)
def test_promises_are_kept(programme: Programme, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\ndrill {programme.name}: {programme.seconds} s with UNDERSTUDY_SEED={SEED}", flush=True)
    (tmp_path / "job.yaml").write_text(programme.manifest)
    (tmp_path / "marks.py").write_text(MODULE)
    options = [*programme.options, "--seed", SEED, "--output", "out", "--json"]
    command = Command("run", "job.yaml", *options, cwd=tmp_path)
    code = command.wait(800)
    told = told_of(programme, SEED, tmp_path) if EVERYTHING in os.environ else None
    if told is not None:
        PAGE.write_text(put(PAGE.read_text(), section(told), [p.name for p in ALL]))
    assert code == 0, f"seed {SEED}\n{command.said()}"
    faults = len(programme.kills) + len(programme.stops)
    struck = len(re.findall(r"(?:killed|stopped for [\d.]+ s): ", command.said()))
    assert struck == faults, f"seed {SEED}: {struck} of {faults} faults found their victims\n{command.said()}"
    assert command.left_behind() == []
    if told is not None:
        remember(told, Path(os.environ[EVERYTHING]))
