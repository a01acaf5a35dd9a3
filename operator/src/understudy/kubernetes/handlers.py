"""kopf: watches wake the loop of the job that they concern. Nothing is decided here.

Only event handlers are used: they leave no finalizer and no annotation on any object. So a StreamJob can be
deleted while the operator is down; its objects are deleted by their owner references.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import kopf
import structlog
from kubernetes.config import ConfigException

from understudy.control import names
from understudy.control.canary import Key
from understudy.kubernetes.act import OURS
from understudy.kubernetes.api import Api, configuration
from understudy.kubernetes.drills import DrillReconciler, is_open
from understudy.kubernetes.election import Election
from understudy.kubernetes.loops import Loops
from understudy.kubernetes.metrics import OperatorMetrics
from understudy.kubernetes.migrations import MigrationReconciler
from understudy.kubernetes.migrations import is_open as migration_is_open
from understudy.kubernetes.news import LEASES, News
from understudy.kubernetes.reconcile import Reconciler
from understudy.kubernetes.rounds import Rounds
from understudy.kubernetes.settings import Settings
from understudy.kubernetes.writes import unelected

log = structlog.get_logger()

Json = dict[str, Any]

API_SECONDS: Final = 10.0
ELECTION_SECONDS: Final = 2.0
WATCHED: Final = ("pods", LEASES)


def registry(settings: Settings, give_up: Callable[[], None]) -> kopf.OperatorRegistry:
    """`give_up` ends the process with a failure: another operator takes over, and this one is restarted."""
    found = kopf.OperatorRegistry()
    api = _reach(API_SECONDS)
    election = Election(_reach(ELECTION_SECONDS), *settings.election) if settings.election else None
    leads = election.leads if election else _always
    mandate = election.mandate if election else unelected
    metrics = OperatorMetrics(leads)
    tasks: list[asyncio.Task[None]] = []

    def silent(why: str) -> None:
        log.error("watch silent", why=why)
        give_up()

    def rounds(
        plural: str, reconcile: Callable[[str, str], float | None], counts: Callable[[Json], bool]
    ) -> Rounds:
        listed = partial(_generations, api, settings.namespaces, plural, counts)
        return Rounds(listed, leads, Loops(metrics.timed(plural, reconcile), leads), silent)

    jobs = rounds("streamjobs", Reconciler(api, settings.pods, mandate, metrics).reconcile, _any)
    drilling = DrillReconciler(api, settings.pods, mandate, metrics)
    drills = rounds("failoverdrills", drilling.reconcile, is_open)
    migrations = rounds("migrations", MigrationReconciler(api, mandate).reconcile, migration_is_open)

    async def begin(**_: Any) -> None:
        if election:
            election.start()
        if settings.metrics_port:
            metrics.serve(settings.metrics_port)
        tasks.extend(asyncio.create_task(each.run()) for each in (jobs, drills, migrations))

    async def end(**_: Any) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*(each.loops.stop() for each in (jobs, drills, migrations)))
        if election:
            await asyncio.to_thread(election.stop)

    kopf.on.startup(registry=found)(_configure)
    kopf.on.startup(registry=found)(begin)
    kopf.on.login(registry=found)(kopf.login_via_client)
    kopf.on.event(names.GROUP, "v1alpha1", "streamjobs", registry=found)(_changed(jobs))
    kopf.on.event(names.GROUP, "v1alpha1", "failoverdrills", registry=found)(_changed(drills))
    kopf.on.event(names.GROUP, "v1alpha1", "migrations", registry=found)(_changed(migrations))
    for kind in WATCHED:
        kopf.on.event(kind, labels={names.JOB: kopf.PRESENT}, registry=found)(
            object_changed(kind, jobs.loops)
        )
    kopf.on.cleanup(registry=found)(end)
    return found


def _changed(rounds: Rounds) -> Callable[..., Any]:
    """The handler for a watch event of an object of our kinds."""

    async def changed(namespace: str, name: str, body: Any, type: str | None, **_: Any) -> None:
        if type == "DELETED":
            rounds.hear_end((namespace, name))
        else:
            rounds.hear((namespace, name), body["metadata"]["generation"])

    return changed


def object_changed(kind: str, loops: Loops) -> Callable[..., Any]:
    """The handler for a watch event of an object that belongs to a job."""
    news = News()

    async def changed(namespace: str, labels: Any, body: Any, type: str | None, **_: Any) -> None:
        if news.is_news(kind, type, body):
            loops.wake(namespace, labels[names.JOB])

    return changed


def _always() -> bool:
    return True


def _any(_: Json) -> bool:
    return True


def _generations(
    api: Api, namespaces: tuple[str, ...], plural: str, counts: Callable[[Json], bool]
) -> dict[Key, int]:
    """The generation of every object of one of our kinds for which `counts` is true."""
    paths = [f"{OURS}/namespaces/{namespace}/{plural}" for namespace in namespaces] or [f"{OURS}/{plural}"]
    found = [body["metadata"] for path in paths for body in api.list(path) if counts(body)]
    return {(metadata["namespace"], metadata["name"]): metadata["generation"] for metadata in found}


def _configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False  # events are intents, posted by `act`
    settings.scanning.disabled = True
    settings.networking.request_timeout = API_SECONDS
    for kind in WATCHED:
        settings.watching.label_selectors[kind] = names.JOB


def _reach(seconds: float) -> Api:
    """A client for the API server, with the identity of this process."""
    try:
        return Api(configuration(), seconds)
    except ConfigException as error:
        raise SystemExit(f"neither a pod's account nor a kubeconfig: nowhere to operate ({error})") from error
