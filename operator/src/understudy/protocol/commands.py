"""What the shell is told to do. Each is quick to start; whatever comes of it returns as an event."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch, Range, Seq, Stream


@dataclass(frozen=True, slots=True)
class TryLease:
    """Compare-and-set: take the Lease if it still is as `expected`."""

    expected: LeaseRecord | None
    why: str


@dataclass(frozen=True, slots=True)
class ReadLease:
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
    """The elements' position on this input becomes `to`."""

    stream: Stream
    to: Seq


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
    """Stop serving at once: a newer epoch exists. Forget everything and start again as a standby."""

    why: str


Command = (
    TryLease
    | ReadLease
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
)
