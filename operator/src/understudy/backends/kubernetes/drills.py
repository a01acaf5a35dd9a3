"""Observe → decide → act, for one FailoverDrill at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, assert_never

import structlog

from understudy.backends.kubernetes.act import CORE, OURS, Actor
from understudy.backends.kubernetes.api import Api, Conflict
from understudy.backends.kubernetes.objects import Owner
from understudy.backends.kubernetes.orders import order
from understudy.backends.kubernetes.settings import PodSettings
from understudy.backends.kubernetes.sight import incident_of, millis_of, pod_of
from understudy.control import drills, names
from understudy.control.drills import SeenDrill, Step, decide_drill
from understudy.control.intents import Emit
from understudy.control.observed import Pod
from understudy.model.kinds import DrillPhase, FailoverDrillSpec, FailoverDrillStatus
from understudy.runtime.clock import now_ms

log = structlog.get_logger()

BUSY_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 15.0

Json = dict[str, Any]


class DrillReconciler:
    def __init__(self, api: Api, settings: PodSettings) -> None:
        self._api = api
        self._settings = settings

    def reconcile(self, namespace: str, name: str) -> float | None:
        """When to look again, in seconds; None if the drill is gone or over."""
        body = self._api.find(f"{OURS}/namespaces/{namespace}/failoverdrills/{name}")
        if body is None or "deletionTimestamp" in body["metadata"]:
            return None
        seen, owner = self._observe(namespace, body)
        for step in decide_drill(seen):
            self._carry_out(namespace, name, owner, step)
            seen = _after(seen, step)
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
        return seen, Owner(spec.job, namespace, job["metadata"]["uid"]) if job else None

    def _mine(self, path: str, job: str) -> list[Json]:
        return self._api.list(path, labelSelector=f"{names.JOB}={job}")

    # ---- acting

    def _carry_out(self, namespace: str, name: str, owner: Owner | None, step: Step) -> None:
        log.info(f"drill {type(step).__name__}", namespace=namespace, drill=name)
        match step:
            case drills.WriteDown(status):
                path = f"{OURS}/namespaces/{namespace}/failoverdrills/{name}/status"
                self._api.merge(path, {"status": status.model_dump(mode="json", by_alias=True)})
            case drills.Kill(pods):
                for pod in pods:
                    self._kill(namespace, pod)
            case drills.Freeze(pod, seconds):
                self._order(namespace, owner, pod, "freeze", seconds)
            case drills.Hang(pod, seconds):
                self._order(namespace, owner, pod, "hang", seconds)
            case drills.CutOff(pod, seconds):
                self._order(namespace, owner, pod, "partition", seconds)
            case drills.Throttle(pod, seconds):
                self._order(namespace, owner, pod, "throttle", seconds)
            case drills.Tell(severity, reason, message):
                if owner:
                    Actor(self._api, owner, None, self._settings).carry_out(Emit(severity, reason, message))
            case _:
                assert_never(step)

    def _kill(self, namespace: str, pod: Pod) -> None:
        """By its uid: another pod of that name is not meant."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
        try:
            self._api.delete(f"{CORE}/namespaces/{namespace}/pods/{pod.name}", options)
        except Conflict:
            log.info("another pod of that name", pod=pod.name)

    def _order(self, namespace: str, owner: Owner | None, pod: Pod, fault: str, seconds: float) -> None:
        """The pod does it to itself."""
        job = owner.name if owner else ""
        order(self._api, namespace, job, pod.certificate, pod.ip, fault, seconds=seconds)


def _watching(job: Json) -> frozenset[str]:
    subjobs = (job.get("spec") or {}).get("subjobs") or ()
    return frozenset(subjob["name"] for subjob in subjobs if (subjob.get("ha") or {}).get("overload") is not None)


def is_open(body: Json) -> bool:
    """Whether anything is left to do for a drill."""
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
