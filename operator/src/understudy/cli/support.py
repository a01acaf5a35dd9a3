"""`kubectl understudy support`: all that somebody who was not there needs to see, in one file.

The file is a .tar.gz with the job's objects, status pages, logs, incidents, events and versions. Secrets are
not read. Values whose names look secret are left out, everywhere. Read the file before you send it: logs and
manifests contain what you wrote into them.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from understudy import __version__
from understudy.cli import output, pages, redaction, reporting, versions
from understudy.cli.kubectl import INCIDENTS, Kubectl, NoAnswer, NoSuchJob
from understudy.cli.terminal import plain
from understudy.control import names

Json = dict[str, Any]

KINDS: Final = {
    "pods": "pods",
    "leases": "leases.coordination.k8s.io",
    "services": "services",
    "configmaps": "configmaps",
    "disruption-budgets": "poddisruptionbudgets.policy",
    "network-policies": "networkpolicies.networking.k8s.io",
    "jobs": "jobs.batch",
    "incidents": INCIDENTS,
}
"""Objects with the label of the job. Secrets are not among them."""

ORDERS: Final = {"drills": "failoverdrills.understudy.dev", "migrations": "migrations.understudy.dev"}
"""Objects that name the job in their spec; whoever made them may have given them no label."""

EXAMPLE: Final = """\
  kubectl understudy support telemonitoring
  kubectl understudy support telemonitoring --file /tmp/incident.tar.gz --since 2h
"""

README: Final = """\
A support bundle of the StreamJob {job}, made on {when} by the plugin {version}.

  status.txt, report.json  what `kubectl understudy status` and `report` said at that moment
  versions.json            what runs where, and what does not fit together
  objects/                 the objects of the job, the operator's Deployment, and the nodes
  pages/                   the status page of each process
  logs/                    of each pod; NAME.previous.log is of the container before the last restart
  missing.txt              what could not be read, and why

Secrets were not read. Values whose names look secret are replaced by {left_out}.
"""


@dataclass
class Bundle:
    """Files by name. What could not be read is a sentence in `missing`."""

    job: str
    since: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def attempt(self, what: str, read: Callable[[], Any]) -> Any:
        """What was read, or None."""
        try:
            return read()
        except (NoAnswer, NoSuchJob, ValueError) as error:
            self.missing.append(f"{what}: {error}")
            return None

    def finished(self, now: float) -> Iterator[tuple[str, str]]:
        """The files without secrets."""
        known = frozenset(redaction.secrets_of(list(self.objects.values())))
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        head = README.format(job=self.job, when=when, version=__version__, left_out=redaction.LEFT_OUT)
        yield "README.txt", head
        for name, found in self.objects.items():
            form = "json" if name.endswith(".json") else "yaml"
            yield name, redaction.without(output.encoded(redaction.redacted(found), form), known)
        for name, text in [*self.texts.items(), ("missing.txt", "\n".join(self.missing))]:
            yield name, redaction.without(redaction.scrubbed(text), known)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job")
    parser.add_argument(
        "--file", type=Path, help="where to write (default: understudy-support-JOB-TIME.tar.gz here)"
    )
    parser.add_argument(
        "--since", metavar="2h", help="only log lines that are not older than this (default: all)"
    )
    output.add(parser)


def run(kubectl: Kubectl, args: argparse.Namespace) -> int:
    now = time.time()
    job = kubectl.job(args.job)
    bundle = Bundle(args.job, args.since)
    collect(kubectl, job, bundle, now)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    path = args.file or Path(f"understudy-support-{args.job}-{stamp}.tar.gz")
    try:
        count = write(path, f"understudy-support-{args.job}-{stamp}", bundle.finished(now), now)
    except OSError as error:
        raise NoAnswer(
            f"{path} can't be written: {error.strerror}. Choose another place with --file"
        ) from error
    facts = {"file": str(path), "files": count, "missing": bundle.missing}
    output.tell(
        args, facts, f"{path} has {count} files. Read them before you send it.", *_missing(bundle.missing)
    )
    return 0


def _missing(missing: list[str]) -> list[str]:
    return [f"{len(missing)} things could not be read; missing.txt in it says why."] if missing else []


def write(path: Path, folder: str, files: Iterator[tuple[str, str]], now: float) -> int:
    """How many files. Only the user may read the bundle."""
    count = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as target, tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in files:
            data = text.encode()
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), int(now), 0o600
            archive.addfile(entry, io.BytesIO(data))
            count += 1
    return count


def collect(kubectl: Kubectl, job: Json, bundle: Bundle, now: float) -> None:
    bundle.objects["objects/streamjob.yaml"] = job
    selector = f"{names.JOB}={bundle.job}"
    for name, kind in KINDS.items():
        _objects(bundle, name, lambda kind=kind: kubectl.list(kind, "-l", selector))  # type: ignore[misc]
    for name, kind in ORDERS.items():
        _objects(bundle, name, lambda kind=kind: _of_job(kubectl.list(kind), bundle.job))  # type: ignore[misc]
    _objects(bundle, "events", lambda: [e for e in kubectl.list("events") if _concerns(e, bundle)])
    _objects(bundle, "nodes", lambda: kubectl.list("nodes"))
    _objects(bundle, "operator", lambda: kubectl.list("deployments.apps", "-A", "-l", versions.OPERATOR))
    _said(kubectl, job, bundle, now)
    for pod in bundle.objects.get("objects/pods.yaml") or ():
        _pod(kubectl, pod, bundle)
    _operator_logs(kubectl, bundle)


def _objects(bundle: Bundle, name: str, read: Callable[[], Any]) -> None:
    found = bundle.attempt(name, read)
    if found is not None:
        bundle.objects[f"objects/{name}.yaml"] = found


def _of_job(found: list[Json], job: str) -> list[Json]:
    return [each for each in found if each["spec"].get("job") == job]


def _concerns(event: Json, bundle: Bundle) -> bool:
    """Whether an event is about the job or an object whose name begins with the job's."""
    about = (event.get("involvedObject") or event.get("regarding") or {}).get("name", "")
    return bool(about == bundle.job or about.startswith(f"{bundle.job}-"))


def _said(kubectl: Kubectl, job: Json, bundle: Bundle, now: float) -> None:
    incidents = bundle.objects.get("objects/incidents.yaml") or []
    bundle.texts["status.txt"] = plain(*pages.status_page(job, incidents, int(now * 1000)).parts)
    bundle.objects["report.json"] = reporting.report_of(job, incidents)
    found = bundle.attempt("versions", lambda: versions.facts_of(versions.look(kubectl)))
    if found is not None:
        bundle.objects["versions.json"] = found


def _pod(kubectl: Kubectl, pod: Json, bundle: Bundle) -> None:
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    place = f"/api/v1/namespaces/{namespace}/pods/{name}:{names.STATUS_PORT}/proxy/status"
    page = bundle.attempt(f"status page of {name}", lambda: json.loads(kubectl.read("get", "--raw", place)))
    if page is not None:
        bundle.objects[f"pages/{name}.json"] = page
    _log(kubectl, bundle, name, name)
    if any(each.get("restartCount") for each in (pod.get("status") or {}).get("containerStatuses") or ()):
        _log(kubectl, bundle, f"{name}.previous", name, "--previous")


def _operator_logs(kubectl: Kubectl, bundle: Bundle) -> None:
    pods = bundle.attempt("operator's pods", lambda: kubectl.list("pods", "-A", "-l", versions.OPERATOR))
    for pod in pods or ():
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        _log(kubectl, bundle, name, name, f"--namespace={namespace}")


def _log(kubectl: Kubectl, bundle: Bundle, file: str, *arguments: str) -> None:
    since = [f"--since={bundle.since}"] if bundle.since else []
    text = bundle.attempt(f"log {file}", lambda: kubectl.read("logs", *arguments, "--all-containers", *since))
    if text is not None:
        bundle.texts[f"logs/{file}.log"] = text
