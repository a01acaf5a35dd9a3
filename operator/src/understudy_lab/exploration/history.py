"""What was seen of a run: all that the oracle judges from.

Observations are plain values: names of lives, streams and subjobs, seqs, epochs, rows. A *life* is one
process, from its start to its end; `life` is its name. Seen are commands that took effect, messages that were
delivered, faults that were injected, and, when all is quiet, how long the queues are: what somebody beside
the instances could see. What an instance believes is not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from understudy_lab.simulation.made_up_operators import Row

# --- lives


@dataclass(frozen=True, slots=True)
class Launched:
    life: str
    subjob: str  # or sink
    number: int  # of a sink's life


@dataclass(frozen=True, slots=True)
class Crashed:
    """A life is about to end: by a fault, or because whoever deploys the job stops it."""

    life: str
    gives_up: bool  # it ends by itself, since its engine stands still


@dataclass(frozen=True, slots=True)
class Ended:
    life: str


@dataclass(frozen=True, slots=True)
class Removed:
    """It no longer counts as one of the subjob's instances, whether it lives or not."""

    life: str


@dataclass(frozen=True, slots=True)
class Disturbed:
    """Injected: something that makes lives fail, or look as if they had."""

    what: str
    touches: tuple[str, ...]  # subjobs, sources and sinks; none: all of them
    until: int  # milliseconds


@dataclass(frozen=True, slots=True)
class EngineHung:
    """Injected: its engine stands still, for so many milliseconds."""

    life: str
    lasts: int


@dataclass(frozen=True, slots=True)
class Handled:
    """What the control plane did, and said, about instances that were lost for good."""

    subjob: str
    why: str
    loses: bool  # it said that something may be lost by it
    replaced: bool  # an alternative branch runs in its place
    runs: bool  # whether anybody still runs it


# --- who leads


@dataclass(frozen=True, slots=True)
class LeaseTaken:
    subjob: str
    life: str
    epoch: int


@dataclass(frozen=True, slots=True)
class State:
    """What a checkpoint says."""

    epoch: int
    covers: Mapping[str, int]  # input: how far
    held: Mapping[str, tuple[int, int]]  # element: from where to where it holds its queue
    positions: Mapping[str, Mapping[str, int]]  # element: its position on each input


@dataclass(frozen=True, slots=True)
class Led:
    life: str
    epoch: int
    state: State | None
    live: bool  # goes on with the state that is running already


@dataclass(frozen=True, slots=True)
class SteppedDown:
    life: str
    keeps: State | None


@dataclass(frozen=True, slots=True)
class Ran:
    """A standby processes like the primary from this state on."""

    life: str
    epoch: int
    state: State


@dataclass(frozen=True, slots=True)
class HandedOver:
    life: str


@dataclass(frozen=True, slots=True)
class Ordered:
    """Whoever deploys the job has ordered a planned move of a subjob's primary."""

    subjob: str
    source: str  # the life that leads
    target: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Whoever ordered the move has given it up."""

    subjob: str
    target: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A life took the Lease because a planned move named it."""

    life: str
    given_up: bool  # whether that move had been reported as failed


@dataclass(frozen=True, slots=True)
class Resumed:
    """A move was given up."""

    life: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The primary has a secondary from now on; None: it has none."""

    life: str
    secondary: str | None


# --- input


@dataclass(frozen=True, slots=True)
class Asked:
    """A life asks for a stream from `start` on; None: it does not know from where."""

    life: str
    stream: str
    start: int | None


@dataclass(frozen=True, slots=True)
class Answered:
    """It was told from where it is served."""

    life: str
    stream: str
    start: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """New tuples were handed to the elements of a life, by a producer of that epoch."""

    life: str
    stream: str
    start: int
    rows: tuple[Row | None, ...]
    epoch: int


@dataclass(frozen=True, slots=True)
class Skipped:
    life: str
    stream: str
    to: int
    element: str | None


@dataclass(frozen=True, slots=True)
class Processed:
    life: str
    element: str
    positions: Mapping[str, int]
    made: int  # the seq of the next tuple that it makes


@dataclass(frozen=True, slots=True)
class LossReported:
    life: str
    stream: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Acked:
    """An ack was sent."""

    life: str
    stream: str
    level: int
    upto: int


@dataclass(frozen=True, slots=True)
class RecoveryAsked:
    """Savepoint: a life asks the producers of a stream for its savepoint."""

    life: str
    stream: str


@dataclass(frozen=True, slots=True)
class RecoveryAnswered:
    life: str
    stream: str


# --- output


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A consumer has told a producer what it has."""

    life: str
    stream: str
    consumer: str
    start: int
    epoch: int


@dataclass(frozen=True, slots=True)
class AckHeard:
    life: str
    stream: str
    consumer: str
    level: int
    upto: int


@dataclass(frozen=True, slots=True)
class Numbered:
    """A life that began again knows which seq comes first."""

    life: str
    stream: str
    first: int


@dataclass(frozen=True, slots=True)
class Renumbered:
    """What is held of a stream, and all that follows, has seqs from `first` on."""

    life: str
    stream: str
    first: int


@dataclass(frozen=True, slots=True)
class Trimmed:
    stream: str
    upto: int


# --- what a standby has


@dataclass(frozen=True, slots=True)
class Stored:
    life: str
    state: State


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A primary has heard that its secondary has stored a state of that epoch."""

    life: str
    epoch: int


@dataclass(frozen=True, slots=True)
class LogKept:
    """A standby has a log of the steps of that epoch, without a gap."""

    life: str
    epoch: int


@dataclass(frozen=True, slots=True)
class LogConfirmed:
    """A primary has heard so."""

    life: str
    epoch: int


# --- when all is quiet


@dataclass(frozen=True, slots=True)
class QueueMeasured:
    owner: str  # a life, or a source
    stream: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Sent:
    """So many messages of a kind were sent since this was counted last."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class ReadToTheEnd:
    """Elements of a living instance that have read all of their input."""

    life: str
    elements: tuple[str, ...]
    all: bool


Observation = (
    Launched
    | Crashed
    | Ended
    | Removed
    | Disturbed
    | EngineHung
    | Handled
    | LeaseTaken
    | Led
    | SteppedDown
    | Ran
    | HandedOver
    | Ordered
    | GivenUp
    | Moved
    | Resumed
    | Joined
    | Asked
    | Answered
    | Delivered
    | Skipped
    | Processed
    | LossReported
    | Acked
    | RecoveryAsked
    | RecoveryAnswered
    | Subscribed
    | AckHeard
    | Numbered
    | Renumbered
    | Trimmed
    | Stored
    | Confirmed
    | LogKept
    | LogConfirmed
    | QueueMeasured
    | Sent
    | ReadToTheEnd
)

Timed: TypeAlias = tuple[int, Observation]
"""When it was seen, in milliseconds since the job began."""
