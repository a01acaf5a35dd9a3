"""What the processes of a job, and the operator, say to each other. This is the only module that knows the
bytes.

| from → to | what | how |
|---|---|---|
| consumer → producer | `Subscribe` | get; the answer is a stream of rows, each batch with a `FromProducer` |
| standby → primary | `Follow` | get; the answer is a stream of `FromPrimary`, some with rows |
| standby → producer | `Peek` | get; the answer is a few held rows |
| anyone → instance | `Order` | one action, one `Answer` |

Rows and checkpoints travel beside a message, as Arrow.
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
    """From where a stream is asked for."""

    POSITION = "position"  # what the reader expects next
    NEWEST = "newest"  # its newest tuple
    HELD = "held"  # the oldest tuple that the producer still holds for this consumer


@dataclass(frozen=True, slots=True)
class Age(Wire):
    """When a consumer last heard of the producer of one epoch. Only ages leave a process, no moments."""

    epoch: int
    ms: int
    first: int | None = None
    """Since the first tuple of that producer; None: there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe(Wire):
    """A consumer asks for a stream."""

    stream: Stream
    consumer: Consumer
    origin: Origin
    start: Seq | None = None
    """Its position; None where the origin is another."""
    mark: Step | None = None
    """The watermarks of the last tuple that it took."""
    epoch: Epoch = Epoch(0)
    """Its own: a later life of it has a greater one."""
    replica: bool = False
    """A second reader that is silent: what it asks for is no ack."""
    ages: tuple[Age, ...] = ()
    meant: Epoch | None = None
    """The epoch of the producer that it asks. One that leads in a later epoch must not take this for news."""


@dataclass(frozen=True, slots=True)
class Waiting(Wire):
    """The instance does not serve yet; it may soon."""


@dataclass(frozen=True, slots=True)
class SubscriptionRefused(Wire):
    """A subscription is refused."""

    why: str
    replaced: bool = False
    """A later life of the consumer has spoken."""


@dataclass(frozen=True, slots=True)
class Resumes(Wire):
    """The producer no longer has what was asked for: it can only go on at `start`."""

    released: Seq
    start: Seq


@dataclass(frozen=True, slots=True)
class Held(Wire):
    """What the producer holds for a consumer that asked for all of it."""

    start: Seq
    diverged_at: Seq | None
    """From here on, the tuples are not those that an earlier life sent under these seqs."""
    released: Seq
    """All that it knows an earlier life of the consumer to have released is before this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Wire):
    """Goes with rows of a stream, or without any as a keep-alive."""

    epoch: Epoch
    next: Seq
    """How far there is to read."""
    standby: str | None = None
    """Where the stream will be served if this producer is lost."""
    replicas: bool = False
    """All instances of the producer send."""
    resumes: Resumes | None = None
    held: Held | None = None
    mark: Step | None = None
    """The watermarks of the last tuple, where the producer forwards them."""
    progress: int | None = None
    end: Seq | None = None
    """Where the stream ends, once all of it was sent."""
    diverged_at: Seq | None = None
    share: int | None = None
    """So many tuples at the most should be taken at a time: the queue has a bound."""
    backup: Seq | None = None
    """The producer asks for a backup at this position."""
    still_ms: int = 0
    """For how long the producer's output has stood still."""


FromProducer = Waiting | SubscriptionRefused | Batch


@dataclass(frozen=True, slots=True)
class Peek(Wire):
    """A few of the newest held tuples, to warm up with."""

    stream: Stream
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack(Wire):
    stream: Stream
    consumer: Consumer
    levels: tuple[tuple[int, Seq], ...]
    """(level, position)."""
    epoch: Epoch = Epoch(0)
    tree: Tree | None = None
    starved: Seq | None = None
    """All before this has come, and nothing can be released before more does."""
    ages: tuple[Age, ...] = ()


@dataclass(frozen=True, slots=True)
class Acked(Wire):
    epoch: Epoch
    replaced: str | None = None
    """A later life of the consumer has spoken: the sentence says so."""
    end: Seq | None = None
    """How far the stream goes; None from one that does not lead."""
    lag_ms: int = 0


@dataclass(frozen=True, slots=True)
class Ping(Wire):
    """Is anybody there?"""


@dataclass(frozen=True, slots=True)
class Pong(Wire):
    epoch: Epoch | None
    """None from one that does not lead."""

    @property
    def leads(self) -> bool:
        return self.epoch is not None


@dataclass(frozen=True, slots=True)
class AskHears(Wire):
    """A standby asks a consumer of its subjob: are you served by the holder of the Lease now?"""

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
    """Somebody else has to answer, or this instance in a moment."""


# --- a standby and its primary


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow(Wire):
    """A standby asks to be the secondary."""

    instance: str
    address: str
    mode: str = ""
    epoch: Epoch
    """Of the primary that is meant."""
    stalled: str | None = None
    """Why its own engine stands still."""


@dataclass(frozen=True, slots=True)
class FollowRefused(Wire):
    """This instance takes no secondary now."""

    why: str
    another: bool = False
    """It has one already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Wire):
    """Whatever a primary says is a sign of life."""

    epoch: Epoch
    stalled: str | None = None
    """Why its engine stands still."""
    still_ms: int = 0
    """For how long its output has stood still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAlive(Word):
    positions: Marks = field(default_factory=dict)
    """On its inputs; empty if it had no time to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce(Word):
    """The settings that are in force from here on, as `ha` in a manifest."""

    ha: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimming(Word):
    """What consumers have: high watermarks of each stream, savepoint trees."""

    high: Mapping[Stream, Marks]
    trees: Trees = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Determinants(Word):
    number: int
    steps: tuple[Determinant, ...]
    whole: bool
    """This is the whole log, not what was added to it."""
    needed: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePermanent(Word):
    """The temporary backup of this number is in force."""

    number: int
    extended: Marks = field(default_factory=dict)
    trees: Trees = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension(Word):
    """Goes with rows: input of a stream beyond the position of the backup of this number."""

    number: int
    stream: Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(Word):
    """Goes with rows that are too many for the checkpoint that they belong to: it follows."""

    element: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped(Word):
    """Goes with a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver(Word):
    """The primary stands still, and the receiver is to take the Lease. Goes with a checkpoint, unless the
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
    """Whatever a secondary says is a sign of life."""

    instance: str = ""
    stalled: str | None = None
    """Why its engine stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat(Reply):
    """It lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Reply):
    """How far it has come by itself."""

    epoch: Epoch
    positions: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Reply):
    """The checkpoint of this number."""

    epoch: Epoch
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(Reply):
    """The determinants of this number are stored."""

    epoch: Epoch
    number: int


FromSecondary = Beat | Progress | Stored | Chosen

# --- the operator and an instance


@dataclass(frozen=True, slots=True)
class Change(Wire):
    """How the manifest now wants the subjob kept alive: its `ha`."""

    ha: Mapping[str, Any]


class Harm(StrEnum):
    FREEZE = "freeze"
    HANG = "hang"
    PARTITION = "partition"
    THROTTLE = "throttle"


@dataclass(frozen=True, slots=True)
class Drill(Wire):
    """A fault for a while."""

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
    """Bytes of what it says, without its address."""
    said = tuple((level, Seq(upto)) for level, upto in levels)
    return len(to_bytes(Ack(stream=Stream(""), consumer=Consumer(""), levels=said, tree=tree)))


def from_bytes(raw: bytes) -> PeerMessage | NotUnderstood:
    return _FORMAT.from_bytes(raw)
