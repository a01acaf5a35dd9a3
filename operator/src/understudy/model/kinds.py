"""The other kinds: incidents that record failures, drills that cause them, migrations that avoid them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool, StrictInt, WithJsonSchema

from .ha import Mode
from .status import Moment, Role, Seconds, Short, Text, Tuples
from .value import Duration, Name, Value
from .words import DrillPhase as DrillPhase
from .words import Fault as Fault
from .words import MigrationPhase as MigrationPhase


class FailureClass(StrEnum):
    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    RESOURCE = "resource"
    FALSE_SUSPICION = "falseSuspicion"


class IncidentSpec(Value):
    """What failed. Written by the operator."""

    job: Name
    """The StreamJob."""

    subjob: Name
    """The subjob that failed; for a sink, the subjob whose stream it writes."""

    sink: Name | None = None
    """The sink that failed, if a sink failed."""

    role: Annotated[Role, WithJsonSchema({"type": "string", "maxLength": 63})] = Role.PRIMARY
    """The role of the process that failed: primary (then the Incident describes a take-over), secondary,
    replica, spare or sink. Default: primary."""

    mode: Mode | None = None
    """The mode it ran in."""

    cause: Text = ""
    """What happened, in a sentence."""

    failure_class: Annotated[FailureClass | None, Field(alias="class")] = None
    """temporary, permanent, resource or falseSuspicion."""

    from_: Annotated[Short, Field(alias="from")] = ""
    """The pod that failed: that of the former primary, of a standby or of a sink."""

    to: Short = ""
    """The pod that took over. For a standby or a sink, the same pod if its container was restarted in it."""

    epoch: StrictInt | None = None
    """The epoch that began with the take-over. For a standby or a sink there is none."""

    failed_at: Moment | None = None
    """When the failed process gave its last sign of life to the one that took over. For a standby or a sink:
    when it died, or when it first did not answer the operator, if that is known."""


class IncidentStatus(Value):
    """The recovery: the time of each step, and the cost."""

    detected: Moment | None = None
    """The failure was noticed."""

    fenced: Moment | None = None
    """The former primary could do no more harm."""

    promoted: Moment | None = None
    """The standby became primary."""

    restored: Moment | None = None
    """The lost state was restored."""

    first_output: Moment | None = None
    """The first new tuple came out."""

    caught_up: Moment | None = None
    """The backlog was processed."""

    reprotected: Moment | None = None
    """A new standby was ready; after the loss of a sink, it wrote again."""

    silent_since: Moment | None = None
    """When the last tuple before the failure came out, or when any process last heard the failed one, if that
    was later."""

    recovery_seconds: Seconds | None = None
    """From `silentSince` (or else from the detection) to the first new tuple; if no tuple is due, until all
    waiting input is processed. Measured by a consumer on its own clock."""

    replayed: Tuples | None = None
    """Tuples processed again."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""

    duplicated: Tuples | None = None
    """Tuples that were sent twice, as far as the progress of the former primary was known. With a precise
    guarantee there are none; tuples that the receiver drops do not count."""


class Expectation(Value):
    """What must hold for the drill to pass."""

    recovery: Duration | None = None
    """The longest time without output."""

    lost: Tuples = 0
    """The most tuples that may be lost. Default: 0."""

    duplicated: Tuples = 0
    """The most tuples that may come out twice. Default: 0."""


class FailoverDrillSpec(Value):
    """A real fault, and what must hold after it."""

    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "!(has(self.at) && has(self.schedule))",
                    "message": "write at or schedule, not both",
                },
                {
                    "rule": "!has(self.timeZone) || has(self.schedule)",
                    "message": "timeZone is for a schedule",
                },
            ]
        }
    )

    job: Name
    """The StreamJob."""

    subjob: Name
    """The subjob to which the fault is done."""

    fault: Fault
    """The fault."""

    at: Moment | None = None
    """When to do it. Default: now."""

    schedule: Annotated[str, Field(max_length=100)] | None = None
    """Repeats the drill, as a cron line of five fields. Names such as `MON` and `JAN` are allowed."""

    time_zone: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Time zone of the schedule, such as `Europe/Berlin`. Default: UTC."""

    expect: Expectation = Expectation()
    """What must hold."""

    force: StrictBool = False
    """Do it even if the job is not Protected, or the subjob has no standby. Default: false, and the drill
    refuses."""


class Measured(Value):
    """What the drill measured."""

    recovery_seconds: Seconds | None = None
    """How long there was no output: `recoverySeconds` of the Incident."""

    lost: Tuples | None = None
    """Tuples lost."""

    duplicated: Tuples | None = None
    """Tuples that came out twice."""


class FailoverDrillStatus(Value):
    """How the drill went."""

    phase: DrillPhase | None = None
    """Pending, Running, Passed or Failed."""

    message: Text = ""
    """How it went, in a sentence."""

    target: Short | None = None
    """The pod to which the fault was done."""

    epoch: StrictInt | None = None
    """The subjob's epoch before the fault."""

    started_at: Moment | None = None
    """When the drill was decided."""

    made_at: Moment | None = None
    """When the fault was made."""

    lasts_seconds: Tuples | None = None
    """For an engineHang: how long the JVM was to be stopped."""

    finished_at: Moment | None = None
    """When the result was known."""

    incident: Short | None = None
    """The Incident of the fault."""

    measured: Measured | None = None
    """The figures."""

    passed: Tuples = 0
    """Runs of a schedule that passed."""

    failed: Tuples = 0
    """Runs of a schedule that failed."""


class MigrationSpec(Value):
    """A planned move of a subjob, while it runs."""

    job: Name
    """The StreamJob."""

    subjob: Name
    """The subjob to move."""

    to_node: Annotated[str, Field(min_length=1, max_length=253)]
    """The node to move it to."""


class MigrationStatus(Value):
    """How the move went."""

    phase: MigrationPhase | None = None
    """Pending, Running, Completed or Failed."""

    message: Text = ""
    """How it went, in a sentence."""

    from_node: Short | None = None
    """Where it was."""

    started_at: Moment | None = None
    """When it began."""

    to: Short | None = None
    """The pod that it moved to."""

    finished_at: Moment | None = None
    """When it was over."""

    pause_seconds: Seconds | None = None
    """How long no input was processed."""

    moved_bytes: Tuples | None = None
    """Bytes of state that were sent to the new primary."""

    lost: Tuples | None = None
    """Tuples that could not be recovered."""
