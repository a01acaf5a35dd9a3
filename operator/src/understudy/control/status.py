"""The status of a StreamJob: a function of what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from understudy.control.conditions import conditions_of, sink_runs, stamped
from understudy.control.observed import Observed, Phase, Pod
from understudy.control.pages import State
from understudy.control.promises import promise_of
from understudy.control.times import iso, iso_ms
from understudy.control.views import SubjobView, views
from understudy.model.ha import Guarantee
from understudy.model.job import StreamJob
from understudy.model.sinks import Sink

MEASURE_MS: Final = 10_000  # figures that change all the time are written so often; everything else at once
_FIGURES: Final = ("measuredAt",)
_SUBJOB_FIGURES: Final = ("edges", "ifItFailedNow")
_REPLICA_FIGURES: Final = ("lag",)
_SINK_FIGURES: Final = ("tuples",)

Json = dict[str, Any]


def status_of(seen: Observed) -> Json:
    job = seen.job
    found = views(seen, job) if job else ()
    status: Json = {
        "observedGeneration": seen.generation,
        "phase": phase_of(seen, job, found),
        "conditions": stamped(seen, conditions_of(seen, job, found)),
    }
    return status | (_details(seen, job, found) if job else {})


def phase_of(seen: Observed, job: StreamJob | None, found: Sequence[SubjobView]) -> str:
    if job is None:
        return "Rejected"
    if seen.run and seen.run.completed_ms is not None:
        return "Completed"
    if seen.run is None or seen.run.start_ms is None:
        return "Starting"
    return "Running" if all(view.serving for view in found) else "Recovering"


def same_but_for_figures(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return _without_figures(one) == _without_figures(other)


def _without_figures(status: Mapping[str, Any]) -> Json:
    plain = {name: value for name, value in status.items() if name not in _FIGURES}
    plain["subjobs"] = [
        {k: v for k, v in s.items() if k not in _SUBJOB_FIGURES}
        | {"replicas": [_drop(r, _REPLICA_FIGURES) for r in s.get("replicas") or ()]}
        for s in status.get("subjobs") or ()
    ]
    plain["sinks"] = [_drop(s, _SINK_FIGURES) for s in status.get("sinks") or ()]
    return plain


def _drop(raw: Mapping[str, Any], names: Iterable[str]) -> Json:
    return {name: value for name, value in raw.items() if name not in names}


# ---- the parts -------------------------------------------------------------------------------------------


def _details(seen: Observed, job: StreamJob, found: Sequence[SubjobView]) -> Json:
    subjobs = [_subjob(seen, job, view) for view in found]
    failovers = [s["lastFailover"]["at"] for s in subjobs if s.get("lastFailover")]
    weakest = min(
        (promise_of(seen, view).guarantee for view in found), key=lambda g: g.strength, default=Guarantee.PRECISE
    )
    run = seen.run
    paired = [view for view in found if view.wanted > 1] if run is None or run.completed_ms is None else []
    details: Json = {
        "subjobsReady": f"{sum(view.serving for view in found)}/{len(found)}",
        "protected": f"{sum(view.protected for view in paired)}/{len(paired)}",
        "guarantee": str(weakest),
        "lastFailover": max(failovers, default=None),
        "startTime": iso_ms(run.start_ms) if run and run.start_ms is not None else None,
        "completionTime": iso(run.completed_ms) if run and run.completed_ms is not None else None,
        "measuredAt": iso(seen.now_ms),
        "subjobs": subjobs,
        "sinks": [_sink(seen, sink) for sink in job.sinks],
    }
    return {name: value for name, value in details.items() if value is not None}


def _subjob(seen: Observed, job: StreamJob, view: SubjobView) -> Json:
    before = seen.before(view.subjob.name)
    promise = promise_of(seen, view)
    holder = view.lease.holder if view.lease else None
    fields: Json = {
        "name": view.subjob.name,
        "mode": str(view.subjob.ha.mode),
        "operatorClass": promise.operator_class,
        "guarantee": str(promise.guarantee),
        "why": promise.why,
        "state": _state(seen, view),
        "currentPrimary": holder,
        "targetPrimary": _target(view),
        "epoch": view.lease.epoch if view.lease else 0,
        "protected": view.wanted > 1 and view.protected,
        "replicas": [_replica(seen, view, pod) for pod in view.pods],
        "ifItFailedNow": dict(view.page.if_it_failed_now) if view.page and view.page.if_it_failed_now else None,
        "edges": [_edge(seen, job, view, name) for name in view.subjob.inputs] if view.page else before.get("edges"),
        "lastFailover": last_failover(view) or before.get("lastFailover"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _state(seen: Observed, view: SubjobView) -> str:
    if seen.run and seen.run.completed_ms is not None:
        return "Finished"
    if view.serving:
        return "Finished" if view.finished else "Serving"
    return "Starting" if seen.run is None or seen.run.start_ms is None else "Recovering"


def _target(view: SubjobView) -> str | None:
    """Who should lead: who does, or else the standby that is about to."""
    if view.primary:
        return view.primary.name
    return view.ready_standbys[0].name if view.ready_standbys else None


def _replica(seen: Observed, view: SubjobView, pod: Pod) -> Json:
    leads = view.primary is not None and pod.name == view.primary.name
    page = seen.instance_page(pod.name)
    behind = (view.page.if_it_failed_now or {}).get("replayTuples") if view.page else None
    fields: Json = {
        "pod": pod.name,
        "node": pod.node,
        "role": "primary" if leads else "standby",
        "state": "lost" if pod.name in view.losses else str(page.state if page else State.STARTING),
        "lag": 0 if leads else behind if view.page and view.page.secondary == pod.name else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _edge(seen: Observed, job: StreamJob, view: SubjobView, name: str) -> Json:
    """How far the subjob is on one input. A source is read where it is used, so its queue is what is due."""
    position, available = view.page.inputs.get(name, (0, 0)) if view.page else (0, 0)
    producer = next((s for s in job.subjobs if s.name == name), None)
    lease = seen.lease(name) if producer else None
    page = seen.instance_page(lease.holder) if lease else None
    queue = page.outputs.get(name) if page else None
    if queue is None:
        return {"input": name, "queued": max(0, available - position), "acked": position, "trimmedTo": position}
    acked = queue.released.get(view.subjob.name, 0)
    return {"input": name, "queued": queue.next - queue.trimmed, "acked": acked, "trimmedTo": queue.trimmed}


def last_failover(view: SubjobView) -> Json | None:
    page = view.page
    taken = page.take_over if page and page.leads else None
    if page is None or taken is None or not taken.promoted:
        return None
    fields: Json = {
        "at": iso(taken.promoted),
        "from": taken.gone,
        "to": page.instance,
        "epoch": page.epoch,
        "cause": taken.cause,
        "recoveryMs": taken.recovery_ms,
        "replayed": taken.replayed,
        "lost": taken.lost,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _sink(seen: Observed, sink: Sink) -> Json:
    pod = seen.sink_pod(sink.name)
    page = seen.sink_page(pod.name) if pod else None
    before: Json = next((s for s in seen.status.get("sinks") or () if s.get("name") == sink.name), {})
    ended = pod is not None and pod.phase is Phase.SUCCEEDED
    fields: Json = {
        "name": sink.name,
        "input": sink.input,
        "pod": pod.name if pod else None,
        "node": pod.node if pod else None,
        "state": "finished" if ended else "running" if sink_runs(seen, pod) else "starting",
        "tuples": page.tuples if page else before.get("tuples"),
        "durable": sink.files is not None and sink.files.volume is not None,
        "note": _note(sink),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _note(sink: Sink) -> str | None:
    if sink.files is not None and sink.files.volume is None:
        return "no volume: the files die with the pod"
    return None
