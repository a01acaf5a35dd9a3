"""What pods need before they are made: an account, the manifest, a Service and a Lease for each subjob. Also
removes what an edit left over."""

from __future__ import annotations

from understudy.control import names
from understudy.control.certificates import plan_certificate
from understudy.control.intents import (
    DeletePod,
    EnsureBudget,
    EnsureLease,
    EnsureManifest,
    EnsureNetworkPolicy,
    EnsureRole,
    EnsureRoleBinding,
    EnsureService,
    EnsureServiceAccount,
    Intent,
    Kind,
    Record,
    Remove,
)
from understudy.control.observed import Observed
from understudy.model.job import StreamJob


def plan_foundation(seen: Observed, job: StreamJob) -> tuple[Intent, ...]:
    return (
        *plan_certificate(seen),
        *_access(seen, job),
        *_manifest(seen),
        *_subjobs(seen, job),
        *_safeguards(seen, job),
    )


def _access(seen: Observed, job: StreamJob) -> tuple[Intent, ...]:
    leases = frozenset(names.lease(seen.name, subjob.name) for subjob in job.subjobs)
    plan: list[Intent] = []
    if not seen.access.account:
        plan.append(EnsureServiceAccount("the job's pods act under an account of their own"))
    executors = any(subjob.spark.executors.instances for subjob in job.subjobs)
    if (seen.access.leases, seen.access.executors) != (leases, executors):
        besides = "make pods for executors" if executors else "nothing else"
        plan.append(
            EnsureRole(leases, executors, f"the job's pods may touch the job's own Leases and {besides}")
        )
    if not seen.access.bound:
        plan.append(EnsureRoleBinding("the account gets its Role"))
    return tuple(plan)


def _manifest(seen: Observed) -> tuple[Intent, ...]:
    """Makes the manifest before the record names it. Pods are made after that."""
    revision = seen.revision
    plan: list[Intent] = []
    if revision not in seen.manifests:
        plan.append(EnsureManifest(revision, "pods read the job as it was accepted"))
    generation = seen.run.generation if seen.run and seen.refusals else seen.generation
    if seen.run is None or (seen.run.revision, seen.run.generation) != (revision, generation):
        entries = {"revision": revision, "generation": str(generation)}
        plan.append(Record(entries, f"generation {generation} was accepted as revision {revision}"))
    return tuple(plan)


def _subjobs(seen: Observed, job: StreamJob) -> tuple[Intent, ...]:
    plan: list[Intent] = []
    for subjob in job.subjobs:
        if names.service(seen.name, subjob.name) not in seen.services:
            plan.append(EnsureService(subjob.name, f"consumers find the instances of {subjob.name} by name"))
        if seen.lease(subjob.name) is None:
            plan.append(_lease(seen, subjob.name))
    return tuple(plan)


def _safeguards(seen: Observed, job: StreamJob) -> tuple[Intent, ...]:
    plan: list[Intent] = []
    if seen.safeguards.policy is False:
        plan.append(EnsureNetworkPolicy("only the job's own pods and the operator may speak to its pods"))
    missing = _budgets(seen, job) - (seen.safeguards.budgets or frozenset())
    for subjob in job.subjobs:
        if names.budget(seen.name, subjob.name) in missing:
            plan.append(EnsureBudget(subjob.name, f"a drain waits until {subjob.name} has moved"))
    return tuple(plan)


def _budgets(seen: Observed, job: StreamJob) -> frozenset[str]:
    """Protects every primary from eviction, also one without a standby: it moves before its node is
    emptied."""
    if seen.safeguards.budgets is None:
        return frozenset()
    return frozenset(names.budget(seen.name, s.name) for s in job.subjobs)


def _lease(seen: Observed, subjob: str) -> EnsureLease:
    """Makes the Lease. Epochs never decrease: if somebody deleted the Lease, the new one continues from the
    highest known epoch."""
    pages = [(page.epoch, pod) for pod in seen.instances(subjob) if (page := seen.instance_page(pod.name))]
    leading = [(epoch, pod) for epoch, pod in pages if (p := seen.instance_page(pod.name)) and p.leads]
    newest = max([seen.before(subjob).get("epoch") or 0, *(epoch for epoch, _ in pages)])
    holder = next((pod for epoch, pod in leading if epoch == newest), None)
    address = f"{holder.ip}:{names.FLIGHT_PORT}" if holder and holder.ip else None
    why = f"who leads {subjob} is settled by its Lease" + (
        f"; it counts on from epoch {newest}" if newest else ""
    )
    return EnsureLease(subjob, holder.name if holder else None, address, newest, why)


# ---- leftovers of an edit --------------------------------------------------------------------------------


def plan_leftovers(seen: Observed, job: StreamJob) -> tuple[Intent, ...]:
    """Removes pods first: a Lease or a manifest goes only when no pod uses it."""
    parts = {subjob.name for subjob in job.subjobs}
    sinks = {sink.name for sink in job.sinks}
    stray = [pod for pod in seen.pods if pod.part not in (sinks if pod.is_sink else parts)]
    kept = {
        names.lease(seen.name, part) for part in parts | {pod.part for pod in seen.pods if not pod.is_sink}
    }
    revisions = {seen.revision, *(pod.revision for pod in seen.pods)}
    if seen.run:
        revisions.add(seen.run.revision)
    why = "the job no longer has it"
    return (
        *(
            DeletePod(p.name, False, f"{p.name} is removed: {why} ({p.part})")
            for p in stray
            if not p.terminating
        ),
        *(Remove(Kind.SERVICE, name, f"{name}: {why}") for name in sorted(seen.services - kept)),
        *(
            Remove(Kind.BUDGET, name, f"{name}: {why}")
            for name in sorted((seen.safeguards.budgets or frozenset()) - _budgets(seen, job))
        ),
        *(
            Remove(Kind.LEASE, lease.name, f"{lease.name}: {why}")
            for lease in seen.leases
            if lease.job == seen.name and lease.name not in kept
        ),
        *(
            Remove(
                Kind.MANIFEST,
                names.manifest(seen.name, revision),
                f"no pod was started with revision {revision}",
            )
            for revision in sorted(seen.manifests - revisions)
        ),
    )
