"""A simulated process's output queues and those who read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.watermarks import Step
from understudy_lab.simulation.element import Shelf
from understudy_lab.simulation.endpoint import HELD, LOG, Endpoint, Subscription
from understudy_lab.simulation.made_up_operators import Row

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process


class Outputs:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster, self.world = process, process.cluster, process.world
        self.stores: dict[str, Shelf] = {}
        self.published: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.over: set[str] = set()  # streams whose end may be told
        self.given_up: dict[str, Range] = {}  # stream: seqs that a renumbering gave up
        self.subscriptions: dict[tuple[str, str], Subscription] = {}
        self.waiting: dict[tuple[str, str], tuple[Any, ...]] = {}
        self._early: dict[
            tuple[Stream, Consumer, int], on.Acked
        ] = {}  # acks that came before this process serves
        process.carry |= {
            do.Publish: self._publish,
            do.Trim: self._trim,
            do.Number: self._number,
            do.Renumber: self._renumber,
        }

    def clear(self) -> None:
        elements = self.process.elements
        self.stores = {n: Shelf() for n in elements}
        self.published = dict.fromkeys(elements, 0)
        self.ended, self.given_up, self.over = {}, {}, set()

    def close(self) -> None:
        """Readers whose connection ends notice it."""
        for sub in self.subscriptions.values():
            self.process.send(sub.target, "control", 0, "rx_bye", sub.stream, self.process.name)
        self.subscriptions = {}

    def forget(self) -> None:
        """Nobody waits for this process any more."""
        self.waiting, self._early = {}, {}

    def restore(self, name: str, held: Shelf, ended: bool) -> None:
        self.stores[name] = held
        self.published[name] = held.stop
        if ended:
            self.ended[name] = held.stop
            self.over.add(name)

    def made(self, name: str, rows: list[Row], ended: bool) -> None:
        store = self.stores[name]
        store.rows.extend(rows)
        if ended:
            self.ended[name] = store.stop

    def end_of(self, stream: str) -> int | None:
        """Where the stream ends, once that may be told."""
        end = self.ended.get(stream)
        return end if stream in self.over and end == self.published[stream] else None

    # --- sending

    def _publish(self, command: do.Publish) -> None:
        self.published[command.stream] = max(self.published[command.stream], command.upto)
        if command.ended:
            self.over.add(command.stream)
        self.process.computing.feed(command.stream)
        for sub in self.subscriptions.values():
            if sub.stream == command.stream:
                self._push(sub)

    def _opening(self, sub: Subscription) -> bool:
        """Whether the first tuple still waits for its connection."""
        handshake, now = self.cluster.handshake, self.world.now
        if not handshake or sub.next >= self.published[sub.stream]:
            return False
        if sub.opens_at is None:
            sub.opens_at = now + handshake
            self.world.at(handshake, self._opened, sub)
        return now < sub.opens_at

    def _opened(self, sub: Subscription) -> None:
        if self.process.alive and self.subscriptions.get((sub.stream, sub.target.name)) is sub:
            self._push(sub)

    def _push(self, sub: Subscription) -> None:
        if self._opening(sub):
            return
        stream, upto = sub.stream, self.published[sub.stream]
        process, cluster = self.process, self.cluster
        store, core = self.stores[stream], process.core
        end = self.end_of(stream)
        while sub.next < upto or (end is not None and not sub.end_told and sub.next == end):
            stop = min(upto, sub.next + cluster.chunk)
            rows = store.slice(sub.next, stop)
            mark = core.mark(Stream(stream), Seq(stop))
            told = end if stop == end else None
            size = len(rows) * (
                cluster.tuple_size + (cluster.id_size * len(mark.high) if mark is not None else 0)
            )
            by, at, anew = (
                self._shift(stream, sub.consumer),
                sub.next,
                core.numbering.diverged_at.get(Stream(stream)),
            )
            if by:  # a consumer that counts from further on
                at, told = at + by, told + by if told is not None else None
                mark, anew = (
                    mark.renumbered(by) if mark else None,
                    Seq(anew + by) if anew is not None else None,
                )
            args = (stream, at, rows, process.epoch, mark, told, process.name, anew)
            process.send(sub.target, "tuples", size, "rx_data", *args)
            sub.next, sub.end_told = stop, told is not None
            cluster.monitor.sent(process, stream, stop, sub.target)

    def _shift(self, stream: str, consumer: str) -> int:
        return self.process.core.numbering.theirs(Stream(stream), Consumer(consumer), 0)

    # --- subscriptions

    def expect(self, stream: str, consumer: Process) -> None:
        """A consumer that is known before it asks."""
        request = (stream, consumer.consumer, consumer, LOG, None, Epoch(1))
        self.waiting.setdefault((stream, consumer.name), request)

    def rx_subscribe(
        self,
        stream: str,
        consumer: str,
        target: Endpoint,
        start: int | None,
        mark: Step | None,
        epoch: Epoch,
        asked: Epoch = Epoch(0),
    ) -> None:
        """`asked`: whom the request was meant for; the call ends if this process has led in another epoch
        since."""
        process = self.process
        request = (stream, consumer, target, start, mark, epoch, asked)
        if not process.serving:
            self.waiting[stream, target.name] = request
            return
        if asked and asked < process.core.epoch:
            process.send(target, "control", 0, "rx_bye", stream, process.name)
            return
        if process.core.ledger.queues[Stream(stream)].replaced(Consumer(consumer), epoch):
            process.send(target, "control", 0, "rx_replaced", stream, process.name)
            return
        start_at = self._start_at(stream, consumer, start)
        was_open = process.core.roll_open
        roll = start_at if start != LOG else 0
        if target.speaks:
            said = on.Subscribed(Stream(stream), Consumer(consumer), Seq(roll), epoch, mark)
            self.cluster.monitor.subscribed(process, said)
            process.post(said)
        self._align(stream)
        if was_open and not process.core.roll_open:
            self.world.at(0, self.settle)
        if start != LOG and process.core.roll_open:
            self.waiting[stream, target.name] = request
            return  # the roll call is not over: seqs are not settled yet
        self._open(stream, consumer, target, start)
        if start is not None and start > 0 and mark is None:
            self._tell_the_mark(stream, consumer, target, start)

    def _tell_the_mark(self, stream: str, consumer: str, target: Endpoint, position: int) -> None:
        """A consumer that begins amid a stream learns what is behind the tuple before: a sink that was
        started again has nothing but its position."""
        process, by = self.process, self._shift(stream, consumer)
        mark = process.core.mark(Stream(stream), Seq(position - by))
        if mark is not None:
            mark = mark.renumbered(by) if by else mark
            args: tuple[Any, ...] = (stream, position, [], process.epoch, mark, None, process.name, None)
            process.send(target, "tuples", 0, "rx_data", *args)

    def _open(self, stream: str, consumer: str, target: Endpoint, start: int | None) -> None:
        """A consumer that does not know from where it is served, or can't be served from there, is told."""
        process, start_at = self.process, self._start_at(stream, consumer, start)
        trimmed = int(process.core.ledger.queues[Stream(stream)].trimmed)
        by = self._shift(stream, consumer)
        if start == HELD:
            found = process.core.books.diverged_for(Stream(stream), Consumer(consumer))
            anew = Seq(found + by) if found is not None else None
            known = Seq(self._released(stream, consumer) + by)
            process.send(target, "control", 0, "rx_held", stream, start_at + by, process.name, anew, known)
        elif start is None:
            released = self._released(stream, consumer)
            process.send(
                target, "control", 0, "rx_resumes", stream, released + by, start_at + by, process.name
            )
        elif start_at < trimmed:
            queue = process.core.ledger.queues[Stream(stream)]
            known_from = int(queue.known_until(Seq(start_at), self.given_up.get(stream)))
            start_at = trimmed
            process.send(
                target, "control", 0, "rx_resumes", stream, known_from + by, start_at + by, process.name
            )
        sub = self.subscriptions[stream, target.name] = Subscription(stream, consumer, target, start_at)
        self._push(sub)

    def _start_at(self, stream: str, consumer: str, start: int | None) -> int:
        """From where a consumer is served."""
        trimmed = int(self.process.core.ledger.queues[Stream(stream)].trimmed)
        match start:
            case None:
                return self.published[stream]
            case _ if start == HELD:
                return max(self._released(stream, consumer), trimmed)
            case _ if start == LOG:
                return trimmed
            case _:
                return int(self.process.core.numbering.ours(Stream(stream), Consumer(consumer), start))

    def _released(self, stream: str, consumer: str) -> int:
        known = self.process.core.ledger.queues[Stream(stream)].acks.get(Consumer(consumer))
        return int(known.released) if known else 0

    def align(self) -> None:
        for stream in self.process.core.wiring.leaving:
            self._align(stream)

    def _align(self, stream: str) -> None:
        """An empty queue may have been told that its earlier life had got further."""
        held = self.process.core.ledger.queues[Stream(stream)].held
        if held.start > self.stores[stream].stop and not len(held):
            self.cluster.monitor.renumbered(self.process, stream, int(held.start))
            self.stores[stream] = Shelf(held.start)
            self.published[stream] = int(held.start)
            if stream in self.ended:
                self.ended[stream] = int(held.start)
            self.world.at(0, self.settle)

    def settle(self) -> None:
        """The roll call is over: those who waited for it are served, and what they acked meanwhile counts."""
        if self.process.serving:
            early, self._early = self._early, {}
            for ack in early.values():
                self.cluster.monitor.ack_heard(self.process, ack)
                self.process.post(ack)
        waiting, self.waiting = self.waiting, {}
        for request in waiting.values():
            self.rx_subscribe(*request)

    # --- seqs

    def _number(self, command: do.Number) -> None:
        self.cluster.monitor.numbered(self.process, command.element, command.first)
        self.stores[command.element] = Shelf(command.first)
        self.published[command.element] = command.first
        if command.until is None and command.first and command.as_new:
            self.given_up[command.element] = Range(Seq(0), command.first)
        self.world.at(0, self.settle)
        self.process.computing.number(command)

    def _renumber(self, command: do.Renumber) -> None:
        self.cluster.monitor.renumbered(self.process, command.stream, command.first)
        rows = self.stores[command.stream].slice(command.held.start, command.held.stop)
        self.stores[command.stream] = Shelf(command.first, rows)
        self.published[command.stream] = command.first
        if not self.process.core.numbering.lossy:
            self.given_up[command.stream] = Range(min(command.held.start, command.first), command.first)
        if command.stream in self.ended:
            self.ended[command.stream] = command.first + len(rows)
        self._part_with_those_before(command.stream, command.first)
        self.world.at(0, self.settle)

    def _part_with_those_before(self, stream: str, first: int) -> None:
        """Readers that expect seqs which were given up ask again, and are told."""
        for key, sub in list(self.subscriptions.items()):
            if sub.stream == stream and sub.next < first:
                self.process.send(sub.target, "control", 0, "rx_bye", stream, self.process.name)
                del self.subscriptions[key]

    # --- acks

    def rx_ack(
        self, stream: Stream, consumer: Consumer, level: int, upto: Seq, epoch: Epoch, tree: Any
    ) -> None:
        ack = on.Acked(
            stream, consumer, level, self.process.core.numbering.ours(stream, consumer, upto), epoch, tree
        )
        if self.process.serving:
            self.cluster.monitor.ack_heard(self.process, ack)
            self.process.post(ack)
        elif self.process.spec.side_by_side or self.process.spec.family == "replica":
            self._early[stream, consumer, level] = ack  # a new connection hears it again when it is served

    def _trim(self, command: do.Trim) -> None:
        """Of an empty queue there is nothing to drop: where it begins is seen to when it is aligned."""
        store = self.stores[command.stream]
        if command.upto > store.base and store.rows:
            self.cluster.monitor.trimmed(self.process, command)
            store.trim(command.upto)
