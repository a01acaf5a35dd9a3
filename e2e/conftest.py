"""The end-to-end suite: a real cluster (KUBECONFIG), the chart installed with helm, kubectl as a user would
use it.

UNDERSTUDY_IMAGE names the image, which the nodes must have or be able to pull. E2E_PATIENCE multiplies all
waiting times, for machines that are busy with other things.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubectl import Namespace, run, until

CHART = Path(__file__).parents[1] / "charts" / "understudy"
PREVIOUS = Path(__file__).parent / "previous" / "understudy-0.1.0.tgz"
CRDS = Path(__file__).parents[1] / "crds"
IMAGE = os.environ.get("UNDERSTUDY_IMAGE", "localhost/understudy:dev")
SYSTEM = "understudy-system"
# What the suite's jobs use and a chart does not allow by itself.
ALLOWED = ("jobs.allow.jobTemplates=true",)


def install(chart: Path, *more: str) -> None:
    repository, _, tag = IMAGE.rpartition(":")
    allowed = ALLOWED if chart == CHART else ()
    settings = [f"image.repository={repository}", f"image.tag={tag}", *allowed, *more]
    run("helm", "upgrade", "--install", "understudy", str(chart), "--namespace", SYSTEM, "--create-namespace",
        "--set", ",".join(settings), "--wait", "--timeout", "3m")  # fmt: skip


def made(name: str) -> Namespace:
    """A namespace that enforces the restricted profile."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    run("kubectl", "apply", "-f", "-", stdin=json.dumps(body))
    until(
        "the namespace has its default account", lambda: Namespace(name).get("serviceaccount", "default"), 30
    )
    return Namespace(name)


@pytest.fixture(scope="session")
def operator() -> Iterator[Namespace]:
    """The chart, installed; the namespace of the operator."""
    install(CHART)
    yield Namespace(SYSTEM)
    run("helm", "uninstall", "understudy", "--namespace", SYSTEM, "--wait")


@pytest.fixture(scope="module")
def namespace(operator: Namespace, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace of the module's own, gone afterwards with all that is in it."""
    found = made(request.module.__name__.replace("_", "-"))
    yield found
    run("kubectl", "delete", "namespace", found.name, "--wait=false")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """What the cluster looked like when a test failed."""
    report = (yield).get_result()  # type: ignore[func-returns-value,attr-defined]
    if report.failed:
        for title, command in {
            "StreamJobs": ["kubectl", "get", "sj", "-A", "-o", "yaml"],
            "pods": ["kubectl", "get", "pods", "-A", "-o", "wide"],
            "events": ["kubectl", "get", "events", "-A", "--sort-by=.lastTimestamp"],
            "operator": ["kubectl", "-n", SYSTEM, "logs", "deployment/understudy", "--tail=60"],
        }.items():
            try:
                report.sections.append((title, run(*command)[-6000:]))
            except AssertionError as error:
                report.sections.append((title, str(error)))
