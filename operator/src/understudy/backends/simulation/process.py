"""The shell: carries out what the core decides on simulated machines, and tells it what happened."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from understudy.backends.simulation.element import Element, Shelf
from understudy.backends.simulation.operators import Row
from understudy.backends.simulation.world import MS
from understudy.modes.instance import Instance, Role
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, missing
from understudy.protocol.determinants import Determinant
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.savepoints import size as ack_size
from understudy.protocol.watermarks import Step

if TYPE_CHECKING:
    from understudy.backends.simulation.cluster import Cluster, SubjobSpec

HELD, LOG = -1, -2  # a subscription from what is held for the consumer; from all of a log
FIRST_CONTACT = 200  # milliseconds before a primary that was never heard is suspected


@dataclass(slots=True)
class Subscription:
    stream: str
    consumer: str
    target: Any
    next: int
    end_told: bool = False


@dataclass(slots=True)
class Connection:
    start: int | None
    targets: dict[str, int] = field(default_factory=dict)  # producer's name: when it last spoke
    answered: bool = False
    not_before: int = 0


class Endpoint:
    """Something with a name and a machine that receives messages."""

    def __init__(self, cluster: Cluster, name: str, host: str) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.name, self.host = name, host
        self.alive = True
        self.paused = 0
        self._backlog: deque[tuple[str, tuple[Any, ...]]] = deque()

    def send(self, target: Endpoint, kind: str, size: int, method: str, *args: Any) -> None:
        self.world.send(kind, self.host, target.host, size, target.receive, method, args)

    def receive(self, method: str, args: tuple[Any, ...]) -> None:
        if not self.alive:
            return
        if self.world.now < self.paused:
            if not self._backlog:
                self.world.at(self.paused - self.world.now, self._catch_up)
            self._backlog.append((method, args))
            return
        getattr(self, method)(*args)

    def _catch_up(self) -> None:
        if self.world.now < self.paused:
            self.world.at(self.paused - self.world.now, self._catch_up)
            return
        backlog, self._backlog = self._backlog, deque()
        for method, args in backlog:
            self.receive(method, args)


class Process(Endpoint):
    """One instance: the core, its elements, its queues, its connections."""

    def __init__(self, cluster: Cluster, spec: SubjobSpec, name: str, host: str, core: Instance) -> None:
        super().__init__(cluster, name, host)
        self.spec, self.core = spec, core
        self.generation = 0
        self.processing = self.serving = False
        self.cpu_free = 0
        self.elements: dict[str, Element] = {}
        self.stores: dict[str, Shelf] = {}
        self.published: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.superseded: dict[str, int] = {}  # stream: seqs before were given up by a renumbering
        self.subscriptions: dict[tuple[str, str], Subscription] = {}
        self.waiting: dict[tuple[str, str], tuple[Any, ...]] = {}
        self.connections: dict[str, Connection] = {}
        self.secondary: Process | None = None
        self.secondary_heard = 0
        self.primary: Process | None = None
        self.shelf: tuple[Checkpoint, dict[str, Any]] | None = None
        self._arriving: tuple[int, list[Row | None]] = (0, [])
        self._incoming: dict[str, Any] = {}
        self._ka_at = -(10**9)
        self._lease_at = 0
        self._pause_at: dict[str, int] = {}
        self._carry: dict[type, Callable[[Any], None]] = {
            do.TryLease: self._try_lease,
            do.ReadLease: self._read_lease,
            do.Follow: self._follow,
            do.Lead: self._lead,
            do.Run: self._run,
            do.ReadInput: lambda c: self._connect(c.stream, c.start),
            do.Replay: lambda c: self._connect(c.stream, HELD),
            do.Take: self._take,
            do.Skip: self._skip,
            do.ReportLoss: lambda c: cluster.monitor.lost(self, c.stream, c.missing),
            do.Publish: self._publish,
            do.Trim: self._trim,
            do.SendAck: self._send_ack,
            do.Ship: self._ship,
            do.Store: self._store,
            do.StepDown: self._step_down,
            do.Number: self._number,
            do.Renumber: self._renumber,
            do.ReportProgress: self._report_progress,
            do.SendQueueTrimming: self._send_trimming,
            do.ShipDeterminants: self._ship_determinants,
            do.Choose: self._choose,
            do.Elect: lambda c: cluster.elect(self, c.why),
            do.RequestRecovery: lambda c: self._ask_producers(c.stream),
            do.AnswerRecovery: self._answer_recovery,
            do.NotifyRecovered: self._notify_recovered,
            do.ReportMovement: lambda c: cluster.progressed(self),
        }
        self._empty_elements()

    def start(self, event: Event | None = None) -> None:
        self.post(event) if event is not None else self._read_lease(do.ReadLease("first look"))
        self._tick()

    def post(self, event: Event) -> None:
        for command in self.core.handle(event):
            self._carry[type(command)](command)

    # --- time

    def _tick(self) -> None:
        if not self.alive:
            return
        world = self.world
        if world.now >= self.paused:
            self.post(on.Tick(world.millis))
            self._duties()
        world.at(self.cluster.tick, self._tick)

    def _duties(self) -> None:
        cluster, now = self.cluster, self.world.now
        if now - self._ka_at >= cluster.heartbeat:
            self._ka_at = now
            self._keep_alive()
        if self.spec.family == "lease" and self.core.role is Role.PRIMARY and now - self._lease_at >= 100 * MS:
            self._lease_at = now
            self._read_lease(do.ReadLease("to see whether it is still ours"))
        if self.secondary is not None and now - self.secondary_heard > 6 * cluster.heartbeat:
            self._secondary_gone(self.secondary)
        for stream, connection in list(self.connections.items()):
            self._watch(stream, connection)

    def _keep_alive(self) -> None:
        if self.secondary is not None and self.core.role is Role.PRIMARY and self.spec.family == "lease":
            self.send(self.secondary, "keep-alive", 0, "rx_keep_alive", self, self.core.epoch, None)
        if self.spec.family == "savepoint":
            self.cluster.beat(self)
        if self.cluster.lossy and self.serving:
            for sub in self.subscriptions.values():
                self.send(sub.target, "keep-alive", 0, "rx_alive", sub.stream, self.name, sub.next)

    # --- Lease

    def _try_lease(self, command: do.TryLease) -> None:
        self.cluster.monitor.suspected(self, command.why)
        self.world.at(self.world.lease_delay, self._try_now, command)

    def _try_now(self, command: do.TryLease) -> None:
        if not self.alive or self._lease_unreachable(self._try_now, command):
            return
        won = self.world.take_lease(self.spec.name, command.expected, self.core.name, self.name)
        if won is not None:
            self.cluster.monitor.elected(self, won)
        self.post(on.LeaseWon(won) if won else on.LeaseSeen(self.world.lease(self.spec.name)))

    def _read_lease(self, command: do.ReadLease) -> None:
        self.world.at(self.world.lease_delay, self._read_now, command)

    def _read_now(self, command: do.ReadLease) -> None:
        if self.alive and not self._lease_unreachable(self._read_now, command):
            self.post(on.LeaseSeen(self.world.lease(self.spec.name)))

    def _lease_unreachable(self, again: Callable[..., None], command: Any) -> bool:
        down = (
            self.world.lease_down or not self.world.network.reaches(self.host, "lease") or self.world.now < self.paused
        )
        if down:
            self.world.at(20 * MS, again, command)
        return down

    # --- following

    def _follow(self, command: do.Follow) -> None:
        primary = self.cluster.processes.get(command.primary.address)
        self.post(on.KeepAlive(Millis(self.world.millis + FIRST_CONTACT), command.primary.epoch))
        self.primary = primary
        if primary is not None:
            self.send(primary, "control", 0, "rx_follow", self)

    def rx_follow(self, follower: Process) -> None:
        if self.core.role is not Role.PRIMARY:
            self.send(follower, "control", 0, "rx_refused", self)
            return
        self.secondary, self.secondary_heard = follower, self.world.now
        self.post(on.SecondaryJoined(follower.name))

    def rx_refused(self, by: Process) -> None:
        if self.primary is by and self.core.role is Role.STANDBY:
            self.world.at(20 * MS, self._read_now, do.ReadLease("the instance we follow is no primary"))

    def rx_keep_alive(self, by: Process, epoch: Epoch, positions: Any) -> None:
        self.post(on.KeepAlive(self.world.millis, epoch, positions))
        if self.spec.family == "lease":
            self.send(by, "keep-alive", 0, "rx_follower_alive", self, epoch)

    def rx_follower_alive(self, by: Process, epoch: Epoch) -> None:
        if by is self.secondary:
            self.secondary_heard = self.world.now

    def rx_closed(self, peer: Process) -> None:
        """The kernel of a living machine says that a peer's process is gone."""
        if peer is self.secondary:
            self._secondary_gone(peer)
        elif peer is self.primary or self.spec.family == "replica":
            self.post(on.PeerClosed(self.world.millis))

    def _secondary_gone(self, peer: Process) -> None:
        self.secondary = None
        self.post(on.SecondaryLeft(peer.name))

    def rx_newer(self, epoch: Epoch) -> None:
        self.post(on.NewerEpoch(epoch))

    # --- roles

    def _empty_elements(self) -> None:
        self.elements = {n: Element.empty(n, op, ins) for n, op, ins in self.spec.elements}
        self.stores = {n: Shelf() for n in self.elements}
        self.published = dict.fromkeys(self.elements, 0)
        self.ended = {}
        self.superseded = {}

    def _lead(self, command: do.Lead) -> None:
        self.cluster.monitor.leads(self, command)
        if not command.live:
            self._restore(command.checkpoint)
        self.processing = self.serving = True
        for element in self.elements.values():
            element.follows_script = False
        if self.cluster.presubscribe:
            for consumer in (c for n, _, _ in self.spec.elements for c in self.cluster.consumers(n)):
                for name, _, _ in self.spec.elements:
                    self.waiting.setdefault((name, consumer.name), (name, consumer.consumer, consumer, LOG, None, 1))
        self.world.at(self.cluster.ask if self.core.epoch > 1 else 0, self._settled)
        self._kick_all()

    def _run(self, command: do.Run) -> None:
        self._restore(command.checkpoint)
        self.processing, self.serving = True, False
        for element in self.elements.values():
            element.follows_script = bool(getattr(self.core, "determinants", False))
        self._kick_all()

    def _restore(self, checkpoint: Checkpoint | None) -> None:
        self.generation += 1
        self.connections, self.subscriptions = {}, {}
        self._empty_elements()
        rows = self.shelf[1] if self.shelf is not None and checkpoint is not None else {}
        for name, state in (checkpoint.elements if checkpoint else {}).items():
            element, saved = self.elements[name], rows.get(name)
            for i, stream in enumerate(element.inputs):
                at = int(state.positions[Stream(stream)])
                element.positions[i] = at
                element.inbox[i] = saved["tails"][i].copy(0, at) if saved else Shelf(at)
                if not element.inbox[i].rows:
                    element.inbox[i] = Shelf(at)
                element.ends[i] = saved["ends"][i] if saved else None
            element.held_from = element.inbox[0].base
            element.finished = state.ended
            held = state.held
            self.stores[name] = Shelf(held.start, saved["queue"].slice(held.start, held.stop) if saved else [])
            self.published[name] = held.stop
            if state.ended:
                self.ended[name] = held.stop
        number = isinstance(self.core, UpstreamBackup) and self.core.roll_open
        for element in self.elements.values():
            element.waiting = number
        if checkpoint is not None:
            for name in self.elements:
                self._feed_inner(name)

    def _step_down(self, command: do.StepDown) -> None:
        self.world.note(f"{self.name} steps down: {command.why}")
        self.generation += 1
        self.processing = self.serving = False
        self.connections, self.subscriptions, self.waiting = {}, {}, {}
        self.secondary = self.shelf = None
        self._empty_elements()
        self.cluster.stepped_down(self)

    def crash(self) -> None:
        self.alive = False
        self.generation += 1

    # --- inputs

    def _connect(self, stream: str, start: int | None) -> None:
        delay = self.cluster.redirect if self.core.epoch > 1 or start == HELD else 0
        connection = Connection(start, not_before=self.world.now + delay)
        self.connections[stream] = connection
        self.world.at(delay, self._watch, stream, connection)

    def _watch(self, stream: str, connection: Connection) -> None:
        """Keep a subscription with whoever serves the stream now."""
        now = self.world.now
        if self.connections.get(stream) is not connection or now < connection.not_before or not self.alive:
            return
        for producer in self.cluster.producers(stream, self):
            spoke = connection.targets.get(producer.name)
            patience = self.cluster.patience if connection.answered else 4 * self.cluster.patience
            if spoke is None or (self.cluster.lossy and now - spoke > patience):
                self._subscribe(stream, connection, producer)

    def _subscribe(self, stream: str, connection: Connection, producer: Endpoint) -> None:
        connection.targets[producer.name] = self.world.now
        start = int(self.core.ledger.received(Stream(stream))) if connection.answered else connection.start
        mark = None
        if start is not None and start >= 0:
            mark = self.core.mark_of(Stream(stream), Seq(start))
        lease = self.cluster.lease_of(stream)
        if lease is not None:
            self.post(on.Redirected(Stream(stream), lease.epoch))
        args = (stream, self.consumer, self, start, mark, self.core.epoch)
        self.send(producer, "control", 0, "rx_subscribe", *args)

    @property
    def consumer(self) -> str:
        return self.spec.name

    def rx_held(self, stream: str, start: int, by: str) -> None:
        connection = self.connections.get(stream)
        if connection is not None and not connection.answered:
            connection.answered = True
            self.post(on.Released(Stream(stream), Seq(start)))

    def rx_resumes(self, stream: str, released: int, start: int, by: str) -> None:
        connection = self.connections.get(stream)
        if connection is None:
            return
        connection.answered = True
        if connection.start is None or start > self.core.ledger.received(Stream(stream)):
            self.post(on.Resumes(Stream(stream), Seq(released), Seq(start)))
            for leaving in self.core.wiring.leaving:
                self._align(leaving)

    def rx_alive(self, stream: str, by: str, position: int) -> None:
        connection = self.connections.get(stream)
        if connection is None or by not in connection.targets:
            return
        if position > self.core.ledger.received(Stream(stream)) and connection.answered:
            del connection.targets[by]  # something was lost on the way: ask again
            return
        connection.targets[by] = self.world.now

    def rx_data(
        self, stream: str, start: int, rows: list[Row | None], epoch: Epoch, mark: Step | None, end: int | None, by: str
    ) -> None:
        connection = self.connections.get(stream)
        if connection is None or (not connection.answered and connection.start in (HELD, None)):
            return  # meant for an earlier life: this one waits to be told where it starts
        connection.answered = True
        expected = self.core.ledger.received(Stream(stream))
        if start > expected:
            connection.targets.pop(by, None)
            return
        if by in connection.targets:
            connection.targets[by] = self.world.now
        self._arriving = (start, rows)
        stop = start + len(rows)
        self.post(on.Arrived(Stream(stream), Range(Seq(start), Seq(stop)), epoch, mark))
        if end is not None and self.core.ledger.received(Stream(stream)) >= end:
            for element in self.elements.values():
                for i, s in enumerate(element.inputs):
                    if s == stream:
                        element.ends[i] = end
            self._kick_all()

    def _take(self, command: do.Take) -> None:
        start, rows = self._arriving
        new = rows[command.range.start - start : command.range.stop - start]
        self.cluster.monitor.delivered(self, command.stream, command.range.start, new)
        for element in self.elements.values():
            for i, s in enumerate(element.inputs):
                if s == command.stream:
                    element.arrived(i, command.range.start, new)
                    self._kick(element)

    def _skip(self, command: do.Skip) -> None:
        for element in self.elements.values():
            for i, s in enumerate(element.inputs):
                if s == command.stream:
                    element.jump(i, command.to)

    # --- processing

    def _kick_all(self) -> None:
        for element in self.elements.values():
            self._kick(element)

    def _kick(self, element: Element) -> None:
        if element.busy or element.waiting or element.finished or not self.processing:
            return
        order, cost = element.batch(self.cluster.batch)
        if not order:
            if element.exhausted:
                self._finish(element)
            return
        element.busy = True
        starts = max(self.world.now, self.cpu_free)
        self.cpu_free = starts + round(cost)
        self.world.at(self.cpu_free - self.world.now, self._done, element, order, self.generation)

    def _done(self, element: Element, order: list[int], generation: int) -> None:
        if not self.alive or generation != self.generation:
            return
        if self.world.now < self.paused:
            self.world.at(self.paused - self.world.now, self._done, element, order, generation)
            return
        element.busy = False
        script = element.script.popleft() if element.script else None
        out, choices = self._compute(element, order, script)
        choice = None
        if element.op.arbitrary:
            at, to = choices
            bits = tuple(order) if element.op.arity > 1 else at[1]
            names = tuple(Stream(s) for s in element.inputs)
            choice = Determinant(
                element.name,
                {s: Seq(p) for s, p in zip(names, at[0], strict=True)},
                {s: Seq(p) for s, p in zip(names, to, strict=True)},
                bits,
            )
        self._emit(element, out, choice, ended=False)
        self._kick(element)

    def _compute(self, element: Element, order: list[int], script: Determinant | None) -> tuple[list[Row], Any]:
        op, positions = element.op, element.positions
        dropping = element.until is not None and positions != element.until
        at = list(positions)
        out: list[Row] = []
        bits: list[int] = []
        inbox = element.inbox

        def read(i: int, seq: int) -> Row | None:
            return inbox[i].read(seq)

        for k, i in enumerate(order):
            if script is not None and op.arity == 1:
                bit = script.choice[k]
            else:
                bit = op.choose(self.world.random.getrandbits(16)) if op.arbitrary and op.arity == 1 else 0
            bits.append(bit)
            out += op.take(i, positions, read, bit)
            positions[i] += 1
        if op.arbitrary:
            for i in order:
                if i in element.arrivals:
                    element.arrivals.remove(i)
        if not dropping:
            element.until = None
        return ([] if dropping else out), ((at, tuple(bits)), list(positions))

    def _finish(self, element: Element) -> None:
        element.finished = True
        self._emit(element, [], None, ended=True)

    def _emit(self, element: Element, out: list[Row], choice: Determinant | None, *, ended: bool) -> None:
        names = [Stream(s) for s in element.inputs]
        selection = element.op.selection(element.positions)
        floors = [
            max(s, min(shelf.base, p)) for s, shelf, p in zip(selection, element.inbox, element.positions, strict=True)
        ]
        positions = {s: Seq(p) for s, p in zip(names, element.positions, strict=True)}
        kept = {s: Seq(p) for s, p in zip(names, floors, strict=True)}
        store = self.stores[element.name]
        store.rows.extend(out)
        if ended:
            self.ended[element.name] = store.stop
        self.post(on.Processed(element.name, positions, kept, len(out), ended, choice))
        if self.cluster.tails == "trim":
            for shelf, keep in zip(element.inbox, floors, strict=True):
                if keep - shelf.base > 256:
                    shelf.trim(keep)
        self.cluster.monitor.processed(self, element)

    # --- outputs

    def _publish(self, command: do.Publish) -> None:
        self.published[command.stream] = max(self.published[command.stream], command.upto)
        self._feed_inner(command.stream)
        self._push_all(command.stream)

    def _feed_inner(self, stream: str) -> None:
        upto, store = self.published[stream], self.stores[stream]
        end = self.ended.get(stream) if self.ended.get(stream) == upto else None
        for element in self.elements.values():
            for i, s in enumerate(element.inputs):
                if s != stream:
                    continue
                start = element.inbox[i].stop
                if start < upto:
                    element.arrived(i, max(start, store.base), store.slice(start, upto))
                if end is not None and element.inbox[i].stop >= end:
                    element.ends[i] = end
                self._kick(element)

    def _push_all(self, stream: str) -> None:
        for sub in self.subscriptions.values():
            if sub.stream == stream:
                self._push(sub)

    def _push(self, sub: Subscription) -> None:
        stream, upto = sub.stream, self.published[sub.stream]
        store, core, cluster = self.stores[sub.stream], self.core, self.cluster
        end = self.ended.get(stream) if self.ended.get(stream) == upto else None
        while sub.next < upto or (end is not None and not sub.end_told and sub.next == end):
            stop = min(upto, sub.next + cluster.chunk)
            rows = store.slice(sub.next, stop)
            mark = core.mark(Stream(stream), Seq(stop))
            told = end if stop == end else None
            size = len(rows) * (cluster.tuple_size + (cluster.id_size * len(mark.high) if mark is not None else 0))
            self.send(sub.target, "tuples", size, "rx_data", stream, sub.next, rows, core.epoch, mark, told, self.name)
            sub.next, sub.end_told = stop, told is not None
            cluster.monitor.sent(self, stream, stop, sub.target)

    def rx_subscribe(
        self, stream: str, consumer: str, target: Endpoint, start: int | None, mark: Step | None, epoch: Epoch
    ) -> None:
        if not self.serving:
            self.waiting[stream, target.name] = (stream, consumer, target, start, mark, epoch)
            return
        queue = self.core.ledger.queues[Stream(stream)]
        known = queue.acks.get(Consumer(consumer))
        released = int(known.released) if known else 0
        if start == HELD:
            start_at = max(released, int(queue.trimmed))
            self.send(target, "control", 0, "rx_held", stream, start_at, self.name)
        elif start == LOG:
            start_at = int(queue.trimmed)
        elif start is None:
            start_at = self.published[stream]
            self.send(target, "control", 0, "rx_resumes", stream, released, start_at, self.name)
        else:
            start_at = start
        roll = start_at if start != LOG else 0
        was_open = self.core.roll_open
        self.post(on.Subscribed(Stream(stream), Consumer(consumer), Seq(roll), epoch, mark))
        self._align(stream)
        if was_open and not self.core.roll_open:
            self.world.at(0, self._settled)
        queue = self.core.ledger.queues[Stream(stream)]
        if start is not None and start >= 0 and self.core.roll_open:
            self.waiting[stream, target.name] = (stream, consumer, target, start, mark, epoch)
            return  # the roll call is not over: seqs are not settled yet
        if start_at < queue.trimmed:
            known_from = max(start_at, min(self.superseded.get(stream, 0), int(queue.trimmed)))
            start_at = int(queue.trimmed)
            self.send(target, "control", 0, "rx_resumes", stream, known_from, start_at, self.name)
        sub = Subscription(stream, consumer, target, start_at)
        self.subscriptions[stream, target.name] = sub
        self._push(sub)

    def _align(self, stream: str) -> None:
        """An empty queue may have been told that its earlier life had got further."""
        held = self.core.ledger.queues[Stream(stream)].held
        if held.start > self.stores[stream].stop and not len(held):
            self.stores[stream] = Shelf(held.start)
            self.published[stream] = int(held.start)
            if stream in self.ended:
                self.ended[stream] = int(held.start)
            self.world.at(0, self._settled)

    def _settled(self) -> None:
        """The roll call is over: those who waited for it are served."""
        waiting, self.waiting = self.waiting, {}
        for request in waiting.values():
            self.rx_subscribe(*request)

    def _number(self, command: do.Number) -> None:
        element = self.elements[command.element]
        element.waiting = False
        element.until = [int(command.until[Stream(s)]) for s in element.inputs] if command.until is not None else None
        if element.until == element.positions:
            element.until = None
        self.stores[command.element] = Shelf(command.first)
        self.published[command.element] = command.first
        if command.until is None and command.first and not getattr(self.core, "forward", False):
            self.superseded[command.element] = command.first
        self.world.at(0, self._settled)
        self.world.at(0, self._kick, element)

    def _renumber(self, command: do.Renumber) -> None:
        rows = self.stores[command.stream].slice(command.held.start, command.held.stop)
        self.stores[command.stream] = Shelf(command.first, rows)
        self.published[command.stream] = command.first
        if not self.core.lossy:
            self.superseded[command.stream] = command.first
        if command.stream in self.ended:
            self.ended[command.stream] = command.first + len(rows)
        self.world.at(0, self._settled)

    def _trim(self, command: do.Trim) -> None:
        self.cluster.monitor.trimmed(self, command)
        self.stores[command.stream].trim(command.upto)

    # --- acks

    def _send_ack(self, command: do.SendAck) -> None:
        stream = command.stream
        if stream in self.elements:
            for reader in list(self.elements.values()):
                if stream in reader.inputs:
                    by = Consumer(reader.name)
                    self.post(on.Acked(stream, by, command.level, command.upto, self.core.epoch))
            return
        size = self.cluster.id_size if command.tree is None else ack_size(command.tree)
        for producer in self.cluster.producers(stream, self):
            args = (stream, Consumer(self.consumer), command.level, command.upto, self.core.epoch, command.tree)
            self.send(producer, "acks", size, "rx_ack", *args)

    def rx_ack(self, stream: Stream, consumer: Consumer, level: int, upto: Seq, epoch: Epoch, tree: Any) -> None:
        if self.serving:
            self.post(on.Acked(stream, consumer, level, upto, epoch, tree))

    # --- checkpoints

    def _ship(self, command: do.Ship) -> None:
        if self.secondary is None:
            return
        cluster, checkpoint, base = self.cluster, command.checkpoint, command.base
        rows: dict[str, Any] = {}
        size = 0
        for name, state in checkpoint.elements.items():
            element = self.elements[name]
            known = base.elements.get(name) if base else None
            if known is state:
                rows[name] = None
                continue
            tails = []
            for i, stream in enumerate(element.inputs):
                tail = state.tail(Stream(stream))
                tails.append(element.inbox[i].copy(tail.start, tail.stop))
                have = known.tail(Stream(stream)) if known else None
                size += len(missing(tail, have)) * cluster.tuple_size + cluster.id_size * (2 if len(tail) else 1)
            queue = missing(state.held, known.held if known else None)
            size += len(queue) * cluster.tuple_size + cluster.id_size
            cluster.monitor.shipped(self, name, len(queue), len(state.held))
            kept = self.stores[name].copy(state.held.start, state.held.stop)
            rows[name] = {"tails": tails, "queue": kept, "ends": list(element.ends)}
        self.send(self.secondary, "checkpoints", size, "rx_checkpoint", self, checkpoint, rows)

    def rx_checkpoint(self, by: Process, checkpoint: Checkpoint, rows: dict[str, Any]) -> None:
        if self.shelf is not None:
            rows = {n: r if r is not None else self.shelf[1].get(n) for n, r in rows.items()}
        self._incoming = rows
        self.primary = by
        self.post(on.CheckpointArrived(checkpoint))

    def _store(self, command: do.Store) -> None:
        self.shelf = (command.checkpoint, self._incoming)
        self.cluster.monitor.stored(self, command.checkpoint)
        if self.primary is not None:
            args = (command.checkpoint.epoch, command.checkpoint.number)
            self.send(self.primary, "acks", self.cluster.id_size, "rx_stored", *args)

    def rx_stored(self, epoch: Epoch, number: int) -> None:
        self.post(on.CheckpointStored(epoch, number))

    # --- replicas

    def _report_progress(self, command: do.ReportProgress) -> None:
        size = self.cluster.id_size * len(command.positions)
        if self.spec.family == "replica":
            for peer in self.cluster.peers(self):
                self.send(peer, "acks", size, "rx_keep_alive", self, command.epoch, command.positions)
        elif self.primary is not None:
            self.send(self.primary, "acks", size, "rx_secondary_at", command.epoch, command.positions)

    def rx_secondary_at(self, epoch: Epoch, positions: Any) -> None:
        self.secondary_heard = self.world.now
        self.post(on.SecondaryAt(epoch, positions))

    def _send_trimming(self, command: do.SendQueueTrimming) -> None:
        if self.secondary is not None:
            size = self.cluster.id_size * sum(len(m) for m in command.high.values())
            self.send(self.secondary, "acks", size, "rx_trimming", command.epoch, command.high)

    def rx_trimming(self, epoch: Epoch, high: Any) -> None:
        self.post(on.QueueTrimming(epoch, high))

    def _ship_determinants(self, command: do.ShipDeterminants) -> None:
        if self.secondary is not None:
            size = 8 + sum(len(d.choice) for d in command.determinants) // 8
            args = (self, command.epoch, command.number, command.determinants)
            self.send(self.secondary, "determinants", size, "rx_determinants", *args)

    def rx_determinants(self, by: Process, epoch: Epoch, number: int, steps: tuple[Determinant, ...]) -> None:
        self.primary = by
        self.post(on.DeterminantsArrived(epoch, number, steps))

    def _choose(self, command: do.Choose) -> None:
        for step in command.determinants:
            self.elements[step.element].script.append(step)
        self._kick_all()
        if self.primary is not None:
            self.send(self.primary, "acks", 8, "rx_determinants_stored", self.core.epoch, command.number)

    def rx_determinants_stored(self, epoch: Epoch, number: int) -> None:
        self.post(on.DeterminantsStored(epoch, number))

    # --- savepoint recovery

    def _ask_producers(self, stream: str) -> None:
        for producer in self.cluster.producers(stream, self):
            self.send(producer, "control", 0, "rx_recovery_request", stream, self)
        self.world.at(200 * MS, self._ask_again, stream, self.generation)

    def _ask_again(self, stream: str, generation: int) -> None:
        """The network may have lost a request; a real connection would have said so."""
        unanswered = getattr(self.core, "_answers", None)
        if self.alive and generation == self.generation and unanswered is not None and stream not in unanswered:
            self._ask_producers(stream)

    def rx_recovery_request(self, stream: str, consumer: Process) -> None:
        self._asking = consumer
        self.post(on.RecoveryRequested(Stream(stream), Consumer(consumer.consumer)))

    def _answer_recovery(self, command: do.AnswerRecovery) -> None:
        self.send(self._asking, "control", ack_size(command.tree), "rx_recovery", command.stream, command.tree)

    def rx_recovery(self, stream: str, tree: Any) -> None:
        self.post(on.RecoveryInformation(Stream(stream), tree))

    def _notify_recovered(self, command: do.NotifyRecovered) -> None:
        for consumer in self.cluster.consumers(command.stream):
            self.send(consumer, "control", 0, "rx_recovered", command.stream)

    def rx_recovered(self, stream: str) -> None:
        self.post(on.RecoveryNotified(Stream(stream)))


__all__ = ["HELD", "LOG", "Endpoint", "LeaseRecord", "Process"]
