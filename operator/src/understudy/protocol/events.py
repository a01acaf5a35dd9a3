"""What happens to an instance. The shell reports; `modes` decide. Times are the shell's clock in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream


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


@dataclass(frozen=True, slots=True)
class PeerClosed:
    """The connection to the peer we follow was closed by its kernel: its process is dead."""

    now: Millis


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


@dataclass(frozen=True, slots=True)
class Processed:
    """An element finished a micro-batch: its new positions, and how many tuples it emitted."""

    element: str
    positions: Mapping[Stream, Seq]
    selection: Mapping[Stream, Seq]
    emitted: int
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Acked:
    stream: Stream
    consumer: Consumer
    level: int
    upto: Seq
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A consumer asks for a stream from `start` on."""

    stream: Stream
    consumer: Consumer
    start: Seq
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class Resumes:
    """Upstream can serve the stream only from `start` on; an earlier life of ours had released up to `released`."""

    stream: Stream
    released: Seq
    start: Seq


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
    | SecondaryJoined
    | SecondaryLeft
    | CheckpointArrived
    | CheckpointStored
    | Arrived
    | Processed
    | Acked
    | Subscribed
    | Resumes
    | NewerEpoch
)
