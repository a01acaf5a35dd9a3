"""What a job may not use on a cluster, or only where the chart's values allow it: volumes, paths, Jobs, Spark
settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any, Final

from ..allowed import SECRET_FIELDS, SECRET_VOLUMES, VALUE, VOLUMES, Allowed
from ..job import StreamJob
from ..refusal import Refusal, listed, path, refuse
from ..spark_settings import ALWAYS, is_allowed, why_never

REASON: Final = "NotAllowed"


def faults(job: StreamJob, allowed: Allowed) -> tuple[Refusal, ...]:
    found = (*_volumes(job, allowed), *_paths(job), *_job_templates(job, allowed), *_settings(job, allowed))
    return tuple(found)


# ---- volumes ---------------------------------------------------------------------------------------------


def _volumes(job: StreamJob, allowed: Allowed) -> Iterator[Refusal]:
    sources = [(path("spec", "sources", n, s.kind), s.origin.pod_volume) for n, s in enumerate(job.sources)]
    sinks = [(path("spec", "sinks", n, s.kind), s.target.pod_volume) for n, s in enumerate(job.sinks)]
    for place, volume in (*sources, *sinks):
        if volume is not None and (why := _why_no_volume(volume, allowed)):
            yield refuse(REASON, f"{place}.volume", why)


def _why_no_volume(volume: Mapping[str, Any], allowed: Allowed) -> str | None:
    kinds = listed(list(VOLUMES))
    if len(volume) != 1 or not all(isinstance(source, Mapping) for source in volume.values()):
        return f"a volume is a mapping with one key, its kind; write {kinds}"
    ((kind, source),) = volume.items()
    if kind in SECRET_VOLUMES:
        return (
            f"a {kind} volume is not allowed, because {SECRET_VOLUMES[kind]}, and no chart value allows it; "
            f"write {kinds}"
        )
    if named := sorted(_names_a_secret(source)):
        return (
            f"{named[0]} names a Secret, which a volume may not, and no chart value allows it; leave it out"
        )
    match kind:
        case "hostPath":
            return _why_no_folder(source, allowed)
        case "csi":
            return _why_no_driver(source, allowed)
        case _ if kind in VOLUMES or kind in allowed.volumes:
            return None
        case _:
            instead = f"or have {kind} added to the chart value {VALUE}.volumes"
            return f"{kind} volumes are not allowed; write {kinds}, {instead}"


def _names_a_secret(source: object) -> Iterator[str]:
    match source:
        case Mapping():
            yield from (key for key in source if key in SECRET_FIELDS)
            for inner in source.values():
                yield from _names_a_secret(inner)
        case list() | tuple():
            for inner in source:
                yield from _names_a_secret(inner)


def _why_no_folder(source: Mapping[str, Any], allowed: Allowed) -> str | None:
    folder = str(source.get("path", ""))
    inside = folder.startswith("/") and ".." not in PurePosixPath(folder).parts
    if inside and any(PurePosixPath(normpath(folder)).is_relative_to(one) for one in allowed.host_paths):
        return None
    return (
        f"hostPath volumes are folders of the node, and {folder or 'a node'} is not an allowed one; write a "
        f"persistentVolumeClaim, or have the folder added to the chart value {VALUE}.hostPaths"
    )


def _why_no_driver(source: Mapping[str, Any], allowed: Allowed) -> str | None:
    driver = str(source.get("driver", ""))
    if driver in allowed.csi_drivers:
        return None
    return (
        f"the csi driver {driver or 'of a volume'} is not an allowed one; write a persistentVolumeClaim, or "
        f"have the driver added to the chart value {VALUE}.csiDrivers"
    )


# ---- paths, Jobs, Spark settings -------------------------------------------------------------------------


def _paths(job: StreamJob) -> Iterator[Refusal]:
    """A sink's path is checked for every job; the folder itself is its volume."""
    for n, source in enumerate(job.sources):
        written, field = source.origin.read_from, path("spec", "sources", n, source.kind, "path")
        if written is None:
            continue
        if ".." in PurePosixPath(written).parts:
            yield refuse("InvalidPath", field, f"{written} leads out of its volume; write a path without ..")
        elif written.startswith("/") and not source.origin.pod_volume:
            what = f"{written} is a path of the pod's own files"
            yield refuse("InvalidPath", field, f"{what}; give the source a volume, whose files it names then")


def _job_templates(job: StreamJob, allowed: Allowed) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        declared = subjob.ha.on_permanent_failure
        if declared and declared.process and not allowed.job_templates:
            what = "a Job with any account, image and volume would run for whoever may write StreamJobs"
            instead = f"write an alternative, or have the chart value {VALUE}.jobTemplates set to true"
            field = path("spec", "subjobs", n, "ha", "onPermanentFailure", "process", "jobTemplate")
            yield refuse(REASON, field, f"{what}; {instead}")


def _settings(job: StreamJob, allowed: Allowed) -> Iterator[Refusal]:
    """Settings that no job may contain are refused everywhere, in `built.spark_settings`."""
    for n, subjob in enumerate(job.subjobs):
        for name in subjob.spark.conf:
            if not why_never(name) and not is_allowed(name, allowed.spark_settings):
                what = f"{name} is not an allowed Spark setting"
                instead = f"write one of {', '.join(ALWAYS)}, or have it added to the chart value"
                field = path("spec", "subjobs", n, "spark", "conf", name)
                yield refuse(REASON, field, f"{what}; {instead} {VALUE}.sparkSettings")
