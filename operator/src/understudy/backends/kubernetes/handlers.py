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
STREAMJOBS: Final = (names.GROUP, "v1alpha1", "streamjobs")


def registry(settings: Settings) -> kopf.OperatorRegistry:
    found = kopf.OperatorRegistry()
    loops = Loops(Reconciler(Api(_login(), API_SECONDS), settings.pods).reconcile)

    @kopf.on.startup(registry=found)
    def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False  # events are intents, posted by `act`
        settings.scanning.disabled = True
        settings.networking.request_timeout = API_SECONDS
        for kind in ("pods", "leases"):
            settings.watching.label_selectors[kind] = names.JOB

    @kopf.on.login(registry=found)
    def connect(**_: Any) -> kopf.ConnectionInfo | None:
        return _connection()

    @kopf.on.event(*STREAMJOBS, registry=found)
    async def job_changed(namespace: str, name: str, **_: Any) -> None:
        loops.wake(namespace, name)

    @kopf.on.event("pods", labels={names.JOB: kopf.PRESENT}, registry=found)
    @kopf.on.event("leases", labels={names.JOB: kopf.PRESENT}, registry=found)
    async def object_changed(namespace: str, labels: Any, **_: Any) -> None:
        loops.wake(namespace, labels[names.JOB])

    @kopf.on.cleanup(registry=found)
    async def end(**_: Any) -> None:
        await loops.stop()

    return found


# ---- who we are: a pod's account, or a kubeconfig on a developer's machine -------------------------------


def _connection() -> kopf.ConnectionInfo | None:
    if not in_pod():
        return kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
    token, ca = (SERVICE_ACCOUNT / "token").read_text().strip(), str(SERVICE_ACCOUNT / "ca.crt")
    return kopf.ConnectionInfo(server=server_of_pod(), ca_path=ca, scheme="Bearer", token=token)


def in_pod() -> bool:
    return (SERVICE_ACCOUNT / "token").exists()


def _login() -> Login:
    info = _connection()
    if info is None:
        raise SystemExit("neither a pod's account nor a kubeconfig: nowhere to operate")
    return Login.from_pod() if in_pod() else Login(info.server, info.as_ssl_context(), lambda: info.token)
