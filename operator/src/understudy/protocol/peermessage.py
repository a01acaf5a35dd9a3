"""The messages between the processes of a job, and from the operator to them. This is the only module that
knows their bytes.

| from → to | what | how |
|---|---|---|
| consumer → producer | `Subscribe` | get; the answer is a stream of rows, each batch with a `FromProducer` |
| standby → primary | `Follow` | get; the answer is a stream of `FromPrimary`, some with rows |
| standby → producer | `Peek` | get; the answer is a few held rows |
| anyone → instance | `Order` | one action, one `Answer` |

Rows and checkpoints are sent beside a message, as Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from understudy.protocol.determinants import Determinant
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Seq, Stream
from understudy.protocol.savepoints import Tree, Trees
from understudy.protocol.versioned import Format, NotUnderstood, Wire
from understudy.protocol.watermarks import Marks, Step

# --- a consumer and its producer


class Origin(StrEnum):
    """Where a subscription begins."""

    POSITION = "position"  # the next tuple that the reader expects
    NEWEST = "newest"  # the newest tuple
    HELD = "held"  # the oldest tuple that the producer still holds for this consumer


@dataclass(frozen=True, slots=True)
class Age(Wire):
    """How long ago a consumer last heard the producer of one epoch. Processes exchange only ages, no
    times."""

    epoch: int
    ms: int
    first: int | None = None
    """Time since the first tuple of that producer; None: no tuple came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe(Wire):
    """A consumer asks for a stream."""

    stream: Stream
    consumer: Consumer
    origin: Origin
    start: Seq | None = None
    """The consumer's position; None with another origin."""
    mark: Step | None = None
    """The watermarks of the last tuple that the consumer took."""
    epoch: Epoch = Epoch(0)
    """The consumer's own epoch: a later life of the consumer has a greater one."""
    replica: bool = False
    """A second reader that sends nothing: its subscription does not count as an ack."""
    ages: tuple[Age, ...] = ()
    meant: Epoch | None = None
    """The epoch of the producer that the subscription is meant for. A producer of a later epoch refuses
    it."""


@dataclass(frozen=True, slots=True)
class Waiting(Wire):
    """The instance does not serve yet, but may do so soon."""


@dataclass(frozen=True, slots=True)
class SubscriptionRefused(Wire):
    """The answer to a subscription that the producer does not accept."""

    why: str
    replaced: bool = False
    """A later life of the consumer has subscribed or acked."""


@dataclass(frozen=True, slots=True)
class Resumes(Wire):
    """The producer no longer holds what was asked for: it can only continue at `start`."""

    released: Seq
    start: Seq


@dataclass(frozen=True, slots=True)
class Held(Wire):
    """What the producer holds for a consumer that asked for everything (Origin.HELD)."""

    start: Seq
    diverged_at: Seq | None
    """From here on, the tuples differ from those that an earlier life sent under these seqs."""
    released: Seq
    """The end of what an earlier life of the consumer is known to have released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Wire):
    """Sent with rows of a stream, or without rows as a keep-alive."""

    epoch: Epoch
    next: Seq
    """The seq after the last tuple that can be read."""
    standby: str | None = None
    """The address at which the stream will be served if this producer is lost."""
    replicas: bool = False
    """All instances of the producer send."""
    resumes: Resumes | None = None
    held: Held | None = None
    mark: Step | None = None
    """The watermarks of the last tuple, where the producer forwards them."""
    progress: int | None = None
    end: Seq | None = None
    """The end of the stream, once everything was sent."""
    diverged_at: Seq | None = None
    share: int | None = None
    """The most tuples that should be taken at a time, because the queue has a bound."""
    backup: Seq | None = None
    """The producer asks for a backup at this position."""
    still_ms: int = 0
    """How long the producer's output has stood still."""


FromProducer = Waiting | SubscriptionRefused | Batch


@dataclass(frozen=True, slots=True)
class Peek(Wire):
    """A standby asks for a few of the newest held tuples, for its warm-up."""

    stream: Stream
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack(Wire):
    stream: Stream
    consumer: Consumer
    levels: tuple[tuple[int, Seq], ...]
    """Pairs (level, position)."""
    epoch: Epoch = Epoch(0)
    tree: Tree | None = None
    starved: Seq | None = None
    """Every tuple before this seq has arrived, and nothing can be released before more tuples arrive."""
    ages: tuple[Age, ...] = ()


@dataclass(frozen=True, slots=True)
class Acked(Wire):
    epoch: Epoch
    replaced: str | None = None
    """A sentence if a later life of the consumer has subscribed or acked."""
    end: Seq | None = None
    """The end of the stream; None from an instance that does not lead."""
    lag_ms: int = 0


@dataclass(frozen=True, slots=True)
class Ping(Wire):
    """Asks an instance whether it runs and leads."""


@dataclass(frozen=True, slots=True)
class Pong(Wire):
    epoch: Epoch | None
    """None from an instance that does not lead."""

    @property
    def leads(self) -> bool:
        return self.epoch is not None


@dataclass(frozen=True, slots=True)
class AskHears(Wire):
    """A standby asks a consumer of its subjob: does the holder of the Lease serve you now?"""

    subjob: str
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class Hears(Wire):
    heard: bool


@dataclass(frozen=True, slots=True)
class Recover(Wire):
    """A consumer without state asks its producer where to begin."""

    stream: Stream
    consumer: Consumer


@dataclass(frozen=True, slots=True)
class Recovered(Wire):
    """The consumer's savepoint tree, as its producer knows it."""

    tree: Tree | None


@dataclass(frozen=True, slots=True)
class NotLeading(Wire):
    """This instance does not lead: another instance has to answer, or this one a little later."""


# --- a standby and its primary


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow(Wire):
    """A standby asks to become the secondary."""

    instance: str
    address: str
    mode: str = ""
    epoch: Epoch
    """The epoch of the primary that is meant."""
    stalled: str | None = None
    """Why the standby's engine has stalled."""


@dataclass(frozen=True, slots=True)
class FollowRefused(Wire):
    """This instance takes no secondary now."""

    why: str
    another: bool = False
    """It already has a secondary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Wire):
    """Base of all that a primary sends to its secondary: each message is a sign of life."""

    epoch: Epoch
    stalled: str | None = None
    """Why the primary's engine has stalled."""
    still_ms: int = 0
    """How long the primary's output has stood still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAlive(Word):
    positions: Marks = field(default_factory=dict)
    """The primary's positions on its inputs; empty if it had no time to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce(Word):
    """The settings that apply from here on, as `ha` in a manifest."""

    ha: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimming(Word):
    """What consumers have: the high watermarks of each stream, and savepoint trees."""

    high: Mapping[Stream, Marks]
    trees: Trees = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Determinants(Word):
    number: int
    steps: tuple[Determinant, ...]
    whole: bool
    """Whether this is the whole log, or only what was added to it."""
    needed: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePermanent(Word):
    """The temporary backup of this number becomes permanent."""

    number: int
    extended: Marks = field(default_factory=dict)
    trees: Trees = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension(Word):
    """Sent with rows: input of a stream after the position of the backup of this number."""

    number: int
    stream: Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(Word):
    """Sent with rows that are too many for one message: a part of the checkpoint that follows."""

    element: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped(Word):
    """A checkpoint: sent with its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver(Word):
    """The primary has paused and asks the receiver to take the Lease. Sent with a checkpoint, unless the
    receiver has its own state."""

    holder: str
    address: str
    successor: str | None = None

    @property
    def lease(self) -> LeaseRecord:
        return LeaseRecord(self.holder, self.address, self.epoch, self.successor)


Said = KeepAlive | InForce | Trimming | Determinants | MakePermanent | Extension | Piece | Shipped | HandOver
FromPrimary = FollowRefused | Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Wire):
    """Base of all that a secondary sends to its primary: each message is a sign of life."""

    instance: str = ""
    stalled: str | None = None
    """Why the secondary's engine has stalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat(Reply):
    """A sign of life without content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Reply):
    """The secondary's own positions."""

    epoch: Epoch
    positions: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Reply):
    """The secondary has stored the checkpoint of this number."""

    epoch: Epoch
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(Reply):
    """The secondary has stored the determinants of this number."""

    epoch: Epoch
    number: int


FromSecondary = Beat | Progress | Stored | Chosen

# --- the operator and an instance


@dataclass(frozen=True, slots=True)
class Change(Wire):
    """The subjob's `ha` as the manifest has it now."""

    ha: Mapping[str, Any]


class Harm(StrEnum):
    FREEZE = "freeze"
    HANG = "hang"
    PARTITION = "partition"
    THROTTLE = "throttle"


@dataclass(frozen=True, slots=True)
class Drill(Wire):
    """A fault that lasts for a while."""

    harm: Harm
    seconds: float


@dataclass(frozen=True, slots=True)
class Done(Wire):
    pass


@dataclass(frozen=True, slots=True)
class Refused(Wire):
    why: str


Request = Subscribe | Follow | Peek
Order = Ack | Ping | AskHears | Recover | FromSecondary | Change | Drill
Answer = Acked | Pong | Hears | Recovered | NotLeading | Done | Refused
PeerMessage = Request | FromProducer | FromPrimary | Order | Answer

_FORMAT: Final = Format[PeerMessage](
    "the message",
    version=(1, 0),
    brief=True,
    kinds={
        "subscribe": Subscribe,
        "waiting": Waiting,
        "subscriptionRefused": SubscriptionRefused,
        "batch": Batch,
        "peek": Peek,
        "ack": Ack,
        "acked": Acked,
        "ping": Ping,
        "pong": Pong,
        "askHears": AskHears,
        "hears": Hears,
        "recover": Recover,
        "recovered": Recovered,
        "notLeading": NotLeading,
        "follow": Follow,
        "followRefused": FollowRefused,
        "keepAlive": KeepAlive,
        "inForce": InForce,
        "trimming": Trimming,
        "determinants": Determinants,
        "makePermanent": MakePermanent,
        "extension": Extension,
        "piece": Piece,
        "shipped": Shipped,
        "handOver": HandOver,
        "beat": Beat,
        "progress": Progress,
        "stored": Stored,
        "chosen": Chosen,
        "change": Change,
        "drill": Drill,
        "done": Done,
        "refused": Refused,
    },
)


def to_bytes(message: PeerMessage) -> bytes:
    return _FORMAT.to_bytes(message)


def size_of_ack(levels: Sequence[tuple[int, int]], tree: Tree | None) -> int:
    """Bytes of the ack's content, without stream and consumer."""
    said = tuple((level, Seq(upto)) for level, upto in levels)
    return len(to_bytes(Ack(stream=Stream(""), consumer=Consumer(""), levels=said, tree=tree)))


def from_bytes(raw: bytes) -> PeerMessage | NotUnderstood:
    return _FORMAT.from_bytes(raw)
