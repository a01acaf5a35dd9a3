"""Output: what a micro-batch made is numbered, appended to the output queue and offered to consumers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import structlog

from understudy.engine.determinants import determinant_of
from understudy.engine.inbox import Inbox
from understudy.engine.plan import BatchPlan, Choice, Position
from understudy.instance.context import Context
from understudy.process.clock import steady_ms
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Millis, Range, Seq, Stream, positions
from understudy.streams.store import SHARE

log = structlog.get_logger()
ROOM_SECONDS = 0.2
IN_VAIN = 10  # successive waits in which no consumer can make room
BYTES_PER_SEQ = 8


class Outputs:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._sent_until: dict[
            str, int
        ] = {}  # per element: output before this place was sent by an earlier life
        # elements whose readers in the subjob had no room for all their output
        self._owed: set[str] = set()
        # per element: where its queue began when no consumer could make room
        self._overdrawn: dict[str, Seq | None] = {}
        # elements that send output again which an earlier life may have sent
        self._repeating: set[str] = set()
        for (
            name,
            store,
        ) in context.stores.items():  # until the first micro-batch: as many rows as tuples
            context.inboxes[name].take_at_most(store.share)
            for reader in context.core.wiring.readers(Stream(name)):
                context.inboxes[reader].take_at_most(store.share, of=name)

    def on_output(self, element: str, plan: BatchPlan, rows: pa.Table) -> None:
        """A micro-batch is done: numbers its rows, appends them, and reports it to the core. Called by the
        query's own thread."""
        inbox, took = self._context.inboxes[element], steady_ms() - plan.cut_ms
        self._wait_for_room(element, plan, rows)
        with self._context.lock:
            current = inbox.is_current(plan)
            at = inbox.done(plan.number, rows.num_rows)
            if not current:
                log.info("batch of an earlier role dropped", element=element, plan=plan.number)
                return
            rows = rows.slice(0, 0) if self._was_sent(element, plan) else rows
            before = self._context.core.ledger.elements[element].positions
            self._count_repeated(element, before, rows.num_rows)
            choice = determinant_of(inbox.element, before, plan, at)
            self._append(element, rows, at.progress)
            self._context.post(_processed(element, at, rows.num_rows, choice=choice))
            self._feed(element, at.progress)
            self._note(element, plan, rows.num_rows, took)

    def _wait_for_room(self, element: str, plan: BatchPlan, rows: pa.Table) -> None:
        """Backpressure: while a micro-batch is not finished, its element takes no further input."""
        inbox, store = self._context.inboxes[element], self._context.stores[element]
        size, was_full = rows.nbytes + rows.num_rows * BYTES_PER_SEQ, store.full
        if size:
            inbox.take_at_most((plan.stop - plan.start) * store.limit // (SHARE * size))
        vain = 0
        while not store.wait_for_room(size, ROOM_SECONDS) and inbox.is_current(plan):
            if not was_full:
                log.warning("output queue full", element=element, bytes=store.bytes)
            was_full = True
            held_from = self._held_in_vain(element)
            vain = vain + 1 if held_from is not None else 0
            if vain == IN_VAIN or (vain and held_from == self._overdrawn.get(element)):
                log.warning("output queue exceeds its bound: its consumers are starved", element=element)
                self._overdrawn[element] = held_from
                return

    def _held_in_vain(self, element: str) -> Seq | None:
        """The queue's start, if every consumer that blocks it is starved: it has received everything, and
        can't release anything before it receives more, because all of it belongs to one step of the consumer.
        None if some consumer can still make room."""
        with self._context.lock:
            queue = self._context.core.ledger.queues[Stream(element)]
            hindmost = [c for c, known in queue.acks.items() if known.released <= queue.trimmed]
            in_vain = hindmost and all(self._starved(element, c) >= queue.next > 0 for c in hindmost)
            return queue.trimmed if in_vain else None

    def _starved(self, element: str, consumer: str) -> int:
        """The end of what a starved consumer has received; 0 if it is not starved. A consumer inside the
        subjob sends no acks."""
        if consumer in self._context.inboxes:
            return self._context.starved_at(consumer, element) or 0
        return self._context.starved.get((element, consumer), 0)

    def _was_sent(self, element: str, plan: BatchPlan) -> bool:
        until = self._sent_until.get(element)
        if until is not None and plan.stop >= until:
            del self._sent_until[element]
        return until is not None and plan.stop <= until

    def _count_repeated(self, element: str, before: Mapping[Stream, Seq], emitted: int) -> None:
        """Counts output that an earlier life may have sent as duplicated: whole batches, up to the position
        that life is known to have reached."""
        take_over, there = self._context.story.take_over, self._context.story.primary_positions
        if element not in self._repeating or take_over is None:
            return
        if any(at < there.get(stream, 0) for stream, at in before.items()):
            take_over.duplicated += emitted
        else:
            self._repeating.discard(element)

    def _append(self, element: str, rows: pa.Table, progress: int | None) -> None:
        store = self._context.stores[element]
        start = self._context.core.ledger.queues[Stream(element)].next
        store.rebase(start)
        seqs = _numbers(start, rows.num_rows)
        store.append(
            rows.add_column(0, pa.field("_seq", pa.int64()), seqs).cast(store.schema), start, progress
        )

    def _note(self, element: str, plan: BatchPlan, emitted: int, took: int) -> None:
        """Notes a finished micro-batch. `took`: milliseconds of the engine's work, without the wait for
        room."""
        story = self._context.story
        story.note_batch(plan.stop - plan.start, took)
        if story.take_over is not None and emitted and element == self._context.subjob.name:
            story.take_over.made_output = True
            self._note_first_output(steady_ms())
        self.note_progress()

    def note_progress(self) -> None:
        """Ends a take-over that has processed all waiting input and has nothing to send. A life that began
        without the former life's state must send its first output before that. Called under the lock."""
        context, now = self._context, steady_ms()
        take_over = context.story.take_over
        if take_over is None or not context.leading or (take_over.caught_up is not None and take_over.over):
            return
        take_over.note_positions(context.positions(), now)
        queues = [context.core.ledger.queues[s] for s in context.core.wiring.leaving]
        if not (
            context.core.numbering.lossy
            or context.core.roll_open
            or any(q.next > q.received_by_any for q in queues)
        ):
            take_over.note_idle(now)

    def _note_first_output(self, now: Millis) -> None:
        """Output counts when it is published. An active standby makes output that it does not publish, and a
        life with an open roll call holds its output back."""
        name = self._context.subjob.name
        published = (
            self._context.stores[name].published >= self._context.core.ledger.queues[Stream(name)].next
        )
        if published and (taken := self._context.story.take_over) is not None and taken.made_output:
            taken.note_output(now)

    def finish(self) -> None:
        """Ends the stream of each element whose inputs have ended and are processed. Called under the
        lock."""
        for name, inbox in self._context.inboxes.items():
            if inbox.finished and not self._context.core.ledger.queues[Stream(name)].ended:
                self._context.post(_processed(name, inbox.position, 0, ended=True))
                self._feed(name, inbox.position.progress)

    def feed_all(self) -> None:
        """Feeds all elements after a restore: queues inside the subjob may hold tuples that their readers
        have not processed."""
        for name in self._context.inboxes:
            self._feed(name, None)

    def _feed(self, element: str, progress: int | None) -> None:
        """Gives the elements that read this one the tuples they lack. Inside a subjob output need not be
        published."""
        queue = self._context.core.ledger.queues[Stream(element)]
        self._owed.discard(element)
        for reader in self._context.core.wiring.readers(queue.stream):
            inbox = self._context.inboxes[reader]
            start = inbox.wanted(element)
            stop = min(queue.next, start + inbox.room(element))
            rows = self._context.stores[element].rows(start, stop)
            if rows.num_rows:
                inbox.offer(element, rows)
            if stop < queue.next:
                self._owed.add(element)
            inbox.learn(
                element, progress if stop == queue.next else None, queue.next if queue.ended else None
            )

    def feed_owed(self) -> None:
        """Feeds elements that had no room for all of their input and may have it now. Called under the
        lock."""
        for name in list(self._owed):
            self._feed(name, self._context.inboxes[name].position.progress)

    # --- commands

    def reset(self) -> None:
        self._sent_until.clear()
        self._repeating.clear()
        self._owed.clear()

    def number(self, command: do.Number) -> None:
        """Repeats the output of an earlier life in one plan that ends where that life's step did; or, if its
        determinants are known, in its own plans."""
        inbox = self._context.inboxes[command.element]
        self._context.stores[command.element].reset(command.first)
        if command.until is not None:
            until = inbox.place_of({str(s): int(n) for s, n in command.until.items()})
            if until > inbox.position.merged:
                self._sent_until[command.element] = until
                if not inbox.is_told:
                    inbox.follow([Choice(inbox.position.merged, until, 0, ())])
        if command.as_new:
            self._context.given_up[command.element] = Range(Seq(0), command.first)
            self._repeating.add(command.element)
            self._cut_where_the_earlier_life_was(inbox)
        inbox.lead()

    def _cut_where_the_earlier_life_was(self, inbox: Inbox) -> None:
        """Ends a plan at the earlier life's position, so that repeated output is counted apart from new
        output. Only a source is certain to reach that position again."""
        (first, *others), at = (spec.name for spec in inbox.inputs), inbox.position.merged
        until = self._context.story.primary_positions.get(first, 0)
        if not others and first in self._context.core.wiring.replayable and until > at:
            inbox.follow([Choice(at, until, 0, ())])

    def publish(self, command: do.Publish) -> None:
        self._context.stores[command.stream].publish(command.upto, command.ended)
        self._note_first_output(steady_ms())

    def trim(self, command: do.Trim) -> None:
        self._context.stores[command.stream].trim(command.upto)

    def renumber(self, command: do.Renumber) -> None:
        store = self._context.stores[command.stream]
        rows = store.rows(command.held.start, command.held.stop)
        store.reset(command.first)
        store.append(rows.set_column(0, "_seq", _numbers(command.first, rows.num_rows)), command.first, None)
        if not self._context.core.numbering.lossy:
            self._context.given_up[command.stream] = Range(
                min(command.held.start, command.first), command.first
            )
            if (take_over := self._context.story.take_over) is not None:
                take_over.duplicated += max(0, command.first - command.held.start)


def _numbers(first: int, count: int) -> pa.Array:
    return pa.array(np.arange(first, first + count, dtype=np.int64))


def _processed(
    element: str, at: Position, emitted: int, *, ended: bool = False, choice: Determinant | None = None
) -> on.Processed:
    return on.Processed(element, positions(at.seqs), positions(at.selection), emitted, ended, choice)
