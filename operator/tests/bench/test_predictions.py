"""What was measured of recoveries, and what the planner says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from understudy.local.report.fault_effects import Incident
from understudy.model.classes import OperatorClass
from understudy.model.classification import class_of
from understudy.model.validate import check
from understudy.protocol.statuspage import Batches, InstancePage
from understudy_lab.bench import page
from understudy_lab.bench.predicting import (
    FACTOR,
    MEASURED,
    MODES,
    Predictions,
    Row,
    batch_ms,
    cells_of,
    job_of,
    read,
    row_of,
    write,
)
from understudy_lab.bench.watching import Failed

ROOT = Path(__file__).parents[3]
KEPT = read(ROOT / MEASURED)
ROW = Row(
    "savepoint",
    "convergent",
    (300, 400, 900),
    (310, 420, 950),
    detected=(10, 20, 30),
    promoted=(40, 50, 60),
    batch_ms=100,
)


def test_every_mode_was_measured_with_every_class_that_it_takes() -> None:
    assert [row.cell for row in KEPT.rows] == cells_of(MODES)
    for row in KEPT.rows:
        assert len(row.recovery) == len(row.silence) == len(row.detected) == len(row.promoted) >= 1


@pytest.mark.parametrize("row", KEPT.rows, ids=lambda row: f"{row.ha} {row.operator_class}")
def test_a_prediction_is_within_a_factor_of_two_of_what_was_measured(row: Row) -> None:
    assert 1 / FACTOR <= row.predicted_ms / row.measured_ms <= FACTOR


def test_the_documented_table_is_what_the_measurements_and_the_model_say() -> None:
    assert page.predictions_text(KEPT) in (ROOT / "docs" / "benchmarks.md").read_text()


def test_the_jobs_that_are_measured_are_accepted_and_have_the_class_that_they_are_called_by() -> None:
    for ha, kind in cells_of(MODES):
        job = job_of([(ha, kind)])
        assert check(job) == ()
        assert class_of(job.subjobs[0]).operator_class is kind


def test_too_long_a_prediction_is_as_wrong_as_too_short_a_one() -> None:
    predicted = round(ROW.predicted_ms)
    assert replace(ROW, recovery=(predicted * 3,)).factor == pytest.approx(3, rel=0.01)
    assert replace(ROW, recovery=(predicted // 3,)).factor == pytest.approx(3, rel=0.01)
    assert not Predictions((replace(ROW, recovery=(predicted * 3,)),)).met
    assert Predictions((replace(ROW, recovery=(predicted,)),)).met


def test_rows_that_were_measured_again_are_replaced_and_the_others_stay(tmp_path: Path) -> None:
    file, other = tmp_path / "predictions.json", replace(ROW, ha="amnesia")
    write(file, Predictions((ROW, other)), "here")
    merged = write(file, Predictions((replace(ROW, recovery=(7,)),)), "there")
    assert merged == read(file) == Predictions((other, replace(ROW, recovery=(7,))))


KILLED = Incident(
    "a", "savepoint", "primary killed (SIGKILL)", "a-0", "primary", 1_000, detected_ms=20, promoted_ms=30
)


def test_a_kill_without_any_output_after_it_is_not_counted() -> None:
    cell = ("savepoint", OperatorClass.CONVERGENT)
    found = row_of(cell, [replace(KILLED, first_output_ms=400)], (420,), 100)
    assert found == Row("savepoint", "convergent", (400,), (420,), (20,), (30,), 100)
    with pytest.raises(Failed, match="0 of 1 kills"):
        row_of(cell, [KILLED], (420,), 100)


def test_the_micro_batch_of_a_run_is_that_of_the_instances_that_ran() -> None:
    def page(subjob: str, count: int, ms: int) -> InstancePage:
        return InstancePage(subjob=subjob, batches=Batches(count, ms))

    pages = [page("a", 200, 90), page("a", 300, 110), page("a", 1, 900), None, page("ab", 300, 500)]
    assert batch_ms(pages, "a") == 100
    with pytest.raises(Failed, match="no instance of b"):
        batch_ms(pages, "b")
