"""Observe → decide → act, for one job at a time."""

from __future__ import annotations

from typing import Any, Final

import structlog

from understudy.backends.kubernetes.act import Actor
from understudy.backends.kubernetes.admitted import Admitted
from understudy.backends.kubernetes.api import Api
from understudy.backends.kubernetes.objects import Owner
from understudy.backends.kubernetes.observe import Observer
from understudy.backends.kubernetes.poll import Poller
from understudy.backends.kubernetes.settings import PodSettings
from understudy.control.decide import decide, is_calm

log = structlog.get_logger()

BUSY_SECONDS: Final = 1.0
CALM_SECONDS: Final = 5.0


class Reconciler:
    def __init__(self, api: Api, settings: PodSettings) -> None:
        self._api = api
        self._settings = settings
        self._poller = Poller()
        self._observer = Observer(api, self._poller, Admitted(), settings)
        self._pods: dict[tuple[str, str], Any] = {}

    def reconcile(self, namespace: str, name: str) -> float | None:
        """When to look again, in seconds; None if the job is gone. Raises Unreachable and ApiError."""
        body = self._observer.find(namespace, name)
        if body is None:
            self.forget(namespace, name)
            return None
        seen = self._observer.observe(body)
        self._keep_pages(namespace, name, seen.pods)
        plan = decide(seen)
        actor = Actor(self._api, Owner(name, namespace, body["metadata"]["uid"]), seen.job, self._settings)
        for intent in plan:
            actor.carry_out(intent)
        return CALM_SECONDS if is_calm(seen, plan) else BUSY_SECONDS

    def forget(self, namespace: str, name: str) -> None:
        self._poller.forget(self._pods.pop((namespace, name), ()))

    def _keep_pages(self, namespace: str, name: str, pods: tuple[Any, ...]) -> None:
        """Only of pods that exist."""
        now = {pod.uid for pod in pods}
        self._poller.forget(pod for pod in self._pods.get((namespace, name), ()) if pod.uid not in now)
        self._pods[namespace, name] = pods
