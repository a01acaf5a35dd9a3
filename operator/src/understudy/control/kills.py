"""Instances that are OOM-killed: counted in the record, so that the count survives the pods
(`protocol.poison`).

| seen | done |
|---|---|
| a container of an instance that processes was OOM-killed; this death is not counted yet | it is counted |
| the primary serves, and has caught up with its predecessor since | the count is forgotten |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from understudy.control.intents import Intent, Record
from understudy.control.observed import Observed, Pod
from understudy.control.views import SubjobView
from understudy.protocol.poison import Kills
from understudy.protocol.statuspage import InstancePage


@dataclass(frozen=True, slots=True)
class Counted:
    kills: Kills = field(default_factory=Kills)
    deaths: dict[str, int] = field(default_factory=dict)
    """Uid of a pod → its restarts when its last death was counted."""

    def to_text(self) -> str:
        return json.dumps(
            {"count": self.kills.count, "place": dict(self.kills.place or {}), "deaths": self.deaths}
        )

    @classmethod
    def of(cls, text: str) -> Counted:
        raw = json.loads(text)
        place = {stream: (start, stop) for stream, (start, stop) in raw["place"].items()}
        return cls(Kills(raw["count"], place), raw["deaths"])


def plan_kills(seen: Observed, view: SubjobView) -> tuple[Intent, ...]:
    key, counted = f"kills.{view.subjob.name}", _counted(seen, view)
    for pod in _killed(view, counted):
        counted = _count(seen, view, counted, pod)
    if counted != _counted(seen, view):
        why = (
            f"{view.subjob.name} was OOM-killed {counted.kills.count} times since an instance last caught up"
        )
        return (Record({key: counted.to_text()}, why),)
    if counted.kills.count and _has_got_past(seen, view):
        past = replace(
            counted, kills=Kills()
        )  # the deaths that were counted can be seen as long as their pods live
        return (
            Record(
                {key: past.to_text()}, f"{view.subjob.name} has got past the place at which it was OOM-killed"
            ),
        )
    return ()


def kills_of(seen: Observed, view: SubjobView) -> Kills:
    return _counted(seen, view).kills


def _counted(seen: Observed, view: SubjobView) -> Counted:
    text = seen.run.kills.get(view.subjob.name) if seen.run else None
    return Counted.of(text) if text else Counted()


def _killed(view: SubjobView, counted: Counted) -> Iterator[Pod]:
    for pod in view.pods:
        if (
            pod.death is not None
            and pod.death.out_of_memory
            and pod.restarts > counted.deaths.get(pod.uid, 0)
        ):
            yield pod


def _count(seen: Observed, view: SubjobView, counted: Counted, pod: Pod) -> Counted:
    """The new count. Deaths of pods that no longer exist are left out: they cannot be seen again."""
    here = {each.uid for each in view.pods}
    deaths = {uid: n for uid, n in counted.deaths.items() if uid in here} | {pod.uid: pod.restarts}
    page = seen.instance_page(pod.name)
    if page is None or not (page.leads or page.inputs):
        return replace(counted, deaths=deaths)  # a standby that processes nothing, or nothing is known of it
    return Counted(counted.kills.killed(page.leads and _caught_up(page), page.place), deaths)


def _caught_up(page: InstancePage) -> bool:
    return page.take_over is None or page.take_over.caught_up is not None


def _has_got_past(seen: Observed, view: SubjobView) -> bool:
    """A silent page may be from before its death, and still look well."""
    found = seen.pages.get(view.primary.name) if view.primary else None
    return (
        found is not None
        and not found.silent
        and view.serving
        and view.page is not None
        and _caught_up(view.page)
    )
