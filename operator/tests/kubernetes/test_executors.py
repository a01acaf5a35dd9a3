"""A subjob with executors: what its driver is told, what its account may do, and that other jobs get
neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from understudy.engine.executors import EXECUTORS, remote_conf
from understudy.kubernetes.parse import pod_of
from understudy.kubernetes.reconcile import Reconciler
from understudy.kubernetes.settings import PodSettings

from ..control.jobs import manifest
from .fake_api import FakeApi
from .test_reconcile import submit

Json = dict[str, Any]

SETTINGS = PodSettings(image="understudy:test", mutual_tls=True)


def made(instances: int) -> tuple[Json, list[Json]]:
    """The first instance's container, and the rules of the account."""
    fake, body = FakeApi(), manifest()
    fake.put("nodes", {"metadata": {"name": "n1"}, "spec": {}, "status": {}})
    body["spec"]["subjobs"][0]["spark"] = {"executors": {"instances": instances}}
    submit(fake, body)
    with fake.serving() as api:
        for _ in range(2):
            Reconciler(api, SETTINGS).reconcile("apps", "demo")
    pod, role = fake.get("pods", "demo-keep-0"), fake.get("roles", "understudy-demo")
    assert pod is not None
    assert role is not None
    return pod["spec"]["containers"][0], role["rules"]


def environment(container: Json) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


def test_a_driver_with_executors_has_the_settings_and_the_rights_to_make_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    container, rules = made(2)
    told = environment(container)[EXECUTORS]
    # Kubernetes puts in the pod's name and address, which must come before in the list.
    known = [entry["name"] for entry in container["env"]]
    assert {"POD_NAME", "POD_IP"} < set(known[: known.index(EXECUTORS)])
    monkeypatch.setenv(EXECUTORS, told.replace("$(POD_NAME)", "demo-keep-0").replace("$(POD_IP)", "10.1.2.3"))
    conf = remote_conf(tmp_path)
    assert conf["spark.kubernetes.driver.pod.name"] == "demo-keep-0"
    assert conf["spark.driver.host"] == "10.1.2.3"
    assert conf["spark.executor.instances"] == "2"
    assert conf["spark.authenticate"] == "true"
    template = json.loads(Path(conf["spark.kubernetes.executor.podTemplateFile"]).read_text())
    (executor,) = template["spec"]["containers"]
    assert executor["securityContext"] == container["securityContext"]
    assert {mount["name"] for mount in executor["volumeMounts"]} == {"work", "tmp", "credentials"}
    assert "UNDERSTUDY_CREDENTIALS" in environment(executor)
    assert template["spec"]["automountServiceAccountToken"] is False
    assert any("pods" in rule["resources"] for rule in rules)


def test_an_executor_is_no_instance_of_its_subjob() -> None:
    container, _ = made(1)
    template = json.loads(environment(container)[EXECUTORS])["template"]
    labels = template["metadata"]["labels"]
    assert "understudy.dev/subjob" not in labels, "Services and budgets would count it"
    assert pod_of({"metadata": {"name": "x", "labels": labels}}) is None


def test_a_job_without_executors_may_not_make_pods() -> None:
    container, rules = made(0)
    assert EXECUTORS not in environment(container)
    assert all("pods" not in rule["resources"] for rule in rules)
