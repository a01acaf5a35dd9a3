"""A job whose certificates live for a few minutes: all its pods are replaced before the first one ends, and
no tuple is missed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import CHART, install
from kubectl import Job, Namespace, until
from numbers_job import kept_job
from story import assert_flowing, assert_nothing_lost, assert_right, started, wait_until_protected

pytestmark = pytest.mark.slow

LIFE = 150


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Iterator[Job]:
    install(CHART, f"jobs.certificateLifetime={LIFE}s")
    yield started(namespace, kept_job("rotated", 100))
    install(CHART)


def certificates(job: Job) -> set[str]:
    return {pod["metadata"]["annotations"]["understudy.dev/certificate"] for pod in job.pods()}


def test_every_pod_gets_the_second_certificate_while_tuples_flow(job: Job) -> None:
    assert_flowing(job)
    before, epoch = certificates(job), job.lease("keep")[1]
    until("every pod has another certificate", lambda: not certificates(job) & before, LIFE * 2, every=2)
    assert job.lease("keep")[1] > epoch, "the primary was replaced by a take-over"
    assert_flowing(job)


def test_the_first_certificate_is_removed_and_the_job_is_safe(job: Job) -> None:
    until(
        "the first certificate is gone", lambda: not job.namespace.get("secret", "rotated-certificate-1"), 60
    )
    wait_until_protected(job)
    assert_flowing(job)


def test_no_tuple_was_missed(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
