"""The status of a StreamJob: a function of what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from understudy.control import names
from understudy.control.conditions import conditions_of, sink_runs, stall_of, stamped
from understudy.control.observed import Observed, Pod
from understudy.control.promises import promise_of
from understudy.control.retirement import is_planned, reason_to_go
from understudy.control.times import iso, iso_ms
from understudy.control.views import SubjobView, views
from understudy.model.job import StreamJob
from understudy.model.sinks import Sink
from understudy.model.status import (
    ConditionStatus,
    ConditionType,
    Edge,
    Failover,
    IfItFailedNow,
    LastChange,
    LastMove,
    Replica,
    SinkState,
    SinkStatus,
    StreamJobStatus,
    SubjobState,
    SubjobStatus,
    Summary,
)
from understudy.model.status import Phase as JobPhase
from understudy.modes.build import sink_consumer
from understudy.protocol.statuspage import Input, Lag, State

# figures that change all the time are written so often; everything else at once
MEASURE_MS: Final = 10_000
FIGURES_PER_SECOND: Final = 1  # of all jobs together
OLDEST_MS: Final = 100_000  # but each job's so often; readers doubt an older status
CONFIRM_MS: Final = 60_000  # the same figures again
_FIGURES: Final = ("measuredAt",)
_SUBJOB_FIGURES: Final = ("edges", "ifItFailedNow")
_REPLICA_FIGURES: Final = ("lag",)
_SUMMARY_FIGURES: Final = ("ifItFailedNow",)
_SINK_FIGURES: Final = ("tuples", "next", "lag", "lagSeconds")

Json = dict[str, Any]


def status_of(seen: Observed) -> Json:
    job = seen.job
    found = views(seen, job) if job else ()
    run = seen.run
    status = StreamJobStatus(
        observed_generation=seen.generation,
        phase=phase_of(seen, found),
        conditions=tuple(stamped(seen, conditions_of(seen, found))),
        summary=_summary(seen, found) if job else None,
        start_time=iso_ms(run.start_ms) if run and run.start_ms is not None else None,
        completion_time=iso(run.completed_ms) if run and run.completed_ms is not None else None,
        measured_at=iso(seen.now_ms) if job else None,
        subjobs=tuple(_subjob(seen, job, view) for view in found) if job else (),
        sinks=tuple(_sink(seen, sink, found) for sink in job.sinks) if job else (),
    )
    return status.manifest()


def phase_of(seen: Observed, found: Sequence[SubjobView]) -> JobPhase:
    if seen.job is None:
        return JobPhase.REJECTED
    if seen.completed:
        return JobPhase.COMPLETED
    if not seen.started:
        return JobPhase.STARTING
    return JobPhase.RUNNING if all(view.serving for view in found) else JobPhase.RECOVERING


def figures_ms(jobs: int) -> int:
    """How long the figures of one of so many jobs stand. Each write costs the API server a transaction."""
    return min(OLDEST_MS, max(MEASURE_MS, jobs * 1_000 // FIGURES_PER_SECOND))


def same_but_for_figures(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return _without_figures(one) == _without_figures(other)


def same_but_for_time(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return _drop(one, _FIGURES) == _drop(other, _FIGURES)


def _without_figures(status: Mapping[str, Any]) -> Json:
    plain = _drop(status, _FIGURES)
    plain["subjobs"] = [
        _drop(subjob, _SUBJOB_FIGURES)
        | {"replicas": [_drop(replica, _REPLICA_FIGURES) for replica in subjob.get("replicas") or ()]}
        for subjob in status.get("subjobs") or ()
    ]
    plain["summary"] = _drop(status.get("summary") or {}, _SUMMARY_FIGURES)
    plain["sinks"] = [_drop(sink, _SINK_FIGURES) for sink in status.get("sinks") or ()]
    return plain


def _drop(raw: Mapping[str, Any], unwanted: Iterable[str]) -> Json:
    return {name: value for name, value in raw.items() if name not in unwanted}


def _summary(seen: Observed, found: Sequence[SubjobView]) -> Summary:
    paired = [view for view in found if view.wanted > 1 and not seen.completed]
    failovers = [failover for view in found if (failover := last_failover(seen, view))]
    last = max(failovers, key=lambda failover: failover.time, default=None)
    took = last.recovery_seconds if last else None
    return Summary(
        subjobs=f"{sum(view.serving for view in found)}/{len(found)}",
        protected=f"{sum(view.protected for view in paired)}/{len(paired)}",
        guarantee=min(
            (promise_of(seen, view).guarantee for view in found), key=lambda g: g.strength, default=None
        ),
        last_failover=last.time if last else None,
        last_recovery=f"{took:.1f}s" if took is not None else None,
        if_it_failed_now=_worst(found),
        attention=_attention(seen, found),
    )


def _worst(found: Sequence[SubjobView]) -> str | None:
    """The worst value of all subjobs. None if it is unknown for one of them."""
    costs = [view.page.if_it_failed_now if view.page else None for view in found]
    known = [cost for cost in costs if cost]
    if not known or len(known) < len(costs):
        return None
    return f"{max(k.replay_seconds for k in known):.1f}s replay, {sum(k.lost_tuples for k in known)} lost"


def _attention(seen: Observed, found: Sequence[SubjobView]) -> str:
    """The message: the first of these conditions that is not met."""
    good = {ConditionType.DEGRADED: ConditionStatus.FALSE}
    wanted = (ConditionType.ACCEPTED, ConditionType.READY, ConditionType.DEGRADED, ConditionType.PROTECTED)
    findings = {f.type: f for f in conditions_of(seen, found)}
    bad = (
        f.message
        for kind in wanted
        if (f := findings.get(kind)) and f.status != good.get(kind, ConditionStatus.TRUE)
    )
    return next(bad, "")


# ---- subjobs ---------------------------------------------------------------------------------------------


def _subjob(seen: Observed, job: StreamJob, view: SubjobView) -> SubjobStatus:
    promise = promise_of(seen, view)
    cost = view.page.if_it_failed_now if view.page else None
    return SubjobStatus(
        name=view.subjob.name,
        mode=view.mode,
        operator_class=promise.operator_class,
        guarantee=promise.guarantee,
        why=promise.why,
        state=_state(seen, view),
        protected=view.protected if view.wanted > 1 and not seen.completed else None,
        current_primary=view.lease.holder if view.lease else None,
        target_primary=_target(view),
        epoch=view.lease.epoch if view.lease else 0,
        replicas=tuple(_replica(seen, view, pod) for pod in view.pods),
        if_it_failed_now=IfItFailedNow(**asdict(cost)) if cost else None,
        edges=_edges(seen, job, view),
        last_failover=last_failover(seen, view),
        last_move=_last_move(seen, view.subjob.name),
        last_change=last_change(seen, view),
    )


def _last_move(seen: Observed, subjob: str) -> LastMove | None:
    moved = seen.run.moved.get(subjob) if seen.run else None
    if moved is None:
        return None
    return LastMove(
        time=iso(moved.ended_ms),
        from_=moved.source,
        to=moved.target,
        from_node=moved.from_node,
        why=moved.why,
        migration=moved.by,
        succeeded=moved.failure is None,
        message=moved.sentence(subjob),
        pause_seconds=moved.pause_seconds,
        moved_bytes=moved.bytes,
        lost=moved.lost,
    )


def _state(seen: Observed, view: SubjobView) -> SubjobState:
    if seen.completed or view.finished:
        return SubjobState.FINISHED
    if view.serving:
        return SubjobState.SERVING
    return SubjobState.RECOVERING if seen.started else SubjobState.STARTING


def _target(view: SubjobView) -> str | None:
    """The instance that should lead: the target of a move, else the primary, else the standby that is about
    to take over."""
    if view.lease is not None and view.lease.successor:
        return view.lease.successor
    if view.primary:
        return view.primary.name
    return view.ready_standbys[0].name if view.ready_standbys else None


def _replica(seen: Observed, view: SubjobView, pod: Pod) -> Replica:
    leads = view.primary is not None and pod.name == view.primary.name
    page = seen.instance_page(pod.name)
    cost = view.page.if_it_failed_now if view.page else None
    behind = cost.replay_tuples if cost else None
    return Replica(
        pod=pod.name,
        node=pod.node,
        role=view.role_of(pod),
        state="lost" if pod.name in view.losses else str(page.state if page else State.STARTING),
        lag=0 if leads else behind if view.page and view.page.secondary == pod.name else None,
        restarts=pod.restarts,
    )


def _edges(seen: Observed, job: StreamJob, view: SubjobView) -> tuple[Edge, ...]:
    """While no instance leads, the figures stay as they were."""
    if view.page is None:
        return tuple(Edge.model_validate(edge) for edge in seen.before(view.subjob.name).get("edges") or ())
    return tuple(_edge(seen, job, view, name) for name in view.subjob.inputs)


def _edge(seen: Observed, job: StreamJob, view: SubjobView, name: str) -> Edge:
    """How far the subjob is on one input. A source is read inside the subjob, so its queue is the input that
    is due."""
    here = view.page.inputs.get(name, Input()) if view.page else Input()
    lease = seen.lease(name) if job.subjob(name) else None
    page = seen.instance_page(lease.holder) if lease else None
    queue = page.outputs.get(name) if page else None
    if queue is None:
        return Edge(input=name, queued=max(0, here.waiting), acked=here.position, trimmed_to=here.position)
    acked = queue.released.get(view.subjob.name, 0)
    return Edge(input=name, queued=queue.next - queue.trimmed, acked=acked, trimmed_to=queue.trimmed)


def last_failover(seen: Observed, view: SubjobView) -> Failover | None:
    """From the page of the primary, if it took over after a failure; otherwise from the former status."""
    page = view.page
    taken = page.take_over if page and page.leads else None
    if page is None or taken is None or not taken.promoted or is_planned(seen, taken):
        before = seen.before(view.subjob.name).get("lastFailover")
        return Failover.model_validate(before) if before else None
    return Failover(
        time=iso(taken.first_output or taken.promoted),
        incident=names.incident(seen.name, view.subjob.name, page.epoch),
        recovery_seconds=taken.recovery_seconds,
        from_=taken.gone,
        to=page.instance,
        epoch=page.epoch,
        cause=taken.cause,
        replayed=taken.replayed,
        lost=taken.lost,
    )


def last_change(seen: Observed, view: SubjobView) -> LastChange | None:
    """The newest take-over from a primary that was removed on purpose. Moves are in `lastMove`."""
    page = view.page
    taken = page.take_over if page and page.leads else None
    why = reason_to_go(seen, taken.gone) if taken and not taken.planned else None
    if page is None or taken is None or not taken.promoted or why is None:
        before = seen.before(view.subjob.name).get("lastChange")
        return LastChange.model_validate(before) if before else None
    return LastChange(
        time=iso(taken.first_output or taken.promoted),
        from_=taken.gone,
        to=page.instance,
        epoch=page.epoch,
        cause=why,
        pause_seconds=taken.recovery_seconds,
        replayed=taken.replayed,
        lost=taken.lost,
        duplicated=taken.duplicated,
    )


# ---- sinks -----------------------------------------------------------------------------------------------


def _sink(seen: Observed, sink: Sink, found: Sequence[SubjobView]) -> SinkStatus:
    pod, lag = seen.sink_pod(sink.name), _lag(sink, found)
    page = seen.sink_page(pod.name) if pod else None
    before: Json = next((s for s in seen.status.get("sinks") or () if s.get("name") == sink.name), {})
    return SinkStatus(
        name=sink.name,
        state=_sink_state(seen, pod),
        pod=pod.name if pod else None,
        uid=pod.uid if pod else None,
        node=pod.node if pod else None,
        restarts=pod.restarts if pod else None,
        tuples=page.tuples if page else before.get("tuples"),
        next=page.next if page else before.get("next"),
        lag=lag.tuples if lag else None,
        lag_seconds=lag.milliseconds / 1000 if lag else None,
        durable=sink.target.durable,
        note=sink.target.note,
    )


def _lag(sink: Sink, found: Sequence[SubjobView]) -> Lag | None:
    """As the primary of the producer reports it: a sink that hangs reports nothing. None while no instance
    leads."""
    page = next((view.page for view in found if view.subjob.name == sink.input), None)
    queue = page.outputs.get(sink.input) if page else None
    consumer = queue.consumers.get(sink_consumer(sink.name)) if queue else None
    return consumer.lag if consumer else None


def _sink_state(seen: Observed, pod: Pod | None) -> SinkState:
    if seen.completed or (pod is not None and pod.has_finished):
        return SinkState.FINISHED
    if stall_of(seen, pod):
        return SinkState.STALLED
    return SinkState.RUNNING if sink_runs(seen, pod) else SinkState.STARTING
