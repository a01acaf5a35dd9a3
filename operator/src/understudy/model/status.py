"""The status of a StreamJob: what the operator reports about a job."""

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
    SOURCES_HEALTHY = "SourcesHealthy"


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Role(StrEnum):
    """The role of a pod."""

    PRIMARY = "primary"
    """It leads: it holds the Lease of its subjob."""
    SECONDARY = "secondary"
    """It has the primary's state, or computes it itself, and does not send its output."""
    REPLICA = "replica"
    """It sends, as the primary does."""
    SPARE = "spare"
    """It is warm and has no state."""
    SINK = "sink"


STANDBYS: Final = {
    Mode.AMNESIA: Role.SPARE,
    Mode.PASSIVE_STANDBY: Role.SECONDARY,
    Mode.UPSTREAM_BACKUP: Role.SPARE,
    Mode.ACTIVE_STANDBY: Role.SECONDARY,
    Mode.REPLICA_BACKUP: Role.REPLICA,
    Mode.SAVEPOINT: Role.SPARE,
    Mode.AUTO: Role.SECONDARY,  # until it is known which mode was chosen
}
"""The role of the second instance in each mode."""


class Condition(Value):
    """One statement about the job, with its reason."""

    type: ConditionType
    """Ready, Accepted, Protected, RecoveryObjectiveMet, Progressing, Degraded or SourcesHealthy."""

    status: ConditionStatus
    """True, False or Unknown."""

    reason: Annotated[str, Field(max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    """Why, in one CamelCase word."""

    message: Text = ""
    """Why, in a sentence."""

    last_transition_time: Moment
    """When its status last changed."""

    observed_generation: StrictInt | None = None
    """The generation of the spec that it describes."""


class Replica(Value):
    """One process of a subjob."""

    pod: Short
    """Its pod."""

    node: Short | None = None
    """The node on which it runs."""

    role: Annotated[
        Role, WithJsonSchema({"type": "string", "maxLength": 63})
    ]  # other versions use other words
    """primary; for the other instance a word that depends on the mode: secondary, replica or spare."""

    state: Short
    """Its state."""

    lag: Tuples | None = None
    """Input tuples that it has not processed yet."""

    restarts: Tuples | None = None
    """How often its container was restarted."""


class IfItFailedNow(Value):
    """What a failure at this moment would cost."""

    replay_seconds: Seconds
    """Time to replay."""

    replay_tuples: Tuples
    """Tuples to replay."""

    lost_tuples: Tuples
    """Tuples that could not be recovered."""


class Edge(Value):
    """One input of a subjob, as the producer's output queue sees it."""

    input: Short
    """The stream."""

    queued: Tuples
    """Tuples retained."""

    acked: Tuples
    """Every consumer has acked the tuples before this seq."""

    trimmed_to: Tuples
    """The tuples before this seq are removed."""


class Failover(Value):
    """The last take-over."""

    time: Moment
    """When it ended."""

    incident: Short | None = None
    """The Incident that describes it."""

    recovery_seconds: Seconds | None = None
    """From the last tuple of the former primary, or its last sign of life if that was later, to the first new
    tuple; if no tuple is due, until all waiting input is processed."""

    from_: Annotated[Short, Field(alias="from")] = ""
    """The former primary's pod."""

    to: Short = ""
    """The pod that took over."""

    epoch: StrictInt | None = None
    """The epoch that began with it."""

    cause: Text = ""
    """The cause."""

    replayed: Tuples | None = None
    """Tuples processed again."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""


class LastMove(Value):
    """The last planned move."""

    time: Moment
    """When it ended."""

    from_: Annotated[Short, Field(alias="from")] = ""
    """The former primary's pod."""

    to: Short = ""
    """The pod to which it moved."""

    from_node: Short = ""
    """The node from which it moved."""

    why: Text = ""
    """Why it was done."""

    migration: Short = ""
    """The Migration that ordered it."""

    succeeded: bool = True
    """Whether it took place."""

    message: Text = ""
    """How it went, in a sentence."""

    pause_seconds: Seconds | None = None
    """How long no input was processed."""

    moved_bytes: Tuples | None = None
    """Bytes of state that were sent to the new primary."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""


class LastChange(Value):
    """The last time a primary was replaced on purpose: for an edit, an upgrade, a drain."""

    time: Moment
    """When output flowed again."""

    from_: Annotated[Short, Field(alias="from")] = ""
    """The former primary's pod."""

    to: Short = ""
    """The pod that took its place."""

    epoch: StrictInt | None = None
    """The epoch that began with it."""

    cause: Text = ""
    """Why the pod was removed."""

    pause_seconds: Seconds | None = None
    """How long there was no output; absent until output is back."""

    replayed: Tuples | None = None
    """Tuples processed again."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""

    duplicated: Tuples | None = None
    """Tuples that were sent twice."""


class SubjobStatus(Value):
    """The state of one subjob."""

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
    """Whether a standby is ready to take over now; absent if none is wanted."""

    current_primary: Short | None = None
    """The pod that is primary."""

    target_primary: Short | None = None
    """The pod that should be primary."""

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
    """The state of one sink."""

    name: Short
    """Its name."""

    state: SinkState
    """Starting, Running, Stalled (its disk hangs) or Finished."""

    pod: Short | None = None
    """Its pod."""

    uid: Short | None = None
    """Tells its pod from another one with the same name."""

    node: Short | None = None
    """The node on which it runs."""

    restarts: Tuples | None = None
    """How often its container was restarted."""

    tuples: Tuples | None = None
    """Tuples written."""

    next: Tuples | None = None
    """The seq of the next tuple that it will write."""

    lag: Tuples | None = None
    """Tuples between its position and the end of its producer's queue; absent if no primary reports it."""

    lag_seconds: Seconds | None = None
    """How long the oldest of these tuples has been in the queue."""

    durable: bool | None = None
    """Whether its output survives its pod: on an emptyDir, ephemeral or csi volume it does not."""

    note: Text = ""
    """A remark about it."""


class Summary(Value):
    """What `kubectl get sj` shows."""

    subjobs: Short = ""
    """Running subjobs, of all: 3/3."""

    protected: Short = ""
    """Ready standbys, of all: 3/3."""

    guarantee: Guarantee | None = None
    """The weakest guarantee in force."""

    last_failover: Moment | None = None
    """When the last take-over ended."""

    last_recovery: Short | None = None
    """The time from the last sign of life of the former primary to the first new output: 0.8s."""

    if_it_failed_now: Short | None = None
    """What a failure at this moment would cost at worst: 0.2s replay, 0 lost."""

    attention: Text = ""
    """A sentence about a problem that a person should look at; empty if there is none."""


class StreamJobStatus(Value):
    """What the operator sees of the job."""

    observed_generation: StrictInt | None = None
    """The generation of the spec that this status describes."""

    phase: Phase | None = None
    """Rejected, Starting, Running, Recovering or Completed."""

    start_time: Moment | None = None
    """When the streams started."""

    completion_time: Moment | None = None
    """When every sink had written its whole stream."""

    measured_at: Moment | None = None
    """When the figures that change all the time were measured; they are written every few seconds."""

    conditions: Annotated[tuple[Condition, ...], Field(max_length=50, json_schema_extra=BY_TYPE)] = ()
    """Ready, Accepted, Protected, RecoveryObjectiveMet, Progressing, Degraded, SourcesHealthy."""

    summary: Summary | None = None
    """What `kubectl get sj` shows."""

    subjobs: Annotated[tuple[SubjobStatus, ...], Field(max_length=100, json_schema_extra=BY_NAME)] = ()
    """Each subjob."""

    sinks: Annotated[tuple[SinkStatus, ...], Field(max_length=100, json_schema_extra=BY_NAME)] = ()
    """Each sink."""
