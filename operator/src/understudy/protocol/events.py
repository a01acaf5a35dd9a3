"""What happens to an instance. The shell reports; `modes` decide. Times are the shell's clock in
milliseconds."""

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
    """The Lease was read: by whom it is held, or by nobody."""

    record: LeaseRecord | None


@dataclass(frozen=True, slots=True)
class LeaseWon:
    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """The peer we follow spoke."""

    now: Millis
    epoch: Epoch
    positions: Mapping[Stream, Seq] | None = None  # replica backup: how far the peer has come
    stalled: str | None = None  # why the peer's engine stands still; None while it works


@dataclass(frozen=True, slots=True)
class PeerClosed:
    """The connection to the peer we follow had carried keep-alives, and its kernel closed it: its process is
    dead."""

    now: Millis


@dataclass(frozen=True, slots=True)
class PeerUnreachable:
    """A connection to the peer we follow could not be made. That proves nothing: others may reach it."""

    now: Millis


@dataclass(frozen=True, slots=True)
class FirstContact:
    """A connection to the peer is being made: before `until`, its silence means nothing."""

    until: Millis
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class HolderHeard:
    """Somebody else hears the holder of the Lease, which we do not hear."""

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
    mark: Step | None = None  # of the last of them, where the producer forwards watermarks (Hwang §6)
    anew: Seq | None = (
        None  # from there on the producer, having lost its state, gives seqs to other tuples than before
    )


@dataclass(frozen=True, slots=True)
class Processed:
    """An element finished a micro-batch: its new positions, and how many tuples it emitted."""

    element: str
    positions: Mapping[Stream, Seq]
    selection: Mapping[Stream, Seq]
    emitted: int
    ended: bool = False
    choice: Determinant | None = None  # what a non-deterministic step chose


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
    """A consumer asks for a stream from `start` on; `mark` is the step behind the last tuple it has, if it
    was told."""

    stream: Stream
    consumer: Consumer
    start: Seq
    epoch: Epoch
    mark: Step | None = None


@dataclass(frozen=True, slots=True)
class Resumes:
    """Upstream can serve the stream only from `start` on; an earlier life of ours had released up to
    `released`."""

    stream: Stream
    released: Seq
    start: Seq


@dataclass(frozen=True, slots=True)
class Redirected:
    """The stream is now asked of a producer of this epoch: what older ones still send is refused from here
    on."""

    stream: Stream
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class Released:
    """Upstream holds the stream for us from `start` on: the answer to Replay.

    `anew`: where upstream began anew since an earlier life of ours read from it. Watermarks of that life
    which lie behind speak of other tuples. `released`: so much an earlier life of ours has released, as far
    as upstream knows; what follows up to `start` was lost with upstream's earlier life. None: all before
    `start`."""

    stream: Stream
    start: Seq
    anew: Seq | None = None
    released: Seq | None = None


@dataclass(frozen=True, slots=True)
class SecondaryAt:
    """How far the other replica has come on the inputs: upstream keeps what either still needs (Hwang
    §5.3)."""

    epoch: Epoch
    positions: Mapping[Stream, Seq]


@dataclass(frozen=True, slots=True)
class QueueTrimming:
    """The primary's queue-trimming message: per output, the high watermarks of the newest tuple all consumers
    have."""

    epoch: Epoch
    high: Mapping[Stream, Mapping[Stream, Seq]]
    trees: Trees = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeterminantsArrived:
    epoch: Epoch
    number: int
    determinants: tuple[Determinant, ...]
    whole: bool = False  # upstream backup: the log begins anew with these
    needed: Mapping[Stream, Seq] = field(
        default_factory=dict
    )  # upstream backup: a replay begins there, not before


@dataclass(frozen=True, slots=True)
class DeterminantsStored:
    epoch: Epoch
    number: int


@dataclass(frozen=True, slots=True)
class Started:
    """The process runs. `fresh`: the job starts with it; otherwise it replaces one that failed."""

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
    """The producer of a stream has recovered: a request it lost must be sent again."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class BackupRequested:
    """The producer of a stream asks for a backup at this position (Brettlecker §4.5); a later one will do."""

    stream: Stream
    upto: Seq
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class PermanentRequested:
    """At the secondary: every consumer has a backup that matches the temporary one."""

    epoch: Epoch
    number: int
    extended: Mapping[Stream, Seq]
    trees: Trees  # consumers' savepoints of the acks that allow it


@dataclass(frozen=True, slots=True)
class BackupExtended:
    """At the secondary: input that belongs to backup `number` (Brettlecker §4.6)."""

    epoch: Epoch
    number: int
    stream: Stream
    range: Range


@dataclass(frozen=True, slots=True)
class MigrationRequested:
    """Move to the instance `target`, which follows or is about to."""

    target: str
    why: str


@dataclass(frozen=True, slots=True)
class Paused:
    """No micro-batch is under way any more."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """At the target: the primary wants to be succeeded, on this Lease; with its state where there was none
    here."""

    lease: LeaseRecord
    checkpoint: Checkpoint | None


@dataclass(frozen=True, slots=True)
class NewerEpoch:
    """Somebody carries a newer epoch of this subjob than ours: we have been replaced."""

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
