"""What the operator accepts, beyond what the schema can say."""

from __future__ import annotations

from understudy.control.admission import admit
from understudy.control.revision import digests_of, revision_of
from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.model.load import from_manifest, to_manifest

from .jobs import manifest


def test_auto_becomes_the_mode_that_was_planned() -> None:
    subjobs = [
        {**subjob, "ha": {"mode": "auto", "maxRecovery": "500ms"}} for subjob in manifest()["spec"]["subjobs"]
    ]
    found = admit(manifest(subjobs=subjobs))
    assert isinstance(found, StreamJob)
    assert {subjob.ha.mode for subjob in found.subjobs} == {Mode.ACTIVE_STANDBY}


def test_admission_refuses_with_the_sentence_of_the_model() -> None:
    refused = admit(manifest(sinks=[{"name": "out", "input": "doble", "files": {"path": "out"}}]))
    assert isinstance(refused, tuple)
    assert "double" in refused[0].message


def test_two_sinks_may_not_share_a_volume() -> None:
    claim = {"persistentVolumeClaim": {"claimName": "results"}}
    sinks = [
        {"name": name, "input": "double", "files": {"path": name, "volume": claim}}
        for name in ("first", "second")
    ]
    refused = admit(manifest(sinks=sinks))
    assert isinstance(refused, tuple)
    assert (refused[0].reason, refused[0].field) == ("VolumeShared", "spec.sinks[1].files.volume")


def test_a_job_keeps_its_digests_when_it_is_written_down_and_read_again() -> None:
    first = admit(manifest())
    assert isinstance(first, StreamJob)
    again = from_manifest(to_manifest(first))
    assert isinstance(again, StreamJob)
    assert revision_of(again) == revision_of(first)
    assert [digests_of(again, s) for s in again.subjobs] == [digests_of(first, s) for s in first.subjobs]
