"""Queries with many results: what an execution without failures may give is kept, histories with faults are
not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.verify import shapes
from tests.verify.shapes import SHAPES, Shape
from tests.verify.test_check import run_of
from understudy.local.report.verdicts import Verdict
from understudy.model.guarantees import Recovery
from understudy_lab.verify.check import check
from understudy_lab.verify.many import least

Rows = list[dict[str, Any]]
BY_NAME = [pytest.param(shape, id=shape.name) for shape in SHAPES]


def judged(folder: Path, shape: Shape, rows: Rows, **record: Any) -> Verdict:
    numbered = [{**row, "_seq": seq} for seq, row in enumerate(rows)]
    return check(run_of(folder, numbered, shape.job(), **record), shape.reference)["alerts"]


def recovery(folder: Path, shape: Shape, rows: Rows) -> Recovery:
    found = judged(folder, shape, rows).comparison
    assert found is not None
    return found.recovery


@pytest.mark.parametrize("shape", BY_NAME)
def test_every_possible_execution_without_failures_is_precise(tmp_path: Path, shape: Shape) -> None:
    executions = [shape.execution(Random(seed)) for seed in range(8)]
    assert any(rows != shape.reference(shape.job(), "made") for rows in executions)
    for rows in executions:
        verdict = judged(tmp_path, shape, rows)
        assert verdict.comparison is not None
        assert verdict.comparison.recovery is Recovery.PRECISE, verdict.sentence()
        assert verdict.kept


@pytest.mark.parametrize("shape", BY_NAME)
def test_a_sink_that_received_nothing_has_lost_every_tuple(tmp_path: Path, shape: Shape) -> None:
    verdict = judged(tmp_path, shape, [])
    assert verdict.comparison is not None
    assert verdict.comparison.recovery is Recovery.GAP
    assert verdict.comparison.lost > 0
    assert not verdict.kept


@pytest.mark.parametrize("shape", BY_NAME)
def test_a_sink_that_received_only_the_first_tenth_has_lost_the_rest(tmp_path: Path, shape: Shape) -> None:
    rows = shape.execution(Random(1))
    assert recovery(tmp_path, shape, rows[: len(rows) // 10]) is Recovery.GAP


def without_one(rows: Rows) -> Rows:
    return rows[:4] + rows[5:]


def repeated(rows: Rows) -> Rows:
    return rows[:6] + rows[4:]


def wrong(rows: Rows) -> Rows:
    key = "window_end" if "window_end" in rows[0] else "v"
    return [{**row, key: 77777} if at == 4 else row for at, row in enumerate(rows)]


TOLD_APART = [
    (shapes.UNION, Recovery.GAP, Recovery.REPEATING, Recovery.GAP),
    (shapes.JOINED, Recovery.GAP, Recovery.REPEATING, Recovery.GAP),
    (shapes.WINDOWS, Recovery.GAP, Recovery.REPEATING, Recovery.GAP),
    (
        shapes.GROUPS,
        Recovery.GAP,
        Recovery.CONVERGENT,
        Recovery.GAP,
    ),  # a part of a window is not the window again
    (shapes.PLACED, Recovery.GAP, Recovery.DIVERGENT, Recovery.PRECISE),  # what is in a tuple is not known
    (
        shapes.SAMPLED,
        Recovery.PRECISE,
        Recovery.REPEATING,
        Recovery.DIVERGENT,
    ),  # any one may have been left out
]


@pytest.mark.parametrize(
    ("shape", "lost", "again", "other"), TOLD_APART, ids=lambda value: getattr(value, "name", "")
)
def test_a_lost_and_a_repeated_and_a_wrong_tuple_are_distinguished(
    tmp_path: Path, shape: Shape, lost: Recovery, again: Recovery, other: Recovery
) -> None:
    rows = shape.execution(Random(2))
    faults: list[Callable[[Rows], Rows]] = [without_one, repeated, wrong]
    assert [recovery(tmp_path, shape, fault(rows)) for fault in faults] == [lost, again, other]


@pytest.mark.parametrize(
    "shape", [shapes.FILTERED, shapes.SECONDS, shapes.DRAWN, shapes.LATE_JOIN], ids=lambda s: s.name
)
def test_a_repeated_and_a_wrong_tuple_are_noticed_even_if_tuples_may_be_left_out(
    tmp_path: Path, shape: Shape
) -> None:
    rows = shape.execution(Random(3))
    assert recovery(tmp_path, shape, repeated(rows)) is Recovery.REPEATING
    assert not judged(tmp_path, shape, wrong(rows)).kept


def test_a_repeat_does_not_make_up_for_a_loss(tmp_path: Path) -> None:
    for shape in (shapes.UNION, shapes.JOINED, shapes.WINDOWS):
        rows = shape.execution(Random(4))
        verdict = judged(tmp_path, shape, without_one(repeated(rows))[:-1])
        assert verdict.comparison is not None
        assert verdict.comparison.recovery is Recovery.GAP


def test_a_group_that_is_missing_from_a_full_window_is_missed(tmp_path: Path) -> None:
    rows = shapes.GROUPS.execution(Random(5))
    assert rows[7]["window_end"] == rows[6]["window_end"]
    verdict = judged(tmp_path, shapes.GROUPS, rows[:7] + rows[8:])
    assert verdict.comparison is not None
    assert (verdict.comparison.recovery, verdict.comparison.lost) == (Recovery.GAP, 1)


def test_tuples_missing_from_filtered_windows_are_missed_if_these_count(tmp_path: Path) -> None:
    rows = shapes.FILTERED.execution(Random(6))
    assert (
        recovery(tmp_path, shapes.FILTERED, [{**row, "n": row["n"] - (row["n"] > 2)} for row in rows])
        is Recovery.GAP
    )


def test_a_window_that_no_lateness_can_empty_is_missed(tmp_path: Path) -> None:
    rows = shapes.SECONDS.execution(Random(7))
    assert recovery(tmp_path, shapes.SECONDS, rows[:3] + rows[4:]) is Recovery.GAP


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.source == shapes.GENERATOR], ids=lambda s: s.name)
def test_a_run_that_was_stopped_has_not_lost_what_was_still_under_way(tmp_path: Path, shape: Shape) -> None:
    rows = shape.reference(shape.job(), "made")
    verdict = judged(tmp_path, shape, rows[: len(rows) // 2], complete=False)
    assert verdict.kept, verdict.sentence()


def test_a_stopped_join_has_not_lost_the_pairs_of_an_input_that_lags(tmp_path: Path) -> None:
    rows = shapes.JOINED.reference(shapes.JOINED.job(), "made", "a")  # b is at the very end of what was read
    assert judged(tmp_path, shapes.JOINED, rows[: len(rows) // 2], complete=False).kept
    assert not judged(tmp_path, shapes.JOINED, [*rows[:9], rows[4]], complete=False).kept


def test_a_random_sample_keeps_about_its_share_of_the_tuples() -> None:
    assert least(1000, 1.0) == 1000
    assert 350 < least(1000, 0.5) < 450
    assert least(10, 0.5) == 0
