"""An operator that is stopped between what it decided and what it writes, while another one acts.

It is stopped before each of its writes, one after the other: once before it makes sure that it leads, and
once right after that, with the request on its way.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from understudy.control import intents as do
from understudy.kubernetes.act import Actor
from understudy.kubernetes.api import Api, ApiError
from understudy.kubernetes.drills import DrillReconciler
from understudy.kubernetes.migrations import MigrationReconciler
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.reconcile import Reconciler
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Deposed, Mandate, Outdated, Writer, unelected, versions
from understudy.model.status import Role

from ..control.jobs import manifest
from .fake_api import FakeApi
from .test_reconcile import submit

Json = dict[str, Any]
Look = Callable[[Api, Callable[[], Mandate]], object]

SETTINGS = PodSettings(image="understudy:test", disruption_budgets=True, network_policies=True)
LOOKS = 2  # of the operator that takes over: after so many it has nothing left to write


def of_the_job(api: Api, mandate: Callable[[], Mandate]) -> object:
    return Reconciler(api, SETTINGS, mandate).reconcile("apps", "demo")


def of_the_drill(api: Api, mandate: Callable[[], Mandate]) -> object:
    return DrillReconciler(api, SETTINGS, mandate).reconcile("apps", "now")


def of_the_migration(api: Api, mandate: Callable[[], Mandate]) -> object:
    return MigrationReconciler(api, mandate).reconcile("apps", "mig")


@dataclass
class Cluster:
    fake: FakeApi
    stopped: Api
    other: Api

    def settle(self, look: Look) -> None:
        for _ in range(LOOKS):
            look(self.other, unelected)

    def writes(self) -> int:
        return sum(method != "GET" for method, _ in self.fake.requests)

    def objects(self) -> Json:
        """All that matters: events are words for people."""
        found = {key: body for key, body in self.fake.objects.items() if key[0] != "events"}
        return json.loads(json.dumps({"/".join(key): body for key, body in found.items()}))  # type: ignore[no-any-return]


def new_job(cluster: Cluster) -> None:
    submit(cluster.fake, manifest())


def failed_pods(cluster: Cluster) -> None:
    new_job(cluster)
    cluster.settle(of_the_job)
    for name in ("demo-keep-0", "demo-sink-out"):
        pod = cluster.fake.get("pods", name)
        assert pod is not None
        cluster.fake.put("pods", {**pod, "status": {"phase": "Failed", "reason": "Evicted"}})


def changed_query(cluster: Cluster) -> None:
    new_job(cluster)
    cluster.settle(of_the_job)
    subjobs = manifest()["spec"]["subjobs"]
    edited = {**subjobs[0], "operators": [{"filter": {"where": "v > 3"}}]}
    submit(cluster.fake, manifest(subjobs=[edited, subjobs[1]]), generation=2)


def running_job(cluster: Cluster) -> None:
    """As far as drills and Migrations look at it."""
    labels = {"understudy.dev/job": "demo", "understudy.dev/subjob": "keep", "understudy.dev/role": "primary"}
    replicas = [{"pod": "demo-keep-0", "node": "n1"}]
    subjob = {
        "name": "keep",
        "currentPrimary": "demo-keep-0",
        "epoch": 1,
        "protected": True,
        "replicas": replicas,
    }
    status = {"subjobs": [subjob], "conditions": [{"type": "Protected", "status": "True"}]}
    metadata = {"namespace": "apps", "uid": "uid-job", "generation": 1}
    cluster.fake.put("streamjobs", {"metadata": {"name": "demo", **metadata}, "spec": {}, "status": status})
    pod = {"name": "demo-keep-0", "namespace": "apps", "labels": labels}
    cluster.fake.put("pods", {"metadata": pod, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})


def begun_drill(cluster: Cluster) -> None:
    running_job(cluster)
    spec = {"job": "demo", "subjob": "keep", "fault": "podKill"}
    cluster.fake.put("failoverdrills", {"metadata": {"name": "now", "namespace": "apps"}, "spec": spec})
    of_the_drill(cluster.other, unelected)


def begun_migration(cluster: Cluster) -> None:
    running_job(cluster)
    spec = {"job": "demo", "subjob": "keep", "toNode": "n3"}
    cluster.fake.put("migrations", {"metadata": {"name": "mig", "namespace": "apps"}, "spec": spec})
    of_the_migration(cluster.other, unelected)


SCENARIOS: dict[str, tuple[Callable[[Cluster], None], Look]] = {
    "a new job": (new_job, of_the_job),
    "failed pods": (failed_pods, of_the_job),
    "a changed query": (changed_query, of_the_job),
    "a drill": (begun_drill, of_the_drill),
    "a migration": (begun_migration, of_the_migration),
}


@contextmanager
def served(fake: FakeApi) -> Iterator[Cluster]:
    with fake.serving() as stopped, fake.serving() as other:
        yield Cluster(fake, stopped, other)


def prepared(prepare: Callable[[Cluster], None]) -> FakeApi:
    fake = FakeApi()
    for name in ("n1", "n2", "n3"):
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        fake.put("nodes", {"metadata": {"name": name}, "spec": {}, "status": ready})
    with served(fake) as cluster:
        prepare(cluster)
    return fake


def clusters(prepare: Callable[[Cluster], None]) -> Iterator[Cluster]:
    """The same one again and again."""
    made = prepared(prepare)
    while True:
        with served(FakeApi(copy.deepcopy(made.objects), version=made.version)) as cluster:
            yield cluster


class Interrupted:
    """Leads until it has asked so many times; then it finds that it was stopped, and that another has
    acted."""

    def __init__(self, after: int, meanwhile: Callable[[], object]) -> None:
        self.left, self.meanwhile = after, meanwhile
        self.stopped = False

    def __call__(self) -> Mandate:
        return self.leads

    def leads(self) -> bool:
        if self.left == 0 and not self.stopped:
            self.stopped = True
            self.meanwhile()
        self.left -= 1
        return not self.stopped


def stopped_before_a_write(cluster: Cluster, look: Look, stops: int) -> bool:
    """False: it had nothing more to write."""
    left: list[Any] = []

    def act() -> None:
        before = cluster.writes()
        cluster.settle(look)
        left.extend([cluster.writes() - before, cluster.objects()])

    with suppress(Deposed):
        look(cluster.stopped, Interrupted(stops, act))
    if left:
        wrote, objects = left
        assert cluster.writes() - wrote == stops, "what it had written before it was stopped"
        assert cluster.objects() == objects
    return bool(left)


def stopped_with_a_write_on_its_way(cluster: Cluster, look: Look, stops: int) -> bool:
    left: list[Json] = []
    arrived: list[None] = []

    def arrive() -> None:
        arrived.append(None)
        if len(arrived) == stops + 1:
            cluster.settle(look)
            left.append(cluster.objects())

    def mandate() -> Mandate:
        return lambda: len(arrived) <= stops

    cluster.fake.before_write = arrive
    with suppress(Deposed, ApiError):
        look(cluster.stopped, mandate)
    if left:
        now = cluster.objects()
        assert left[0].items() <= now.items(), f"write {stops}"
        added = now.keys() - left[0].keys()
        assert all(key.startswith("pods/") for key in added), "one instance too many is removed later"
    return bool(left)


STOPS = [stopped_before_a_write, stopped_with_a_write_on_its_way]


@pytest.mark.parametrize("stopped", STOPS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_operator_that_was_stopped_changes_nothing_that_another_has_done_since(
    scenario: str, stopped: Callable[[Cluster, Look, int], bool]
) -> None:
    prepare, look = SCENARIOS[scenario]
    stops = next(n for n, cluster in enumerate(clusters(prepare)) if not stopped(cluster, look, n))
    assert stops > 1


# ---- one by one ------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with served(prepared(running_job)) as found:
        yield found


OWNER = Owner("demo", "apps", "uid-job")


def actor(cluster: Cluster) -> Actor:
    """That has looked at the pod, and decides about what it saw."""
    pod = cluster.fake.get("pods", "demo-keep-0")
    assert pod is not None
    seen = versions("/api/v1", "pods", [json.loads(json.dumps(pod))])
    writer = Writer(cluster.stopped, "apps", unelected(), seen)
    return Actor(cluster.stopped, writer, OWNER, None, SETTINGS)


def put(cluster: Cluster, plural: str, name: str, **changes: Any) -> None:
    found = cluster.fake.get(plural, name)
    assert found is not None
    cluster.fake.put(plural, {**found, **changes})


REMOVE = do.DeletePod("demo-keep-0", True, "it is lost")
LABEL = do.LabelPod("demo-keep-0", Role.SECONDARY, "another leads")


def test_a_pod_is_deleted_as_it_was_seen(cluster: Cluster) -> None:
    actor(cluster).carry_out(REMOVE)
    assert not cluster.fake.all("pods")


@pytest.mark.parametrize("intent", [REMOVE, LABEL], ids=["deleted", "labelled"])
def test_a_pod_that_has_come_back_to_life_since_is_not_touched(cluster: Cluster, intent: do.Intent) -> None:
    decided = actor(cluster)
    put(cluster, "pods", "demo-keep-0", status={"phase": "Running", "podIP": "10.0.0.1"})
    before = cluster.objects()
    with pytest.raises(Outdated):
        decided.carry_out(intent)
    assert cluster.objects() == before


@pytest.mark.parametrize("intent", [REMOVE, LABEL], ids=["deleted", "labelled"])
def test_another_pod_of_the_same_name_is_not_touched(cluster: Cluster, intent: do.Intent) -> None:
    decided = actor(cluster)
    del cluster.fake.objects["pods", "apps", "demo-keep-0"]
    cluster.fake.put("pods", {"metadata": {"name": "demo-keep-0", "namespace": "apps"}})
    before = cluster.objects()
    with pytest.raises(Outdated):
        decided.carry_out(intent)
    assert cluster.objects() == before


def lease(holder: str, acks: str) -> Json:
    metadata = {"name": "demo-keep", "namespace": "apps", "annotations": {"understudy.dev/acks": acks}}
    return {"metadata": metadata, "spec": {"holderIdentity": holder, "leaseTransitions": 1}}


SUCCESSOR = do.NameSuccessor("keep", "demo-keep-0", "demo-keep-1", "ordered")


def test_a_successor_is_named_to_the_holder_that_was_to_move_and_to_no_other(cluster: Cluster) -> None:
    cluster.fake.put("leases", lease("demo-keep-0", "1"))
    decided = actor(cluster)
    cluster.fake.put("leases", lease("demo-keep-0", "2"))
    decided.carry_out(SUCCESSOR)
    found = cluster.fake.get("leases", "demo-keep")
    assert found is not None
    assert found["metadata"]["annotations"]["understudy.dev/successor"] == "demo-keep-1"
    cluster.fake.put("leases", lease("demo-keep-2", "2"))
    with pytest.raises(Outdated):
        decided.carry_out(SUCCESSOR)
    found = cluster.fake.get("leases", "demo-keep")
    assert found is not None
    assert "understudy.dev/successor" not in found["metadata"]["annotations"]


def test_what_was_not_read_is_not_changed(cluster: Cluster) -> None:
    with pytest.raises(LookupError):
        actor(cluster).carry_out(do.DeletePod("demo-keep-1", False, ""))


def test_an_operator_makes_sure_that_it_leads_also_where_a_kept_connection_was_closed_while_it_slept(
    cluster: Cluster,
) -> None:
    cluster.stopped.get("/api/v1/namespaces/apps/pods")
    asked: list[None] = []

    def leads() -> bool:
        """The first time; then the server closes the connection."""
        asked.append(None)
        cluster.fake.down = len(asked) == 1
        return len(asked) == 1

    writer = Writer(cluster.stopped, "apps", leads, {})
    before = cluster.writes()
    with pytest.raises(Deposed):
        writer.create("/api/v1", "pods", {"metadata": {"name": "late", "namespace": "apps"}})
    assert (len(asked), cluster.writes()) == (2, before)


def test_a_successor_that_is_taken_out_of_the_lease_is_the_one_that_was_meant(cluster: Cluster) -> None:
    named = lease("demo-keep-0", "1")
    named["metadata"]["annotations"]["understudy.dev/successor"] = "demo-keep-1"
    cluster.fake.put("leases", named)
    decided = actor(cluster)
    with pytest.raises(Outdated):
        decided.carry_out(do.WithdrawSuccessor("keep", "demo-keep-2", "it took too long"))
    decided.carry_out(do.WithdrawSuccessor("keep", "demo-keep-1", "it took too long"))
    found = cluster.fake.get("leases", "demo-keep")
    assert found is not None
    assert found["metadata"]["annotations"] == {"understudy.dev/acks": "1"}
