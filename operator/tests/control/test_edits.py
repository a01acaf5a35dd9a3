"""What an edit needs."""

from __future__ import annotations

import pytest

from understudy.control.edits import Edit, Needs, edits
from understudy.control.revision import digests_of
from understudy.model.job import StreamJob

from .jobs import job, with_modes, with_query, with_settings, with_spark


@pytest.mark.parametrize(
    ("edited", "field", "needs"),
    [
        (with_settings(mode="savepoint"), "spec.subjobs[keep].ha", Needs.LIVE),
        (with_settings(checkpoint={"interval": "1s"}), "spec.subjobs[keep].ha", Needs.LIVE),
        (with_spark(driver={"memory": "2Gi"}), "spec.subjobs[keep].spark", Needs.ROLLING),
        (with_query("v > 3"), "spec.subjobs[keep].operators", Needs.REPLACEMENT),
        (job(sinks=[]), "spec.sinks", Needs.REPLACEMENT),
    ],
)
def test_every_field_says_what_its_edit_needs(edited: StreamJob, field: str, needs: Needs) -> None:
    assert edits(job(), edited) == (Edit(field, needs),)


def test_a_default_that_is_written_out_is_no_edit() -> None:
    assert edits(job(), with_modes("passiveStandby", "passiveStandby")) == ()


def test_a_rate_that_only_the_planner_reads_is_no_edit() -> None:
    without, declared, other = (_of_files(rate) for rate in ({}, {"rate": 5}, {"rate": 500}))
    assert edits(without, declared) == edits(declared, other) == ()
    assert digests_of(without, without.subjobs[0]) == digests_of(declared, declared.subjobs[0])


def _of_files(hint: dict[str, int]) -> StreamJob:
    files = {"path": "in", "schema": "v bigint", **hint}
    return job(sources=[{"name": "numbers", "files": files}])
