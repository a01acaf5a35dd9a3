"""Every take-over leaves an Incident: what was lost, and when each step of the recovery was reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from understudy.control import names
from understudy.control.intents import Intent, Kind, RecordIncident, Remove
from understudy.control.observed import IncidentSeen, Observed
from understudy.control.pages import TakeOver
from understudy.control.times import iso_ms
from understudy.control.views import SubjobView

KEPT: Final = 20


class FailureClass(StrEnum):
    TEMPORARY = "temporary"
    """The process died and was started again where it was."""
    PERMANENT = "permanent"
    """The pod or its node is gone."""
    FALSE_SUSPICION = "falseSuspicion"
    """The process never died: it was only slow, or out of reach."""


def plan_incidents(seen: Observed, views: Sequence[SubjobView]) -> tuple[Intent, ...]:
    found = [intent for view in views if (intent := _incident(seen, view))]
    return (*found, *_old(seen, found))


def _incident(seen: Observed, view: SubjobView) -> RecordIncident | None:
    page = view.page
    if page is None or page.take_over is None or not page.leads:
        return None
    name = names.incident(seen.name, view.subjob.name, page.epoch)
    before = next((incident.status for incident in seen.incidents if incident.name == name), {})
    status = _status(seen, view, page.epoch, page.take_over, before)
    if status == before:
        return None
    why = f"{page.instance} took over {view.subjob.name} from {page.take_over.gone}: {page.take_over.cause}"
    return RecordIncident(name, view.subjob.name, status, why)


def _status(seen: Observed, view: SubjobView, epoch: int, taken: TakeOver, before: Mapping[str, Any]) -> dict[str, Any]:
    page = view.page
    steps: dict[str, int | None] = {
        "detected": taken.detected,
        "fenced": taken.lease,
        "promoted": taken.promoted,
        "restored": taken.restored,
        "firstOutput": taken.first_output,
        "caughtUp": taken.caught_up,
    }
    times = {step: iso_ms(at) for step, at in steps.items() if at}
    reprotected = (before.get("times") or {}).get("reprotected")
    if reprotected is None and view.wanted > 1 and view.protected:
        reprotected = iso_ms(seen.now_ms)
    return {
        "subjob": view.subjob.name,
        "mode": str(view.subjob.ha.mode),
        "epoch": epoch,
        "from": taken.gone,
        "to": page.instance if page else "",
        "cause": taken.cause,
        "class": before.get("class") or str(_class(seen, view, taken)),
        "times": times | ({"reprotected": reprotected} if reprotected else {}),
        "recoveryMs": taken.recovery_ms,
        "replayed": taken.replayed,
        "lost": taken.lost,
        "duplicated": 0,
    }


def _class(seen: Observed, view: SubjobView, taken: TakeOver) -> FailureClass:
    old = seen.pod(taken.gone)
    if old is None or old.name in view.losses:
        return FailureClass.PERMANENT
    return FailureClass.TEMPORARY if old.restarts else FailureClass.FALSE_SUSPICION


def _old(seen: Observed, found: Sequence[RecordIncident]) -> tuple[Remove, ...]:
    known = {incident.name for incident in seen.incidents}
    new = [intent.name for intent in found if intent.name not in known]
    oldest = sorted(seen.incidents, key=_age)[: max(0, len(known) + len(new) - KEPT)]
    return tuple(Remove(Kind.INCIDENT, old.name, f"the newest {KEPT} incidents are kept") for old in oldest)


def _age(incident: IncidentSeen) -> tuple[int, str]:
    return incident.created_ms, incident.name
