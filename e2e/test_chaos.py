"""Every mode in pods: drills from a seed hurt each while tuples flow, and savepoint loses both its
instances."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from chaos import Report, compare, page, play
from kubectl import Job, Namespace, name_of, until
from mixed_job import HALVES, mixed_job, promised
from story import REPLACED, assert_flowing, started, wait_until_protected

SEED = int(os.environ.get("UNDERSTUDY_SEED") or 359)  # `make chaos` draws others
SECONDS = 150  # for each of the two jobs


@pytest.fixture(scope="module", params=[name for name, half in HALVES.items() if not half.apart])
def job(namespace: Namespace, request: pytest.FixtureRequest) -> Iterator[Job]:
    yield started(namespace, mixed_job(request.param), HALVES[request.param].sinks)
    namespace.kubectl("delete", "sj", request.param)


def test_every_mode_is_in_force_with_its_guarantee(job: Job) -> None:
    wait_until_protected(job)
    shown = {subjob["name"]: (subjob["mode"], subjob["guarantee"]) for subjob in job.status()["subjobs"]}
    assert shown == {name: (mode, promised(mode)) for name, mode in HALVES[job.name].modes.items()}


def test_no_promise_is_broken_by_random_drills(job: Job, operator: Namespace) -> None:
    print(f"UNDERSTUDY_SEED={SEED}")
    report = Report(SEED, SECONDS)
    play(job, operator, report, SECONDS)
    print(page(report))
    assert not report.broken


def test_savepoints_bring_back_a_subjob_that_lost_every_instance(job: Job) -> None:
    if "savepoint" not in HALVES[job.name].modes.values():
        pytest.skip("the other job has it")
    wait_until_protected(job)
    _, epoch = job.lease("sums")
    for pod in job.pods(subjob="sums"):
        job.namespace.kill(name_of(pod))
    until("sums leads again", lambda: job.lease("sums")[1] > epoch, REPLACED)
    assert_flowing(job, "sums", REPLACED)


def test_after_all_that_every_tuple_that_was_promised_came_out_once_and_in_order(job: Job) -> None:
    report = Report(SEED, 0)
    compare(job, report)
    assert not report.broken
