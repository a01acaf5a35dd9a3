"""Decides whether a manifest is a job that may run, or gives the reasons why not."""

from __future__ import annotations

from collections.abc import Mapping

from understudy.model.allowed import NOTHING_MORE, Allowed
from understudy.model.checks import cluster
from understudy.model.job import StreamJob
from understudy.model.load import from_manifest
from understudy.model.plan import SubjobPlan, plan
from understudy.model.refusal import Refusal, path, refuse
from understudy.model.validate import check


def admit(manifest: Mapping[str, object], allowed: Allowed = NOTHING_MORE) -> StreamJob | tuple[Refusal, ...]:
    """The job with every mode decided. `auto` is replaced by the mode that the plan chose, so that an upgrade
    of the operator does not change it."""
    job = from_manifest(manifest)
    if not isinstance(job, StreamJob):
        return tuple(job)
    plans = check(job) or plan(job)
    if not isinstance(plans, Mapping):
        return tuple(plans)
    return cluster.faults(job, allowed) or shared_volumes(job) or _decided(job, plans)


def plans_of(job: StreamJob | None) -> Mapping[str, SubjobPlan]:
    """The plans of a job that was admitted."""
    plans = plan(job) if job else {}
    return plans if isinstance(plans, Mapping) else {}


def shared_volumes(job: StreamJob) -> tuple[Refusal, ...]:
    """A sink's volume is its folder: two sinks that share one would write the same file."""
    volumes = [(n, sink.target.pod_volume) for n, sink in enumerate(job.sinks) if sink.target.pod_volume]
    return tuple(
        refuse(
            "VolumeShared",
            path("spec", "sinks", place, job.sinks[place].kind, "volume"),
            "another sink has the same volume; give each sink a volume of its own",
        )
        for place, volume in volumes
        if any(other == volume for earlier, other in volumes if earlier < place)
    )


def _decided(job: StreamJob, plans: Mapping[str, SubjobPlan]) -> StreamJob:
    subjobs = tuple(
        subjob.model_copy(
            update={"ha": subjob.ha.model_copy(update={"mode": plans[subjob.name].choice.mode})}
        )
        for subjob in job.subjobs
    )
    return job.model_copy(update={"subjobs": subjobs})
