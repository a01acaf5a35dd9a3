"""What the parts of an instance share.

One lock guards core, inboxes and stores: `post(event)` runs the core and its commands under it. Commands only
change memory or give work to a thread, so the lock is held for microseconds only. A *generation* counts
changes of role: work that began in an earlier generation is dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from understudy.engine.inbox import Inbox
from understudy.instance.checkpoints import Shelf
from understudy.instance.timeline import Departure, TakeOver
from understudy.model.ha import Mode
from understudy.model.job import StreamJob, Subjob
from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.process.clock import steady_ms
from understudy.process.ports import Surroundings
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.events import Event
from understudy.protocol.growth import Growth
from understudy.protocol.ids import Consumer, Millis, Range, Seq, Stream
from understudy.protocol.pace import replay_ms
from understudy.protocol.statuspage import State
from understudy.streams.hearing import Hearing
from understudy.streams.spill import Spill
from understudy.streams.store import Store

QUIET_MS: Final = 1_000  # an engine without signs for less than this counts as working
ARRIVALS_MS: Final = 250


@dataclass(slots=True)
class Story:
    """What has happened so far, for the status page."""

    state: State = State.STARTING
    error: str | None = None  # of the core: it ends the process
    engine_stalled: str | None = None  # why Spark has stalled here; None while it works or is idle
    engine_quiet_ms: int = 0  # since the engine's last sign of life, while it has work
    take_over: TakeOver | None = None
    departure: Departure | None = None
    overload: str | None = None  # as a primary: why this machine can't carry it
    losses: list[tuple[str, int, int]] = field(default_factory=list)
    batch_ms: deque[int] = field(default_factory=lambda: deque(maxlen=200))
    batch_rows: deque[int] = field(default_factory=lambda: deque(maxlen=200))
    batch_count: int = 0
    largest_batch: tuple[int, int] = (0, 0)  # its tuples and its milliseconds
    shipped_bytes: int = 0  # checkpoints, as sent to the secondary
    acked_bytes: int = 0  # acks with their savepoint trees, as sent upstream or stored for sources
    shipped_at: int | None = None
    change: str | None = None  # what a change of mode waits for
    available: dict[str, int] = field(default_factory=dict)  # end of the available tuples of each input
    arrivals: deque[tuple[int, int]] = field(
        default_factory=lambda: deque(maxlen=20)
    )  # (time, tuples so far)
    bad: dict[str, int] = field(default_factory=dict)  # records of each source that could not be read
    faults: dict[str, str] = field(default_factory=dict)  # why no tuples of a source come
    primary_positions: dict[str, int] = field(default_factory=dict)  # as a standby: the primary's positions

    def note_batch(self, rows: int, ms: int) -> None:
        self.batch_count += 1
        self.batch_ms.append(ms)
        self.batch_rows.append(rows)
        self.largest_batch = max(self.largest_batch, (rows, ms))

    def replay_seconds(self, tuples: int) -> float:
        """The estimated time to replay so many tuples, from the cost of recent micro-batches."""
        lately = [*zip(self.batch_rows, self.batch_ms, strict=True)]
        return replay_ms([*lately, self.largest_batch] if lately else [], tuples) / 1000

    def note_arrivals(self, now: int) -> None:
        """Notes, a few times a second, how many tuples are available on all inputs."""
        if not self.arrivals or now - self.arrivals[-1][0] >= ARRIVALS_MS:
            self.arrivals.append((now, sum(self.available.values())))

    @property
    def tuples_per_ms(self) -> float:
        """The recent arrival rate, over all inputs."""
        if len(self.arrivals) < 2:
            return 0.0
        (began, first), (ended, last) = self.arrivals[0], self.arrivals[-1]
        return max(0, last - first) / max(1, ended - began)

    def still_ms(self, now: Millis) -> int:
        """How long output has stood still: because the engine hangs, or because a take-over has no output
        yet."""
        engine = self.engine_quiet_ms if self.engine_quiet_ms >= QUIET_MS else 0
        take_over = (
            self.take_over.still_ms(now) if self.take_over is not None and self.take_over.promoted else 0
        )
        return max(engine, take_over)

    @property
    def take_over_is_catching_up(self) -> bool:
        return (
            self.take_over is not None
            and self.take_over.promoted is not None
            and self.take_over.caught_up is None
        )

    def aim(self, stream: str, available: int) -> None:
        """Notes the end of the available tuples in an input's first message. A take-over has caught up when
        each input has been processed up to there."""
        if self.take_over is not None and self.take_over.promoted is not None:
            self.take_over.targets.setdefault(stream, available)


class Context:
    def __init__(
        self,
        job: StreamJob,
        subjob: Subjob,
        core: Instance,
        surroundings: Surroundings,
        address: str,
        inboxes: Mapping[str, Inbox],
        stores: Mapping[str, Store],
        spill: Spill,
    ) -> None:
        self.job, self.subjob, self.core = job, subjob, core
        self.surroundings, self.address = surroundings, address
        self.inboxes, self.stores = inboxes, stores
        self.lock = threading.RLock()
        self.role_changed = threading.Condition(self.lock)
        self.stopping = threading.Event()
        self.generation = 0
        self.shelf = Shelf(spill)
        self.temporary: Shelf | None = None  # as a secondary: a backup that is not in force yet
        # per stream: the position at which consumers are asked for a backup
        self.backups_wanted: dict[str, int] = {}
        self.starved: dict[
            tuple[str, str], int
        ] = {}  # (stream, consumer) → end of what a consumer has received that can't continue without more
        self.given_up: dict[str, Range] = {}  # per stream: seqs that a renumbering gave up; they are not lost
        self.growth = {Stream(name): Growth() for name in stores}  # of the streams that this subjob makes
        self.story = Story()
        self.delivered = DeliveredAcks()  # as a primary: the acks that producers and sources have received
        self.sent: dict[str, dict[str, int]] = {}  # per stream: the end of what each consumer was sent
        self.hearing = Hearing()  # as a consumer of other subjobs
        self.wanted = subjob.ha  # the `ha` of the manifest now; `subjob` has the one in force
        self.post: Callable[[Event], None]
        self.reread_lease: Callable[[str], None]

    @property
    def heartbeat(self) -> float:
        """Seconds between two keep-alives."""
        return self.subjob.ha.heartbeat.interval.total_seconds()

    @property
    def leading(self) -> bool:
        return self.core.role is Role.PRIMARY

    def starved_at(self, element: str, stream: str) -> int | None:
        """The end of what the element has received of the stream, if it is starved: it can release nothing
        before more input arrives, because nothing more can be made of its input, all output has been
        received, and no standby is awaited."""
        queue, inbox = self.core.ledger.queues[Stream(element)], self.inboxes[element]
        alone = self.subjob.ha.mode is not Mode.AMNESIA and not self.core.protected
        in_vain = not alone and queue.received_by_all == queue.next and inbox.starved(stream)
        return inbox.wanted(stream) if in_vain else None

    def still_ms(self, now: Millis) -> int:
        """How long output has stood still although it is due. While a micro-batch runs, no output has come
        since it began."""
        under_way = max((inbox.under_way_ms(steady_ms()) for inbox in self.inboxes.values()), default=0)
        return max(under_way, self.story.still_ms(now))

    def note_sent(self, stream: str, consumer: str, upto: int, now: Millis) -> None:
        """Output: tuples that a consumer asked for are being sent to it."""
        self.sent.setdefault(stream, {})[consumer] = upto
        if self.story.take_over is not None:
            self.story.take_over.note_output(now)

    def delivered_acks(self) -> DeliveredAcks:
        """What a take-over would find at the neighbours of this subjob."""
        readers = {
            s: set(self.core.ledger.queues[s].acks) - set(self.inboxes) for s in self.core.wiring.leaving
        }
        least = {
            s: min((self.sent.get(s, {}).get(c, 0) for c in found), default=0) for s, found in readers.items()
        }
        return replace(self.delivered, sent={s: Seq(upto) for s, upto in least.items()})

    def note_growth(self) -> None:
        """Notes the end of each output queue. Called every few milliseconds, under the lock."""
        for stream, queue in self.core.ledger.queues.items():
            self.growth[stream].note(queue.received_by_all, queue.next, steady_ms())

    def lag(self, stream: Stream, consumer: Consumer) -> tuple[int, Millis]:
        """How many tuples of the stream the consumer lacks, and how long the oldest of them has been in the
        stream."""
        queue = self.core.ledger.queues[stream]
        at = queue.acks[consumer].received
        return max(0, queue.next - at), self.growth[stream].age(
            at, steady_ms()
        ) if at < queue.next else Millis(0)

    def positions(self) -> dict[str, int]:
        """This instance's position on each external input: the least position of its elements."""
        return {s: int(self.core.ledger.position(s)) for s in self.core.wiring.entering}
