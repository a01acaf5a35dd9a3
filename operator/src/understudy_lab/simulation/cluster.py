"""A job on simulated machines: its processes, sources and sinks, who serves what, and a control plane that
restarts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from understudy.modes.instance import Instance
from understudy.modes.sink_client import Client
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.failures import Handling, LoadWatch
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.queue import OutputQueue
from understudy.protocol.savepoints import Tree
from understudy_lab.simulation.control import ControlPlane
from understudy_lab.simulation.element import Shelf
from understudy_lab.simulation.endpoint import HELD, Endpoint, Subscription
from understudy_lab.simulation.made_up_operators import Operator, Row
from understudy_lab.simulation.planned_moves import Orders
from understudy_lab.simulation.process import Process
from understudy_lab.simulation.specs import SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS, World

if TYPE_CHECKING:
    from understudy_lab.exploration.weather import Weather

ANSWER = 600  # milliseconds for a holder to answer a question in its Lease, at which it looks every 100


class Monitor:
    """Is told what happens; the oracle and the experiments are monitors."""

    def lost(self, process: Process, stream: str, missing: Range) -> None: ...

    def suspected(self, process: Process, why: str) -> None: ...

    def replacing(self, subjob: str, why: str) -> None: ...

    def elected(self, process: Process, lease: LeaseRecord) -> None: ...

    def disturbed(self, what: str, touches: tuple[str, ...], until: int) -> None:
        """A fault begins that lasts until then. `touches`: subjobs, sources and sinks; none: all of them."""

    def ordered(self, subjob: str, source: str, target: str) -> None:
        """A planned move."""

    def given_up(self, subjob: str, target: str) -> None:
        """A planned move, by whoever ordered it."""

    def moved(self, process: Process, expected: bool) -> None:
        """It took the Lease by a planned move; `expected`: by one that nobody has given up."""

    def leads(self, process: Process, command: do.Lead) -> None: ...

    def delivered(
        self, process: Process, stream: str, start: int, rows: list[Row | None], epoch: int
    ) -> None:
        """By a producer of that epoch."""

    def processed(self, process: Process, element: Any) -> None: ...

    def trimmed(self, process: Process, command: do.Trim) -> None:
        """Tuples were dropped from a queue."""

    def shipped(self, process: Process, element: str, queue: int, held: int) -> None: ...

    def stored(self, process: Process, checkpoint: Checkpoint) -> None: ...

    def numbered(self, process: Process, stream: str, first: int) -> None: ...

    def renumbered(self, process: Process, stream: str, first: int) -> None:
        """What is held of a stream, and all that follows, has seqs from `first` on."""

    def acked(self, process: Process, command: do.SendAck) -> None: ...

    def subscribed(self, process: Process, event: on.Subscribed) -> None:
        """A consumer has said what it has of a stream."""

    def crashed(self, process: Process, *, gives_up: bool) -> None:
        """Said before it dies. `gives_up`: it ends by itself, since its engine stands still."""

    def handled(self, subjob: str, handling: Handling) -> None: ...

    def launched(self, process: Process, number: int) -> None: ...

    def ended(self, process: Process) -> None: ...

    def removed(self, process: Process) -> None:
        """It no longer counts as one of the instances."""

    def hung(self, process: Process, lasts: int) -> None: ...

    def stepped_down(self, process: Process, command: do.StepDown) -> None: ...

    def ran(self, process: Process, command: do.Run) -> None: ...

    def handed_over(self, process: Process) -> None: ...

    def resumed(self, process: Process) -> None: ...

    def joined(self, process: Process, secondary: Process | None) -> None: ...

    def asked(self, process: Process, stream: str, start: int | None) -> None: ...

    def answered(self, process: Process, stream: str, start: int) -> None: ...

    def skipped(self, process: Process, command: do.Skip) -> None: ...

    def recovery_asked(self, process: Process, stream: str) -> None: ...

    def recovery_answered(self, process: Process, stream: str) -> None: ...

    def ack_heard(self, process: Process, ack: on.Acked) -> None: ...

    def confirmed(self, process: Process, epoch: int) -> None:
        """A primary has heard that its secondary has stored a state."""

    def log_kept(self, process: Process, epoch: int) -> None: ...

    def log_confirmed(self, process: Process, epoch: int) -> None: ...

    def sent(self, process: Process, stream: str, stop: int, target: Endpoint) -> None: ...


@dataclass
class Folder:
    """Where a sink writes. A write counts only if the folder is still the writer's own."""

    owner: Process
    next: int


class Source(Endpoint):
    """Reliable: keeps its tuples, and its consumers' savepoint trees, until they are released."""

    def __init__(self, cluster: Cluster, spec: SourceSpec, consumers: tuple[str, ...]) -> None:
        super().__init__(cluster, spec.name, f"host-{spec.name}")
        self.spec = spec
        self.queue = OutputQueue.empty(Stream(spec.name), tuple(Consumer(c) for c in consumers))
        self.store = Shelf()
        self.subscriptions: dict[str, Subscription] = {}
        self.trees: dict[str, Tree] = {}
        self.longest = 0
        self._due = spec.phase  # on the wall clock
        self._ahead = 0  # of the wall clock
        self._emit_later()
        if cluster.lossy:
            self.begin_to_beat()

    def set_clock(self, by: int) -> None:
        """The wall clock steps: what has become due is emitted at once, or nothing is for a while."""
        self._ahead += by
        if not self.queue.ended:
            self._emit_later()

    def _emit_later(self) -> None:
        self.world.at(max(0, self._due - self.world.now - self._ahead), self._emit, self._due, self._ahead)

    def _emit(self, due: int, ahead: int) -> None:
        if (due, ahead) != (self._due, self._ahead):
            return  # the clock was set meanwhile
        made = list(self.spec.rows[self.queue.next : self.queue.next + self.spec.burst])
        self.queue, _ = self.queue.append(len(made))
        self.store.rows.extend(made)
        self.longest = max(self.longest, len(self.store.rows))
        if self.queue.next >= len(self.spec.rows):
            self.queue = self.queue.end()
        else:
            self._due += self.spec.every
            self._emit_later()
        for sub in self.subscriptions.values():
            self._push(sub)

    def begin_to_beat(self) -> None:
        """A network that loses messages does not tell readers of it: they go by what they hear."""
        self.world.at(self.cluster.heartbeat, self._beat)

    def _beat(self) -> None:
        for sub in self.subscriptions.values():
            self.send(sub.target, "keep-alive", 0, "rx_alive", self.name, self.name, sub.next, sub.end_told)
        self.world.at(self.cluster.heartbeat, self._beat)

    def _push(self, sub: Subscription) -> None:
        upto = int(self.queue.next)
        end = upto if self.queue.ended else None
        while sub.next < upto or (end is not None and not sub.end_told and sub.next == end):
            stop = min(upto, sub.next + self.cluster.chunk)
            rows = self.store.slice(sub.next, stop)
            told = end if stop == end else None
            size = len(rows) * (self.cluster.tuple_size + self.cluster.id_size * self.cluster.source_marks)
            args = (self.name, sub.next, rows, Epoch(1), None, told, self.name)
            self.send(sub.target, "tuples", size, "rx_data", *args)
            sub.next, sub.end_told = stop, told is not None

    def rx_subscribe(
        self, stream: str, consumer: str, target: Endpoint, start: int | None, mark: Any, epoch: Epoch
    ) -> None:
        if start is not None and start >= 0:
            self.queue = self.queue.acked(Consumer(consumer), 0, Seq(start), epoch)
        known = self.queue.acks[Consumer(consumer)]
        if start == HELD:
            start = max(int(known.released), int(self.queue.trimmed))
            self.send(target, "control", 0, "rx_held", stream, start, self.name)
        elif start is None:
            start = int(self.queue.next)
            self.send(target, "control", 0, "rx_resumes", stream, int(known.released), start, self.name)
        elif start < self.queue.trimmed:
            lost_from, start = start, int(self.queue.trimmed)
            self.send(target, "control", 0, "rx_resumes", stream, lost_from, start, self.name)
        sub = self.subscriptions[target.name] = Subscription(stream, consumer, target, start)
        self._push(sub)

    def rx_ack(
        self, stream: Stream, consumer: Consumer, level: int, upto: Seq, epoch: Epoch, tree: Any
    ) -> None:
        self.queue, held = self.queue.acked(consumer, level, upto, epoch).trim()
        if held > self.store.base:
            self.cluster.monitor.trimmed(self, do.Trim(stream, held))  # type: ignore[arg-type]
            self.store.trim(held)
        known = self.trees.get(consumer)
        if tree is not None and (known is None or tree.root.progress >= known.root.progress):
            self.trees[consumer] = tree

    def rx_recovery_request(self, stream: str, consumer: Process) -> None:
        self.send(consumer, "control", 0, "rx_recovery", stream, self.trees.get(consumer.consumer))


@dataclass
class Cluster:
    world: World
    monitor: Monitor = field(default_factory=Monitor)
    tick: int = 5 * MS
    heartbeat: int = 20 * MS
    misses: int = 3
    interval: int = 50  # milliseconds: M
    redirect: int = 0
    batch: int = 1_000
    chunk: int = 1_000
    tuple_size: int = 50
    id_size: int = 8
    patience: int = 150 * MS
    lossy: bool = False
    tails: str = "keep"
    deploy: int = 30 * MS
    ask: int = 0  # before a new primary sends, it asks its consumers what they have
    handshake: int = 0  # to open the connection to a consumer, when there is a first tuple for it
    presubscribe: bool = False  # consumers are known to a standby before it is promoted
    source_marks: int = 0  # identifiers that sources forward with each tuple
    processes: dict[str, Process] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    subjobs: dict[str, SubjobSpec] = field(default_factory=dict)
    running: dict[str, list[Process]] = field(default_factory=dict)
    sinks: dict[str, Process] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)
    control_down: bool = False
    spares: int = 1_000  # nodes that could still take an instance
    load: LoadWatch | None = None  # how instances watch for overload, if they do
    weather: Weather | None = None
    calls: dict[str, int] = field(default_factory=dict)  # how many messages were sent, by what they say

    def __post_init__(self) -> None:
        self._producer_of: dict[str, str] = {}
        self._consumers: dict[str, list[str]] = {}
        self._lives = 0
        self._known: dict[tuple[str, str], list[Process]] = {}
        self.control, self.orders = ControlPlane(self), Orders(self)

    # --- building

    def build(
        self,
        sources: list[SourceSpec],
        subjobs: list[SubjobSpec],
        sinks: dict[str, str],
        host: Callable[[str], str] = str,
    ) -> None:
        for spec in subjobs:
            self.subjobs[spec.name] = spec
            for name, _, _ in spec.elements:
                self._producer_of[name] = spec.name
            for stream in spec.inputs:
                self._consumers.setdefault(stream, []).append(spec.name)
        for sink, stream in sinks.items():
            self._consumers.setdefault(stream, []).append(sink)
        for source in sources:
            self.sources[source.name] = Source(self, source, tuple(self._consumers.get(source.name, ())))
        for spec in subjobs:
            self._start(spec)
        for sink, stream in sinks.items():
            self._start_sink(sink, stream)
        self.control.papers.begin()

    def wiring(self, spec: SubjobSpec) -> Wiring:
        inner = {
            n: tuple(Consumer(r) for r, _, ins in spec.elements if n in ins) for n, _, _ in spec.elements
        }
        last = spec.stream
        readers = tuple(Consumer(c) for c in self._consumers.get(last, ()))
        return Wiring(
            {n: tuple(Stream(s) for s in ins) for n, _, ins in spec.elements}, {**inner, last: readers}
        )

    def launch(self, spec: SubjobSpec, instance: str, host: str, event: Event | None) -> Process:
        self._lives += 1
        detector = Detector.of(self.heartbeat // MS, self.misses)
        core = spec.build(instance, self.wiring(spec), detector)
        core.patience, core.roll_patience = ANSWER, 0
        core.load = self.load if spec.family == "lease" else None
        process = Process(self, spec, f"{instance}.{self._lives}", host, core)
        process.clock = self.weather.clock() if self.weather is not None else 0
        self.processes[process.name] = process
        self.running.setdefault(spec.name, []).append(process)
        self.monitor.launched(process, 1)
        self.world.at(0, process.start, event)
        return process

    def _start(self, spec: SubjobSpec) -> None:
        fresh = on.Started(Epoch(1), fresh=True)
        count = 1 if spec.family == "savepoint" else spec.replicas
        for i in range(count):
            event = None if spec.family == "lease" else fresh
            process = self.launch(spec, f"{spec.name}-{i}", f"host-{spec.name}-{i}", event)
            self.control.papers.deployed(process, 1)
        if spec.family == "replica":
            for process in self.running[spec.name]:
                self.world.at(1, process.post, on.KeepAlive(process.millis, Epoch(1), None))

    def _start_sink(self, sink: str, stream: str, life: int = 1) -> None:
        """A sink goes on from what its folder has; whoever took the folder before writes no more."""
        begins = self.folders[sink].next if life > 1 else 0

        def build(name: str, wiring: Wiring, detector: Detector) -> Instance:
            return Client(
                name, wiring, detector, interval=self.interval, life=Epoch(life), begins=Seq(begins)
            )

        spec = SubjobSpec(sink, ((sink, Operator(cost=0.0), (stream,)),), build, "sink")
        wiring = Wiring({sink: (Stream(stream),)}, {sink: ()})
        name = sink if life == 1 else f"{sink}.{life}"
        process = Process(self, spec, name, f"host-{name}", build(sink, wiring, Detector.of(100, 3)))
        process.processing = True
        process.elements[sink].jump(0, begins)
        self.folders[sink] = Folder(process, begins)
        self.sinks[sink] = self.processes[name] = process
        self.running[sink] = [process]
        self.monitor.launched(process, life)
        self.world.at(0, process.start, on.Started(Epoch(life), fresh=True))

    def replace_sink(self, sink: str) -> None:
        """Another life takes the folder; the one before does not know yet."""
        former = self.sinks[sink]
        if not former.elements[sink].finished:
            self.world.note(f"{sink} is replaced")
            self._start_sink(sink, former.spec.inputs[0], int(former.core.epoch) + 1)

    # --- who serves what

    def producers(self, stream: str, asker: Process) -> list[Any]:
        if stream in self.sources:
            return [self.sources[stream]]
        subjob = self._producer_of[stream]
        if self.subjobs[subjob].family != "lease" or self.subjobs[subjob].side_by_side:
            return self.running[subjob]
        key = (stream, asker.name)
        if not self.world.lease_down and self.world.network.reaches(asker.host, "lease"):
            record = self.world.lease(subjob)
            self._known[key] = [self.processes[record.address]] if record else []
        return self._known.get(key, [])

    def epoch_of(self, stream: str) -> Epoch:
        """Of the instance that serves the stream; where several do, or none has a Lease, there is none to go
        by."""
        subjob = self._producer_of.get(stream)
        lease = None if subjob is None or self.subjobs[subjob].side_by_side else self.world.lease(subjob)
        return lease.epoch if lease is not None else Epoch(0)

    def consumers(self, stream: str) -> list[Process]:
        return [p for name in self._consumers.get(stream, ()) for p in self.running.get(name, ())]

    def peers(self, process: Process) -> list[Process]:
        return [p for p in self.running[process.spec.name] if p is not process]

    def at_the_address_of(self, target: Endpoint) -> Endpoint:
        """Who gets what is sent to it: a process that was started again in its place, if it is dead."""
        if target.alive or not isinstance(target, Process):
            return target
        return next(
            (p for p in self.running.get(target.spec.name, ()) if p.host == target.host and p.alive), target
        )

    def crash(self, process: Process, silent: bool, restart: int | None) -> None:
        self.control.crash(process, silent, restart)

    def remove(self, process: Process) -> None:
        self.running[process.spec.name].remove(process)
        self.monitor.removed(process)

    # --- life of the job

    @property
    def finished(self) -> bool:
        return all(s.elements[n].finished or self._cut_off(s.spec.inputs) for n, s in self.sinks.items())

    def _cut_off(self, streams: tuple[str, ...]) -> bool:
        """Whether a stream comes from a subjob that no one runs any more."""
        dead = self.control.dead
        makers = (
            (self.subjobs[self._producer_of[s]] for s in streams if s in self._producer_of) if dead else ()
        )
        return any(m.name in dead or self._cut_off(m.inputs) for m in makers)
