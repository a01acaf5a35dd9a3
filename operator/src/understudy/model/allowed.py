"""What jobs may use of a cluster: always, and where the chart's values `jobs.allow` say so. A local run is
not restricted by this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field, StrictBool

from .value import Value

VALUE: Final = "jobs.allow"

VOLUMES: Final[Mapping[str, str]] = {
    "persistentVolumeClaim": "a claim of the job's namespace",
    "configMap": "a ConfigMap of the job's namespace",
    "emptyDir": "a folder that is created and deleted with the pod",
    "ephemeral": "a claim that is created and deleted with the pod",
}
"""Kinds of volume that every job may use."""

SECRET_VOLUMES: Final[Mapping[str, str]] = {
    "secret": "it would put a whole Secret into the pod",
    "projected": "it can put whole Secrets and tokens of the job's account into the pod",
}
"""Kinds of volume that no value allows."""

SECRET_FIELDS: Final = frozenset({"secretRef", "secretName", "nodePublishSecretRef"})
"""Fields by which a volume names a Secret, which Kubernetes then reads without asking who wrote the job."""


class Allowed(Value):
    """What the chart's values `jobs.allow` add for all jobs."""

    volumes: frozenset[str] = frozenset()
    """Further kinds of volume, such as nfs."""

    host_paths: tuple[Annotated[str, Field(pattern=r"^/")], ...] = ()
    """Folders of the nodes: a hostPath volume must be one of them, or inside one."""

    csi_drivers: frozenset[str] = frozenset()
    """Drivers of csi volumes."""

    job_templates: StrictBool = False
    """Whether a subjob may declare a Job for the case that it fails for good."""

    spark_settings: frozenset[str] = frozenset()
    """Further Spark settings; a name that ends with * stands for all that begin so."""


NOTHING_MORE: Final = Allowed()
