"""Drills against an API server that remembers, and a fault on real processes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from understudy.control.names import CERTIFICATE, FLIGHT_PORT, STATUS_PORT, certificate
from understudy.instance.serving import InstanceServing
from understudy.kubernetes.api import Api
from understudy.kubernetes.certificates import credentials_data, issue, new_authority
from understudy.kubernetes.drills import DrillReconciler
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Writer, unelected
from understudy.process.family import family
from understudy.process.http import StatusServer
from understudy.process.ports import Unreachable
from understudy.protocol.peermessage import Answer, Done, Drill, Harm, Order, Refused
from understudy.protocol.statuspage import Activity, Engine, InstancePage
from understudy.streams.server import Server

from .fake_api import FakeApi

Json = dict[str, Any]

HERE = "127.0.0.9"
SETTINGS = PodSettings(image="understudy:test")
LABELS = {"understudy.dev/job": "demo", "understudy.dev/subjob": "keep"}


def pod(name: str, role: str) -> Json:
    metadata = {"name": name, "namespace": "apps", "labels": {**LABELS, "understudy.dev/role": role}}
    return {"metadata": metadata, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}


@pytest.fixture
def fake() -> FakeApi:
    found = FakeApi()
    subjob = {"name": "keep", "currentPrimary": "demo-keep-0", "epoch": 1, "protected": True}
    protected = {"type": "Protected", "status": "True"}
    metadata = {"name": "demo", "namespace": "apps", "uid": "uid-job", "generation": 1}
    found.put(
        "streamjobs", {"metadata": metadata, "status": {"subjobs": [subjob], "conditions": [protected]}}
    )
    found.put("pods", pod("demo-keep-0", "primary"))
    found.put("pods", pod("demo-keep-1", "secondary"))
    spec = {"job": "demo", "subjob": "keep", "fault": "podKill", "expect": {"recovery": "60s"}}
    found.put(
        "failoverdrills", {"metadata": {"name": "now", "namespace": "apps", "generation": 1}, "spec": spec}
    )
    return found


@pytest.fixture
def api(fake: FakeApi) -> Iterator[Api]:
    with fake.serving() as found:
        yield found


def status(fake: FakeApi) -> Json:
    drill = fake.get("failoverdrills", "now")
    assert drill is not None
    found: Json = drill["status"]
    return found


def test_a_drill_kills_the_primary_and_passes_when_the_incident_is_told(fake: FakeApi, api: Api) -> None:
    for _ in range(3):
        assert DrillReconciler(api, SETTINGS).reconcile("apps", "now") == 0.5
    assert status(fake)["phase"] == "Running"
    assert list(fake.all("pods")) == ["demo-keep-1"]
    moment = status(fake)["madeAt"]
    told = {"firstOutput": moment, "caughtUp": moment, "recoverySeconds": 0.4, "lost": 0, "duplicated": 0}
    metadata = {"name": "demo-keep-epoch-2", "namespace": "apps", "labels": LABELS}
    fake.put("incidents", {"metadata": metadata, "spec": {"subjob": "keep", "epoch": 2}, "status": told})
    assert DrillReconciler(api, SETTINGS).reconcile("apps", "now") is None
    assert status(fake)["phase"] == "Passed"
    assert status(fake)["measured"] == {"recoverySeconds": 0.4, "lost": 0, "duplicated": 0}
    reasons = [event["reason"] for event in fake.all("events").values()]
    assert sorted(reasons) == ["DrillPassed", "DrillStarted"]


def test_a_drill_that_is_gone_is_forgotten(fake: FakeApi, api: Api) -> None:
    assert DrillReconciler(api, SETTINGS).reconcile("apps", "other") is None


@pytest.mark.parametrize("harm", Harm)
def test_an_instance_without_certificates_takes_no_orders(harm: Harm) -> None:
    assert isinstance(InstanceServing().act(Drill(harm, 60)), Refused)


def test_an_order_that_is_not_taken_is_no_order_carried_out(api: Api) -> None:
    server = Server("127.0.0.9", FLIGHT_PORT, InstanceServing())
    try:
        with pytest.raises(Unreachable, match="certificates"):
            Writer(api, "apps", unelected(), {}).order("demo", 0, "127.0.0.9", Drill(Harm.PARTITION, 1))
    finally:
        server.shutdown()


class Obedient(InstanceServing):
    """Takes down what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Order] = []

    def act(self, order: Order) -> Answer:
        self.told.append(order)
        return Done()


def test_an_engine_hangs_for_two_of_the_timeouts_that_its_pod_tells_of(fake: FakeApi, api: Api) -> None:
    now = datetime.now(UTC)
    shown = issue(new_authority("demo", now), now + timedelta(days=1), now)
    secret = {"name": certificate("demo", 1), "namespace": "apps"}
    fake.put("secrets", {"metadata": secret, "data": credentials_data(shown)})
    for name, role in (("demo-keep-0", "primary"), ("demo-keep-1", "secondary")):
        made = pod(name, role)
        made["metadata"]["annotations"] = {CERTIFICATE: "1"}
        made["status"]["podIP"] = HERE
        fake.put("pods", made)
    spec = {"job": "demo", "subjob": "keep", "fault": "engineHang"}
    fake.put(
        "failoverdrills", {"metadata": {"name": "now", "namespace": "apps", "generation": 1}, "spec": spec}
    )
    said = InstancePage(instance="demo-keep-0", engine=Engine(Activity.WORKING, timeout_ms=45_000))
    serving = Obedient()
    page, server = (
        StatusServer(HERE, STATUS_PORT, lambda: said, lambda: True),
        Server(HERE, FLIGHT_PORT, serving, shown),
    )
    try:
        for _ in range(4):
            DrillReconciler(api, SETTINGS).reconcile("apps", "now")
    finally:
        page.stop()
        server.shutdown()
    assert serving.told == [Drill(Harm.HANG, 90)]
    assert status(fake)["lastsSeconds"] == 90


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_frozen_process_stops_with_its_children_and_goes_on() -> None:
    script = (
        "import subprocess, time\n"
        "from understudy.faults.freeze import freeze\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "freeze(1.0)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            both = [process.pid, int(process.stdout.readline())]
            assert both[1] in family(process.pid)
            seen: set[Any] = set()
            end = time.monotonic() + 30
            while not {("T", "T"), "again"} <= seen and time.monotonic() < end:
                states = tuple(state_of(pid) for pid in both)
                seen.add("again" if states == ("S", "S") and ("T", "T") in seen else states)
                time.sleep(0.02)
            assert {("T", "T"), "again"} <= seen
        finally:
            for pid in reversed(family(process.pid)):
                subprocess.run(["kill", "-KILL", str(pid)], check=False)
