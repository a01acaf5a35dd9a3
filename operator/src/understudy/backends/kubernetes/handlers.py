"""kopf: watches wake up the loop of the job that they concern. Nothing is decided here.

Only event handlers are used: they leave no finalizer and no annotation on anything, so a StreamJob can be deleted while
the operator is down; its objects go by their owner references.
"""

from __future__ import annotations

from typing import Any, Final

import kopf

from understudy.backends.kubernetes.api import SERVICE_ACCOUNT, Api, Login, server_of_pod
from understudy.backends.kubernetes.loops import Loops
from understudy.backends.kubernetes.reconcile import Reconciler
from understudy.backends.kubernetes.settings import Settings
from understudy.control import names

API_SECONDS: Final = 10.0
WATCHED: Final = ("pods", "leases")


def registry(settings: Settings) -> kopf.OperatorRegistry:
    found = kopf.OperatorRegistry()
    loops = Loops(Reconciler(Api(_login(), API_SECONDS), settings.pods).reconcile)

    async def job_changed(namespace: str, name: str, **_: Any) -> None:
        loops.wake(namespace, name)

    async def object_changed(namespace: str, labels: Any, **_: Any) -> None:
        loops.wake(namespace, labels[names.JOB])

    async def end(**_: Any) -> None:
        await loops.stop()

    kopf.on.startup(registry=found)(_configure)
    kopf.on.login(registry=found)(_connect)
    kopf.on.event(names.GROUP, "v1alpha1", "streamjobs", registry=found)(job_changed)
    for kind in WATCHED:
        kopf.on.event(kind, labels={names.JOB: kopf.PRESENT}, registry=found)(object_changed)
    kopf.on.cleanup(registry=found)(end)
    return found


def _configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False  # events are intents, posted by `act`
    settings.scanning.disabled = True
    settings.networking.request_timeout = API_SECONDS
    for kind in WATCHED:
        settings.watching.label_selectors[kind] = names.JOB


# ---- who we are: a pod's account, or a kubeconfig on a developer's machine -------------------------------


def _connect(**_: Any) -> kopf.ConnectionInfo | None:
    if not in_pod():
        return kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
    token, ca = (SERVICE_ACCOUNT / "token").read_text().strip(), str(SERVICE_ACCOUNT / "ca.crt")
    return kopf.ConnectionInfo(server=server_of_pod(), ca_path=ca, scheme="Bearer", token=token)


def in_pod() -> bool:
    return (SERVICE_ACCOUNT / "token").exists()


def _login() -> Login:
    info = _connect()
    if info is None:
        raise SystemExit("neither a pod's account nor a kubeconfig: nowhere to operate")
    return Login.from_pod() if in_pod() else Login(info.server, info.as_ssl_context(), lambda: info.token)
