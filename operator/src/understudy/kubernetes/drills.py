"""Observe → decide → act, for one FailoverDrill at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, assert_never

import structlog

from understudy.control import drills, names
from understudy.control.drills import SeenDrill, Step, decide_drill
from understudy.control.intents import Emit
from understudy.control.observed import Pod
from understudy.kubernetes.act import CORE, OURS, Actor
from understudy.kubernetes.api import Api, NotFound
from understudy.kubernetes.metrics import OperatorMetrics
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.parse import incident_of, millis_of, pod_of
from understudy.kubernetes.poll import ask
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Mandate, Writer, unelected, versions
from understudy.model.kinds import DrillPhase, FailoverDrillSpec, FailoverDrillStatus, Fault
from understudy.process.clock import now_ms
from understudy.protocol.peermessage import Drill, Harm
from understudy.protocol.statuspage import InstancePage

log = structlog.get_logger()

BUSY_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 15.0

Json = dict[str, Any]


class DrillReconciler:
    def __init__(
        self,
        api: Api,
        settings: PodSettings,
        mandate: Callable[[], Mandate] = unelected,
        metrics: OperatorMetrics | None = None,
    ) -> None:
        self._api = api
        self._metrics = metrics or OperatorMetrics()
        self._mandate = mandate
        self._settings = settings

    def reconcile(self, namespace: str, name: str) -> float | None:
        """When to look again, in seconds; None if the drill is gone or over."""
        mandate = self._mandate()
        body = self._api.find(f"{OURS}/namespaces/{namespace}/failoverdrills/{name}")
        if body is None or "deletionTimestamp" in body["metadata"]:
            return None
        seen, owner = self._observe(namespace, body)
        writer = Writer(self._api, namespace, mandate, versions(OURS, "failoverdrills", [body]))
        for step in decide_drill(seen):
            log.info(f"drill {type(step).__name__}", namespace=namespace, drill=name)
            self._carry_out(writer, name, owner, step)
            before, seen = seen.status, _after(seen, step)
            self._metrics.drilled(namespace, seen.spec.job, before, seen.status)
        return _pause(seen)

    def _observe(self, namespace: str, body: Json) -> tuple[SeenDrill, Owner | None]:
        spec = FailoverDrillSpec.model_validate(body["spec"])
        job = self._api.find(f"{OURS}/namespaces/{namespace}/streamjobs/{spec.job}")
        pods = self._mine(f"{CORE}/namespaces/{namespace}/pods", spec.job) if job else []
        incidents = self._mine(f"{OURS}/namespaces/{namespace}/incidents", spec.job) if job else []
        known = tuple(pod for raw in pods if (pod := pod_of(raw)))
        seen = SeenDrill(
            now_ms=now_ms(),
            name=body["metadata"]["name"],
            created_ms=millis_of(body["metadata"]["creationTimestamp"]),
            spec=spec,
            status=FailoverDrillStatus.model_validate(body.get("status") or {}),
            job=(job.get("status") or {}) if job else None,
            pods=known,
            incidents=tuple(incident_of(incident) for incident in incidents),
            certified=bool(known) and all(pod.certificate for pod in known),
            watching=_watching(job) if job else frozenset(),
        )
        seen = replace(seen, engine_timeout_ms=_engine_timeout_ms(seen))
        return seen, Owner(spec.job, namespace, job["metadata"]["uid"]) if job else None

    def _mine(self, path: str, job: str) -> list[Json]:
        return self._api.list(path, labelSelector=f"{names.JOB}={job}")

    # ---- acting

    def _carry_out(self, writer: Writer, name: str, owner: Owner | None, step: Step) -> None:
        match step:
            case drills.WriteDown(status):
                told = status.model_dump(mode="json", by_alias=True)
                writer.change_status(OURS, "failoverdrills", name, told)
            case drills.Kill(pods):
                for pod in pods:
                    _kill(writer, pod)
            case drills.Freeze(pod, seconds):
                _order(writer, owner, pod, Harm.FREEZE, seconds)
            case drills.Hang(pod, seconds):
                _order(writer, owner, pod, Harm.HANG, seconds)
            case drills.CutOff(pod, seconds):
                _order(writer, owner, pod, Harm.PARTITION, seconds)
            case drills.Throttle(pod, seconds):
                _order(writer, owner, pod, Harm.THROTTLE, seconds)
            case drills.Tell(severity, reason, message):
                if owner:
                    Actor(self._api, writer, owner, None, self._settings).carry_out(
                        Emit(severity, reason, message)
                    )
            case _:
                assert_never(step)


def _kill(writer: Writer, pod: Pod) -> None:
    """Deletes the pod, in whatever state it is. It must be the same pod: another one with its name is left
    alone."""
    try:
        found = writer.read_again(CORE, "pods", pod.name)
    except NotFound:
        return
    if found["metadata"]["uid"] == pod.uid:
        writer.delete(CORE, "pods", pod.name, force=True)
    else:
        log.info("pod was replaced", pod=pod.name)


def _order(writer: Writer, owner: Owner | None, pod: Pod, harm: Harm, seconds: float) -> None:
    """Orders the pod to do the fault to itself."""
    writer.order(owner.name if owner else "", pod.certificate, pod.ip, Drill(harm, seconds))


def _engine_timeout_ms(seen: SeenDrill) -> int:
    """From the status page of the pod whose JVM is about to be stopped."""
    target = seen.pod(seen.status.target)
    awaited = seen.spec.fault is Fault.ENGINE_HANG and seen.status.phase is DrillPhase.RUNNING
    page = (
        ask(target) if awaited and seen.status.made_at is None and target is not None and target.ip else None
    )
    return page.engine_timeout_ms if isinstance(page, InstancePage) else 0


def _watching(job: Json) -> frozenset[str]:
    subjobs = (job.get("spec") or {}).get("subjobs") or ()
    return frozenset(
        subjob["name"] for subjob in subjobs if (subjob.get("ha") or {}).get("overload") is not None
    )


def is_open(body: Json) -> bool:
    """Whether a drill is not finished yet."""
    over = (body.get("status") or {}).get("phase") in (DrillPhase.PASSED, DrillPhase.FAILED)
    return not over or bool(body["spec"].get("schedule"))


def _after(seen: SeenDrill, step: Step) -> SeenDrill:
    return replace(seen, status=step.status) if isinstance(step, drills.WriteDown) else seen


def _pause(seen: SeenDrill) -> float | None:
    match seen.status.phase:
        case DrillPhase.PASSED | DrillPhase.FAILED:
            return IDLE_SECONDS if seen.spec.schedule else None
        case DrillPhase.PENDING if seen.spec.schedule:
            return IDLE_SECONDS
        case _:
            return BUSY_SECONDS
