from __future__ import annotations

from pathlib import Path

import pytest

from tests.console.runs import folder
from understudy.cli import main
from understudy.console.finished_run import read_folder
from understudy.console.look import view_of
from understudy.console.seen import JobSeen
from understudy.console.view import ConsoleView, Part, Safety


def view(path: Path) -> ConsoleView:
    found = read_folder(path)
    assert isinstance(found, JobSeen), found
    return view_of(found)


def test_a_folder_shows_its_job_its_incident_and_that_the_promises_were_kept(tmp_path: Path) -> None:
    found = view(folder(tmp_path))
    assert found.verdict.safety is Safety.KEPT
    assert found.verdict.why == "alerts: precise: all 2,160 tuples once and in order; promised precise"
    (incident,) = found.incidents
    assert (incident.victim, incident.successor, incident.lost, incident.duplicated) == (
        *("beats-0", "beats-1"),
        *(0, 0),
    )
    assert sum(found.sinks[0].counts) > 2_000


def test_lost_tuples_are_charged_to_the_incident_and_break_the_promise(tmp_path: Path) -> None:
    found = view(folder(tmp_path, lost=7))
    assert found.verdict.safety is Safety.BROKEN
    assert "7 lost" in found.verdict.why
    assert found.incidents[0].lost == 7


def test_the_instance_that_led_last_is_shown_as_primary_and_the_victim_as_gone(tmp_path: Path) -> None:
    beats = next(n for n in view(folder(tmp_path)).nodes if n.name == "beats")
    assert {p.name: p.part for p in beats.processes} == {
        "beats-0": Part.GONE,
        "beats-1": Part.PRIMARY,
        "beats-2": Part.STANDBY,
    }


def test_a_run_that_was_not_checked_has_kept_no_promise(tmp_path: Path) -> None:
    (folder(tmp_path) / "verify.json").unlink()
    assert view(tmp_path).verdict.why == "the sinks could not be checked"
    assert view(tmp_path).verdict.safety is Safety.BROKEN


def test_rates_are_means_over_the_run(tmp_path: Path) -> None:
    edge = next(e for e in view(folder(tmp_path)).edges if e.source == "source/ecg")
    assert edge.rate == pytest.approx(19_960 / 41)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda path: (path / "report.json").unlink(), "there is no report.json in"),
        (lambda path: (path / "run.json").write_text("{"), "can't be read: JSONDecodeError"),
        (lambda path: (path / "run.json").write_text("{}"), "can't be read: KeyError"),
    ],
    ids=["no report", "no json", "no fields"],
)
def test_a_folder_without_a_run_is_bad_input(
    spoil: object, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(spoil)
    spoil(folder(tmp_path))
    assert main(["console", str(tmp_path)]) == 2
    assert why in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["console", "/nowhere"]) == 2
    assert "there is no folder /nowhere" in capsys.readouterr().err
