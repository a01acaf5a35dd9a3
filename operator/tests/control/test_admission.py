"""What the operator accepts, beyond what the schema can say."""

from __future__ import annotations

from understudy.control.admission import admit
from understudy.control.observed import Lease
from understudy.model.ha import Mode
from understudy.model.job import StreamJob

from .jobs import manifest


def test_auto_becomes_the_mode_that_was_planned() -> None:
    subjobs = [{**subjob, "ha": {"mode": "auto", "guarantee": "gap"}} for subjob in manifest()["spec"]["subjobs"]]
    job = admit(manifest(subjobs=subjobs), ())
    assert isinstance(job, StreamJob)
    assert {subjob.ha.mode for subjob in job.subjobs} == {Mode.AMNESIA}


def test_a_name_that_another_job_has_taken_is_refused() -> None:
    refused = admit(manifest(), [Lease("demo-keep", "demo-k", "eep")])
    assert isinstance(refused, tuple)
    assert refused[0].reason == "NameTaken"
    assert "in use by StreamJob demo-k" in refused[0].message


def test_its_own_leases_are_not_in_the_way() -> None:
    assert isinstance(admit(manifest(), [Lease("demo-keep", "demo", "keep")]), StreamJob)


def test_what_the_model_refuses_is_refused_with_its_sentence() -> None:
    refused = admit(manifest(sinks=[{"name": "out", "input": "doble", "files": {"path": "out"}}]), ())
    assert isinstance(refused, tuple)
    assert "double" in refused[0].message
