"""Objects that are not the job's, on an API server: they stay as they are, and the job says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from understudy.kubernetes.api import Api
from understudy.kubernetes.reconcile import Reconciler
from understudy.model.allowed import Allowed

from ..control.jobs import manifest
from .fake_api import FakeApi
from .test_reconcile import SETTINGS, conditions, submit

Json = dict[str, Any]

GUARDED = replace(
    SETTINGS,
    disruption_budgets=True,
    network_policies=True,
    mutual_tls=True,
    allowed=Allowed(job_templates=True),
)
NAMES = {
    "services": "demo-keep",
    "leases": "demo-keep",
    "poddisruptionbudgets": "demo-keep-primary",
    "pods": "demo-sink-out",
    "configmaps": "demo-run",
    "secrets": "demo-certificate-1",
    "serviceaccounts": "understudy-demo",
    "roles": "understudy-demo",
    "rolebindings": "understudy-demo",
    "networkpolicies": "understudy-demo",
    "jobs": "demo-keep-failed-2",
}


def with_process() -> Json:
    body = manifest()
    body["spec"]["subjobs"][0]["ha"] = {"onPermanentFailure": {"process": {"jobTemplate": {"spec": {}}}}}
    return body


def foreign(name: str, **more: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "apps", **more}, "spec": {"mine": True}, "data": {}}


@pytest.mark.parametrize("plural", NAMES)
def test_an_object_that_is_there_already_is_left_alone_and_nothing_is_made(
    fake: FakeApi, api: Api, plural: str
) -> None:
    before = fake.put(plural, foreign(NAMES[plural]))
    submit(fake, with_process())
    Reconciler(api, GUARDED).reconcile("apps", "demo")
    accepted = conditions(fake)["Accepted"]
    assert (accepted["status"], accepted["reason"]) == ("False", "NameTaken")
    assert NAMES[plural] in accepted["message"]
    assert fake.all(plural) == {NAMES[plural]: before}
    assert not [o for o in fake.objects.values() if o["metadata"].get("ownerReferences")]


def test_the_names_are_those_of_all_kinds_that_a_job_owns(fake: FakeApi, api: Api) -> None:
    submit(fake, with_process())
    Reconciler(api, GUARDED).reconcile("apps", "demo")
    owned = {kind for (kind, _, _), o in fake.objects.items() if o["metadata"].get("ownerReferences")}
    assert owned | {"jobs"} == NAMES.keys()


def test_the_job_is_accepted_when_the_object_is_gone(fake: FakeApi, api: Api) -> None:
    fake.put("services", foreign("demo-keep"))
    reconciler = Reconciler(api, SETTINGS)
    reconciler.reconcile("apps", "demo")
    del fake.objects["services", "apps", "demo-keep"]
    reconciler.reconcile("apps", "demo")
    assert conditions(fake)["Accepted"]["status"] == "True"
    assert fake.get("pods", "demo-keep-0") is not None


def test_an_object_with_the_labels_of_a_job_but_without_owner_is_not_the_jobs(
    fake: FakeApi, api: Api
) -> None:
    labels = {"understudy.dev/job": "demo", "understudy.dev/subjob": "keep"}
    before = fake.put("leases", foreign("demo-keep", labels=labels))
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    assert conditions(fake)["Accepted"]["reason"] == "NameTaken"
    assert fake.get("leases", "demo-keep") == before


@pytest.mark.parametrize("plural", ["services", "leases"])
def test_an_object_that_replaces_one_of_a_running_job_is_left_alone(
    fake: FakeApi, api: Api, plural: str
) -> None:
    reconciler = Reconciler(api, SETTINGS)
    reconciler.reconcile("apps", "demo")
    del fake.objects[plural, "apps", "demo-keep"]
    before = fake.put(plural, foreign("demo-keep"))
    reconciler.forget("apps", "demo")
    for _ in range(2):
        reconciler.reconcile("apps", "demo")
    assert fake.get(plural, "demo-keep") == before
    accepted = conditions(fake)["Accepted"]
    assert (accepted["status"], accepted["reason"]) == ("False", "NameTaken")
    assert len(fake.all("pods")) == 3, "the job goes on"
    del fake.objects[plural, "apps", "demo-keep"]
    for _ in range(2):
        reconciler.reconcile("apps", "demo")
    assert conditions(fake)["Accepted"]["status"] == "True"
    owned = fake.get(plural, "demo-keep")
    assert owned is not None
    assert owned["metadata"]["ownerReferences"][0]["uid"] == "uid-job"
