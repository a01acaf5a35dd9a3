"""How a Prometheus without an operator of its own finds the pods of a job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.kubernetes.api import Api
from understudy.kubernetes.reconcile import Reconciler

from .fake_api import FakeApi
from .test_reconcile import SETTINGS


@pytest.mark.parametrize("asked", [True, False])
def test_pods_are_annotated_exactly_if_that_is_asked_for(fake: FakeApi, api: Api, asked: bool) -> None:
    reconciler = Reconciler(api, replace(SETTINGS, scrape_annotations=asked))
    for _ in range(3):
        reconciler.reconcile("apps", "demo")
    pods = fake.all("pods")
    assert {"demo-keep-0", "demo-sink-out"} <= pods.keys()
    for pod in pods.values():
        notes, (container,) = pod["metadata"]["annotations"], pod["spec"]["containers"]
        assert ("prometheus.io/scrape" in notes) is asked
        if asked:
            port = next(p["containerPort"] for p in container["ports"] if p["name"] == "status")
            assert notes["prometheus.io/port"] == str(port)
