"""What the shell is told to do. Each is quick to start; whatever comes of it returns as an event."""

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
    """Compare-and-set: take the Lease if it still is as `expected`.

    If a question stands in `expected`, it must still stand there, and nobody else may hear the holder."""

    expected: LeaseRecord | None
    why: str
    planned: bool = False  # only while the Lease names us as successor: the move may have been given up

    def condition(self, me: str) -> LeaseRecord | None:
        """What the Lease must say. A successor that it names is of no concern to a take-over that is not
        planned."""
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
    """Write a question into the Lease, if it still is as `expected` and there is none; then read it."""

    expected: LeaseRecord
    why: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Connect to the primary as its secondary."""

    primary: LeaseRecord


@dataclass(frozen=True, slots=True)
class Lead:
    """Serve as primary with this epoch, from this checkpoint, or empty where there is none."""

    epoch: Epoch
    checkpoint: Checkpoint | None
    why: str
    live: bool = False  # go on with the state that is running already
    beside: bool = False  # replica backup: the peer leads too, and is followed on


@dataclass(frozen=True, slots=True)
class ReadInput:
    """Take a stream or source from `start` on; from its newest tuple where start is None (amnesia)."""

    stream: Stream
    start: Seq | None


@dataclass(frozen=True, slots=True)
class Take:
    """These tuples are new: hand them to the elements that read the stream."""

    stream: Stream
    range: Range


@dataclass(frozen=True, slots=True)
class ReportLoss:
    """Input that no one will process any more. Nothing is dropped silently."""

    stream: Stream
    missing: Range


@dataclass(frozen=True, slots=True)
class Skip:
    """The elements' position on this input becomes `to`; that of one element, if it is named."""

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
    tree: Tree | None = None  # savepoint: what this instance and those after it need to recover


@dataclass(frozen=True, slots=True)
class Ship:
    """Send the checkpoint to the secondary, which has stored `base` already (None: send all of it)."""

    checkpoint: Checkpoint
    base: Checkpoint | None


@dataclass(frozen=True, slots=True)
class Store:
    """Keep this checkpoint and forget what only older ones needed; then confirm it to the primary."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class StepDown:
    """Stop serving at once: a newer epoch exists. Start again as a standby and forget everything but `keep`.

    A Lease that was tried before and is not won yet is not tried any longer: there is nothing left to lead
    with.

    `keep` is the state in which this instance stood still when it handed over: until the new primary has a
    secondary of its own, nobody else has it.
    """

    why: str
    keep: Checkpoint | None = None


# --- upstream backup, active standby, replica backup


@dataclass(frozen=True, slots=True)
class Replay:
    """Take a stream from the oldest tuple that its producer still holds for this consumer; reported as
    Released."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Number:
    """The element may emit. What it makes before its positions reach `until` was sent by an earlier life:
    drop it.

    The first tuple at or after `until` gets seq `first`. A batch must end at `until`. Before this command a
    restarted element may process, but not emit.
    """

    element: str
    first: Seq
    until: Mapping[Stream, Seq] | None
    as_new: bool = (
        False  # tuples that were sent before are sent again as new ones: seqs before `first` are given up
    )


@dataclass(frozen=True, slots=True)
class Renumber:
    """The tuples held of this stream get new seqs from `first` on: a divergent log is sent as new tuples."""

    stream: Stream
    held: Range
    first: Seq


@dataclass(frozen=True, slots=True)
class Run:
    """Process like the primary from this state on, but send nothing."""

    epoch: Epoch
    checkpoint: Checkpoint
    waits_for_choices: bool = False  # non-deterministic steps take the primary's choices only


@dataclass(frozen=True, slots=True)
class ReportProgress:
    """Tell the other replica how far this one has come."""

    epoch: Epoch
    positions: Mapping[Stream, Seq]


@dataclass(frozen=True, slots=True)
class SendQueueTrimming:
    epoch: Epoch
    high: Mapping[Stream, Mapping[Stream, Seq]]
    trees: Trees = field(
        default_factory=dict
    )  # consumers' savepoint trees: what is trimmed, they do not need


@dataclass(frozen=True, slots=True)
class ShipDeterminants:
    epoch: Epoch
    number: int
    determinants: tuple[Determinant, ...]
    whole: bool = False  # upstream backup: the log begins anew with these
    needed: Mapping[Stream, Seq] = field(
        default_factory=dict
    )  # upstream backup: a replay begins there, not before


@dataclass(frozen=True, slots=True)
class ConfirmDeterminants:
    """Tell the primary that this instance holds all of its determinants up to message `number`."""

    epoch: Epoch
    number: int


@dataclass(frozen=True, slots=True)
class Choose:
    """Non-deterministic steps take these choices, in this order, before any of their own."""

    determinants: tuple[Determinant, ...]


@dataclass(frozen=True, slots=True)
class Elect:
    """Have the upstream choose a node (CLEA) and start a replica there in place of the silent peer.

    Where there is a Lease, it is taken anew if it still is as `expected`.
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
    """Tell the consumers of this stream that its producer is back."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class ReportMovement:
    """This operator updated its own savepoint for the first time since it was restored (Koldehofe, Definition
    7.1)."""

    epoch: Epoch


# --- backups of neighbouring subjobs (Brettlecker §4.5, §4.6)


@dataclass(frozen=True, slots=True)
class RequestBackup:
    """Ask every consumer of the stream for a backup at this position. The answer is its level-1 ack of it."""

    stream: Stream
    upto: Seq


@dataclass(frozen=True, slots=True)
class CutAt:
    """A micro-batch must end where the position on this input is `at`."""

    stream: Stream
    at: Seq


@dataclass(frozen=True, slots=True)
class KeepTemporary:
    """Keep this backup beside the permanent one, in place of an earlier temporary one."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class MakePermanent:
    """The secondary's temporary backup `number`, extended so far, replaces its permanent one.

    With it goes what consumers said when they acked what the backup does not hold.
    """

    epoch: Epoch
    number: int
    extended: Mapping[Stream, Seq]
    trees: Trees


@dataclass(frozen=True, slots=True)
class ExtendBackup:
    """Add the input `range` of a stream to the backup `number` that the secondary has."""

    epoch: Epoch
    number: int
    stream: Stream
    range: Range


# --- operator migration (Brettlecker §4.2)


@dataclass(frozen=True, slots=True)
class RequestMigration:
    """This instance's machine can't keep up: have it moved."""

    why: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Start no further micro-batch; reported as Paused when none is under way."""

    why: str


@dataclass(frozen=True, slots=True)
class Resume:
    why: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """Tell the target to take this Lease; with the live state, where it has none."""

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
