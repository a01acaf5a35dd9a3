"""Observe → decide → act, for one job at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import structlog

from understudy.control.decide import decide, is_calm
from understudy.control.intents import Emit, Intent, PatchStatus
from understudy.control.observed import Observed, Pod
from understudy.kubernetes.act import Actor, Taken
from understudy.kubernetes.admitted import Admitted
from understudy.kubernetes.api import Api
from understudy.kubernetes.metrics import OperatorMetrics
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.observe import Observer
from understudy.kubernetes.poll import Poller
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Mandate, Writer, unelected

log = structlog.get_logger()

BUSY_SECONDS: Final = 1.0
CALM_SECONDS: Final = 5.0
CALMEST_SECONDS: Final = 60.0
LOOKS_PER_SECOND: Final = 5.0  # at calm jobs, in total
# successive looks that found nothing to do, after which a job that is not calm is looked at less often
RESTLESS: Final = 50

Key = tuple[str, str]


class Reconciler:
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
        self._poller = Poller()
        self._observer = Observer(api, self._poller, Admitted(settings.allowed), settings)
        self._pods: dict[Key, tuple[Pod, ...]] = {}
        self._idle: dict[Key, int] = {}

    def reconcile(self, namespace: str, name: str) -> float | None:
        """When to look again, in seconds; None if the job is gone. Raises Unreachable, ApiError and
        Deposed."""
        mandate = self._mandate()
        body = self._observer.find(namespace, name)
        if body is None:
            self.forget(namespace, name)
            return None
        seen, versions = self._observer.observe(body, jobs=max(1, len(self._pods)))
        self._keep_pages((namespace, name), seen.pods)
        plan = decide(seen)
        writer = Writer(self._api, namespace, mandate, versions)
        owner = Owner(name, namespace, body["metadata"]["uid"])
        self._carry_out(Actor(self._api, writer, owner, seen.job, self._settings, seen.declared), seen, plan)
        self._metrics.looked(seen, plan)
        return self._pause((namespace, name), is_calm(seen, plan), plan)

    def forget(self, namespace: str, name: str) -> None:
        self._metrics.forget(namespace, name)
        self._poller.forget(self._pods.pop((namespace, name), ()))
        self._observer.forget(namespace, name)
        self._idle.pop((namespace, name), None)

    def _carry_out(self, actor: Actor, seen: Observed, plan: Sequence[Intent]) -> None:
        """Stops where an object of another owner is in the way: later intents rest on it. The status still
        says what was observed."""
        if any(_changes_objects(intent) for intent in plan):
            self._observer.forget(*actor.job)
        stopped = False
        for intent in plan:
            if stopped and _changes_objects(intent):
                continue
            try:
                actor.carry_out(intent)
                self._metrics.did(seen, intent)
            except Taken as error:
                log.warning("name taken", object=str(error), job=actor.job[1], namespace=actor.job[0])
                self._observer.note_collision(actor.uid)
                stopped = True

    def _pause(self, key: Key, calm: bool, plan: Sequence[Intent]) -> float:
        """How long to sleep. Watches wake the loop when something happens, so the more jobs there are, the
        longer a calm job may sleep. A job that waits for something (a node, a slow start) is looked at less
        and less often."""
        idle = 0 if calm or any(_changes_objects(intent) for intent in plan) else self._idle.get(key, 0) + 1
        self._idle[key] = idle
        sleep = min(max(CALM_SECONDS, len(self._pods) / LOOKS_PER_SECOND), CALMEST_SECONDS)
        return sleep if calm or idle > RESTLESS else BUSY_SECONDS

    def _keep_pages(self, key: Key, pods: tuple[Pod, ...]) -> None:
        """Keeps pages of existing pods only."""
        now = {pod.uid for pod in pods}
        self._poller.forget(pod for pod in self._pods.get(key, ()) if pod.uid not in now)
        self._pods[key] = pods


def _changes_objects(intent: Intent) -> bool:
    return not isinstance(intent, PatchStatus | Emit)
