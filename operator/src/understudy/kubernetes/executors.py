"""Executors of a subjob's driver: the settings that make Spark create them as the operator would.

Spark runs in client mode in the instance's process, and creates the executors' pods itself. They belong to
the driver's pod, so they are deleted with it. They run on other nodes than the driver where possible, and
fetch their rows from the driver's Flight server with its certificate.
"""

from __future__ import annotations

import json
from typing import Any, Final

from understudy.control import names
from understudy.engine.executors import EXECUTORS
from understudy.kubernetes.api import SERVICE_ACCOUNT
from understudy.kubernetes.settings import PodSettings
from understudy.model.job import Subjob

Json = dict[str, Any]

DRIVER: Final = "$(POD_NAME)"  # Kubernetes replaces it by the pod's name
ADDRESS: Final = "$(POD_IP)"
ROLE: Final = "executor"


def executors_told(namespace: str, job: str, subjob: Subjob, settings: PodSettings, pod: Json) -> Json:
    """The entry in the driver's environment. `pod`: the spec of the driver's pod, after which executors' pods
    are modelled."""
    told = {"conf": executor_settings(namespace, subjob, settings), "template": _template(job, pod)}
    return {"name": EXECUTORS, "value": json.dumps(told)}


def executor_settings(namespace: str, subjob: Subjob, settings: PodSettings) -> dict[str, str]:
    driver = subjob.spark.driver
    return {
        "spark.master": "k8s://https://kubernetes.default.svc",
        "spark.submit.deployMode": "client",
        "spark.driver.host": ADDRESS,
        "spark.driver.bindAddress": ADDRESS,
        # only processes with the secret, which is in the executors' environment, can talk to driver or
        # executors
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.kubernetes.namespace": namespace,
        "spark.kubernetes.driver.pod.name": DRIVER,
        "spark.kubernetes.authenticate.oauthTokenFile": str(SERVICE_ACCOUNT / "token"),
        "spark.kubernetes.authenticate.caCertFile": str(SERVICE_ACCOUNT / "ca.crt"),
        "spark.kubernetes.container.image": settings.image,
        "spark.kubernetes.container.image.pullPolicy": settings.image_pull_policy,
        "spark.kubernetes.container.image.pullSecrets": ",".join(settings.image_pull_secrets),
        "spark.executor.instances": str(subjob.spark.executors.instances),
        "spark.executor.cores": str(driver.cores),
        "spark.executor.memory": driver.memory.removesuffix("i").lower(),
        "spark.executor.memoryOverhead": f"{settings.memory_overhead_mi}m",
        "spark.kubernetes.executor.request.cores": f"{driver.cores * settings.cpu_per_core_milli}m",
        # a stream has no end: only executors that fail repeatedly within this time end it
        "spark.executor.failuresValidityInterval": "10m",
        # would need further rights
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
    }


def _template(job: str, pod: Json) -> Json:
    """Restricted like the driver, with the same certificate, and without an account."""
    (driver,) = pod["containers"]
    mine = {mount["name"] for mount in driver["volumeMounts"]} - {"manifest"}
    container = {
        "name": ROLE,
        "securityContext": driver["securityContext"],
        "env": [entry for entry in driver["env"] if entry["name"] not in ("POD_NAME", "POD_IP")],
        "volumeMounts": [mount for mount in driver["volumeMounts"] if mount["name"] in mine],
    }
    copied = ("nodeSelector", "tolerations", "securityContext", "enableServiceLinks")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {names.JOB: job, names.ROLE: ROLE, names.DRIVER: DRIVER}},
        "spec": {
            **{key: pod[key] for key in copied},
            "automountServiceAccountToken": False,
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": _apart()}},
            "containers": [container],
            "volumes": [volume for volume in pod["volumes"] if volume["name"] in mine],
        },
    }


def _apart() -> list[Json]:
    """Away from the driver first, then from each other."""

    def term(weight: int, label: str) -> Json:
        selector = {"matchLabels": {label: DRIVER}}
        wish = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        return {"weight": weight, "podAffinityTerm": wish}

    return [term(100, names.INSTANCE), term(50, names.DRIVER)]
