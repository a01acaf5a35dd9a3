"""The reconciler against an API server that remembers: what it makes, and that doing it again changes
nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from understudy.kubernetes.api import Api
from understudy.kubernetes.reconcile import Reconciler
from understudy.kubernetes.settings import PodSettings
from understudy.model.allowed import Allowed
from understudy.model.job import StreamJob
from understudy.model.load import load

from ..control.jobs import manifest
from .fake_api import FakeApi

Json = dict[str, Any]

SETTINGS = PodSettings(image="understudy:test", allowed=Allowed(host_paths=("/data",)))


@pytest.fixture
def fake() -> FakeApi:
    found = FakeApi()
    for name in ("n1", "n2", "n3"):
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        found.put("nodes", {"metadata": {"name": name}, "spec": {}, "status": ready})
    return found


def submit(fake: FakeApi, body: Json, generation: int = 1) -> None:
    before = fake.get("streamjobs", body["metadata"]["name"]) or {}
    metadata = {**body["metadata"], "generation": generation, "uid": "uid-job"}
    fake.put("streamjobs", {**body, "metadata": metadata, "status": before.get("status", {})})


def start_pod(fake: FakeApi, name: str, ip: str, node: str) -> None:
    pod = fake.get("pods", name)
    assert pod is not None
    conditions = [{"type": "Ready", "status": "True"}]
    running = {"phase": "Running", "podIP": ip, "conditions": conditions}
    fake.put("pods", {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": running})


@contextmanager
def page(ip: str, found: Json) -> Iterator[None]:
    """A pod's status page on a loopback address of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer((ip, 7071), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def conditions(fake: FakeApi) -> dict[str, Json]:
    job = fake.get("streamjobs", "demo")
    assert job is not None
    return {c["type"]: c for c in job["status"]["conditions"]}


def test_a_new_job_gets_what_its_pods_need_and_then_its_pods(fake: FakeApi, api: Api) -> None:
    submit(fake, manifest())
    assert Reconciler(api, SETTINGS).reconcile("apps", "demo") == 1.0
    assert list(fake.all("leases")) == list(fake.all("services")) == ["demo-double", "demo-keep"]
    assert list(fake.all("pods")) == ["demo-double-0", "demo-keep-0", "demo-sink-out"]
    (account,) = fake.all("serviceaccounts")
    assert account == "understudy-demo"
    for plural in ("leases", "services", "pods", "configmaps", "roles", "rolebindings", "serviceaccounts"):
        for found in fake.all(plural).values():
            assert found["metadata"]["ownerReferences"][0]["uid"] == "uid-job"
            assert found["metadata"]["labels"]["understudy.dev/job"] == "demo"
    assert conditions(fake)["Accepted"]["status"] == "True"
    assert conditions(fake)["Ready"]["status"] == "False"


def test_looking_again_makes_nothing_twice(fake: FakeApi, api: Api) -> None:
    submit(fake, manifest())
    first = Reconciler(api, SETTINGS)
    for _ in range(2):
        first.reconcile("apps", "demo")
    before = {key: found["metadata"]["resourceVersion"] for key, found in fake.objects.items()}
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    assert {key: found["metadata"]["resourceVersion"] for key, found in fake.objects.items()} == before


def test_a_pod_of_a_job_is_restricted_and_reads_the_manifest_that_was_accepted(
    fake: FakeApi, api: Api
) -> None:
    submit(fake, manifest())
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    pod = fake.get("pods", "demo-keep-0")
    assert pod is not None
    assert pod["metadata"]["labels"]["understudy.dev/role"] == "primary"
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "understudy:test"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    volume = next(v for v in pod["spec"]["volumes"] if v["name"] == "manifest")
    config_map = fake.get("configmaps", volume["configMap"]["name"])
    assert config_map is not None
    assert isinstance(load(config_map["data"]["job.yaml"]), StreamJob)


def test_functions_in_a_config_map_are_found_by_the_pods_of_their_subjob_only(
    fake: FakeApi, api: Api
) -> None:
    body = manifest()
    body["spec"]["subjobs"][0]["operators"] = [
        {"python": {"function": "tidy:tidied", "configMap": "functions"}}
    ]
    submit(fake, body)
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    mounted = {}
    for name in ("demo-keep-0", "demo-double-0"):
        pod = fake.get("pods", name)
        assert pod is not None
        (container,) = pod["spec"]["containers"]
        volumes = {v["name"]: v["configMap"]["name"] for v in pod["spec"]["volumes"] if "configMap" in v}
        folders = {m["mountPath"]: volumes.get(m["name"]) for m in container["volumeMounts"]}
        searched = next((entry["value"] for entry in container["env"] if entry["name"] == "PYTHONPATH"), None)
        mounted[name] = (searched, folders.get(searched))
    assert mounted == {
        "demo-keep-0": ("/etc/understudy-code/functions", "functions"),
        "demo-double-0": (None, None),
    }


def test_a_secret_is_given_to_the_pods_that_need_it_and_to_no_others(fake: FakeApi, api: Api) -> None:
    broker = {"bootstrapServers": "k:9092", "topic": "t"}
    body = manifest()
    body["spec"]["sources"] = [
        {"name": "ticks", "kafka": {**broker, "schema": "v bigint", "security": {"secret": "reader.v1"}}}
    ]
    written = {**broker, "topic": "u", "security": {"secret": "writer"}}
    body["spec"]["sinks"] = [{"name": "out", "input": "double", "kafka": written}]
    submit(fake, body)
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    given = {}
    for name in ("demo-keep-0", "demo-double-0", "demo-sink-out"):
        pod = fake.get("pods", name)
        assert pod is not None
        (container,) = pod["spec"]["containers"]
        volumes = {v["name"]: v["secret"]["secretName"] for v in pod["spec"]["volumes"] if "secret" in v}
        given[name] = {
            volumes[mount["name"]]: mount["mountPath"]
            for mount in container["volumeMounts"]
            if mount["name"] in volumes
        }
        assert {"name": "UNDERSTUDY_IDENTITY", "value": "understudy.apps.demo.uid-job"} in container["env"]
    assert given == {
        "demo-keep-0": {"reader.v1": "/etc/understudy-secrets/reader.v1"},
        "demo-double-0": {},
        "demo-sink-out": {"writer": "/etc/understudy-secrets/writer"},
    }


def test_the_account_may_touch_its_own_leases_and_its_record_only(fake: FakeApi, api: Api) -> None:
    submit(fake, manifest())
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    role = fake.get("roles", "understudy-demo")
    assert role is not None
    assert [(r["resources"], r["resourceNames"], r["verbs"]) for r in role["rules"]] == [
        (["leases"], ["demo-double", "demo-keep"], ["get", "update", "patch"]),
        (["configmaps"], ["demo-run"], ["get"]),
    ]


def test_status_pages_make_a_job_ready_and_set_its_start_time_once(fake: FakeApi, api: Api) -> None:
    subjobs = [{**subjob, "ha": {"mode": "amnesia"}} for subjob in manifest()["spec"]["subjobs"]]
    submit(fake, manifest(subjobs=subjobs))
    reconciler = Reconciler(api, SETTINGS)
    reconciler.reconcile("apps", "demo")
    for number, subjob in enumerate(("keep", "double"), start=1):
        start_pod(fake, f"demo-{subjob}-0", f"127.0.7.{number}", f"n{number}")
        lease = fake.get("leases", f"demo-{subjob}")
        assert lease is not None
        fake.put("leases", {**lease, "spec": {"holderIdentity": f"demo-{subjob}-0", "leaseTransitions": 1}})
    start_pod(fake, "demo-sink-out", "127.0.7.3", "n3")
    primary = {"kind": "subjob", "role": "primary", "epoch": 1, "state": "ready"}
    sink = {"kind": "sink", "sink": "out", "state": "ready", "tuples": 5}
    with page("127.0.7.1", primary), page("127.0.7.2", primary), page("127.0.7.3", sink):
        reconciler.reconcile("apps", "demo")
        reconciler.reconcile("apps", "demo")
        record = fake.get("configmaps", "demo-run")
        assert record is not None
        start = record["data"]["startTime"]
        assert conditions(fake)["Ready"]["status"] == "True"
        assert reconciler.reconcile("apps", "demo") == 5.0, "a calm job is looked at less often"
    record = fake.get("configmaps", "demo-run")
    assert record is not None
    assert record["data"]["startTime"] == start


def test_a_refused_manifest_makes_nothing(fake: FakeApi, api: Api) -> None:
    submit(fake, manifest(sinks=[{"name": "out", "input": "nowhere", "files": {"path": "out"}}]))
    assert Reconciler(api, SETTINGS).reconcile("apps", "demo") is not None
    assert conditions(fake)["Accepted"]["status"] == "False"
    assert "nowhere" in conditions(fake)["Accepted"]["message"]
    assert not fake.all("pods")
    (event,) = fake.all("events").values()
    assert (event["reason"], event["type"]) == ("Rejected", "Warning")


def test_a_refused_edit_leaves_everything_as_it_was_even_for_a_new_operator(fake: FakeApi, api: Api) -> None:
    submit(fake, manifest())
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    pods = fake.all("pods")
    submit(
        fake, manifest(sinks=[{"name": "out", "input": "nowhere", "files": {"path": "out"}}]), generation=2
    )
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    assert fake.all("pods") == pods
    assert conditions(fake)["Accepted"]["status"] == "False"
    assert "the job goes on as it was" in conditions(fake)["Accepted"]["message"]


def test_a_job_that_is_gone_is_forgotten(fake: FakeApi, api: Api) -> None:
    assert Reconciler(api, SETTINGS).reconcile("apps", "demo") is None


def test_a_volume_is_the_sinks_folder_and_a_host_path_is_given_to_its_user(fake: FakeApi, api: Api) -> None:
    volume = {"hostPath": {"path": "/data/out", "type": "DirectoryOrCreate"}}
    submit(
        fake, manifest(sinks=[{"name": "out", "input": "double", "files": {"path": "out", "volume": volume}}])
    )
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    pod = fake.get("pods", "demo-sink-out")
    assert pod is not None
    assert {"name": "output", **volume} in pod["spec"]["volumes"]
    (init,) = pod["spec"]["initContainers"]
    assert init["command"] == ["chown", "10001:10001", "/output"]


def test_only_the_pod_of_the_sink_that_needs_a_secret_has_it_and_only_to_read(
    fake: FakeApi, api: Api
) -> None:
    postgres = {"secret": "db", "table": "public.alerts"}
    sinks = [
        {"name": "out", "input": "double", "postgres": postgres},
        {"name": "log", "input": "double", "console": {}},
    ]
    submit(fake, manifest(sinks=sinks))
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    pods = [pod for (kind, _, _), pod in fake.objects.items() if kind == "pods"]
    secrets = {
        pod["metadata"]["name"]: volume["name"]
        for pod in pods
        for volume in pod["spec"]["volumes"]
        if volume.get("secret", {}).get("secretName") == "db"
    }
    assert secrets == {"demo-sink-out": "secret-0"}
    found = fake.get("pods", "demo-sink-out")
    assert found is not None
    (container,) = found["spec"]["containers"]
    mount = {"name": "secret-0", "mountPath": "/etc/understudy-secrets/db", "readOnly": True}
    assert mount in container["volumeMounts"]
    (identity,) = [e["value"] for e in container["env"] if e["name"] == "UNDERSTUDY_IDENTITY"]
    assert identity.startswith("understudy.apps.demo.")


def test_each_pod_of_a_sink_has_a_greater_number_than_the_one_before(fake: FakeApi, api: Api) -> None:
    """The one before may still run on a node that was cut off."""
    submit(fake, manifest())
    told = []
    for _ in range(2):
        Reconciler(api, SETTINGS).reconcile("apps", "demo")
        pod = fake.objects.pop(("pods", "apps", "demo-sink-out"))
        arguments = pod["spec"]["containers"][0]["args"]
        told.append(arguments[arguments.index("--life") :])
    owner = pod["metadata"]["ownerReferences"][0]["uid"]
    assert told == [["--life", life, "--run-id", owner] for life in ("1", "2")]


def test_a_sink_would_rather_not_be_where_its_producer_is_but_its_volume_decides(
    fake: FakeApi, api: Api
) -> None:
    submit(fake, manifest())
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    pod = fake.get("pods", "demo-sink-out")
    assert pod is not None
    affinity = pod["spec"]["affinity"]
    (wish,) = affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert wish["podAffinityTerm"]["labelSelector"]["matchLabels"]["understudy.dev/subjob"] == "double"
    assert "required" not in str(affinity)


def test_files_of_a_source_are_read_where_their_volume_is_mounted(fake: FakeApi, api: Api) -> None:
    claim = {"persistentVolumeClaim": {"claimName": "input"}}
    files = {"path": "ticks.jsonl", "schema": "v int", "volume": claim}
    submit(fake, manifest(sources=[{"name": "ticks", "files": files}]))
    reconciler = Reconciler(api, SETTINGS)
    reconciler.reconcile("apps", "demo")
    pod = fake.get("pods", "demo-keep-0")
    assert pod is not None
    mounts = {m["name"]: m["mountPath"] for m in pod["spec"]["containers"][0]["volumeMounts"]}
    assert mounts["source-ticks"] == "/sources/ticks"
    (written,) = [c for name, c in fake.all("configmaps").items() if name.startswith("demo-manifest-")]
    seen = yaml.safe_load(written["data"]["job.yaml"])
    assert seen["spec"]["sources"][0]["files"]["path"] == "/sources/ticks/ticks.jsonl"
    before = len(fake.all("configmaps"))
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    assert len(fake.all("configmaps")) == before, "read back, it is the same job"


def test_objects_of_an_earlier_job_of_the_same_name_are_waited_for_and_not_taken_over(
    fake: FakeApi, api: Api
) -> None:
    submit(fake, manifest())
    Reconciler(api, SETTINGS).reconcile("apps", "demo")
    record = fake.get("configmaps", "demo-run")
    assert record is not None
    fake.put("configmaps", {**record, "data": {**record["data"], "completed": "1800000000000"}})
    del fake.objects["streamjobs", "apps", "demo"]
    again = {**manifest(), "metadata": {**manifest()["metadata"], "generation": 1, "uid": "uid-again"}}
    fake.put("streamjobs", {**again, "status": {}})
    reconciler = Reconciler(api, SETTINGS)
    before = len(fake.all("pods"))
    assert reconciler.reconcile("apps", "demo") == 1.0
    assert len(fake.all("pods")) == before
    assert conditions(fake)["Ready"]["reason"] == "Waiting"
    for key in [k for k, o in fake.objects.items() if o["metadata"].get("ownerReferences")]:
        del fake.objects[key]
    reconciler.reconcile("apps", "demo")
    assert list(fake.all("pods")) == ["demo-double-0", "demo-keep-0", "demo-sink-out"]
    assert all(p["metadata"]["ownerReferences"][0]["uid"] == "uid-again" for p in fake.all("pods").values())
