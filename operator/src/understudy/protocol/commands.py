"""The commands that the core gives to the shell. Each is quick to start; its results come back as events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.determinants import Determinant
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.savepoints import Tree, Trees


@dataclass(frozen=True, slots=True)
class TryLease:
    """Compare-and-set: take the Lease if it still equals `expected`.

    If `expected` has a question, the Lease must still have it, and no other instance may hear the holder.
    """

    expected: LeaseRecord | None
    why: str
    # only while the Lease names this instance as successor: the move may have been given up
    planned: bool = False

    def condition(self, me: str) -> LeaseRecord | None:
        """What the Lease must equal. A take-over that is not planned ignores the successor."""
        return (
            replace(self.expected, successor=me if self.planned else None)
            if self.expected is not None
            else None
        )


@dataclass(frozen=True, slots=True)
class ReadLease:
    why: str


@dataclass(frozen=True, slots=True)
class AskHolder:
    """Write a question into the Lease, if it still equals `expected` and has none; then read it."""

    expected: LeaseRecord
    why: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Connect to the primary as its secondary."""

    primary: LeaseRecord


@dataclass(frozen=True, slots=True)
class Lead:
    """Serve as primary in this epoch, from this checkpoint; from nothing if there is none."""

    epoch: Epoch
    checkpoint: Checkpoint | None
    why: str
    live: bool = False  # continue with the state that is already running
    beside: bool = False  # replica backup: the peer leads too, and this instance keeps following it


@dataclass(frozen=True, slots=True)
class ReadInput:
    """Take a stream or source from `start` on. None: from its newest tuple (amnesia)."""

    stream: Stream
    start: Seq | None


@dataclass(frozen=True, slots=True)
class Take:
    """Hand these new tuples to the elements that read the stream."""

    stream: Stream
    range: Range


@dataclass(frozen=True, slots=True)
class ReportLoss:
    """Input that no instance will process. Nothing is dropped silently."""

    stream: Stream
    missing: Range


@dataclass(frozen=True, slots=True)
class Skip:
    """Set the elements' position on this input to `to`; only that of `element`, if one is named."""

    stream: Stream
    to: Seq
    element: str | None = None


@dataclass(frozen=True, slots=True)
class Publish:
    """These tuples of an output queue may now be sent."""

    stream: Stream
    upto: Seq
    ended: bool


@dataclass(frozen=True, slots=True)
class Trim:
    stream: Stream
    upto: Seq


@dataclass(frozen=True, slots=True)
class SendAck:
    stream: Stream
    level: int
    upto: Seq
    tree: Tree | None = None  # savepoint: what this subjob and those downstream of it need to recover


@dataclass(frozen=True, slots=True)
class Ship:
    """Send the checkpoint to the secondary, which has stored `base` already (None: send all of it)."""

    checkpoint: Checkpoint
    base: Checkpoint | None


@dataclass(frozen=True, slots=True)
class Store:
    """Keep this checkpoint, drop what only older ones needed, and confirm it to the primary."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class StepDown:
    """Stop serving at once: a newer epoch exists. Start again as a standby and drop everything but `keep`.

    An attempt to take the Lease that has not succeeded yet is abandoned: this instance has no state to lead
    with.

    `keep` is the state in which this instance paused before it handed over: until the new primary has a
    secondary of its own, no other process has this state.
    """

    why: str
    keep: Checkpoint | None = None


# --- upstream backup, active standby, replica backup


@dataclass(frozen=True, slots=True)
class Replay:
    """Take a stream from the oldest tuple that its producer still holds for this consumer. The answer is the
    event Released."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Number:
    """The element may emit. Output that it makes before its positions reach `until` was sent by an earlier
    life: drop it.

    The first output tuple at or after `until` gets seq `first`. A batch must end at `until`. Until this
    command arrives, a restarted element may process, but not emit.
    """

    element: str
    first: Seq
    until: Mapping[Stream, Seq] | None
    as_new: bool = False  # send earlier output again as new tuples: seqs before `first` are given up


@dataclass(frozen=True, slots=True)
class Renumber:
    """The held tuples of this stream get new seqs from `first` on: a diverged log is sent as new tuples."""

    stream: Stream
    held: Range
    first: Seq


@dataclass(frozen=True, slots=True)
class Run:
    """Process in parallel with the primary from this state on, but send nothing."""

    epoch: Epoch
    checkpoint: Checkpoint
    waits_for_choices: bool = False  # non-deterministic steps use the primary's determinants only


@dataclass(frozen=True, slots=True)
class ReportProgress:
    """Report this instance's positions to the other instance."""

    epoch: Epoch
    positions: Mapping[Stream, Seq]


@dataclass(frozen=True, slots=True)
class SendQueueTrimming:
    epoch: Epoch
    high: Mapping[Stream, Mapping[Stream, Seq]]
    trees: Trees = field(
        default_factory=dict
    )  # consumers' savepoint trees: consumers do not need the trimmed tuples


@dataclass(frozen=True, slots=True)
class ShipDeterminants:
    epoch: Epoch
    number: int
    determinants: tuple[Determinant, ...]
    whole: bool = False  # upstream backup: these determinants replace the whole log
    needed: Mapping[Stream, Seq] = field(
        default_factory=dict
    )  # upstream backup: no replay begins before these positions


@dataclass(frozen=True, slots=True)
class ConfirmDeterminants:
    """Confirm to the primary that this instance holds all its determinants up to message `number`."""

    epoch: Epoch
    number: int


@dataclass(frozen=True, slots=True)
class Choose:
    """Non-deterministic steps use these determinants, in this order, before they make choices of their
    own."""

    determinants: tuple[Determinant, ...]


@dataclass(frozen=True, slots=True)
class Elect:
    """Have upstream choose a node (CLEA) and start a replica there in place of the silent peer.

    Where there is a Lease, take it again with a new epoch, if it still equals `expected`.
    """

    why: str
    expected: LeaseRecord | None = None


# --- savepoint


@dataclass(frozen=True, slots=True)
class RequestRecovery:
    stream: Stream


@dataclass(frozen=True, slots=True)
class AnswerRecovery:
    stream: Stream
    consumer: Consumer
    tree: Tree | None


@dataclass(frozen=True, slots=True)
class NotifyRecovered:
    """Report to the consumers of this stream that its producer has recovered."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class ReportMovement:
    """This operator updated its own savepoint for the first time since it was restored (Koldehofe, Definition
    7.1)."""

    epoch: Epoch


# --- backups of neighbouring subjobs (Brettlecker §4.5, §4.6)


@dataclass(frozen=True, slots=True)
class RequestBackup:
    """Ask every consumer of the stream for a backup at this position. Each answers with a level-1 ack of the
    position."""

    stream: Stream
    upto: Seq


@dataclass(frozen=True, slots=True)
class CutAt:
    """A micro-batch must end where the position on this input is `at`."""

    stream: Stream
    at: Seq


@dataclass(frozen=True, slots=True)
class KeepTemporary:
    """Keep this backup beside the permanent one. It replaces an earlier temporary one."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class MakePermanent:
    """Let the secondary's temporary backup `number`, with its extensions, replace its permanent backup.

    `trees`: the savepoint trees that consumers sent when they acked the output that the backup does not hold.
    """

    epoch: Epoch
    number: int
    extended: Mapping[Stream, Seq]
    trees: Trees


@dataclass(frozen=True, slots=True)
class ExtendBackup:
    """Add input of a stream to the backup `number` that the secondary has."""

    epoch: Epoch
    number: int
    stream: Stream
    range: Range


# --- operator migration (Brettlecker §4.2)


@dataclass(frozen=True, slots=True)
class RequestMigration:
    """This instance's machine can't keep up: ask for a move."""

    why: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Start no further micro-batch. The event Paused follows when none is running."""

    why: str


@dataclass(frozen=True, slots=True)
class Resume:
    why: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """Ask the target to take this Lease; send the live state along if the target has none."""

    target: str
    lease: LeaseRecord
    checkpoint: Checkpoint | None


Command = (
    TryLease
    | ReadLease
    | AskHolder
    | Follow
    | Lead
    | ReadInput
    | Take
    | ReportLoss
    | Skip
    | Publish
    | Trim
    | SendAck
    | Ship
    | Store
    | StepDown
    | Replay
    | Number
    | Renumber
    | Run
    | ReportProgress
    | SendQueueTrimming
    | ShipDeterminants
    | ConfirmDeterminants
    | Choose
    | Elect
    | RequestRecovery
    | AnswerRecovery
    | NotifyRecovered
    | ReportMovement
    | RequestBackup
    | CutAt
    | KeepTemporary
    | MakePermanent
    | ExtendBackup
    | RequestMigration
    | Pause
    | Resume
    | HandOver
)
Commands = tuple[Command, ...]
