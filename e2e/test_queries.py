"""A query that is edited while tuples flow, and edited back: what it computes is changed, and nothing else.

A new query begins with the input that is still held; with the source's position kept, nothing of it is lost
here. Then more cores for its driver, which replaces its pods one after the other.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from kubectl import Job, Json, Namespace, name_of, until
from numbers_job import kept_job
from story import REPLACED, assert_flowing, read_sink, started, wait_until_protected

pytestmark = pytest.mark.slow

NAME = "queries"
RATE = 50
WHERE = {"most": "v % 3 != 0", "rest": "v % 3 = 0"}


def manifest(kind: str, **spark: Any) -> Json:
    body = kept_job(NAME, RATE)
    (keep,) = body["spec"]["subjobs"]
    keep |= {"operators": [{"filter": {"where": WHERE[kind]}}], "spark": spark}
    return body


def kind_of(row: Json) -> str:
    return "rest" if row["v"] % 3 == 0 else "most"


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    found = started(namespace, manifest("most"))
    wait_until_protected(found)
    assert_flowing(found)
    return found


def instances(job: Job) -> set[str]:
    return {name_of(pod) for pod in job.pods(subjob="keep")}


@pytest.mark.parametrize("kind", ["rest", "most"])
def test_an_edited_query_comes_into_force_with_new_pods(job: Job, kind: str) -> None:
    before = instances(job)
    job.namespace.apply(manifest(kind))
    until("there are other pods", lambda: not before & instances(job), REPLACED)
    job.wait_for("Ready", REPLACED)
    wait_until_protected(job)
    assert_flowing(job, seconds=REPLACED)
    assert kind_of(read_sink(job, "kept")[-1]) == kind


def test_more_cores_come_with_new_pods_one_after_the_other(job: Job) -> None:
    before = instances(job)
    job.namespace.apply(manifest("most", driver={"cores": 2}))
    until("there are other pods", lambda: not before & instances(job), 2 * REPLACED)
    wait_until_protected(job)
    assert_flowing(job)


def test_each_query_gave_what_it_had_to_and_only_an_edit_came_between(job: Job) -> None:
    rows = read_sink(job, "kept")
    assert [row["_seq"] for row in rows] == list(range(len(rows)))
    runs = [(kind, [row["number"] for row in found]) for kind, found in groupby(rows, kind_of)]
    assert [kind for kind, _ in runs] == ["most", "rest", "most"]
    for kind, numbers in runs:
        within = range(numbers[0], numbers[-1] + 1)
        assert numbers == [n for n in within if kind_of({"v": (n * 31) % 101}) == kind], (
            "no hole, nothing twice"
        )
    print({kind: (numbers[0], numbers[-1]) for kind, numbers in runs})
