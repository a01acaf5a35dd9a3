"""Carries out the intents of one look. Each is one or two requests, and can be repeated without harm."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, assert_never

import structlog

from understudy.control import intents as do
from understudy.control import names
from understudy.control.intents import Intent, Kind
from understudy.control.observed import Lease
from understudy.kubernetes import certificates, objects
from understudy.kubernetes.api import Api, Conflict, NotFound
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.parse import is_owned_by, lease_of, other_of
from understudy.kubernetes.pods import instance_pod, sink_pod, trial_pod
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Outdated, Writer
from understudy.model.job import StreamJob
from understudy.process.clock import now_ms
from understudy.process.ports import Unreachable
from understudy.protocol.peermessage import Change

log = structlog.get_logger()

CORE: Final = "/api/v1"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
LEASES: Final = "/apis/coordination.k8s.io/v1"
EVENTS: Final = "/apis/events.k8s.io/v1"
POLICY: Final = "/apis/policy/v1"
BATCH: Final = "/apis/batch/v1"
NETWORKING: Final = "/apis/networking.k8s.io/v1"
OURS: Final = "/apis/understudy.dev/v1alpha1"

_REMOVABLE: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.SERVICE: (CORE, "services"),
    Kind.LEASE: (LEASES, "leases"),
    Kind.MANIFEST: (CORE, "configmaps"),
    Kind.INCIDENT: (OURS, "incidents"),
    Kind.CERTIFICATE: (CORE, "secrets"),
    Kind.BUDGET: (POLICY, "poddisruptionbudgets"),
}


class Taken(Exception):
    """An object that is not the job's has a name that the job needs. It was left as it is."""


class Actor:
    def __init__(
        self,
        api: Api,
        writer: Writer,
        owner: Owner,
        job: StreamJob | None,
        settings: PodSettings,
        declared: StreamJob | None = None,
    ) -> None:
        self._api = api
        self._writer = writer
        self._owner = owner
        self._job = job
        self._declared = declared or job
        self._settings = settings

    @property
    def job(self) -> tuple[str, str]:
        return self._owner.namespace, self._owner.name

    @property
    def uid(self) -> str:
        return self._owner.uid

    def carry_out(self, intent: Intent) -> None:
        log.info(type(intent).__name__, job=self._owner.name, namespace=self._owner.namespace, why=intent.why)
        match intent:
            case do.EnsureServiceAccount():
                self._apply(CORE, "serviceaccounts", objects.service_account(self._owner))
            case do.EnsureRole():
                self._apply(RBAC, "roles", objects.role(self._owner, intent.leases, intent.executors))
            case do.EnsureRoleBinding():
                self._apply(RBAC, "rolebindings", objects.role_binding(self._owner))
            case do.EnsureManifest():
                self._create(CORE, "configmaps", self._manifest(intent.revision))
            case do.EnsureService():
                self._apply(CORE, "services", objects.service(self._owner, intent.subjob))
            case do.EnsureBudget():
                self._apply(POLICY, "poddisruptionbudgets", objects.budget(self._owner, intent.subjob))
            case do.EnsureNetworkPolicy():
                self._apply(
                    NETWORKING,
                    "networkpolicies",
                    objects.network_policy(self._owner, self._settings.operator),
                )
            case do.IssueCertificate():
                self._issue(intent)
            case do.EnsureLease():
                made = objects.lease(
                    self._owner, intent.subjob, intent.holder, intent.address, intent.epoch, now_ms()
                )
                self._create(LEASES, "leases", made)
            case do.NameSuccessor():
                self._name_successor(intent)
            case do.WithdrawSuccessor():
                self._withdraw_successor(intent)
            case do.DropOrder():
                dropped = {"metadata": {"annotations": {f"{names.MOVE}/{intent.subjob}": None}}}
                self._writer.change(OURS, "streamjobs", self._owner.name, dropped)
            case do.Record():
                self._record(intent)
            case do.CreateInstance():
                self._create(
                    CORE, "pods", instance_pod(self._owner, self._accepted(), intent, self._settings)
                )
            case do.CreateTrial():
                declared = self._declared or self._accepted()
                self._create(CORE, "pods", trial_pod(self._owner, declared, intent, self._settings))
            case do.ChangeInstance():
                self._change(intent)
            case do.RunProcess():
                self._create(
                    BATCH, "jobs", objects.failure_process(self._owner, intent.name, intent.template)
                )
            case do.CreateSink():
                self._create(CORE, "pods", sink_pod(self._owner, self._accepted(), intent, self._settings))
            case do.DeletePod():
                self._writer.delete(CORE, "pods", intent.name, force=intent.force)
            case do.LabelPod():
                self._writer.change(
                    CORE, "pods", intent.name, {"metadata": {"labels": {names.ROLE: str(intent.role)}}}
                )
            case do.Remove():
                self._remove(*_REMOVABLE[intent.kind], intent.name)
            case do.RecordIncident():
                self._record_incident(intent)
            case do.Emit():
                self._emit(intent)
            case do.PatchStatus():
                self._patch_status(intent.status)
            case _:
                assert_never(intent)

    def _accepted(self) -> StreamJob:
        if self._job is None:
            raise LookupError("nothing was accepted")
        return self._job

    def _manifest(self, revision: str) -> dict[str, Any]:
        return objects.manifest(self._owner, self._accepted(), self._declared or self._accepted(), revision)

    def _change(self, intent: do.ChangeInstance) -> None:
        """An instance that can't be reached now gets the change at the next look."""
        said = Change(intent.ha.told())
        try:
            self._writer.order(self._owner.name, intent.certificate, intent.ip, said)
        except Unreachable as error:
            log.warning("mode change not delivered", pod=intent.pod, error=str(error))

    # ---- requests

    def _path(self, group: str, plural: str, name: str = "") -> str:
        return f"{group}/namespaces/{self._owner.namespace}/{plural}" + (f"/{name}" if name else "")

    def _create(self, group: str, plural: str, body: dict[str, Any]) -> None:
        """An object of the job that exists already was made by an earlier life of the operator, and stays as
        it is."""
        try:
            self._writer.create(group, plural, body)
        except Conflict:
            self._must_be_ours(group, plural, body["metadata"]["name"])

    def _create_now(self, group: str, plural: str, body: dict[str, Any]) -> None:
        """Raises Conflict if the job has such an object already: then what was read is out of date."""
        try:
            self._writer.create(group, plural, body)
        except Conflict:
            self._must_be_ours(group, plural, body["metadata"]["name"])
            raise

    def _apply(self, group: str, plural: str, body: dict[str, Any]) -> None:
        try:
            self._writer.apply(group, plural, body)
        except Conflict:
            self._must_be_ours(group, plural, body["metadata"]["name"])
            raise

    def _must_be_ours(self, group: str, plural: str, name: str) -> None:
        found = self._api.list(self._path(group, plural), fieldSelector=f"metadata.name={name}")
        if not all(is_owned_by(each, self._owner.uid) for each in found):
            raise Taken(f"{plural}/{name}")

    def _issue(self, intent: do.IssueCertificate) -> None:
        now = certificates.moment(now_ms())
        new = certificates.new_authority(self._owner.name, now)
        kept = self._keep_secret(names.authority(self._owner.name), certificates.authority_data(new))
        made = certificates.issue(
            certificates.read_authority(kept), certificates.moment(intent.until_ms), now
        )
        self._keep_secret(
            names.certificate(self._owner.name, intent.number), certificates.credentials_data(made)
        )

    def _keep_secret(self, name: str, data: dict[str, Any]) -> dict[str, Any]:
        """The Secret's data. A Secret that exists keeps its data."""
        with suppress(Conflict):
            self._writer.create(CORE, "secrets", objects.secret(self._owner, name, data))
        found = self._api.get(self._path(CORE, "secrets", name))
        if other_of("Secret", found, self._owner.name, self._owner.uid):
            raise Taken(f"secrets/{name}")
        if not is_owned_by(found, self._owner.uid):
            raise Unreachable(f"secret {name} of an earlier job of this name is still there")
        kept: dict[str, Any] = found["data"]
        return kept

    def _remove(self, group: str, plural: str, name: str) -> None:
        """Secrets are not read by a look, so they are read here."""
        if not self._writer.knows(group, plural, name):
            try:
                self._writer.read_again(group, plural, name)
            except NotFound:
                return
        self._writer.delete(group, plural, name)

    def _name_successor(self, intent: do.NameSuccessor) -> None:
        """Acks change a Lease all the time, so it is read again here: only its holder has to be the same."""
        found = self._lease(intent.subjob)
        if found.holder != intent.holder:
            raise Outdated(409, f"{found.name} is held by {found.holder}, no longer by {intent.holder}")
        self._annotate_lease(found.name, names.SUCCESSOR, intent.instance)

    def _withdraw_successor(self, intent: do.WithdrawSuccessor) -> None:
        """If the successor has taken the Lease in the meantime, the Lease names no successor; the next look
        sees that the subjob has moved."""
        found = self._lease(intent.subjob)
        if found.successor != intent.instance:
            raise Outdated(409, f"{found.name} names {found.successor}, no longer {intent.instance}")
        self._annotate_lease(found.name, names.SUCCESSOR, None)

    def _lease(self, subjob: str) -> Lease:
        return lease_of(self._writer.read_again(LEASES, "leases", names.lease(self._owner.name, subjob)))

    def _annotate_lease(self, name: str, key: str, value: str | None) -> None:
        self._writer.change(LEASES, "leases", name, {"metadata": {"annotations": {key: value}}})

    def _record(self, intent: do.Record) -> None:
        name = names.run(self._owner.name)
        if self._writer.knows(CORE, "configmaps", name):
            self._writer.change(CORE, "configmaps", name, {"data": dict(intent.entries)})
        else:
            self._create_now(CORE, "configmaps", objects.record(self._owner, intent.entries))

    def _record_incident(self, intent: do.RecordIncident) -> None:
        if not self._writer.knows(OURS, "incidents", intent.name):
            self._create_now(OURS, "incidents", objects.incident(self._owner, intent.name, intent.spec))
        self._writer.change_status(OURS, "incidents", intent.name, intent.status)

    def _emit(self, intent: do.Emit) -> None:
        name = f"{self._owner.name}.{uuid.uuid4().hex[:16]}"
        body = objects.event(
            self._owner, str(intent.severity), str(intent.reason), intent.why, now_ms(), name
        )
        with suppress(Conflict):
            self._writer.create(EVENTS, "events", body)

    def _patch_status(self, status: Mapping[str, Any]) -> None:
        """Fields that the new status no longer has are removed: a merge patch alone would keep them."""
        gone = dict.fromkeys(("summary", "startTime", "completionTime", "measuredAt", "subjobs", "sinks"))
        self._writer.change_status(OURS, "streamjobs", self._owner.name, {**gone, **status})
