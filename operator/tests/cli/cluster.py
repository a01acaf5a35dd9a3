"""A cluster for the plugin: the fake API server, and a `kubectl` on the PATH that asks it.

The stand-in does what these tests need: get, annotate, and logs, which it reads from files of a folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kubernetes.fake_api import FakeApi

Json = dict[str, Any]

BIN = Path(sys.executable).parent
IMAGE = "registry.example/understudy:0.1.0"

KUBECTL = """#!{python}
import json, pathlib, sys, time, urllib.error, urllib.request
GROUPS = {groups!r}
HOME = pathlib.Path({home!r})
words, namespace, rest, everywhere, selector = sys.argv[1:], "apps", [], False, ""
while words:
    word = words.pop(0)
    if word in ("--namespace", "-n"): namespace = words.pop(0)
    elif word.startswith("--namespace="): namespace = word.partition("=")[2]
    elif word == "--context": words.pop(0)
    elif word in ("-A", "--all-namespaces"): everywhere = True
    elif word == "-l": selector = words.pop(0)
    elif word == "-o": words.pop(0)
    else: rest.append(word)
def stop(text):
    print(text, file=sys.stderr)
    sys.exit(1)
def path(kind, name=""):
    plural, _, group = kind.partition(".")
    start = "/api/v1" if not group else "/apis/" + group + "/" + GROUPS.get(group, "v1")
    whole = everywhere or plural in ("nodes", "customresourcedefinitions")
    place = start + ("" if whole else "/namespaces/" + namespace) + "/" + plural
    return place + ("/" + name if name else "?labelSelector=" + selector)
def ask(method, path, body=None, kind="application/json"):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request({url!r} + path, data, {{"Content-Type": kind}}, method=method)
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        stop("Error from server (" + ("NotFound" if error.code == 404 else "Refused") + "): " + path)
forbidden = HOME / "forbidden"
if forbidden.exists() and rest[1:2] and rest[1].partition(".")[0] in forbidden.read_text().split():
    stop("Error from server (Forbidden): " + rest[1])
match rest:
    case ["get", "--raw", place]:
        page = HOME / "pages" / place.split("/pods/")[1].split(":")[0]
        print(page.read_text()) if page.exists() else stop("Error from server: no page")
    case ["get", kind, name]: print(json.dumps(ask("GET", path(kind, name))))
    case ["get", kind]: print(json.dumps(ask("GET", path(kind))))
    case ["annotate", "--overwrite", kind, name, note]:
        key, _, value = note.partition("=")
        ask("PATCH", path(kind, name), {{"metadata": {{"annotations": {{key: value}}}}}}, "merge-patch")
    case ["logs", *options]:
        pod = next(word for word in options if not word.startswith("--"))
        file = HOME / "logs" / (pod + (".previous" if "--previous" in options else ""))
        if not file.exists(): stop("Error from server (BadRequest): no log of " + pod)
        lines = file.read_text().splitlines()
        tail = [int(word[7:]) for word in options if word.startswith("--tail=")]
        print("\\n".join(lines[-tail[0]:] if tail else lines), flush=True)
    case _: stop("the stand-in for kubectl does not know " + " ".join(rest))
"""
GROUPS = {"understudy.dev": "v1alpha1"}


@dataclass(frozen=True)
class Cluster:
    fake: FakeApi
    home: Path

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The plugin, as kubectl starts it."""
        found = {**os.environ, "PATH": f"{self.home}:{os.environ['PATH']}", **environment}
        return subprocess.run(
            [str(BIN / "kubectl-understudy"), *words],
            capture_output=True,
            text=True,
            check=False,
            env=found,
            cwd=self.home,
            timeout=60,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        found = {**os.environ, "PATH": f"{self.home}:{os.environ['PATH']}"}
        command = [str(BIN / "kubectl-understudy"), *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=found, cwd=self.home)

    def log(self, pod: str, text: str) -> None:
        (self.home / "logs" / pod).write_text(text)

    def page(self, pod: str, page: Json) -> None:
        (self.home / "pages" / pod).write_text(json.dumps(page))

    def forbid(self, *plurals: str) -> None:
        (self.home / "forbidden").write_text(" ".join(plurals))

    def pod(self, name: str, role: str, image: str = IMAGE, **more: Any) -> Json:
        part = {"understudy.dev/sink": "out"} if role == "sink" else {"understudy.dev/subjob": "keep"}
        labels = {
            "understudy.dev/job": "demo",
            "understudy.dev/instance": name,
            "understudy.dev/role": role,
        } | part
        metadata = {"name": name, "namespace": "apps", "labels": labels}
        spec = {"containers": [{"name": "main", "image": image, **more}]}
        status = {"phase": "Running", "containerStatuses": [{"restartCount": 0}]}
        return self.fake.put("pods", {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})


@contextmanager
def cluster(home: Path) -> Iterator[Cluster]:
    """With the job `demo`: a subjob `keep` with a primary and a standby, and a sink `out`."""
    fake = FakeApi()
    for folder in ("logs", "pages"):
        (home / folder).mkdir()
    with fake.listening() as url:
        script = KUBECTL.format(python=sys.executable, groups=GROUPS, home=str(home), url=url)
        (home / "kubectl").write_text(script)
        (home / "kubectl").chmod(0o755)
        found = Cluster(fake, home)
        _fill(found)
        yield found


def _fill(found: Cluster) -> None:
    spec = {"subjobs": [{"name": "keep"}], "sinks": [{"name": "out", "input": "keep"}]}
    metadata = {"name": "demo", "namespace": "apps"}
    found.fake.put("streamjobs", {"kind": "StreamJob", "metadata": metadata, "spec": spec})
    for name, role in (("demo-keep-0", "primary"), ("demo-keep-1", "secondary"), ("demo-sink-out", "sink")):
        found.pod(name, role)
        found.log(name, f"{name} began\n{name} goes on\n")
        found.page(name, {"version": "1.0", "state": "ready"})
    labels = {
        "app.kubernetes.io/name": "understudy-operator",
        "app.kubernetes.io/version": "0.1.0",
        "helm.sh/chart": "understudy-0.2.0",
    }
    found.fake.put(
        "deployments",
        {
            "kind": "Deployment",
            "metadata": {"name": "understudy", "namespace": "understudy", "labels": labels},
            "spec": {"template": {"spec": {"containers": [{"image": IMAGE}]}}},
            "status": {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2},
        },
    )
    for kind in ("streamjobs", "incidents", "failoverdrills", "migrations"):
        crd = {"group": "understudy.dev", "versions": [{"name": "v1alpha1", "served": True}]}
        found.fake.put(
            "customresourcedefinitions", {"metadata": {"name": f"{kind}.understudy.dev"}, "spec": crd}
        )
