"""The operator's metrics through its own code: a reconciler on an API server, and a port that answers."""

from __future__ import annotations

import urllib.request
from typing import Any

from tests.control.jobs import manifest
from tests.kubernetes.fake_api import FakeApi
from tests.kubernetes.test_reconcile import SETTINGS, submit
from understudy.kubernetes.drills import DrillReconciler
from understudy.kubernetes.metrics import OperatorMetrics
from understudy.kubernetes.reconcile import Reconciler

from .operators import Clock, scrape
from .reading import read

JOB = {"namespace": "apps", "streamjob": "demo"}


def test_metrics_follow_the_status_that_a_look_has_written() -> None:
    fake, metrics = FakeApi(), OperatorMetrics()
    submit(fake, manifest())
    with fake.serving() as api:
        Reconciler(api, SETTINGS, metrics=metrics).reconcile("apps", "demo")
    job = fake.get("streamjobs", "demo")
    assert job is not None
    ready = next(c for c in job["status"]["conditions"] if c["type"] == "Ready")
    assert ready["status"] == "False"
    assert scrape(metrics)("understudy_ready", **JOB) == 0


def test_a_job_that_was_deleted_is_forgotten() -> None:
    fake, metrics = FakeApi(), OperatorMetrics()
    submit(fake, manifest())
    with fake.serving() as api:
        reconciler = Reconciler(api, SETTINGS, metrics=metrics)
        reconciler.reconcile("apps", "demo")
        fake.objects.clear()
        reconciler.reconcile("apps", "demo")
    assert scrape(metrics)("understudy_ready", **JOB) is None


def test_a_drill_that_is_refused_counts_as_failed() -> None:
    fake, clock = FakeApi(), Clock()
    metrics = OperatorMetrics(now=clock)
    drill: dict[str, Any] = {
        "metadata": {"name": "friday", "namespace": "apps"},
        "spec": {"job": "demo", "subjob": "keep", "fault": "podKill"},
    }
    fake.put("failoverdrills", drill)
    with fake.serving() as api:
        reconciler = DrillReconciler(api, SETTINGS, metrics=metrics)
        for _ in range(3):
            reconciler.reconcile("apps", "friday")
    clock.pass_a_minute()
    assert scrape(metrics)("understudy_drills_total", **JOB, result="failed") == 1


def test_the_port_answers_with_the_metrics_and_those_of_the_process() -> None:
    metrics = OperatorMetrics()
    server = metrics.serve(0, "127.0.0.1")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=5) as said:
            found = read(said.read().decode())
    finally:
        server.shutdown()
        server.server_close()
    assert found("understudy_leader") == 1
    assert (found("process_resident_memory_bytes") or 0) > 1 << 20
