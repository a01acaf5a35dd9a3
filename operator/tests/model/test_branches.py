"""Subjobs that stand in for others."""

from __future__ import annotations

import pytest

from understudy.model.branches import in_use
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.validate import check

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: two}
spec:
  sources: [{name: ecg, generator: {rate: 100, fields: {mv: "_seq"}}}]
  subjobs:
    - {name: fine, inputs: [ecg], operators: [FINE], ha: {onPermanentFailure: {alternative: coarse}}}
    - {name: coarse, inputs: [ecg], operators: [COARSE], ha: {mode: amnesia}}
  sinks: [{name: out, input: READ, files: {path: out}}]
"""
FILTER, MAP = '{filter: {where: "mv > 1"}}', '{map: {select: {other: "mv"}}}'


def job(fine: str = FILTER, coarse: str = FILTER, read: str = "fine") -> StreamJob:
    found = load(JOB.replace("FINE", fine).replace("COARSE", coarse).replace("READ", read))
    assert isinstance(found, StreamJob), found
    return found


def test_the_alternative_branch_does_not_run_before_it_is_needed() -> None:
    assert check(job()) == ()
    assert [s.name for s in in_use(job()).subjobs] == ["fine"]


def test_the_alternative_branch_runs_under_the_name_of_the_failed_subjob() -> None:
    (only,) = in_use(job(coarse='{filter: {where: "mv > 2"}}'), ["fine"]).subjobs
    assert (only.name, only.ha.mode) == ("fine", "amnesia")
    assert "mv > 2" in repr(only.operators)


@pytest.mark.parametrize(
    ("faulty", "sentence"),
    [(job(coarse=MAP), "must give the columns"), (job(read="coarse"), "only stands in for fine")],
)
def test_an_unsuitable_alternative_branch_is_refused(faulty: StreamJob, sentence: str) -> None:
    (refusal,) = check(faulty)
    assert refusal.field == "spec.subjobs[0].ha.onPermanentFailure.alternative"
    assert sentence in refusal.message
