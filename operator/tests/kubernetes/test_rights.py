"""The operator has the rights that it uses, and no others: what it asks of the API server against the chart's
rules."""

from __future__ import annotations

import re
from typing import Any

import pytest

from understudy.control import intents as do
from understudy.kubernetes.act import Actor
from understudy.kubernetes.drills import DrillReconciler
from understudy.kubernetes.election import Election
from understudy.kubernetes.migrations import MigrationReconciler
from understudy.kubernetes.objects import Owner, role
from understudy.kubernetes.reconcile import Reconciler
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Key, Version, Writer, unelected
from understudy.model.allowed import Allowed
from understudy.model.status import Role

from .fake_api import PATH, FakeApi
from .test_chart import rendered
from .test_reconcile import submit
from .test_taken import with_process

pytestmark = pytest.mark.helm

Json = dict[str, Any]
Right = tuple[str, str, str]
"""Group, resource, verb."""

SETTINGS = PodSettings(
    image="understudy:test",
    disruption_budgets=True,
    network_policies=True,
    mutual_tls=True,
    allowed=Allowed(job_templates=True),
)
OWNER = Owner("demo", "apps", "uid-job")
# What kopf does with the kinds that it watches, and what the rounds do.
WATCHES = {
    (group, plural, verb)
    for group, plural in (
        ("understudy.dev", "streamjobs"),
        ("understudy.dev", "failoverdrills"),
        ("understudy.dev", "migrations"),
        ("", "pods"),
        ("coordination.k8s.io", "leases"),
    )
    for verb in ("list", "watch")
}


def rights_in(rules: list[Json]) -> set[Right]:
    return {
        (g, r, v)
        for rule in rules
        for g in rule["apiGroups"]
        for r in rule["resources"]
        for v in rule["verbs"]
    }


def used(fake: FakeApi) -> set[Right]:
    return {right for method, path in fake.requests for right in _rights(method, path)}


def _rights(method: str, path: str) -> set[Right]:
    found = PATH.match(path)
    assert found is not None
    group = re.sub(r"^/(api|apis/([a-z0-9.]+))/.*", r"\2", path)
    plural = found["plural"] + ("/status" if found["status"] else "")
    match method:
        case "GET":
            verbs = {"get"} if found["name"] else {"list"}
        case "POST":
            verbs = {"create"}
        case "PUT":
            verbs = {"update"}
        case "DELETE":
            verbs = {"delete"}
        case _:
            verbs = {"patch"}
    return {(group, plural, verb) for verb in verbs}


GROUPS = {
    "incidents": "/apis/understudy.dev/v1alpha1",
    "leases": "/apis/coordination.k8s.io/v1",
    "networkpolicies": "/apis/networking.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "streamjobs": "/apis/understudy.dev/v1alpha1",
}
REMOVED = ("services", "leases", "configmaps", "incidents", "poddisruptionbudgets", "secrets")


def read(fake: FakeApi) -> dict[Key, Version]:
    """Everything that there is, as if one look read it."""
    return {
        (GROUPS.get(plural, "/api/v1"), plural, name): Version.of(body)
        for (plural, _, name), body in fake.objects.items()
    }


@pytest.fixture(scope="module")
def asked() -> set[Right]:
    """By a reconciliation, and by every intent there is."""
    fake = FakeApi()
    submit(fake, with_process())
    drill = {
        "metadata": {"name": "now", "namespace": "apps"},
        "spec": {"job": "demo", "subjob": "x", "fault": "podKill"},
    }
    fake.put("failoverdrills", drill)
    move = {
        "metadata": {"name": "mig", "namespace": "apps"},
        "spec": {"job": "demo", "subjob": "x", "toNode": "n1"},
    }
    fake.put("migrations", move)
    with fake.serving() as api:
        Reconciler(api, SETTINGS).reconcile("apps", "demo")
        DrillReconciler(api, SETTINGS).reconcile("apps", "now")
        MigrationReconciler(api).reconcile("apps", "mig")
        for plural in REMOVED:
            fake.put(plural, {"metadata": {"name": "demo-gone", "namespace": "apps"}})
        fake.put(
            "leases",
            {"metadata": {"name": "demo-keep", "namespace": "apps"}, "spec": {"holderIdentity": "a"}},
        )
        actor = Actor(api, Writer(api, "apps", unelected(), read(fake)), OWNER, None, SETTINGS)
        every: tuple[do.Intent, ...] = (
            do.EnsureServiceAccount(""),
            do.EnsureRole(frozenset(), False, ""),
            do.EnsureRoleBinding(""),
            do.EnsureService("keep", ""),
            do.EnsureBudget("keep", ""),
            do.EnsureNetworkPolicy(""),
            do.DeletePod("demo-keep-0", True, ""),
            do.LabelPod("demo-double-0", Role.PRIMARY, ""),
            do.RecordIncident("demo-keep-epoch-2", {"subjob": "keep"}, {"lost": 0}, ""),
            do.Record({"startTime": "1"}, ""),
            do.RunProcess("demo-keep-failed-2", {"spec": {}}, ""),
            do.NameSuccessor("keep", "a", "demo-keep-1", ""),
            do.DropOrder("keep", ""),
            *(do.Remove(kind, "demo-gone", "") for kind in do.Kind),
        )
        for intent in every:
            actor.carry_out(intent)
    return used(fake) | rights_in(role(OWNER, frozenset({"demo-keep"}), executors=True)["rules"]) | WATCHES


def rules_of(kind: str, name: str) -> list[Json]:
    everything = rendered("--set", "jobs.allow.jobTemplates=true")
    (found,) = [o for o in everything if o["kind"] == kind and o["metadata"]["name"] == name]
    rules: list[Json] = found["rules"]
    return rules


def test_the_operators_rights_are_exactly_those_that_it_uses(asked: set[Right]) -> None:
    granted = rights_in(rules_of("ClusterRole", "understudy")) | rights_in(
        rules_of("ClusterRole", "understudy-nodes")
    )
    assert granted == asked


def test_the_election_needs_its_own_lease_only() -> None:
    fake = FakeApi()
    with fake.serving() as api:
        election = Election(api, "system", "understudy", "pod-a")
        for _ in range(2):
            election.look()
    assert rights_in(rules_of("Role", "understudy-election")) == used(fake)


def test_jobs_need_rights_only_where_manifests_may_declare_them() -> None:
    (found,) = [o for o in rendered() if o["kind"] == "ClusterRole" and o["metadata"]["name"] == "understudy"]
    assert "batch" not in {group for group, _, _ in rights_in(found["rules"])}


def test_without_safeguards_there_are_no_rights_for_them() -> None:
    off = "networkPolicies=false,jobs.disruptionBudgets=false,jobs.mutualTLS=false"
    (found,) = [
        o
        for o in rendered("--set", off)
        if o["kind"] == "ClusterRole" and o["metadata"]["name"] == "understudy"
    ]
    rights = rights_in(found["rules"])
    assert not {"policy", "networking.k8s.io"} & {group for group, _, _ in rights}
    assert "secrets" not in {resource for _, resource, _ in rights}
