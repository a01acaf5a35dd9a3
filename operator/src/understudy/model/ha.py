"""How a subjob is kept alive: mode, guarantee, checkpoints, detection; and what Spark gets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, StrictBool, StrictInt

from .value import Duration, Name, Size, Value
from .words import Mode as Mode


class Guarantee(StrEnum):
    """Ordered from weakest to strongest."""

    GAP = "gap"
    ROLLBACK = "rollback"
    PRECISE = "precise"

    @property
    def strength(self) -> int:
        return list(Guarantee).index(self)


class Strategy(StrEnum):
    SYNCHRONOUS = "synchronous"
    INDIVIDUAL = "individual"
    SWEEPING = "sweeping"


class Backups(StrEnum):
    UNSYNCHRONIZED = "unsynchronized"
    SYNCHRONIZED = "synchronized"
    EXTENDED = "extended"


class Checkpoint(Value):
    """What passive standby ships to the standby, and when."""

    strategy: Strategy = Strategy.SYNCHRONOUS
    """How the elements of a subjob are checkpointed together; with one element all are the same. Default:
    synchronous."""

    interval: Duration = timedelta(milliseconds=500)
    """Time between two checkpoints. Default: 500ms."""

    backups: Backups = Backups.UNSYNCHRONIZED
    """How checkpoints of neighbouring subjobs are coordinated. Default: unsynchronized (single failures are
    safe)."""


class Heartbeat(Value):
    """Keep-alives between peers."""

    interval: Duration = timedelta(milliseconds=100)
    """Time between two keep-alives. Default: 100ms."""

    misses: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    """The peer is suspected after this many missed in a row. Default: 3."""


class Overload(Value):
    """What counts as an overload of a primary's machine. An overloaded primary moves to its standby."""

    backlog: Duration = timedelta(seconds=10)
    """Input that waits, as time at its current rate, and has grown in each of five looks, one second apart.
    Default: 10s."""

    withheld: Annotated[StrictInt, Field(ge=10, le=99)] = 60
    """Percent of the time in which the process was ready to run but got no processor, in each of five looks.
    Default: 60."""

    memory: Annotated[StrictInt, Field(ge=10, le=99)] = 95
    """Percent of the pod's memory limit in use, in each of five looks; in a local run, of the limit that a
    pod would have. Default: 95."""


class FailureProcess(Value):
    """An ordinary Kubernetes Job, run when there is no other way to continue."""

    job_template: Mapping[str, Any]
    """A Job template: metadata and spec."""


class OnPermanentFailure(Value):
    """What to do when a subjob has failed for good and no node can take it."""

    alternative: Name | None = None
    """The subjob that takes its place. It reads the same inputs and gives the same columns. No subjob or sink
    reads it, and it does not run before it is needed."""

    process: FailureProcess | None = None
    """The Job to run if there is no alternative."""

    after: Duration = timedelta(minutes=3)
    """The subjob counts as failed for good if no instance finds a place for this long; until then nodes may
    be added and images pulled. Default: 3m."""


class Ha(Value):
    """How the subjob is kept alive."""

    mode: Mode = Mode.PASSIVE_STANDBY
    """The protocol. `auto` takes the cheapest that meets `guarantee` and `maxRecovery`, or the quickest if
    none does. Default: passiveStandby."""

    guarantee: Guarantee | None = None
    """The weakest guarantee to accept: gap, rollback or precise. Default: what the mode gives."""

    max_recovery: Duration | None = None
    """The longest acceptable time from a fault to the first new output. `auto` plans by it, for the loss of a
    node; the status says whether it was met. A value shorter than half of the prediction for a kill is
    refused. Default: none, but a prediction beyond 10s is a warning in the plan and in the condition
    Accepted, and `auto` avoids it."""

    checkpoint: Checkpoint = Checkpoint()
    """What passive standby ships to the standby, and when."""

    ack_interval: Duration = timedelta(milliseconds=50)
    """Time between two acknowledgements to the upstream output queue. Default: 50ms."""

    heartbeat: Heartbeat = Heartbeat()
    """Keep-alives between peers."""

    engine_timeout: Duration | None = None
    """How long Spark may stand still while it has work before the instance counts as failed. A long
    micro-batch that uses the processor does not stand still; a function that waits for a service does, so
    this time has to be longer than any such wait. Default: the greater of 3s and 20 median micro-batches."""

    spare: StrictBool = False
    """For amnesia alone, which has no standby otherwise: a second instance waits with an empty state and
    takes over when the primary dies, without the cold start of a replacement. The tuples in between are lost
    nevertheless. Default: false."""

    overload: Overload | None = None
    """What counts as an overload; a primary that notices one moves to its standby. Default: overload is not
    watched."""

    on_permanent_failure: OnPermanentFailure | None = None
    """What to do when no node can take a subjob that failed for good."""

    @property
    def instances(self) -> int:
        """How many instances a subjob has: a primary, and one standby or replica; for amnesia a second one
        only with `spare`."""
        return 1 if self.mode is Mode.AMNESIA and not self.spare else 2

    @property
    def digest(self) -> str:
        """A digest by which an instance can be asked whether it has received an edit."""
        plain = self.model_dump_json(by_alias=True, exclude=self._unused)
        return hashlib.sha256(plain.encode()).hexdigest()[:10]

    def told(self) -> dict[str, Any]:
        """The settings as they are sent to an instance."""
        return self.model_dump(mode="json", by_alias=True, exclude=self._unused)

    @property
    def _unused(self) -> set[str]:
        """Fields that are left out while they are unset: instances of a version without them must not receive
        them, and an upgrade must not look like an edit."""
        silent = {"spare": not self.spare, "engine_timeout": self.engine_timeout is None}
        return {name for name, says_nothing in silent.items() if says_nothing}


MEMORY_OVERHEAD_MI: Final = 1024
"""On top of the driver's memory, which is the JVM's heap: Python, queues, the JVM itself."""


class Driver(Value):
    """Resources of the subjob's Spark driver."""

    cores: Annotated[StrictInt, Field(ge=1, le=256)] = 1
    """Cores of the driver; local tasks run there when there are no executors. Default: 1."""

    memory: Size = "1Gi"
    """Memory of the driver's pod, such as 1Gi or 800Mi. Default: 1Gi."""


class Executors(Value):
    """Executors of the subjob's Spark driver."""

    instances: Annotated[StrictInt, Field(ge=0, le=1000)] = 0
    """Number of executor pods of each instance, with the driver's cores and memory; 0 runs tasks in the
    driver, and so does `understudy run`. Default: 0."""


Setting = Annotated[str, Field(max_length=4096)]


class SparkSettings(Value):
    """Settings of Spark for this subjob."""

    driver: Driver = Driver()
    """Resources of the driver."""

    executors: Executors = Executors()
    """Executor pods."""

    conf: Annotated[Mapping[str, Setting], Field(max_length=200)] = Field(default_factory=dict)
    """Further Spark settings; values are strings."""
