"""Migrations against an API server that remembers: an order to the job, and what became of it."""

from __future__ import annotations

from typing import Any

import pytest

from understudy.control.observed import Move, Moved, Order
from understudy.control.run_record import move_to_text, moved_to_text
from understudy.kubernetes.api import Api
from understudy.kubernetes.migrations import MigrationReconciler, is_open
from understudy.kubernetes.parse import orders_of
from understudy.process.clock import now_ms

from .fake_api import FakeApi

Json = dict[str, Any]

ORDER = "move.understudy.dev/keep"


@pytest.fixture
def fake() -> FakeApi:
    found = FakeApi()
    replicas = [{"pod": "demo-keep-0", "node": "n1"}, {"pod": "demo-keep-1", "node": "n2"}]
    subjob = {"name": "keep", "currentPrimary": "demo-keep-0", "replicas": replicas}
    metadata = {"name": "demo", "namespace": "apps", "uid": "uid-job", "generation": 1}
    found.put("streamjobs", {"metadata": metadata, "status": {"subjobs": [subjob]}})
    spec = {"job": "demo", "subjob": "keep", "toNode": "n3"}
    found.put("migrations", {"metadata": {"name": "mig", "namespace": "apps", "generation": 1}, "spec": spec})
    return found


def found(fake: FakeApi, plural: str, name: str) -> Json:
    body = fake.get(plural, name)
    assert body is not None
    return body


def status(fake: FakeApi) -> Json:
    told: Json = found(fake, "migrations", "mig").get("status") or {}
    return told


def orders(fake: FakeApi) -> dict[str, Order]:
    return orders_of(found(fake, "streamjobs", "demo")["metadata"].get("annotations") or {})


def recorded(fake: FakeApi, entry: str, text: str) -> None:
    fake.put("configmaps", {"metadata": {"name": "demo-run", "namespace": "apps"}, "data": {entry: text}})


def moved(fake: FakeApi, **result: Any) -> None:
    now = now_ms()
    last = Moved("mig", "demo-keep-0", "demo-keep-2", "ordered", now, now, **result)
    recorded(fake, "moved.keep", moved_to_text(last))


def begun(api: Api) -> None:
    for _ in range(2):
        assert MigrationReconciler(api).reconcile("apps", "mig") == 1.0


def test_a_migration_says_that_it_runs_before_it_orders_the_move(fake: FakeApi, api: Api) -> None:
    begun(api)
    assert (status(fake)["phase"], status(fake)["fromNode"]) == ("Running", "n1")
    assert orders(fake) == {"keep": Order("n3", "mig")}


def test_a_migration_ends_with_the_result_in_the_record(fake: FakeApi, api: Api) -> None:
    begun(api)
    moved(fake, pause_ms=250, bytes=77, lost=0)
    assert MigrationReconciler(api).reconcile("apps", "mig") is None
    ended = status(fake)
    assert (ended["phase"], ended["to"], ended["pauseSeconds"], ended["movedBytes"]) == (
        *("Completed", "demo-keep-2"),
        *(0.25, 77),
    )
    assert not is_open(found(fake, "migrations", "mig"))


def test_a_refused_order_is_a_failure(fake: FakeApi, api: Api) -> None:
    begun(api)
    moved(fake, failure="n3 takes no pods")
    assert MigrationReconciler(api).reconcile("apps", "mig") is None
    assert status(fake)["phase"] == "Failed"
    assert "n3 takes no pods" in status(fake)["message"]


def test_an_order_that_was_not_given_is_given_by_the_next_operator(fake: FakeApi, api: Api) -> None:
    begun(api)
    job = found(fake, "streamjobs", "demo")
    job["metadata"]["annotations"] = {}
    fake.put("streamjobs", job)
    MigrationReconciler(api).reconcile("apps", "mig")
    assert orders(fake) == {"keep": Order("n3", "mig")}


def test_while_its_move_is_under_way_nothing_is_ordered(fake: FakeApi, api: Api) -> None:
    begun(api)
    job = found(fake, "streamjobs", "demo")
    job["metadata"]["annotations"] = {}
    fake.put("streamjobs", job)
    recorded(fake, "move.keep", move_to_text(Move("demo-keep-0", "demo-keep-2", "ordered", 1, "mig")))
    MigrationReconciler(api).reconcile("apps", "mig")
    assert orders(fake) == {}


def test_another_order_goes_first(fake: FakeApi, api: Api) -> None:
    job = found(fake, "streamjobs", "demo")
    job["metadata"]["annotations"] = {ORDER: "standby"}
    fake.put("streamjobs", job)
    begun(api)
    assert status(fake)["phase"] == "Pending"


@pytest.mark.parametrize(("field", "value"), [("job", "nobody"), ("subjob", "nothing")])
def test_a_subjob_that_does_not_exist_cannot_move(fake: FakeApi, api: Api, field: str, value: str) -> None:
    migration = found(fake, "migrations", "mig")
    migration["spec"][field] = value
    fake.put("migrations", migration)
    MigrationReconciler(api).reconcile("apps", "mig")
    assert MigrationReconciler(api).reconcile("apps", "mig") is None
    assert status(fake)["phase"] == "Failed"
    assert value in status(fake)["message"]


def test_annotations_name_the_target() -> None:
    said = {
        ORDER: "standby",
        "move.understudy.dev/other": "n2",
        "move.understudy.dev/third": "n3 by mig",
        "x/y": "z",
    }
    assert orders_of(said) == {"keep": Order(), "other": Order("n2"), "third": Order("n3", "mig")}
