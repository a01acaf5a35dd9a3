"""`kubectl understudy versions`: what runs where, and what does not fit together.

Exit code 1: something does not fit. What the reader's rights do not show is said to be unknown, and is not
taken for a fault.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from understudy import __version__
from understudy.cli import output
from understudy.cli.kubectl import JOBS, Kubectl, NoAnswer, NoSuchJob
from understudy.cli.terminal import Part, table
from understudy.control import names
from understudy.model.words import GROUP, VERSION

Json = Mapping[str, Any]

KINDS: Final = ("streamjobs", "incidents", "failoverdrills", "migrations")
OPERATOR: Final = "app.kubernetes.io/name=understudy-operator"
CHART: Final = "helm.sh/chart"
RELEASE: Final = "app.kubernetes.io/version"

EXAMPLE: Final = """\
  kubectl understudy versions
  kubectl understudy versions -o json
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the API server shows. None: it refused to."""

    deployments: Sequence[Json] | None
    crds: Sequence[Json] | None
    pods: Sequence[Json] | None
    jobs: Sequence[Json] | None
    unknown: Sequence[str] = field(default=())


def add(parser: argparse.ArgumentParser) -> None:
    output.add(parser)


def run(kubectl: Kubectl, args: argparse.Namespace) -> int:
    facts = facts_of(look(kubectl))
    output.tell(args, facts, *parts(facts))
    return 1 if facts["misfits"] else 0


def look(kubectl: Kubectl) -> Seen:
    refused: list[str] = []

    def get(*arguments: str) -> Sequence[Json] | None:
        return _unless_refused(lambda: kubectl.list(*arguments), refused)

    deployments = get("deployments.apps", "--all-namespaces", "-l", OPERATOR)
    crds = get("customresourcedefinitions.apiextensions.k8s.io")
    pods = get("pods", "--all-namespaces", "-l", names.JOB)
    jobs = get(JOBS, "--all-namespaces")
    if all(each is None for each in (deployments, crds, pods, jobs)):
        raise NoAnswer(refused[0])
    return Seen(deployments, crds, pods, jobs, refused)


def _unless_refused(ask: Callable[[], Sequence[Json]], refused: list[str]) -> Sequence[Json] | None:
    try:
        return ask()
    except (NoAnswer, NoSuchJob) as error:
        refused.append(str(error))
        return None


def facts_of(seen: Seen) -> dict[str, Any]:
    operators = [_operator(each) for each in seen.deployments or ()]
    served = {
        each["metadata"]["name"].removesuffix(f".{GROUP}"): [
            v["name"] for v in each["spec"]["versions"] if v["served"]
        ]
        for each in seen.crds or ()
        if each["spec"]["group"] == GROUP
    }
    own = set(_own_images(seen.jobs or ()))
    pods = [_pod(each) for each in seen.pods or ()]
    misfits = [*_operators(seen, operators), *_kinds(seen, served), *_images(operators, pods, own)]
    return {
        "plugin": __version__,
        "operators": operators,
        "crds": served,
        "pods": pods,
        "misfits": misfits,
        "unknown": list(seen.unknown),
    }


def _operator(deployment: Json) -> dict[str, Any]:
    metadata, status = deployment["metadata"], deployment.get("status") or {}
    labels = metadata.get("labels") or {}
    (container, *_) = deployment["spec"]["template"]["spec"]["containers"]
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "version": labels.get(RELEASE),
        "chart": labels.get(CHART),
        "image": container["image"],
        "replicas": status.get("replicas", 0),
        "updated": status.get("updatedReplicas", 0),
        "ready": status.get("readyReplicas", 0),
    }


def _pod(pod: Json) -> dict[str, Any]:
    metadata = pod["metadata"]
    labels = metadata.get("labels") or {}
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "job": labels.get(names.JOB),
        "subjob": labels.get(names.SUBJOB),
        "image": pod["spec"]["containers"][0]["image"],
    }


def _own_images(jobs: Sequence[Json]) -> Iterator[tuple[str, str, str]]:
    """Subjobs whose manifest names an image of their own: namespace, job, subjob."""
    for job in jobs:
        metadata = job["metadata"]
        for subjob in job["spec"].get("subjobs") or ():
            if subjob.get("image"):
                yield metadata["namespace"], metadata["name"], subjob["name"]


def _operators(seen: Seen, operators: Sequence[Json]) -> Iterator[str]:
    if seen.deployments is not None and not operators:
        yield "No operator is installed. `helm install understudy charts/understudy` installs one"
    for each in operators:
        name = f"The operator {each['namespace']}/{each['name']}"
        if each["version"] != __version__:
            yield (
                f"{name} is version {each['version']}, this plugin is {__version__}. "
                "Install the plugin of the operator's version, or upgrade the operator"
            )
        if not each["ready"]:
            yield f"{name} has no pod that is ready. See its events and logs"
        if each["updated"] != each["replicas"]:
            yield (
                f"{name} runs pods of an earlier version: {each['updated']} of "
                f"{each['replicas']} are updated. Wait for its rollout"
            )


def _kinds(seen: Seen, served: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for kind in KINDS if seen.crds is not None else ():
        if kind not in served:
            yield f"There is no {kind}.{GROUP}. `helm upgrade` with crds.install=true installs it"
        elif VERSION not in served[kind]:
            yield (
                f"The cluster serves {kind}.{GROUP} as {', '.join(served[kind]) or 'no version'}, "
                f"this plugin reads {VERSION}. Install the plugin of the chart's version"
            )


def _images(operators: Sequence[Json], pods: Sequence[Json], own: set[tuple[str, str, str]]) -> Iterator[str]:
    images = {each["image"] for each in operators}
    expected = ", ".join(sorted(images))
    for pod in pods:
        known = (pod["namespace"], pod["job"], pod["subjob"]) in own
        if images and pod["image"] not in images and not known:
            yield (
                f"The pod {pod['namespace']}/{pod['name']} runs {pod['image']}, the operator {expected}. "
                "A pod keeps its image until it is replaced"
            )


def parts(facts: Json) -> tuple[Part, ...]:
    told: list[Part] = [f"plugin {facts['plugin']}"]
    if facts["operators"]:
        heads = ("OPERATOR", "VERSION", "CHART", "READY", "IMAGE")
        told.append(table(heads, [_operator_row(each) for each in facts["operators"]]))
    if facts["crds"]:
        rows = [[kind, ", ".join(versions)] for kind, versions in facts["crds"].items()]
        told.append(table(("CRD", "SERVED"), rows))
    if facts["pods"]:
        rows = [[f"{pod['namespace']}/{pod['name']}", pod["image"]] for pod in facts["pods"]]
        told.append(table(("POD", "IMAGE"), rows))
    told += ["\n".join((f"{title}:", *facts[key])) for key, title in SENTENCES if facts[key]]
    if not facts["misfits"]:
        told.append(
            "As far as it is known, all of this fits together."
            if facts["unknown"]
            else "All of this fits together."
        )
    return tuple(told)


SENTENCES: Final = (
    ("misfits", "Does not fit"),
    ("unknown", "Not known, because the API server refused to answer"),
)


def _operator_row(each: Json) -> tuple[str, ...]:
    ready = f"{each['ready']}/{each['replicas']}"
    name = f"{each['namespace']}/{each['name']}"
    return name, each["version"] or "-", each["chart"] or "-", ready, each["image"]
