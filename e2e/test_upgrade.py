"""The chart of the version before is upgraded while one of its jobs runs: the job does not notice. Then the
operator's rights are cut down to the job's namespace, and it still does all that there is to do.

There is only today's image, which says in a status what today's definitions know: these are in place from the
start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from conftest import CHART, CRDS, PREVIOUS, install
from kubectl import Job, Namespace, name_of, run, until
from numbers_job import kept_job
from story import assert_flowing, assert_right, started, wait_for_take_over, wait_until_protected

NAME = "older"
INSTANCE = "app.kubernetes.io/instance"


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Iterator[Job]:
    install(PREVIOUS)
    run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    yield started(namespace, kept_job(NAME, 200))
    install(CHART)


def test_an_upgrade_leaves_the_pods_of_a_running_job_alone(job: Job, operator: Namespace) -> None:
    pods = {name_of(pod): pod["metadata"]["uid"] for pod in job.pods()}
    assert_flowing(job)
    install(CHART)
    until("two operators, one of which leads", lambda: leader(operator), 60)
    until(
        "the new operator guards it",
        lambda: job.namespace.get("poddisruptionbudget", f"{NAME}-keep-primary"),
        60,
    )
    assert_flowing(job)
    assert {name_of(pod): pod["metadata"]["uid"] for pod in job.pods()} == pods
    assert job.is_true("Ready")


def leader(operator: Namespace) -> str | None:
    running = {name_of(pod) for pod in operator.list("pods") if pod["status"]["phase"] == "Running"}
    lease = operator.get("lease", "understudy") or {"spec": {}}
    holder = lease["spec"].get("holderIdentity")
    return holder if holder in running and len(running) == 2 else None


def test_a_job_from_before_goes_on_without_certificates_and_fails_over_with_rights_in_its_namespace_only(
    job: Job, operator: Namespace
) -> None:
    """Pods with and without certificates could not speak to each other."""
    install(CHART, f"watchNamespaces={{{job.namespace.name}}}", "rbac.readNodes=false")
    roles = json.loads(run("kubectl", "get", "clusterroles,clusterrolebindings", "-o", "json"))["items"]
    own = [
        name_of(role) for role in roles if role["metadata"].get("labels", {}).get(INSTANCE) == "understudy"
    ]
    assert sorted(own) == ["understudy-edit", "understudy-view"], (
        "for people; nothing binds the operator to them"
    )
    assert job.namespace.get("secret", f"{NAME}-certificate-1") is None
    until("two operators, one of which leads", lambda: leader(operator), 60)
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    job.namespace.kill(primary)
    wait_for_take_over(job, "keep", primary, epoch)
    wait_until_protected(job)
    assert_flowing(job)
    assert_right(job)
