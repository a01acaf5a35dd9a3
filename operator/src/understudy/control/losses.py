"""The loss of a standby or of a sink is recorded as an Incident, too, although there is no take-over.

A loss is new if the present status does not show it yet:

| the status shows | now | class |
|---|---|---|
| a living pod | it is lost or gone, not on purpose (see `retirement`) | permanent: another pod is made |
| a number of restarts | there are more | temporary: the container is started where it was |
| a running sink | its disk has stalled | temporary: the kubelet starts its container again |

Until the subjob is protected again, or the sink writes again, further failures there belong to the same
Incident. Until then the pod of a former primary belongs to the Incident of the take-over, also when it comes
back as a standby.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.control import names
from understudy.control.conditions import sink_runs, stall_of
from understudy.control.intents import RecordIncident
from understudy.control.lost_pods import Loss, loss_of
from understudy.control.observed import IncidentSeen, Observed, Pod
from understudy.control.retirement import is_emptied, is_evicted, is_retired
from understudy.control.times import iso_ms, millis
from understudy.control.views import SubjobView
from understudy.model.kinds import FailureClass, IncidentSpec, IncidentStatus
from understudy.model.sinks import Sink
from understudy.model.status import Role, SinkState, SubjobState

LIFE: Final = 8  # so much of a uid tells the pods of a sink from each other

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Failure:
    pod: str
    incident: str
    cause: str
    at_ms: int | None = None
    stays: bool = False
    """Whether the same pod continues."""


def plan_losses(seen: Observed, views: Sequence[SubjobView]) -> tuple[RecordIncident, ...]:
    if seen.job is None or not seen.started or seen.completed:
        return ()
    standbys = (intent for view in views for intent in _of_subjob(seen, view))
    return (*standbys, *(intent for sink in seen.job.sinks for intent in _of_sink(seen, sink)))


def _recorded(
    seen: Observed, failure: _Failure, spec: IncidentSpec, harmless: bool
) -> tuple[RecordIncident, ...]:
    if seen.incident(failure.incident) is not None:
        return ()
    none = 0 if harmless else None
    status = IncidentStatus(detected=iso_ms(seen.now_ms), lost=none, duplicated=none)
    what = f"{failure.pod}, {spec.role} of {spec.sink or spec.subjob}, has failed: {failure.cause}"
    return (RecordIncident(failure.incident, spec.manifest(), status.manifest(), what),)


def _closed(seen: Observed, incidents: Iterable[IncidentSeen]) -> tuple[RecordIncident, ...]:
    moment = {"reprotected": iso_ms(seen.now_ms)}
    return tuple(
        RecordIncident(
            i.name, i.spec, {**i.status, **moment}, f"what {i.spec.get('from')} was there for is there again"
        )
        for i in incidents
    )


def _is_open(incident: IncidentSeen) -> bool:
    return incident.status.get("reprotected") is None


def _has_spoken(seen: Observed, pod: str | None, since: str | None) -> bool:
    """Whether the pod has answered since the failure. A page from before the failure may still look well."""
    page = seen.pages.get(pod or "")
    return page is not None and not page.silent and page.at_ms > (millis(since) or 0)


def _failure(
    seen: Observed, before: Json, pod: Pod | None, loss: Loss | None, life: str = ""
) -> _Failure | None:
    """How a pod has failed since the status was written. None: it has not, or it was removed on purpose."""
    name, known = before["pod"], before.get("restarts")
    if pod is None:
        sent_away = is_emptied(seen, before.get("node"))
        return None if sent_away else _Failure(name, names.loss(name, life), "its pod is gone")
    if loss is not None:
        page = seen.pages.get(name)
        since = page.at_ms if page is not None and page.silent else None
        return None if is_evicted(seen, pod) else _Failure(name, names.loss(name, life), loss.why, since)
    if known is None or pod.restarts <= known:
        return None
    how = f" ({pod.death.why})" if pod.death else ""
    cause, at = f"its container died{how} and is started again", pod.death.at_ms if pod.death else None
    return _Failure(name, names.restart(name, pod.restarts, life), cause, at, stays=True)


def _spec(seen: Observed, failure: _Failure, **fields: Any) -> IncidentSpec:
    return IncidentSpec(
        job=seen.name,
        cause=failure.cause,
        failure_class=FailureClass.TEMPORARY if failure.stays else FailureClass.PERMANENT,
        from_=failure.pod,
        to=failure.pod if failure.stays else "",
        failed_at=iso_ms(failure.at_ms) if failure.at_ms else None,
        **fields,
    )


# ---- standbys --------------------------------------------------------------------------------------------


def _of_subjob(seen: Observed, view: SubjobView) -> tuple[RecordIncident, ...]:
    name = view.subjob.name
    if found := [
        i for i in seen.incidents if _is_open(i) and _is_of_standby(i.spec) and i.spec["subjob"] == name
    ]:
        return _closed(seen, (i for i in found if _is_protected(seen, view, i.status.get("detected"))))
    failure = next(_standby_failures(seen, view), None)
    if failure is None:
        return ()
    spec = _spec(seen, failure, subjob=name, role=view.standby_role, mode=view.mode)
    return _recorded(seen, failure, spec, view.serving and _is_as_before(seen, view))


def _is_of_standby(spec: Json) -> bool:
    return spec.get("role", Role.PRIMARY) not in (Role.PRIMARY, Role.SINK)


def _is_protected(seen: Observed, view: SubjobView, since: str | None) -> bool:
    pair = (view.primary.name, view.page.secondary) if view.primary and view.page else ()
    return view.wanted > 1 and view.protected and all(_has_spoken(seen, pod, since) for pod in pair)


def _standby_failures(seen: Observed, view: SubjobView) -> Iterator[_Failure]:
    if view.wanted == 1 or view.lease is None or not (_is_told(view) or _is_as_before(seen, view)):
        return
    for before in seen.before(view.subjob.name).get("replicas") or ():
        name = before["pod"]
        stood_by = before["role"] != Role.PRIMARY and before["state"] != "lost" and name != view.lease.holder
        known = is_retired(seen, name) or _was_taken_over_from(seen, view, name)
        failure = (
            _failure(seen, before, seen.pod(name), view.losses.get(name)) if stood_by and not known else None
        )
        if failure is not None:
            yield failure


def _is_told(view: SubjobView) -> bool:
    """Whether the primary's page is of the present epoch: then it shows from which instance it took over."""
    return (
        view.page is not None
        and view.page.leads
        and view.page.epoch >= (view.lease.epoch if view.lease else 0)
    )


def _is_as_before(seen: Observed, view: SubjobView) -> bool:
    """Whether the primary is the same as when the status was written, and serves."""
    before, lease = seen.before(view.subjob.name), view.lease
    if lease is None or before.get("state") != SubjobState.SERVING:
        return False
    return (before.get("currentPrimary"), before.get("epoch")) == (lease.holder, lease.epoch)


def _was_taken_over_from(seen: Observed, view: SubjobView, pod: str) -> bool:
    """Whether the newest take-over was from this pod, and the subjob has not been protected since."""
    epoch = view.lease.epoch if view.lease else 0
    name = names.incident(seen.name, view.subjob.name, epoch)
    told = seen.incident(name)
    if told is not None:
        return told.spec.get("from") == pod and _is_open(told)
    taken = view.page.take_over if view.page and view.page.leads else None
    unplanned = taken is not None and not taken.planned and taken.gone == pod
    return unplanned and not seen.has_told(view.subjob.name, epoch)


# ---- sinks -----------------------------------------------------------------------------------------------


def _of_sink(seen: Observed, sink: Sink) -> tuple[RecordIncident, ...]:
    if found := [i for i in seen.incidents if _is_open(i) and i.spec.get("sink") == sink.name]:
        return _closed(seen, (i for i in found if _writes(seen, sink, i.status.get("detected"))))
    failure = _sink_failure(seen, sink)
    if failure is None:
        return ()
    spec = _spec(seen, failure, subjob=sink.input, sink=sink.name, role=Role.SINK)
    return _recorded(seen, failure, spec, sink.target.continues(in_place=failure.stays))


def _writes(seen: Observed, sink: Sink, since: str | None) -> bool:
    pod = seen.sink_pod(sink.name)
    return (
        pod is not None and sink_runs(seen, pod) and (pod.has_finished or _has_spoken(seen, pod.name, since))
    )


def _sink_failure(seen: Observed, sink: Sink) -> _Failure | None:
    before: Json = next((s for s in seen.status.get("sinks") or () if s.get("name") == sink.name), {})
    name, uid = before.get("pod"), before.get("uid")
    if not name or not uid or before.get("state") == SinkState.FINISHED or is_retired(seen, name, uid):
        return None
    found = seen.sink_pod(sink.name)
    pod = found if found is not None and found.uid == uid else None
    failure = _failure(seen, before, pod, loss_of(seen, pod) if pod else None, uid[:LIFE])
    return failure or _stall(seen, pod, uid[:LIFE])


def _stall(seen: Observed, pod: Pod | None, life: str) -> _Failure | None:
    why, page = stall_of(seen, pod), seen.sink_page(pod.name) if pod else None
    if pod is None or page is None or why is None:
        return None
    cause = f"its disk stands still: {why}"
    return _Failure(pod.name, names.stall(pod.name, page.tuples, life), cause, stays=True)
