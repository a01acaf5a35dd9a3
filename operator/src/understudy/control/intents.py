"""What the operator is about to do. Each says why, in a sentence; carrying one out twice does no harm."""

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
    """Whether drivers make pods for executors."""
    why: str


@dataclass(frozen=True, slots=True)
class EnsureRoleBinding:
    why: str


@dataclass(frozen=True, slots=True)
class EnsureManifest:
    """The ConfigMap with the job as it was accepted; it never changes."""

    revision: str
    why: str


@dataclass(frozen=True, slots=True)
class EnsureService:
    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class EnsureBudget:
    """The subjob's primary is not evicted when nodes are drained: it moves first."""

    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class EnsureNetworkPolicy:
    why: str


@dataclass(frozen=True, slots=True)
class IssueCertificate:
    """Also the job's authority if it has none."""

    number: int
    until_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class EnsureLease:
    """Never touches a Lease that exists. A new one counts on from `epoch`."""

    subjob: str
    holder: str | None
    address: str | None
    epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class NameSuccessor:
    """Write into the subjob's Lease to whom its holder should move, if it still is this one."""

    subjob: str
    holder: str
    instance: str
    why: str


@dataclass(frozen=True, slots=True)
class WithdrawSuccessor:
    """Take this successor out of the subjob's Lease, if it still stands there."""

    subjob: str
    instance: str
    why: str


@dataclass(frozen=True, slots=True)
class DropOrder:
    """Take the order to move the subjob off the StreamJob."""

    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class Record:
    """Write these entries into the ConfigMap `JOB-run`; None takes one away."""

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
    """The node that was elected; another will do if it has no room."""
    digests: Digests
    revision: str
    certificate: int
    why: str


@dataclass(frozen=True, slots=True)
class CreateTrial:
    """A pod that waits for the room that an instance needs."""

    name: str
    subjob: str
    avoid: frozenset[str]
    """Nodes that must not be used."""
    asks: str
    """Another one for another request."""
    why: str


@dataclass(frozen=True, slots=True)
class CreateSink:
    name: str
    sink: str
    life: int
    """Greater than that of every pod of this sink before."""
    avoid: frozenset[str]
    """Nodes that are used only if its volume is nowhere else."""
    digests: Digests
    revision: str
    certificate: int
    why: str


@dataclass(frozen=True, slots=True)
class ChangeInstance:
    """Tell a running instance how the manifest wants its subjob kept alive."""

    pod: str
    ip: str
    certificate: int
    ha: Ha
    why: str


@dataclass(frozen=True, slots=True)
class RunProcess:
    """Make the Job that a subjob declares for the case that it has failed for good."""

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
    """Create the Incident or bring it up to date."""

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
