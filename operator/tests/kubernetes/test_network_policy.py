"""Who may reach a job's pods: themselves, the operator with its orders, and everybody on the status page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from understudy.kubernetes.api import Api
from understudy.kubernetes.objects import Owner, network_policy
from understudy.kubernetes.reconcile import Reconciler
from understudy.kubernetes.settings import OperatorPods, PodSettings

from .fake_api import FakeApi

Json = dict[str, Any]

OPERATOR = OperatorPods("system", {"app.kubernetes.io/name": "understudy-operator"})
SETTINGS = PodSettings(image="understudy:test", network_policies=True, operator=OPERATOR)


def policy(fake: FakeApi) -> Json:
    found = fake.get("networkpolicies", "understudy-demo")
    assert found is not None
    return found


def who_reaches(spec: Json, port: int) -> list[Json]:
    """The peers that a policy lets in on a port; {} is everybody."""
    rules = [
        rule for rule in spec["ingress"] if port in {p["port"] for p in rule.get("ports") or [{"port": port}]}
    ]
    return [peer for rule in rules for peer in rule.get("from") or [{}]]


def test_orders_come_from_the_operators_pods_in_the_operators_namespace_and_from_nobody_else() -> None:
    spec = network_policy(Owner("demo", "apps", "uid"), OPERATOR)["spec"]
    assert who_reaches(spec, 7070) == [
        {"podSelector": {"matchLabels": {"understudy.dev/job": "demo"}}},
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "system"}},
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": "understudy-operator"}},
        },
    ]
    assert {} in who_reaches(spec, 7071)


def test_an_operator_outside_the_cluster_is_let_in_by_no_rule() -> None:
    spec = network_policy(Owner("demo", "apps", "uid"), None)["spec"]
    assert who_reaches(spec, 7070) == [{"podSelector": {"matchLabels": {"understudy.dev/job": "demo"}}}]


def test_a_policy_from_before_the_operator_was_let_in_is_repaired(fake: FakeApi, api: Api) -> None:
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    old = policy(fake)
    ingress = [rule for rule in old["spec"]["ingress"] if "namespaceSelector" not in str(rule)]
    metadata = {key: value for key, value in old["metadata"].items() if key != "annotations"}
    fake.put("networkpolicies", {**old, "metadata": metadata, "spec": {**old["spec"], "ingress": ingress}})
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    assert policy(fake)["spec"] == network_policy(Owner("demo", "apps", "uid-job"), OPERATOR)["spec"]


def test_a_policy_changes_only_if_the_operator_moves_to_another_namespace(fake: FakeApi, api: Api) -> None:
    for settings, times in (
        (SETTINGS, 1),
        (SETTINGS, 1),
        (replace(SETTINGS, operator=OperatorPods("new", {})), 2),
    ):
        Reconciler(api, settings).reconcile("apps", "demo")
        written = [path for method, path in fake.requests if method != "GET" and "networkpolicies" in path]
        assert len(written) == times
    assert "new" in str(policy(fake)["spec"])
