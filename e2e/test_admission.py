"""Manifests that cannot work are refused with a reason, and nothing is started."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kubectl import Job, Namespace, until
from numbers_job import numbers_job


def broken(fault: str) -> dict[str, Any]:
    body = numbers_job(f"broken-{fault}", 10, 100)
    spec = body["spec"]
    match fault:
        case "input":
            spec["subjobs"][0]["inputs"] = ["nubmers"]
        case "cycle":
            spec["subjobs"][0]["inputs"] = ["sums"]
        case "sql":
            spec["subjobs"][0]["operators"][0]["filter"]["where"] = "v >"
        case "guarantee":
            spec["subjobs"][0]["ha"] = {"mode": "amnesia", "guarantee": "precise"}
    return body


@pytest.mark.parametrize(
    ("fault", "word"), [("input", "nubmers"), ("cycle", "sums"), ("sql", "where"), ("guarantee", "amnesia")]
)
def test_a_refused_manifest_says_why_and_starts_nothing(namespace: Namespace, fault: str, word: str) -> None:
    namespace.apply(broken(fault))
    job = Job(namespace, f"broken-{fault}")
    accepted = until("a verdict", lambda: job.condition("Accepted") or None, 30)
    assert accepted["status"] == "False"
    assert accepted["reason"]
    assert word in accepted["message"]
    assert job.status()["phase"] == "Rejected"
    assert not job.pods()
    assert "Rejected" in job.events()
    namespace.kubectl("delete", "sj", job.name)


def test_what_the_schema_can_tell_is_refused_by_the_api_server(namespace: Namespace) -> None:
    body = numbers_job("bad", 10, 100)
    body["spec"]["subjobs"][0]["ha"] = {"mode": "activeStandbye"}
    with pytest.raises(AssertionError, match="activeStandbye"):
        namespace.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    assert namespace.get("sj", "bad") is None


def test_a_corrected_manifest_is_accepted(namespace: Namespace) -> None:
    body = broken("input")
    namespace.apply(body)
    job = Job(namespace, "broken-input")
    until("a verdict", lambda: job.condition("Accepted").get("status") == "False", 30)
    body["spec"]["subjobs"][0]["inputs"] = ["numbers"]
    namespace.apply(body)
    until("it is accepted", lambda: job.is_true("Accepted"), 30)
    until("its pods are made", job.pods, 30)
    namespace.kubectl("delete", "sj", job.name)
    until("everything of the job is gone", lambda: not job.pods(), 60)
