"""The manifest of a run that is edited while it runs."""

from __future__ import annotations

from pathlib import Path

from tests.local.jobs import TWO_SUBJOBS
from understudy.local.effective import effective, watching
from understudy.local.run.jobfile import JobFile, Refused, read_job
from understudy.model.ha import Mode, Overload
from understudy.model.job import StreamJob


def started(folder: Path) -> tuple[Path, JobFile, StreamJob]:
    path = folder / "job.yaml"
    path.write_text(TWO_SUBJOBS.replace("MODE", "passiveStandby"))
    job = read_job(path)
    assert isinstance(job, StreamJob)
    return path, JobFile(path, None), effective(job, None, folder)


def test_a_file_that_nobody_touched_is_no_edit(tmp_path: Path) -> None:
    _, file, job = started(tmp_path)
    assert file.edited(job) is None


def test_a_new_mode_is_taken_once(tmp_path: Path) -> None:
    path, file, job = started(tmp_path)
    path.write_text(TWO_SUBJOBS.replace("MODE", "upstreamBackup"))
    edited = file.edited(job)
    assert isinstance(edited, StreamJob)
    assert edited.subjobs[0].ha.mode is Mode.UPSTREAM_BACKUP
    assert file.edited(edited) is None


def test_an_edit_that_a_running_job_cannot_take_is_refused_with_its_reason(tmp_path: Path) -> None:
    path, file, job = started(tmp_path)
    path.write_text(TWO_SUBJOBS.replace("MODE", "passiveStandby").replace("mv > 0", "mv > 10"))
    refused = file.edited(job)
    assert isinstance(refused, Refused)
    assert "spec.subjobs[strong].operators needs new instances" in refused.sentences[0]


def test_a_manifest_that_is_not_accepted_is_refused_with_its_sentences(tmp_path: Path) -> None:
    path, file, job = started(tmp_path)
    path.write_text(TWO_SUBJOBS.replace("MODE", "passivStandby"))
    assert isinstance(file.edited(job), Refused)
    path.unlink()
    assert file.edited(job) is None, "an editor may put a new file in its place"


def test_a_run_that_watches_for_overloads_still_does_so_after_an_edit(tmp_path: Path) -> None:
    path, _, job = started(tmp_path)
    file = JobFile(path, None, frozenset({"beats"}))
    path.write_text(TWO_SUBJOBS.replace("MODE", "upstreamBackup"))
    edited = file.edited(watching(job, ["beats"]))
    assert isinstance(edited, StreamJob)
    assert [subjob.ha.overload for subjob in edited.subjobs] == [None, Overload()]
