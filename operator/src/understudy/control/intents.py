"""What the operator can be asked to do. Each intent has its reason, as a sentence. Carrying an intent out
twice does no harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from understudy.control.observed import Spread
from understudy.control.revision import Digests
from understudy.model.ha import Ha
from understudy.model.status import Role


@dataclass(frozen=True, slots=True)
class EnsureServiceAccount:
    why: str


@dataclass(frozen=True, slots=True)
class EnsureRole:
    leases: frozenset[str]
    executors: bool
    """Whether drivers may make pods for executors."""
    why: str


@dataclass(frozen=True, slots=True)
class EnsureRoleBinding:
    why: str


@dataclass(frozen=True, slots=True)
class EnsureManifest:
    """Make the ConfigMap with the job as it was accepted. It never changes."""

    revision: str
    why: str


@dataclass(frozen=True, slots=True)
class EnsureService:
    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class EnsureBudget:
    """Make the PodDisruptionBudget that keeps the subjob's primary from being evicted: it moves first."""

    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class EnsureNetworkPolicy:
    why: str


@dataclass(frozen=True, slots=True)
class IssueCertificate:
    """Issue a certificate for the job's pods, and make the job's authority if there is none."""

    number: int
    until_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class EnsureLease:
    """Make the Lease if there is none. The epochs of a new one continue from `epoch`."""

    subjob: str
    holder: str | None
    address: str | None
    epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class NameSuccessor:
    """Write into the subjob's Lease where its holder should move, if the holder is still the same."""

    subjob: str
    holder: str
    instance: str
    why: str


@dataclass(frozen=True, slots=True)
class WithdrawSuccessor:
    """Remove this successor from the subjob's Lease, if the Lease still names it."""

    subjob: str
    instance: str
    why: str


@dataclass(frozen=True, slots=True)
class DropOrder:
    """Remove the order to move the subjob from the StreamJob."""

    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class Record:
    """Write these entries into the ConfigMap `JOB-run`. None removes an entry."""

    entries: Mapping[str, str | None]
    why: str


@dataclass(frozen=True, slots=True)
class CreateInstance:
    name: str
    subjob: str
    role: Role
    spread: Spread
    avoid: frozenset[str]
    """Nodes that must not be used."""
    prefer: str | None
    """The elected node. Another node is used if this one has no room."""
    digests: Digests
    revision: str
    certificate: int
    why: str


@dataclass(frozen=True, slots=True)
class CreateTrial:
    """Make a pod that waits until there is room for an instance."""

    name: str
    subjob: str
    avoid: frozenset[str]
    """Nodes that must not be used."""
    asks: str
    """What the trial asks for, as a text. A trial for another request has another text."""
    why: str


@dataclass(frozen=True, slots=True)
class CreateSink:
    name: str
    sink: str
    life: int
    """A number higher than those of all earlier pods of this sink."""
    avoid: frozenset[str]
    """Nodes that are used only if the sink's volume exists nowhere else."""
    digests: Digests
    revision: str
    certificate: int
    why: str


@dataclass(frozen=True, slots=True)
class ChangeInstance:
    """Send a running instance the new high-availability settings of the manifest."""

    pod: str
    ip: str
    certificate: int
    ha: Ha
    why: str


@dataclass(frozen=True, slots=True)
class RunProcess:
    """Make the Job that a subjob declares as its failure process."""

    name: str
    template: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """`force`: do not wait for a kubelet that may never answer."""

    name: str
    force: bool
    why: str


@dataclass(frozen=True, slots=True)
class LabelPod:
    name: str
    role: Role
    why: str


class Kind(StrEnum):
    """What `Remove` can remove besides pods."""

    SERVICE = "Service"
    LEASE = "Lease"
    MANIFEST = "ConfigMap"
    INCIDENT = "Incident"
    BUDGET = "PodDisruptionBudget"
    CERTIFICATE = "Secret"


@dataclass(frozen=True, slots=True)
class Remove:
    kind: Kind
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class RecordIncident:
    """Create or update the Incident."""

    name: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    why: str


class Severity(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class Reason(StrEnum):
    """Reasons of events. People and alerts match on them."""

    ACCEPTED = "Accepted"
    REJECTED = "Rejected"
    INSTANCE_CREATED = "InstanceCreated"
    INSTANCE_REMOVED = "InstanceRemoved"
    SINK_CREATED = "SinkCreated"
    SINK_REMOVED = "SinkRemoved"
    STARTED = "Started"
    PRIMARY_READY = "PrimaryReady"
    PROTECTED = "Protected"
    PRIMARY_LOST = "PrimaryLost"
    FAILOVER_COMPLETED = "FailoverCompleted"
    STANDBY_LOST = "StandbyLost"
    STANDBY_REPLACED = "StandbyReplaced"
    TUPLES_LOST = "TuplesLost"
    ENGINE_STALLED = "EngineStalled"
    SINK_STALLED = "SinkStalled"
    SOURCE_NOT_READ = "SourceNotRead"
    BAD_RECORDS = "BadRecords"
    DEGRADED = "Degraded"
    BRANCH_BEGUN = "BranchBegun"
    BRANCH_ENDED = "BranchEnded"
    PROCESS_RUN = "ProcessRun"
    COMPLETED = "Completed"
    CHANGED = "Changed"
    MOVE_STARTED = "MoveStarted"
    MOVED = "Moved"
    MOVE_FAILED = "MoveFailed"
    DRILL_STARTED = "DrillStarted"
    DRILL_PASSED = "DrillPassed"
    DRILL_FAILED = "DrillFailed"


@dataclass(frozen=True, slots=True)
class Emit:
    severity: Severity
    reason: Reason
    why: str


@dataclass(frozen=True, slots=True)
class PatchStatus:
    status: Mapping[str, Any]
    why: str


Intent = (
    EnsureServiceAccount
    | EnsureRole
    | EnsureRoleBinding
    | EnsureManifest
    | EnsureService
    | EnsureBudget
    | EnsureNetworkPolicy
    | IssueCertificate
    | EnsureLease
    | NameSuccessor
    | WithdrawSuccessor
    | DropOrder
    | Record
    | CreateInstance
    | CreateTrial
    | ChangeInstance
    | RunProcess
    | CreateSink
    | DeletePod
    | LabelPod
    | Remove
    | RecordIncident
    | Emit
    | PatchStatus
)
