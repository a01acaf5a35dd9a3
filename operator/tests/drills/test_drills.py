"""Every mode under every fault, on real processes. `make drills` runs all programmes, `make test` the first two."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.drills.programmes import ALL, MODULE, QUICK, Programme
from tests.drills.table import put, section
from tests.local.command import Command
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.validate import check

EVERYTHING = "UNDERSTUDY_DRILLS"  # names the folder for results: all programmes are run that have none there yet
SEED = int(os.environ.get("UNDERSTUDY_SEED", random.randrange(1 << 31)))
PAGE = Path(__file__).parents[3] / "docs" / "drills.md"


@pytest.mark.parametrize("programme", ALL, ids=lambda p: p.name)
def test_every_programme_is_accepted(programme: Programme) -> None:
    job = load(programme.manifest)
    assert isinstance(job, StreamJob), job
    assert check(job) == ()


def to_run() -> list[object]:
    results = os.environ.get(EVERYTHING)
    if results is None:
        return list(QUICK)
    done = pytest.mark.skip(f"its promises were kept before: see {results}")
    return [pytest.param(p, marks=[done] if (Path(results) / f"{p.name}.json").exists() else []) for p in ALL]


@pytest.mark.processes
@pytest.mark.timeout(900)
@pytest.mark.parametrize("programme", to_run(), ids=lambda p: p.name)
def test_promises_are_kept(programme: Programme, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(programme.manifest)
    (tmp_path / "marks.py").write_text(MODULE)
    options = [*programme.options, "--seed", SEED, "--output", "out", "--json"]
    command = Command("run", "job.yaml", *options, cwd=tmp_path)
    code = command.wait(800)
    told = told_of(programme, tmp_path) if EVERYTHING in os.environ else None
    if told is not None:
        PAGE.write_text(put(PAGE.read_text(), section(told), [p.name for p in ALL]))
    assert code == 0, f"seed {SEED}\n{command.said()}"
    faults = len(programme.kills) + len(programme.stops)
    assert len(re.findall(r"(?:killed|stopped for [\d.]+ s): ", command.said())) == faults, command.said()
    assert command.left_behind() == []
    if told is not None:
        remember(told, Path(os.environ[EVERYTHING]))


def told_of(programme: Programme, folder: Path) -> dict[str, Any]:
    """Kept or not: the page says what happened."""
    report = json.loads((folder / "out" / "report.json").read_text())
    verdicts = json.loads((folder / "out" / "verify.json").read_text())
    promised = {name: verdict["promised"] for name, verdict in verdicts.items()}
    return {"name": programme.name, "seed": SEED, "report": report, "promised": promised}


def remember(told: dict[str, Any], results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{told['name']}.json").write_text(json.dumps(told))


def test_a_result_replaces_its_section_and_leaves_the_others() -> None:
    incident = {"subjob": "act", "mode": "activeStandby", "cause": "primary killed (SIGKILL)", "replayed": 0}
    times = dict.fromkeys(("detectedMs", "firstOutputMs", "caughtUpMs"), 1_200)
    sink = {"tuples": 9, "lost": 0, "duplicated": 0, "recovery": "precise"}
    report = {"incidents": [incident | times], "subjobs": {"act": {"operatorClass": "convergent"}}}
    told = {"name": "b", "seed": 2, "report": report | {"sinks": {"end": sink}}, "promised": {"end": "precise"}}
    before = "# Drills\n\nold words\n\n## a\n\nas it was\n\n## b\n\nolder\n"
    found = put(before, section(told), ["a", "b", "c"])
    assert "as it was" in found
    assert not any(gone in found for gone in ("old words", "older"))
    assert "| activeStandby | convergent | 1 |" in found
    assert found.index("## a") < found.index("## b")
    assert put(found, section(told), ["a", "b", "c"]) == found
