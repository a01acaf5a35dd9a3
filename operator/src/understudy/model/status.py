"""What the operator says of a job: the status of a StreamJob."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StrictInt, WithJsonSchema

from .classes import OperatorClass
from .ha import Guarantee, Mode
from .value import BY_NAME, Number, Value

BY_TYPE: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}

Text = Annotated[str, Field(max_length=32_768)]
Short = Annotated[str, Field(max_length=1024)]
Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Seconds = Annotated[Number, WithJsonSchema({"type": "number"})]
Tuples = Annotated[StrictInt, Field(ge=0)]


class Phase(StrEnum):
    REJECTED = "Rejected"
    STARTING = "Starting"
    RUNNING = "Running"
    RECOVERING = "Recovering"
    COMPLETED = "Completed"


class SubjobState(StrEnum):
    STARTING = "Starting"
    SERVING = "Serving"
    RECOVERING = "Recovering"
    FINISHED = "Finished"


class SinkState(StrEnum):
    STARTING = "Starting"
    RUNNING = "Running"
    STALLED = "Stalled"
    FINISHED = "Finished"


class ConditionType(StrEnum):
    READY = "Ready"
    ACCEPTED = "Accepted"
    PROTECTED = "Protected"
    RECOVERY_OBJECTIVE_MET = "RecoveryObjectiveMet"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Role(StrEnum):
    """What a pod is there for."""

    PRIMARY = "primary"
    """It leads: it holds the Lease of its subjob."""
    SECONDARY = "secondary"
    """It has the primary's state, or makes it itself, and keeps its output to itself."""
    REPLICA = "replica"
    """It sends as the primary does."""
    SPARE = "spare"
    """It is warm and empty."""
    SINK = "sink"


STANDBYS: Final = {
    Mode.AMNESIA: Role.SPARE,
    Mode.PASSIVE_STANDBY: Role.SECONDARY,
    Mode.UPSTREAM_BACKUP: Role.SPARE,
    Mode.ACTIVE_STANDBY: Role.SECONDARY,
    Mode.REPLICA_BACKUP: Role.REPLICA,
    Mode.SAVEPOINT: Role.SPARE,
    Mode.AUTO: Role.SECONDARY,  # until it is known what was chosen
}
"""What the one that stands by is in each mode."""


class Condition(Value):
    """One statement about the job, with its reason."""

    type: ConditionType
    """Ready, Accepted, Protected, RecoveryObjectiveMet, Progressing or Degraded."""

    status: ConditionStatus
    """True, False or Unknown."""

    reason: Annotated[str, Field(max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    """Why, in one CamelCase word."""

    message: Text = ""
    """Why, in a sentence."""

    last_transition_time: Moment
    """Since when."""

    observed_generation: StrictInt | None = None
    """The generation of the spec that it speaks of."""


class Replica(Value):
    """One process of a subjob."""

    pod: Short
    """Its pod."""

    node: Short | None = None
    """Where it runs."""

    role: Annotated[
        Role, WithJsonSchema({"type": "string", "maxLength": 63})
    ]  # other versions have other words
    """primary, and for the other one what its mode makes of it: secondary, replica or spare."""

    state: Short
    """What it is doing."""

    lag: Tuples | None = None
    """Input tuples by which it is behind."""

    restarts: Tuples | None = None
    """How often its container was started again."""


class IfItFailedNow(Value):
    """What a failure at this moment would cost."""

    replay_seconds: Seconds
    """Time to process again."""

    replay_tuples: Tuples
    """Tuples to process again."""

    lost_tuples: Tuples
    """Tuples that could not be recovered."""


class Edge(Value):
    """One input of a subjob, as the producer's output queue sees it."""

    input: Short
    """The stream."""

    queued: Tuples
    """Tuples retained."""

    acked: Tuples
    """Acknowledged up to this seq."""

    trimmed_to: Tuples
    """Removed up to this seq."""


class Failover(Value):
    """The last take-over."""

    time: Moment
    """When it was over."""

    incident: Short | None = None
    """The Incident that tells it."""

    recovery_seconds: Seconds | None = None
    """From the last tuple that came out before, or the last sign of life of the one that failed if that was
    later, to the first new tuple; if none is due, until all input that waited is processed."""

    from_: Annotated[Short, Field(alias="from")] = ""
    """The pod that was primary."""

    to: Short = ""
    """The pod that took over."""

    epoch: StrictInt | None = None
    """The epoch that began with it."""

    cause: Text = ""
    """Why it was done."""

    replayed: Tuples | None = None
    """Tuples processed again."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""


class LastMove(Value):
    """The last planned move."""

    time: Moment
    """When it was over."""

    from_: Annotated[Short, Field(alias="from")] = ""
    """The pod that was primary."""

    to: Short = ""
    """The pod that it moved to."""

    from_node: Short = ""
    """The node that it was on."""

    why: Text = ""
    """Why it was done."""

    migration: Short = ""
    """The Migration that asked for it."""

    succeeded: bool = True
    """Whether it took place."""

    message: Text = ""
    """How it went, in a sentence."""

    pause_seconds: Seconds | None = None
    """For how long nothing was processed."""

    moved_bytes: Tuples | None = None
    """Bytes of state that were sent to the new primary."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""


class LastChange(Value):
    """The last time that a primary was removed on purpose and another took its place: an edit, an upgrade, a
    drain."""

    time: Moment
    """When output flowed again."""

    from_: Annotated[Short, Field(alias="from")] = ""
    """The pod that was primary."""

    to: Short = ""
    """The pod that took its place."""

    epoch: StrictInt | None = None
    """The epoch that began with it."""

    cause: Text = ""
    """Why the pod was removed."""

    pause_seconds: Seconds | None = None
    """For how long there was no output; absent while there is none."""

    replayed: Tuples | None = None
    """Tuples processed again."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""

    duplicated: Tuples | None = None
    """Tuples that came out twice."""


class SubjobStatus(Value):
    """How one subjob is."""

    name: Short
    """Its name."""

    mode: Mode
    """The mode in force."""

    operator_class: OperatorClass
    """repeatable, convergent, deterministic or arbitrary."""

    guarantee: Guarantee
    """The guarantee in force at this moment."""

    why: Text = ""
    """Why that guarantee and no stronger one."""

    state: SubjobState | None = None
    """Starting, Serving, Recovering or Finished."""

    protected: bool | None = None
    """Whether a standby is ready to take over now; absent if none is asked for."""

    current_primary: Short | None = None
    """The pod that is primary."""

    target_primary: Short | None = None
    """The pod that should be."""

    epoch: StrictInt | None = None
    """leaseTransitions of its Lease."""

    replicas: Annotated[tuple[Replica, ...], Field(max_length=100)] = ()
    """Its processes."""

    if_it_failed_now: IfItFailedNow | None = None
    """What a failure at this moment would cost."""

    edges: Annotated[tuple[Edge, ...], Field(max_length=100)] = ()
    """Its inputs."""

    last_failover: Failover | None = None
    """The last take-over."""

    last_change: LastChange | None = None
    """The last planned change of the primary that was no move."""

    last_move: LastMove | None = None
    """The last planned move."""


class SinkStatus(Value):
    """How one sink is."""

    name: Short
    """Its name."""

    state: SinkState
    """Starting, Running, Stalled (its disk hangs) or Finished."""

    pod: Short | None = None
    """Its pod."""

    uid: Short | None = None
    """Tells its pod from another of the same name."""

    node: Short | None = None
    """Where it runs."""

    restarts: Tuples | None = None
    """How often its container was started again."""

    tuples: Tuples | None = None
    """Tuples written."""

    next: Tuples | None = None
    """The seq of the next tuple that it will write."""

    lag: Tuples | None = None
    """Tuples by which it is behind the end of its producer's queue; absent while no primary can tell."""

    lag_seconds: Seconds | None = None
    """For how long the oldest of these tuples has been there."""

    durable: bool | None = None
    """Whether what it wrote survives its pod: on an emptyDir, ephemeral or csi volume it does not."""

    note: Text = ""
    """What to know about it."""


class Summary(Value):
    """What `kubectl get sj` shows."""

    subjobs: Short = ""
    """Subjobs that run, of all: 3/3."""

    protected: Short = ""
    """Standbys that are ready, of all: 3/3."""

    guarantee: Guarantee | None = None
    """The weakest guarantee in force."""

    last_failover: Moment | None = None
    """When the last take-over was over."""

    last_recovery: Short | None = None
    """How long it took from the last sign of life of the old primary to the first new output: 0.8s."""

    if_it_failed_now: Short | None = None
    """What a failure at this moment would cost at worst: 0.2s replay, 0 lost."""

    attention: Text = ""
    """What needs a look, in a sentence; empty if nothing does."""


class StreamJobStatus(Value):
    """What the operator sees of the job."""

    observed_generation: StrictInt | None = None
    """The generation of the spec that this speaks of."""

    phase: Phase | None = None
    """Rejected, Starting, Running, Recovering or Completed."""

    start_time: Moment | None = None
    """When the streams started."""

    completion_time: Moment | None = None
    """When every sink had written its whole stream."""

    measured_at: Moment | None = None
    """When the figures were taken that change all the time; they are written every few seconds."""

    conditions: Annotated[tuple[Condition, ...], Field(max_length=50, json_schema_extra=BY_TYPE)] = ()
    """Ready, Accepted, Protected, RecoveryObjectiveMet, Progressing, Degraded."""

    summary: Summary | None = None
    """What `kubectl get sj` shows."""

    subjobs: Annotated[tuple[SubjobStatus, ...], Field(max_length=100, json_schema_extra=BY_NAME)] = ()
    """Each subjob."""

    sinks: Annotated[tuple[SinkStatus, ...], Field(max_length=100, json_schema_extra=BY_NAME)] = ()
    """Each sink."""
