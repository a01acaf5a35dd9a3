"""A support bundle has what somebody needs who was not there, and none of the secrets that were planted."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
import yaml

from .cluster import Cluster

PLANTED = {
    "of a variable": "variable-hunter2",
    "of a variable that ends with KEY": "fernet-hunter3",
    "of a Spark setting": "sparkconf-hunter4",
    "in a URL": "url-hunter5",
    "in the copy that kubectl apply keeps": "applied-hunter6",
    "in a Secret": "secretobject-hunter7",
    "in a file of a ConfigMap": "configmap-hunter8",
    "in lines of a text of a ConfigMap": "block-hunter9",
    "in a log, as a setting": "logsetting-hunter10",
    "in a log, as JSON": "logjson-hunter11",
    "in a log, quoted by a login module": "jaas-hunter12",
    "in a log, as a header": "bearer-hunter13",
    "in a log, as a key": "MIIEvgIBADANBgkqhkiG9w0",
    "in a log of the container before": "previous-hunter14",
    "in an event": "event-hunter15",
    "in a status page": "page-hunter16",
    "as an option": "option-hunter17",
    "in a log, as JSON in JSON": "escaped-hunter18",
}
LOG = f"""\
sasl.password={PLANTED["in a log, as a setting"]} retries=3
{{"event": "connected", "sasl.password": "{PLANTED["in a log, as JSON"]}", "job": "demo"}}
sasl.jaas.config=PlainLoginModule required password="{PLANTED["in a log, quoted by a login module"]}";
Authorization: Bearer {PLANTED["in a log, as a header"]}
-----BEGIN PRIVATE KEY-----
{PLANTED["in a log, as a key"]}
-----END PRIVATE KEY-----
event="{{\\"token\\": \\"{PLANTED["in a log, as JSON in JSON"]}\\"}}"
started with {PLANTED["of a variable"]} from its environment
it goes on
"""


def plant(demo: Cluster) -> None:
    job = demo.fake.get("streamjobs", "demo")
    assert job is not None
    applied = {"spec": {"password": PLANTED["in the copy that kubectl apply keeps"]}}
    job["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
    job["spec"]["subjobs"][0]["spark"] = {
        "conf": {"spark.hadoop.fs.s3a.secret.key": PLANTED["of a Spark setting"]}
    }
    job["spec"]["sources"] = [
        {
            "name": "in",
            "kafka": {
                "security": {"secret": "kafka-user"},
                "url": f"https://me:{PLANTED['in a URL']}@host/x",
            },
        }
    ]
    demo.fake.put("streamjobs", job)
    env = [
        {"name": "DB_PASSWORD", "value": PLANTED["of a variable"]},
        {"name": "FERNET_KEY", "value": PLANTED["of a variable that ends with KEY"]},
        {"name": "REGION", "value": "eu-north-1"},
    ]
    pod = demo.pod("demo-keep-0", "primary", env=env, command=["run", "--token", PLANTED["as an option"]])
    pod["status"]["containerStatuses"] = [{"restartCount": 1}]
    demo.fake.put("pods", pod)
    labels = {"understudy.dev/job": "demo"}
    secret = {"kind": "Secret", "metadata": {"name": "demo-authority", "namespace": "apps", "labels": labels}}
    demo.fake.put("secrets", secret | {"data": {"tls.key": PLANTED["in a Secret"]}})
    data = {
        "job.yaml": yaml.safe_dump(
            {"spec": {"apiKey": PLANTED["in a file of a ConfigMap"], "mode": "savepoint"}}
        ),
        "more.yaml": f"credentials:\n  password: |\n    {PLANTED['in lines of a text of a ConfigMap']}\n",
    }
    metadata = {"name": "demo-manifest-1", "namespace": "apps", "labels": labels}
    demo.fake.put("configmaps", {"kind": "ConfigMap", "metadata": metadata, "data": data})
    about = {
        "involvedObject": {"kind": "Pod", "name": "demo-keep-0"},
        "metadata": {"name": "e", "namespace": "apps"},
    }
    demo.fake.put("events", about | {"message": f"login failed: password={PLANTED['in an event']} at host-1"})
    demo.log("demo-keep-0", LOG)
    demo.log("demo-keep-0.previous", f"died; secret_token: {PLANTED['in a log of the container before']}\n")
    demo.page("demo-keep-0", {"state": "ready", "clientSecret": PLANTED["in a status page"]})


def unpacked(demo: Cluster, *words: str) -> dict[str, str]:
    path = demo.home / "bundle.tar.gz"
    done = demo.run("support", "demo", "--file", str(path), *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as archive:
        archive.extractall(demo.home / "unpacked", filter="data")
    (folder,) = (demo.home / "unpacked").iterdir()
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def files(demo: Cluster) -> dict[str, str]:
    plant(demo)
    return unpacked(demo)


def test_no_planted_secret_is_in_it(files: dict[str, str]) -> None:
    found = {(where, name) for where, planted in PLANTED.items() for name in files if planted in files[name]}
    assert found == set()


def test_it_has_what_is_needed_to_understand_the_job(files: dict[str, str]) -> None:
    assert {
        "README.txt",
        "status.txt",
        "report.json",
        "versions.json",
        "objects/streamjob.yaml",
        "objects/pods.yaml",
        "objects/incidents.yaml",
        "objects/events.yaml",
        "logs/demo-keep-0.log",
        "logs/demo-keep-0.previous.log",
        "logs/demo-sink-out.log",
        "pages/demo-keep-1.json",
        "missing.txt",
    } <= set(files)
    assert "it goes on" in files["logs/demo-keep-0.log"]
    assert "retries=3" in files["logs/demo-keep-0.log"]
    assert "eu-north-1" in files["objects/pods.yaml"]
    assert "secret: kafka-user" in files["objects/streamjob.yaml"]
    assert "mode: savepoint" in files["objects/configmaps.yaml"]
    assert "at host-1" in files["objects/events.yaml"]
    assert json.loads(files["versions.json"])["misfits"] == []
    assert json.loads(files["pages/demo-keep-0.json"])["state"] == "ready"


def test_secrets_are_never_asked_for(demo: Cluster, files: dict[str, str]) -> None:
    assert not [path for _, path in demo.fake.requests if "secrets" in path]
    assert not [name for name in files if "secret" in name]


def test_what_can_not_be_read_is_named_and_the_rest_is_there(demo: Cluster) -> None:
    (demo.home / "pages" / "demo-keep-1").unlink()
    demo.forbid("nodes")
    found = unpacked(demo)
    assert "status page of demo-keep-1: Error from server: no page" in found["missing.txt"]
    assert "nodes: Error from server (Forbidden)" in found["missing.txt"]
    assert "objects/pods.yaml" in found


def test_a_place_that_can_not_be_written_is_refused_with_what_to_do(demo: Cluster, tmp_path: Path) -> None:
    done = demo.run("support", "demo", "--file", str(tmp_path / "nowhere" / "x.tar.gz"))
    assert done.returncode == 3
    assert "Choose another place with --file" in done.stderr
