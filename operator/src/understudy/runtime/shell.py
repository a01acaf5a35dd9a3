"""Carries out what the core decides, and tells it what happened.

One lock guards core, inboxes and stores: `post(event)` runs the core and its commands under it. Commands only change
memory or hand work to a thread (readers, follower, lease keeper, ack sender), so the lock is held for microseconds. A
*generation* counts changes of role: work that began in an older one is dropped.
"""

from __future__ import annotations

import queue
import threading
from collections import defaultdict, deque
from collections.abc import Mapping

import pyarrow as pa
import structlog

from understudy.model.job import StreamJob, Subjob
from understudy.modes.build import millis
from understudy.modes.instance import Instance, Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Command
from understudy.protocol.events import Event
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.runtime.checkpoints import QUEUE, Message, Shelf, to_ship
from understudy.runtime.clock import now_ms
from understudy.runtime.engine.inbox import Inbox
from understudy.runtime.engine.plan import BatchPlan, Position
from understudy.runtime.engine.state import InboxState
from understudy.runtime.following import Follower, Hooks
from understudy.runtime.leases import LeaseKeeper
from understudy.runtime.ports import Surroundings, Unreachable
from understudy.runtime.reader import Handler, Incoming, StreamReader
from understudy.runtime.sources import Sources
from understudy.runtime.store import Store
from understudy.runtime.timeline import TakeOver

log = structlog.get_logger()
FIRST_CONTACT_MS = 2_000  # before the first keep-alive of a primary: a connection may take its time
START_POLL_SECONDS = 0.2
INBOX_ROWS = 500_000  # beyond this many waiting rows an input is not read further


class Shell(Handler):
    def __init__(
        self,
        job: StreamJob,
        subjob: Subjob,
        core: Instance,
        surroundings: Surroundings,
        address: str,
        inboxes: Mapping[str, Inbox],
        stores: Mapping[str, Store],
        sources: Sources,
    ) -> None:
        self.job, self.subjob, self.core = job, subjob, core
        self.address = address
        self.inboxes, self.stores = inboxes, stores
        self.lock = threading.RLock()
        self.role_changed = threading.Condition(self.lock)
        self.generation = 0
        self.shelf = Shelf()
        self.take_over: TakeOver | None = None
        self.losses: list[tuple[str, int, int]] = []
        self.shipped_bytes = 0
        self.shipped_at: int | None = None
        self.primary_positions: dict[str, int] = {}
        self.available: dict[str, int] = {}
        self.state = "starting"
        self.error: str | None = None
        self.batch_ms: deque[int] = deque(maxlen=200)
        self.batch_rows: deque[int] = deque(maxlen=200)
        self.batch_count = 0
        self.secondary_address: str | None = None
        self.outbox: queue.SimpleQueue[Message] | None = None
        self._surroundings = surroundings
        self._readers: dict[str, StreamReader] = {}
        self._follower: Follower | None = None
        self._acks: dict[str, dict[int, int]] = defaultdict(dict)
        self._arriving: pa.Table | None = None
        self._stopping = threading.Event()
        self._sources = sources
        sources.advance = self._advance
        self._lease = LeaseKeeper(surroundings, subjob.name, core.name, address, self.post, self._leading)

    # --- life

    def start(self) -> None:
        self._lease.start()
        self._lease.order(do.ReadLease("first look"))
        threading.Thread(target=self._tick_forever, name="ticker", daemon=True).start()
        threading.Thread(target=self._ack_forever, name="acks", daemon=True).start()
        threading.Thread(target=self._await_start, name="start-time", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        self._lease.stop()
        self._leave_role()

    def _leading(self) -> bool:
        return self.core.role is Role.PRIMARY

    def post(self, event: Event) -> None:
        with self.lock:
            for command in self.core.handle(event):
                self._carry_out(command)

    def _tick_forever(self) -> None:
        interval = min(millis(self.subjob.ha.heartbeat.interval) / 5, 20) / 1000
        while not self._stopping.wait(interval):
            self.post(on.Tick(Millis(now_ms())))
            with self.lock:
                if self._leading():
                    self._sources.poll()
                    self._finish_elements()
            for reader in list(self._readers.values()):
                reader.watch()

    def _await_start(self) -> None:
        """Sources begin when the job does; whoever deployed it says when. Once known, it never changes."""
        while not self._stopping.is_set():
            try:
                self._sources.start_ms = self._surroundings.start_time()
            except Unreachable as error:
                log.warning("start time unknown", error=str(error))
            if self._sources.start_ms is not None:
                return
            self._stopping.wait(START_POLL_SECONDS)

    # --- commands

    def _carry_out(self, command: Command) -> None:
        match command:
            case do.TryLease():
                self._note_suspicion(command)
                self._lease.order(command)
            case do.ReadLease():
                self._lease.order(command)
            case do.Follow():
                self._follow(command)
            case do.Lead():
                self._lead(command)
            case do.ReadInput():
                self._read_input(command.stream, command.start)
            case do.Take():
                self._take(command.stream, command.range)
            case do.Skip():
                self._skip(command.stream, command.to)
            case do.ReportLoss():
                self._report_loss(command.stream, command.missing)
            case do.Publish():
                self._publish(command)
            case do.Trim():
                self.stores[command.stream].trim(command.upto)
            case do.SendAck():
                self._send_ack(command)
            case do.Ship():
                self._ship(command)
            case do.Store():
                pass  # the follower holds the message and puts it on the shelf
            case do.StepDown():
                self._step_down(command.why)
            case _:
                raise NotImplementedError(f"{type(command).__name__} belongs to a mode that this runtime does not play")

    def _note_suspicion(self, command: do.TryLease) -> None:
        log.info("trying the lease", why=command.why)
        if command.expected is not None:
            self.take_over = TakeOver(command.expected.holder, command.why, detected=now_ms())

    def _follow(self, command: do.Follow) -> None:
        if self._follower is not None:
            self._follower.stop()
        log.info("following", primary=command.primary.holder, epoch=command.primary.epoch)
        self.take_over = None
        self.post(on.KeepAlive(Millis(now_ms() + FIRST_CONTACT_MS), command.primary.epoch))
        hooks = Hooks(self._heard, self._store, self._peer_closed, self._peer_refused)
        self._follower = Follower(command.primary, self.core.name, self.address, hooks)
        self._follower.start()

    def _lead(self, command: do.Lead) -> None:
        promoted = now_ms()
        self._leave_role()
        for name, inbox in self.inboxes.items():
            self._restore(name, inbox, command)
        log.info("leading", epoch=command.epoch, why=command.why)
        if self.take_over is not None:
            self.take_over.lease = self.take_over.promoted = promoted
            self.take_over.restored = now_ms()
            self.take_over.replayed = self._replayed()
        self.role_changed.notify_all()

    def _restore(self, name: str, inbox: Inbox, command: do.Lead) -> None:
        queue_ = self.core.ledger.queues[Stream(name)]
        store = self.stores[name]
        store.reset(queue_.held.start)
        inbox.reset()
        if command.checkpoint is None or self.shelf.newest is None:
            return
        state = InboxState.from_dict(self.shelf.newest.inboxes[name])
        tails = {s: self._tail(name, s) for s in command.checkpoint.elements[name].positions}
        inbox.restore(state, {s: t for s, t in tails.items() if t is not None})
        rows = self.shelf.rows(name, QUEUE)
        if rows is not None:
            store.append(rows, queue_.held.start, None)
        store.publish(queue_.next, queue_.ended)

    def _tail(self, element: str, stream: str) -> pa.Table | None:
        if stream in self.core.wiring.replayable:
            assert self.shelf.newest is not None
            state = self.shelf.newest.checkpoint.elements[element]
            return self._sources.rows(stream, state.tail(Stream(stream)))
        return self.shelf.rows(element, stream)

    def _leave_role(self) -> None:
        self.generation += 1
        for reader in self._readers.values():
            reader.stop()
        self._readers.clear()
        if self._follower is not None:
            self._follower.stop()
        self._follower, self.outbox, self.secondary_address = None, None, None
        self._acks.clear()
        self._sources.stop()

    def _step_down(self, why: str) -> None:
        log.warning("stepping down", why=why)
        self._leave_role()
        self.shelf = Shelf()
        for name, inbox in self.inboxes.items():
            inbox.reset()
            self.stores[name].reset(0)
        self.role_changed.notify_all()

    # --- inputs

    def _read_input(self, stream: str, start: Seq | None) -> None:
        if stream in self.core.wiring.replayable:
            self._sources.begin(stream, start)
            return
        ha = self.subjob.ha.heartbeat
        reader = StreamReader(
            stream,
            self.subjob.name,
            self,
            lambda: self._surroundings.addresses(stream),
            silence_ms=max(millis(ha.interval) * ha.misses, 1_000),
            epoch=lambda: self.core.epoch,
        )
        reader.start_at_newest = start is None
        self._readers[stream] = reader
        reader.start()

    def expected(self, stream: str) -> int | None:
        with self.lock:
            reader = self._readers.get(stream)
            if reader is not None and reader.start_at_newest:
                return None
            found = self.core.ledger.filters.get(Stream(stream))
            return found.expected if found else 0

    def incoming(self, stream: str, message: Incoming) -> None:
        with self.lock:
            reader = self._readers.get(stream)
            if reader is not threading.current_thread():
                return
            generation = self.generation
            self.available[stream] = max(self.available.get(stream, 0), message.available)
            self._aim(stream, message.available)
            if message.rows.num_rows:
                self._arriving = message.rows
                self.post(on.Arrived(Stream(stream), _range_of(message.rows), Epoch(message.epoch)))
                self._arriving = None
            for name in self.core.wiring.readers(Stream(stream)):
                self.inboxes[name].learn(stream, message.progress, message.end)
        self._wait_for_room(stream, generation)

    def resumes(self, stream: str, released: int, start: int) -> None:
        self.post(on.Resumes(Stream(stream), Seq(released), Seq(start)))
        with self.lock:
            if stream in self._readers:
                self._readers[stream].start_at_newest = False

    def _wait_for_room(self, stream: str, generation: int) -> None:
        """Backpressure: a reader that stops reading makes its producer's queue grow, and that one's source wait."""
        while generation == self.generation and any(
            self.inboxes[n].waiting(stream) > INBOX_ROWS for n in self.core.wiring.readers(Stream(stream))
        ):
            self._stopping.wait(0.02)

    def _take(self, stream: Stream, taken: Range) -> None:
        assert self._arriving is not None
        first = self._arriving["_seq"][0].as_py()
        rows = self._arriving.slice(taken.start - first, len(taken))
        for name in self.core.wiring.readers(stream):
            self._offer(name, stream, rows)

    def _offer(self, element: str, stream: str, rows: pa.Table) -> None:
        """Give an element the rows it lacks: elements of one subjob may have come differently far on the same input."""
        inbox = self.inboxes[element]
        known = inbox.wanted(stream) - rows["_seq"][0].as_py()
        if known < rows.num_rows:
            inbox.offer(stream, rows.slice(max(known, 0)))

    def _skip(self, stream: str, to: Seq) -> None:
        for name in self.core.wiring.readers(Stream(stream)):
            self.inboxes[name].skip(stream, to)

    def _report_loss(self, stream: str, missing: Range) -> None:
        log.error("input lost", stream=stream, start=missing.start, stop=missing.stop)
        self.losses.append((stream, missing.start, missing.stop))
        if self.take_over is not None:
            self.take_over.lost += len(missing)

    def _advance(self, source: str, upto: int, rows: pa.Table | None, ended: bool, skip_to: int | None) -> None:
        """A source has come further. Called under the lock."""
        self.available[source] = upto
        for name in self.core.wiring.readers(Stream(source)):
            inbox = self.inboxes[name]
            if skip_to is not None:
                inbox.skip(source, skip_to)
            if rows is None:
                inbox.advance(source, upto)
            elif rows.num_rows:
                self._offer(name, source, rows)
            if ended:
                inbox.end(source, upto)
        self._aim(source, upto)

    def _aim(self, stream: str, available: int) -> None:
        if self.take_over is not None and self.take_over.promoted is not None:
            self.take_over.targets.setdefault(stream, available)

    # --- batches

    def on_output(self, element: str, plan: BatchPlan, rows: pa.Table) -> None:
        """A micro-batch is done: number its rows, append them, tell the core."""
        store = self.stores[element]
        inbox = self.inboxes[element]
        while not store.wait_for_room(0.2) and inbox.is_current(plan):
            pass
        with self.lock:
            current = inbox.is_current(plan)
            at = inbox.done(plan.number)
            if not current:
                log.info("batch of an earlier role dropped", element=element, plan=plan.number)
                return
            self._append(element, rows, at.progress)
            self.post(_processed(element, at, rows.num_rows))
            self._note_batch(element, rows.num_rows)

    def _append(self, element: str, rows: pa.Table, progress: int | None) -> None:
        start = self.core.ledger.queues[Stream(element)].next
        self.stores[element].rebase(start)
        seqs = pa.array(range(start, start + rows.num_rows), pa.int64())
        numbered = rows.add_column(0, pa.field("_seq", pa.int64()), seqs).cast(self.stores[element].schema)
        self.stores[element].append(numbered, start, progress)

    def _note_batch(self, element: str, emitted: int) -> None:
        if self.take_over is None:
            return
        if emitted and element == self.subjob.name:
            self.take_over.note_output(now_ms())
        self.take_over.note_positions(self.positions(), now_ms())

    def _finish_elements(self) -> None:
        """Stream ends: an element whose inputs are over and done ends its own stream."""
        for name, inbox in self.inboxes.items():
            queue_ = self.core.ledger.queues[Stream(name)]
            if inbox.finished and not queue_.ended:
                self.post(_processed(name, inbox.position, 0, ended=True))

    def _publish(self, command: do.Publish) -> None:
        store = self.stores[command.stream]
        store.publish(command.upto, command.ended)
        for name in self.core.wiring.readers(command.stream):
            self._feed(name, command.stream)

    def _feed(self, element: str, stream: Stream) -> None:
        """Hand a sibling element what its inner input has published and it lacks."""
        inbox = self.inboxes[element]
        delivery = self.stores[stream].wait(inbox.wanted(stream), None, 0)
        if delivery.rows.num_rows:
            inbox.offer(stream, delivery.rows)
        inbox.learn(stream, delivery.progress, inbox.wanted(stream) if delivery.ended else None)

    # --- acks

    def _send_ack(self, command: do.SendAck) -> None:
        if command.stream in self.core.wiring.replayable:
            return
        if command.stream in self.core.wiring.inputs:
            for name in self.core.wiring.readers(command.stream):
                self.post(on.Acked(command.stream, Consumer(name), command.level, command.upto, self.core.epoch))
            return
        self._acks[command.stream][command.level] = command.upto

    def _ack_forever(self) -> None:
        interval = millis(self.subjob.ha.ack_interval) / 1000
        sent: dict[str, dict[int, int]] = {}
        while not self._stopping.wait(interval):
            with self.lock:
                due = {s: self._due_acks(s) for s in self._readers}
                readers = dict(self._readers)
                if not readers:
                    sent.clear()
            for stream, levels in due.items():
                if levels and sent.get(stream) != levels and readers[stream].ack(sorted(levels.items())):
                    sent[stream] = levels

    def _due_acks(self, stream: str) -> dict[int, int]:
        """Level 0: what has arrived. Level 1: what the mode has released."""
        found = self.core.ledger.filters.get(Stream(stream))
        return {**({0: int(found.expected)} if found else {}), **self._acks.get(stream, {})}

    # --- checkpoints

    def _ship(self, command: do.Ship) -> None:
        if self.outbox is None:
            return
        rows = {}
        for part, lacking in to_ship(command.checkpoint, command.base, self.core.wiring.replayable):
            if len(lacking):
                rows[(part.element, part.name)] = self._held(part.element, part.name, lacking)
        inboxes = {name: inbox.state().to_dict() for name, inbox in self.inboxes.items()}
        message = Message(command.checkpoint, inboxes, rows)
        self.shipped_bytes += message.size
        self.shipped_at = now_ms()
        self.outbox.put(message)

    def _held(self, element: str, part: str, wanted: Range) -> pa.Table:
        if part == QUEUE:
            return self.stores[element].rows(wanted.start, wanted.stop)
        return self.inboxes[element].tail(part, wanted.start)

    # --- the primary we follow

    def _heard(self, epoch: int, positions: dict[str, int]) -> None:
        self.primary_positions = positions
        self.post(on.KeepAlive(Millis(now_ms()), Epoch(epoch)))

    def _store(self, message: Message) -> bool:
        with self.lock:
            commands = self.core.handle(on.CheckpointArrived(message.checkpoint))
            accepted = any(isinstance(c, do.Store) for c in commands)
            if accepted:
                self.shelf.put(message, self.core.wiring.replayable)
            return accepted

    def _peer_closed(self) -> None:
        self.post(on.PeerClosed(Millis(now_ms())))

    def _peer_refused(self) -> None:
        self._stopping.wait(0.1)
        self.post_command(do.ReadLease("the instance we follow is no primary"))

    def post_command(self, command: do.ReadLease) -> None:
        with self.lock:
            self._carry_out(command)

    def positions(self) -> dict[str, int]:
        """How far this instance has come on each stream that enters the subjob: the least of its elements."""
        found: dict[str, int] = {}
        for inputs in self.core.ledger.elements.values():
            for stream, seq in inputs.positions.items():
                if stream in self.core.wiring.entering:
                    found[stream] = min(found.get(stream, seq), seq)
        return found

    def seconds_per_tuple(self) -> float:
        """What processing has cost lately, over all elements."""
        return sum(self.batch_ms) / 1000 / max(sum(self.batch_rows), 1)

    def _replayed(self) -> int:
        at = self.shelf.newest.checkpoint if self.shelf.newest else None
        restored = {s: (at.position(Stream(s)) or 0) if at else 0 for s in self.primary_positions}
        return sum(max(0, n - restored[s]) for s, n in self.primary_positions.items())


def _range_of(rows: pa.Table) -> Range:
    first = rows["_seq"][0].as_py()
    return Range(Seq(first), Seq(first + rows.num_rows))


def _processed(element: str, at: Position, emitted: int, *, ended: bool = False) -> on.Processed:
    positions = {Stream(s): Seq(n) for s, n in at.seqs.items()}
    selection = {Stream(s): Seq(n) for s, n in at.selection.items()}
    return on.Processed(element, positions, selection, emitted, ended)
