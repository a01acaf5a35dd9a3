"""Records every take-over after a failure as an Incident: what was lost, and when each step of the recovery
was reached. `losses` decides about failures without a take-over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from understudy.control import names
from understudy.control.intents import Intent, Kind, RecordIncident, Remove
from understudy.control.losses import plan_losses
from understudy.control.observed import IncidentSeen, Observed
from understudy.control.retirement import is_planned
from understudy.control.times import iso_ms
from understudy.control.views import SubjobView
from understudy.model.kinds import FailureClass, IncidentSpec, IncidentStatus
from understudy.protocol.statuspage import InstancePage, TakeOver

KEPT: Final = 20

Json = dict[str, Any]


def plan_incidents(seen: Observed, views: Sequence[SubjobView]) -> tuple[Intent, ...]:
    found = [*(intent for view in views if (intent := _incident(seen, view))), *plan_losses(seen, views)]
    return (*found, *_old(seen, found))


def _incident(seen: Observed, view: SubjobView) -> RecordIncident | None:
    page = view.page
    if page is None or page.take_over is None or not page.leads:
        return None
    if is_planned(seen, page.take_over) and _overload(seen, view, page.take_over) is None:
        return None  # nothing has failed
    name = names.incident(seen.name, view.subjob.name, page.epoch)
    before = seen.incident(name)
    if before is None and seen.has_told(view.subjob.name, page.epoch):
        return None  # it was told, and is not kept any more
    status = _status(seen, view, page.take_over, before.status if before else {})
    if before and status == before.status:
        return None
    why = f"{page.instance} took over {view.subjob.name} from {page.take_over.gone}: {page.take_over.cause}"
    return RecordIncident(
        name, before.spec if before else _spec(seen, view, page, page.take_over), status, why
    )


def _overload(seen: Observed, view: SubjobView, taken: TakeOver) -> str | None:
    """Why the former primary had to move, if it was overloaded."""
    run, subjob = seen.run, view.subjob.name
    found = (run.moves.get(subjob) or run.moved.get(subjob)) if run else None
    return found.why if found is not None and found.resource and found.source == taken.gone else None


def _spec(seen: Observed, view: SubjobView, page: InstancePage, taken: TakeOver) -> Json:
    spec = IncidentSpec(
        job=seen.name,
        subjob=view.subjob.name,
        mode=view.mode,
        cause=_overload(seen, view, taken) or taken.cause,
        failure_class=_class(seen, view, taken),
        from_=taken.gone,
        to=page.instance,
        epoch=page.epoch,
        failed_at=_moment(taken.heard or taken.stopped),
    )
    return spec.manifest()


def _status(seen: Observed, view: SubjobView, taken: TakeOver, before: Mapping[str, Any]) -> Json:
    reprotected = before.get("reprotected")
    if reprotected is None and view.wanted > 1 and view.protected:
        reprotected = iso_ms(seen.now_ms)
    status = IncidentStatus(
        detected=_moment(taken.detected),
        fenced=_moment(taken.lease),
        promoted=_moment(taken.promoted),
        restored=_moment(taken.restored),
        first_output=_moment(taken.first_output),
        caught_up=_moment(taken.caught_up),
        reprotected=reprotected,
        silent_since=_moment(taken.stopped),
        recovery_seconds=taken.recovery_seconds,
        replayed=taken.replayed,
        lost=taken.lost,
        duplicated=taken.duplicated,
    )
    return status.manifest()


def _moment(at: int | None) -> str | None:
    return iso_ms(at) if at else None


def _class(seen: Observed, view: SubjobView, taken: TakeOver) -> FailureClass:
    """Resource: the primary moved because of an overload. Permanent: its pod or node is gone. False
    suspicion: the same process has answered since. Otherwise temporary: the process died and comes back."""
    if taken.planned:
        return FailureClass.RESOURCE
    old = seen.pod(taken.gone)
    if old is None or old.name in view.losses:
        return FailureClass.PERMANENT
    spoken = seen.pages.get(old.name)
    lived = (
        spoken is not None
        and not spoken.silent
        and spoken.at_ms > (taken.detected or 0)
        and spoken.page.state.serves
    )
    return FailureClass.FALSE_SUSPICION if lived and not old.restarts else FailureClass.TEMPORARY


def _old(seen: Observed, found: Sequence[RecordIncident]) -> tuple[Remove, ...]:
    known = {incident.name for incident in seen.incidents}
    new = [intent.name for intent in found if intent.name not in known]
    oldest = sorted(seen.incidents, key=_age)[: max(0, len(known) + len(new) - KEPT)]
    return tuple(Remove(Kind.INCIDENT, old.name, f"the newest {KEPT} incidents are kept") for old in oldest)


def _age(incident: IncidentSeen) -> tuple[int, str]:
    return incident.created_ms, incident.name
