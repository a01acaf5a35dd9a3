"""The job as it is really run."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.local.jobs import TWO_SUBJOBS, job
from understudy.local.effective import cut_at, effective, endless, length, write
from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.model.load import load

SECONDS = timedelta(seconds=1)


def limit_of(found: StreamJob) -> int | None:
    generator = found.sources[0].generator
    assert generator is not None
    return generator.limit


@pytest.mark.parametrize(
    ("own", "seconds", "limit"), [("", 40, 8_000), ("limit: 500, ", 40, 500), ("limit: 500, ", 1, 200)]
)
def test_a_duration_limits_generators_to_what_is_due_in_it(own: str, seconds: int, limit: int) -> None:
    text = TWO_SUBJOBS.replace("rate: 200, ", f"rate: 200, {own}")
    assert limit_of(effective(job(text), seconds * SECONDS, Path())) == limit


def test_without_a_duration_the_manifest_decides() -> None:
    assert limit_of(effective(job(), None, Path())) is None


def test_rates_that_are_not_whole_do_not_lose_a_tuple_to_rounding() -> None:
    text = TWO_SUBJOBS.replace("rate: 200", "rate: 0.1")
    assert limit_of(effective(job(text), 30 * SECONDS, Path())) == 3


def test_auto_becomes_the_mode_it_stands_for() -> None:
    found = effective(job(mode="auto"), None, Path())
    assert found.subjobs[0].ha.mode is Mode.SAVEPOINT


def test_files_are_found_from_anywhere(tmp_path: Path) -> None:
    text = TWO_SUBJOBS.replace(
        'generator: {rate: 200, fields: {patient: "_seq % 3", mv: "hash(_seq) % 100"}}',
        'files: {path: data, schema: "patient int, mv int"}',
    )
    source = effective(job(text), None, tmp_path).sources[0]
    assert source.files is not None
    assert source.files.path == str(tmp_path / "data")


def test_what_is_written_is_read_back_as_the_same_job(tmp_path: Path) -> None:
    found = effective(job(), 40 * SECONDS, Path())
    write(found, tmp_path / "job.yaml")
    assert load((tmp_path / "job.yaml").read_text()) == found


def test_a_stopped_job_ends_where_it_was_stopped() -> None:
    assert limit_of(cut_at(job(), {"ecg": 1_234})) == 1_234
    assert limit_of(cut_at(effective(job(), 5 * SECONDS, Path()), {"ecg": 5_000})) == 1_000


def test_how_long_a_job_takes() -> None:
    assert endless(job())
    assert length(job()) is None
    assert length(effective(job(), 40 * SECONDS, Path())) == 40 * SECONDS
