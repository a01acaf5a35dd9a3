"""Every mode with a standby in pods, in one job: each loses its primary while tuples flow, savepoint both instances.

numbers ── keep (replicaBackup) ──┬── live (activeStandby) ── sink kept
                                  └── sums (savepoint) ── same (upstreamBackup) ── sink sums
"""

from __future__ import annotations

import json

import pytest
from kubectl import Job, Json, Namespace, name_of, until
from numbers_job import claims, expected_sums, numbers_job
from story import assert_flowing, assert_kept_is_right, read_volume, wait_for_take_over, wait_until_protected

NAME = "modes"
RATE = 100
MODES = {"keep": "replicaBackup", "sums": "savepoint", "live": "activeStandby", "same": "upstreamBackup"}
SINK_OF = {"keep": "kept", "live": "kept", "sums": "sums", "same": "sums"}
COLD_START = 180


def modes_job() -> Json:
    body = numbers_job(NAME, RATE, None)
    spec = body["spec"]
    columns = {"kept": ("number", "k", "twice"), "sums": ("k", "window_start", "window_end", "total", "rows")}
    for name, source, sink in (("live", "keep", "kept"), ("same", "sums", "sums")):
        select = {column: column for column in columns[sink]}
        spec["subjobs"].append({"name": name, "inputs": [source], "operators": [{"map": {"select": select}}]})
    for subjob in spec["subjobs"]:
        subjob["ha"] = {"mode": MODES[subjob["name"]], "guarantee": "precise"}
    for sink in spec["sinks"]:
        sink["input"] = {"kept": "live", "sums": "same"}[sink["name"]]
    return body


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    namespace.apply(*claims(NAME), modes_job())
    job = Job(namespace, NAME)
    job.wait_for("Ready", 360)
    return job


def test_every_mode_is_in_force_and_precise(job: Job) -> None:
    wait_until_protected(job)
    shown = {subjob["name"]: (subjob["mode"], subjob["guarantee"]) for subjob in job.status()["subjobs"]}
    assert shown == {name: (mode, "precise") for name, mode in MODES.items()}


@pytest.mark.parametrize("subjob", ["live", "keep", "same", "sums"])
def test_output_goes_on_when_the_primary_is_killed(job: Job, subjob: str) -> None:
    wait_until_protected(job)
    primary, epoch = job.lease(subjob)
    job.namespace.kill(primary)
    wait_for_take_over(job, subjob, primary, epoch)
    assert_flowing(job, SINK_OF[subjob])


def test_savepoints_bring_back_a_subjob_that_lost_every_instance(job: Job) -> None:
    wait_until_protected(job)
    _, epoch = job.lease("sums")
    for pod in job.pods(subjob="sums"):
        job.namespace.kill(name_of(pod))
    until("sums leads again", lambda: job.lease("sums")[1] > epoch, COLD_START)
    assert_flowing(job, "sums", COLD_START)
    assert_flowing(job, "kept")


def test_every_tuple_came_out_once_and_in_order(job: Job) -> None:
    kept = assert_kept_is_right(job)
    lines = read_volume(job.namespace, f"{NAME}-sums").splitlines(keepends=True)
    written = [json.loads(line) for line in lines if line.endswith("\n")]
    assert written == expected_sums(kept * 2 + 1000)[: len(written)]
    print(f"{kept} and {len(written)} tuples compared")
    assert sum(incident["status"].get("lost", 0) for incident in job.namespace.list("incidents")) == 0
