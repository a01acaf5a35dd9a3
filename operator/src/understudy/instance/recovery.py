"""Where a life without state begins: recovery requests (Koldehofe, Figure 7), and the stored acks of sources.

A request waits at its predecessor until that one has recovered itself: this takes the place of the recovery
notification. Sources are read inside the subjob, so the surroundings store the acks to them
(`protocol.keeping`). A stored ack may be older than the newest one: a source can be read again from any seq.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.instance.context import Context
from understudy.modes.build import sink_consumer
from understudy.process.ports import Unreachable
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.events import Event
from understudy.protocol.ids import Consumer, Seq, Stream
from understudy.protocol.keeping import Phase, SourceAcks, interval_for
from understudy.protocol.peermessage import Answer, NotLeading, Recover, Recovered
from understudy.protocol.savepoints import Tree
from understudy.sources.acks import AckKeeper, read_kept
from understudy.streams import wire
from understudy.streams.connection import connect

log = structlog.get_logger()
LOOK_SECONDS = 1.0
ROLL_SECONDS = 0.5
ANSWER_SECONDS = 2.0
RETRY_SECONDS = 0.05


class Recovery:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._sources = context.core.wiring.replayable
        self._keeper = AckKeeper(context.surroundings, context.subjob.name)
        self._acks = SourceAcks()
        self._answer: Tree | None = None

    def start(self) -> None:
        threading.Thread(target=self._answer_for_who_left, name="roll-call", daemon=True).start()
        threading.Thread(target=self._keep_forever, name="kept-acks", daemon=True).start()

    # --- as predecessor

    def requested(self, stream: str, consumer: str) -> Tree | None:
        """Answers a consumer that restarts with its savepoint tree. Called under the lock, while this
        instance leads."""
        self._context.post(on.RecoveryRequested(Stream(stream), Consumer(consumer)))
        return self._answer

    def answer(self, command: do.AnswerRecovery) -> None:
        log.info("answering a recovery request", stream=command.stream, consumer=command.consumer)
        self._answer = command.tree

    # --- as successor

    def request(self, command: do.RequestRecovery) -> None:
        self._until_known(lambda: self._tree_of(command.stream))

    def replay(self, command: do.Replay) -> None:
        """Asks where the input begins that a source holds for this life: at its last stored ack."""
        self._until_known(lambda: self._start_of(command.stream))

    def _until_known(self, ask: Callable[[], Event | None]) -> None:
        generation = self._context.generation
        threading.Thread(target=self._ask, args=(ask, generation), name="recovery", daemon=True).start()

    def _ask(self, ask: Callable[[], Event | None], generation: int) -> None:
        while not self._context.stopping.is_set() and self._context.generation == generation:
            event = ask()
            if event is not None:
                with self._context.lock:
                    if self._context.generation == generation:
                        self._context.post(event)
                return
            self._context.stopping.wait(RETRY_SECONDS)

    def _tree_of(self, stream: Stream) -> Event | None:
        if stream not in self._sources:
            return self._asked(stream)
        kept = self._kept()
        return on.RecoveryInformation(stream, kept.tree) if kept is not None else None

    def _start_of(self, source: Stream) -> Event | None:
        kept = self._kept()
        return on.Released(source, kept.released.get(source, Seq(0))) if kept is not None else None

    def _asked(self, stream: Stream) -> Event | None:
        """The answer of the instance that leads the producer; None if no instance does. All its instances are
        asked at the same time: one of them may have been lost in the same failure, and would only answer with
        a time-out."""
        addresses = self._context.surroundings.addresses(stream)
        answers: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        for address in addresses:
            args = (address, stream, answers)
            threading.Thread(target=self._ask_at, args=args, name="recovery-request", daemon=True).start()
        found = (answers.get() for _ in addresses)
        return next((event for event in found if event is not None), None)

    def _ask_at(self, address: str, stream: Stream, answers: queue.SimpleQueue[Event | None]) -> None:
        """Asks one instance. An instance that does not lead yet answers only after a while."""
        said: Answer = NotLeading()
        try:
            with connect(address) as client:
                request = Recover(stream, Consumer(self._context.subjob.name))
                said = wire.say(client, request, ANSWER_SECONDS)
        except (flight.FlightError, pa.ArrowException, OSError, StopIteration):
            pass
        finally:
            answers.put(on.RecoveryInformation(stream, said.tree) if isinstance(said, Recovered) else None)

    # --- in place of sinks that have finished

    def _answer_for_who_left(self) -> None:
        """Posts the positions of sinks that have written their stream to the end: they answer no roll
        call."""
        while not self._context.stopping.wait(ROLL_SECONDS):
            if self._context.core.roll_open and self._context.leading:
                self._answer_roll_call()

    def _answer_roll_call(self) -> None:
        context, subjob = self._context, self._context.subjob.name
        try:
            ends = context.surroundings.ends(subjob)
        except Unreachable as error:
            log.warning("positions of finished sinks unknown", error=str(error))
            return
        for sink, at in ends.items():
            with context.lock:
                if context.leading and context.core.roll_open:
                    context.post(
                        on.Subscribed(Stream(subjob), sink_consumer(sink), Seq(at), context.core.epoch)
                    )

    # --- in place of the sources

    def acked(self, command: do.SendAck) -> None:
        """Notes an ack to a source. Called under the lock."""
        self._acks = self._acks.acked(command.stream, command.upto, command.tree)

    @property
    def has_kept(self) -> bool:
        return self._keeper.kept is not None

    def forget_acks(self) -> None:
        """The life that sent these acks has ended, or another mode begins. Called under the lock."""
        self._acks = SourceAcks()
        self._keeper.forget()

    def keep_last(self) -> None:
        """Stores the acks when the process stops, so that the next life begins where this one ended."""
        self._keep(Phase.LEAVING)

    def _keep_forever(self) -> None:
        while not self._context.stopping.wait(LOOK_SECONDS):
            self._keep(self._phase())

    def _phase(self) -> Phase:
        with self._context.lock:
            core = self._context.core
            if core.moving:
                return Phase.LEAVING
            ended = all(core.ledger.queues[stream].ended for stream in core.wiring.leaving)
            return Phase.ENDED if ended else Phase.FLOWING

    def _keep(self, phase: Phase) -> None:
        with self._context.lock:
            acks, epoch, leading = self._acks, self._context.core.epoch, self._context.leading
        if leading:
            interval = interval_for(self._context.subjob.ha.max_recovery)
            written = self._keeper.look(acks, epoch, phase, interval)
            self._context.story.acked_bytes += written
            if written:
                self._note_kept()

    def _kept(self) -> SourceAcks | None:
        try:
            return read_kept(self._context.surroundings, self._context.subjob.name)
        except Unreachable as error:
            log.warning("stored acks unreachable", error=str(error))
            return None

    def _note_kept(self) -> None:
        with self._context.lock:
            kept = self._keeper.kept
            if kept is None or not self._context.leading:
                return
            for stream, upto in kept.released.items():
                self._context.delivered = self._context.delivered.with_ack(stream, upto, kept.tree)
