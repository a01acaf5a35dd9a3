"""The events that an instance handles. The shell reports them; `modes` decides. Times are milliseconds of the
shell's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.determinants import Determinant
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.savepoints import Tree, Trees
from understudy.protocol.watermarks import Step


@dataclass(frozen=True, slots=True)
class Tick:
    now: Millis


@dataclass(frozen=True, slots=True)
class LeaseSeen:
    """The Lease was read. `record` names its holder; None: nobody holds it."""

    record: LeaseRecord | None


@dataclass(frozen=True, slots=True)
class LeaseWon:
    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A keep-alive of the peer that this instance follows."""

    now: Millis
    epoch: Epoch
    positions: Mapping[Stream, Seq] | None = None  # replica backup: the peer's positions
    stalled: str | None = None  # why the peer's engine has stalled; None while it works


@dataclass(frozen=True, slots=True)
class PeerClosed:
    """The connection to the followed peer had carried keep-alives, and the peer's kernel closed it: the
    process is dead."""

    now: Millis


@dataclass(frozen=True, slots=True)
class PeerUnreachable:
    """A connection to the followed peer could not be made. That proves nothing: others may reach it."""

    now: Millis


@dataclass(frozen=True, slots=True)
class FirstContact:
    """A connection to the peer is being made: until `until` its silence is no reason for suspicion."""

    until: Millis
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class HolderHeard:
    """Another instance hears the holder of the Lease, which this instance does not hear."""

    by: str


@dataclass(frozen=True, slots=True)
class SecondaryJoined:
    name: str


@dataclass(frozen=True, slots=True)
class SecondaryLeft:
    name: str


@dataclass(frozen=True, slots=True)
class CheckpointArrived:
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class CheckpointStored:
    """The secondary confirms that it holds checkpoint `number` of `epoch`."""

    epoch: Epoch
    number: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """Tuples from upstream, sent by a producer of that epoch."""

    stream: Stream
    range: Range
    epoch: Epoch
    mark: Step | None = None  # of the last tuple, where the producer forwards watermarks (Hwang §6)
    anew: Seq | None = (
        # the producer has lost its state: from here on its tuples differ from those it sent before under the
        # same seqs
        None
    )


@dataclass(frozen=True, slots=True)
class Processed:
    """An element finished a micro-batch: its new positions, and how many tuples it emitted."""

    element: str
    positions: Mapping[Stream, Seq]
    selection: Mapping[Stream, Seq]
    emitted: int
    ended: bool = False
    choice: Determinant | None = None  # the determinant of a non-deterministic step


@dataclass(frozen=True, slots=True)
class Acked:
    stream: Stream
    consumer: Consumer
    level: int
    upto: Seq
    epoch: Epoch
    tree: Tree | None = None  # savepoint: the consumer's savepoint tree


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A consumer asks for a stream from `start` on. `mark`: the step that made the last tuple it has, if the
    producer sent that step along."""

    stream: Stream
    consumer: Consumer
    start: Seq
    epoch: Epoch
    mark: Step | None = None


@dataclass(frozen=True, slots=True)
class Resumes:
    """Upstream can serve the stream only from `start` on. An earlier life of this subjob had released the
    tuples before `released`."""

    stream: Stream
    released: Seq
    start: Seq


@dataclass(frozen=True, slots=True)
class Redirected:
    """The stream is now requested from a producer of this epoch: from here on, tuples of older producers are
    refused."""

    stream: Stream
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class Released:
    """The answer to Replay: upstream holds the stream for this subjob from `start` on.

    `anew`: the seq from which upstream's tuples differ from those that an earlier life of this subjob read.
    Later watermarks of that life belong to other tuples. `released`: the tuples before it were released by an
    earlier life of this subjob, as far as upstream knows; those from there to `start` were lost with
    upstream's earlier life. None: all tuples before `start` were released.
    """

    stream: Stream
    start: Seq
    anew: Seq | None = None
    released: Seq | None = None


@dataclass(frozen=True, slots=True)
class SecondaryAt:
    """The positions of the other instance on the inputs: upstream keeps what either still needs (Hwang
    §5.3)."""

    epoch: Epoch
    positions: Mapping[Stream, Seq]


@dataclass(frozen=True, slots=True)
class QueueTrimming:
    """The primary's queue-trimming message: for each output, the high watermarks of the newest tuple that all
    consumers have."""

    epoch: Epoch
    high: Mapping[Stream, Mapping[Stream, Seq]]
    trees: Trees = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeterminantsArrived:
    epoch: Epoch
    number: int
    determinants: tuple[Determinant, ...]
    whole: bool = False  # upstream backup: these determinants replace the whole log
    needed: Mapping[Stream, Seq] = field(
        default_factory=dict
    )  # upstream backup: no replay begins before these positions


@dataclass(frozen=True, slots=True)
class DeterminantsStored:
    epoch: Epoch
    number: int


@dataclass(frozen=True, slots=True)
class Started:
    """The process runs. `fresh`: the job starts with it; otherwise it replaces a process that failed."""

    epoch: Epoch
    fresh: bool


@dataclass(frozen=True, slots=True)
class RecoveryRequested:
    """A consumer restarts and asks for its savepoint tree (Koldehofe, Figure 7)."""

    stream: Stream
    consumer: Consumer


@dataclass(frozen=True, slots=True)
class RecoveryInformation:
    stream: Stream
    tree: Tree | None


@dataclass(frozen=True, slots=True)
class RecoveryNotified:
    """The producer of a stream has recovered. It may have lost a request, which has to be sent again."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class BackupRequested:
    """The producer of a stream asks for a backup at this position or a later one (Brettlecker §4.5)."""

    stream: Stream
    upto: Seq
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class PermanentRequested:
    """At the secondary: every consumer has a backup that matches the temporary one."""

    epoch: Epoch
    number: int
    extended: Mapping[Stream, Seq]
    trees: Trees  # consumers' savepoints, from the acks that made the backup permanent


@dataclass(frozen=True, slots=True)
class BackupExtended:
    """At the secondary: input that belongs to backup `number` (Brettlecker §4.6)."""

    epoch: Epoch
    number: int
    stream: Stream
    range: Range


@dataclass(frozen=True, slots=True)
class MigrationRequested:
    """Move to the instance `target`, which follows this one or will do so soon."""

    target: str
    why: str


@dataclass(frozen=True, slots=True)
class Paused:
    """No micro-batch is running any more."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """At the target: the primary asks to be succeeded, with this Lease. Its state comes along if the target
    has none."""

    lease: LeaseRecord
    checkpoint: Checkpoint | None


@dataclass(frozen=True, slots=True)
class NewerEpoch:
    """Another process reported a newer epoch of this subjob: this instance has been replaced."""

    epoch: Epoch


Event = (
    Tick
    | LeaseSeen
    | LeaseWon
    | KeepAlive
    | PeerClosed
    | PeerUnreachable
    | FirstContact
    | HolderHeard
    | SecondaryJoined
    | SecondaryLeft
    | CheckpointArrived
    | CheckpointStored
    | Arrived
    | Processed
    | Acked
    | Subscribed
    | Resumes
    | Redirected
    | Released
    | SecondaryAt
    | QueueTrimming
    | DeterminantsArrived
    | DeterminantsStored
    | Started
    | RecoveryRequested
    | RecoveryInformation
    | RecoveryNotified
    | BackupRequested
    | PermanentRequested
    | BackupExtended
    | MigrationRequested
    | Paused
    | HandedOver
    | NewerEpoch
)
