"""What the programmes cover, and what the page says of them: no process is needed to know that."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.drills.kinds import Kind, kinds
from tests.drills.programme import Programme
from tests.drills.programmes import ALL, QUICK
from tests.drills.results import is_done
from tests.drills.table import put, section
from understudy.local.sink_guarantees import promises
from understudy.model.classes import OperatorClass
from understudy.model.guarantees import PRECISE
from understudy.model.ha import Mode
from understudy.model.validate import check

Cell = tuple[Mode, OperatorClass, Kind]
HURT = [mode for mode in Mode if PRECISE.get(mode)]


def covered(programmes: Iterable[Programme], seed: int) -> set[Cell]:
    found: set[Cell] = set()
    for programme in programmes:
        faults = programme.faults(seed)
        for name, promise in promises(programme.job).items():
            causes = [f"{fault.role} {fault.done}" for fault in faults if fault.owner == name]
            found |= {(promise.mode, promise.operator_class, kind) for kind, _ in kinds(causes)}
    return found


@pytest.mark.parametrize("programme", ALL, ids=lambda p: p.name)
def test_every_programme_is_accepted(programme: Programme) -> None:
    assert check(programme.job) == ()


@pytest.mark.parametrize("seed", range(5))
def test_every_mode_meets_every_fault_with_every_class_of_operators(seed: int) -> None:
    every = {(mode, each, kind) for mode in HURT for each in PRECISE[mode] for kind in Kind}
    assert every - covered(ALL, seed) == set()


@pytest.mark.parametrize("seed", range(5))
def test_continuous_integration_covers_modes_with_faults_and_classes_with_faults(seed: int) -> None:
    found = covered(QUICK, seed)
    quick = [Kind.PRIMARY, Kind.STANDBY, Kind.STOPPED]
    assert set(product(HURT, quick)) - {(mode, kind) for mode, _, kind in found} == set()
    assert set(product(OperatorClass, quick)) - {(each, kind) for _, each, kind in found} == set()


def test_every_moment_is_drawn() -> None:
    assert [w for p in ALL for w in (*p.kills, *p.stops) if "-" not in w.rpartition("@")[2]] == []


def test_a_primary_is_the_second_of_both_if_another_instance_was_killed_before_it() -> None:
    stop, joining, standby, primary = (
        *("primary stopped for 3 s (SIGSTOP)", "joining standby killed (SIGKILL)"),
        *("standby killed (SIGKILL)", "primary killed (SIGKILL)"),
    )
    assert list(kinds([stop, joining, primary])) == [
        (Kind.STOPPED, 0),
        (Kind.CATCHING_UP, 1),
        (Kind.PRIMARY, 2),
    ]
    assert list(kinds([standby, primary]))[1:] == [(Kind.PRIMARY, 1), (Kind.BOTH, 1)]
    assert list(kinds([primary, primary]))[1:] == [(Kind.PRIMARY, 1), (Kind.BOTH, 1)]
    assert list(kinds(["recovering primary killed (SIGKILL)"])) == [(Kind.CATCHING_UP, 0)]
    assert list(kinds(["false suspicion (no keep-alive for 300 ms)"])) == []


def test_a_broken_sink_is_held_against_the_subjobs_before_it() -> None:
    chance = next(p for p in ALL if p.name == "chance")
    kept = chance.kept({"acts": True, "pass": True, "logs": True, "end": False})
    assert kept == {"act": True, "pas": True, "log": True, "swe": False, "ind": False}


# --- the page


def incident(cause: str, detected: int | None = None) -> dict[str, Any]:
    times = {"detectedMs": detected, "firstOutputMs": detected, "caughtUpMs": detected}
    return {"subjob": "act", "mode": "activeStandby", "cause": f"{cause} (SIGKILL)", "replayed": 0, **times}


def told(*incidents: dict[str, Any], name: str = "b", kept: bool = True) -> dict[str, Any]:
    sink = {"tuples": 9, "lost": 0, "duplicated": 0, "recovery": "precise"}
    report = {
        "incidents": incidents,
        "subjobs": {"act": {"operatorClass": "convergent"}},
        "sinks": {"end": sink},
    }
    return {"name": name, "seed": 2, "report": report, "promised": {"end": "precise"}, "kept": {"act": kept}}


def row(page: str) -> str:
    return next(line for line in page.splitlines() if line.startswith("| activeStandby | convergent |"))


def test_a_result_replaces_its_section_and_leaves_the_others() -> None:
    before = "# Drills\n\nold words\n\n## a\n\nas it was\n\n## b\n\nolder\n"
    new = section(told(incident("primary killed", 1_200)))
    found = put(before, new, ["a", "b", "c"])
    assert "as it was" in found
    assert not any(gone in found for gone in ("old words", "older"))
    assert found.index("## a") < found.index("## b")
    assert put(found, new, ["a", "b", "c"]) == found


def test_a_cell_says_whether_the_promise_was_kept_and_counts_each_fault_by_its_kind() -> None:
    struck = [
        incident("standby killed"),
        incident("primary killed", 50),
        incident("recovering primary killed", 70),
    ]
    page = put("", section(told(*struck)), ["a", "b"])
    assert (
        row(page) == "| activeStandby | convergent | kept 1 | kept 1 | kept 1 | kept 1 | not run | not run |"
    )
    page = put(page, section(told(incident("primary killed", 50), name="a", kept=False)), ["a", "b"])
    assert (
        row(page)
        == "| activeStandby | convergent | broken 1 of 2 | kept 1 | kept 1 | kept 1 | not run | not run |"
    )


def test_a_take_over_soon_after_a_short_stop_is_counted() -> None:
    short = "primary stopped for 0.15 s"
    page = put("", section(told(incident(short), incident(short, 5_803), incident(short, 219))), ["b"])
    assert row(page).endswith("| not run | kept 3, 1 take-over |")


def test_a_result_is_one_of_the_programme_as_it_was(tmp_path: Path) -> None:
    programme = QUICK[0]
    assert not is_done(programme, tmp_path)
    (tmp_path / f"{programme.name}.json").write_text(json.dumps({"digest": programme.digest}))
    assert is_done(programme, tmp_path)
    assert not is_done(Programme(programme.name, programme.spec, programme.seconds + 1), tmp_path)
