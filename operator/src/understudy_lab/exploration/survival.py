"""Finds the subjobs of which more failed than their mode survives.

It decides by which instances were alive, which state each had, and which messages had reached it. Each mode
survives the failures that it is made for: one at a time (Hwang §2, Xiao); only savepoint survives any number.
Beyond that, losses must be reported, and nothing else is required.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from understudy_lab.exploration import history as seen
from understudy_lab.exploration.history import Observation
from understudy_lab.exploration.lives import Life, Lives
from understudy_lab.simulation.specs import Job, SubjobSpec

LASTING = 1_500  # milliseconds for which an engine must hang before an instance may give up its state


class Survival:
    def __init__(self, job: Job, lives: Lives) -> None:
        self.job, self.lives, self.spec = job, lives, lives.spec
        self.exceeded: dict[str, str] = {}  # subjob: why more failed than its mode survives
        self.divergent: set[str] = set()  # subjobs taken over by a standby without the log of their steps
        self.begins: dict[str, int] = {}  # stream: where the queue of a restarted producer begins
        self._without_log: set[tuple[str, int]] = set()  # life, epoch
        # consumer, stream: up to where its producer knows that it has the stream
        self._known: dict[tuple[str, str], int] = defaultdict(int)
        # life, stream, consumer: the position that the consumer subscribed with at this life
        self._said: dict[tuple[str, str, str], seen.Subscribed] = {}
        self._see: dict[type, Callable[[Any], str | None]] = {
            seen.LeaseTaken: self._lease_taken,
            seen.Led: self._led,
            seen.Subscribed: self._subscribed,
            seen.Numbered: self._numbered,
            seen.Acked: self._acked,
            seen.Handled: self._handled,
            seen.Crashed: self._crashed,
        }

    def look(self, event: Observation) -> str | None:
        """A finding, if the event is wrong whatever failed."""
        see = self._see.get(type(event))
        return see(event) if see is not None else None

    def renumbers(self, spec: SubjobSpec) -> bool:
        """Whether seqs of its stream may be given up."""
        return spec.promise != "precise" or spec.name in self.exceeded or spec.name in self.divergent

    # --- what was seen

    def _life(self, event: Any) -> Life:
        return self.lives.of[event.life]

    def _lease_taken(self, event: seen.LeaseTaken) -> None:
        life = self._life(event)
        if self.spec[life.subjob].logged and not life.leads and life.log != event.epoch - 1:
            self._without_log.add((life.name, event.epoch))

    def _led(self, event: seen.Led) -> None:
        life = self._life(event)
        spec = self.spec[life.subjob]
        if spec.family != "lease" or spec.side_by_side or event.epoch == 1:
            return
        if spec.mode in ("upstreamBackup", "amnesia") and event.state is None:
            self._failed_with_a_sink(spec)
            self._failed_together(spec)  # a wrongly suspected primary is replaced as if it had died
            if (life.name, event.epoch) in self._without_log:
                self.divergent.add(spec.name)
        if spec.passive:
            self._led_by_a_former_secondary(life, spec)
        if spec.mode != "savepoint" and not event.live and not self._moved(life):
            self._served_by_a_new_life(spec)

    def _subscribed(self, event: seen.Subscribed) -> None:
        self._said[event.life, event.stream, event.consumer] = event
        self._has(event.consumer, event.stream, event.start)

    def _has(self, consumer: str, stream: str, upto: int) -> None:
        self._known[consumer, stream] = max(self._known[consumer, stream], upto)

    def _numbered(self, event: seen.Numbered) -> None:
        self.begins[event.stream] = event.first
        self._answered_by_another_life(self._life(event), event.stream)

    def _acked(self, event: seen.Acked) -> None:
        self._has(self._life(event).subjob, event.stream, event.upto)

    def _handled(self, event: seen.Handled) -> None:
        if event.replaced:
            self.exceeded[event.subjob] = event.why
        elif event.loses:
            self.exceeded.setdefault(event.subjob, event.why)

    def _crashed(self, event: seen.Crashed) -> str | None:
        life = self._life(event)
        spec = self.spec[life.subjob]
        if spec.mode == "savepoint":
            return None
        if life.leads:
            self._served_by_a_new_life(spec)
        if spec.mode not in ("upstreamBackup", "amnesia"):
            return self._last(life, spec, event)
        if life.leads:
            self._failed_together(spec)
        return None

    # --- what a mode does not survive

    def _last(self, life: Life, spec: SubjobSpec, event: seen.Crashed) -> str | None:
        """Checks whether another instance could go on. A primary that ends itself must be sure that one can;
        a standby may not have noticed yet that its primary is dead."""
        if any(
            self.lives.could_go_on(other) for other in self.lives.instances(spec.name) if other is not life
        ):
            return None
        self._forgot(spec)
        if self._untouched(spec):
            return None
        self.exceeded[spec.name] = f"{life.name} was the last with the state of {spec.name}"
        hasty = event.gives_up and (life.hung or 0) < LASTING and life.leads and self.lives.could_go_on(life)
        return (
            f"{life.name} gave up the state of {spec.name} because of a hang of only {life.hung} ms"
            if hasty
            else None
        )

    def _forgot(self, spec: SubjobSpec) -> None:
        """A producer in upstream backup that recovers now cannot learn this consumer's former position."""
        for stream in (s for s in spec.inputs if s in self.job.maker and self.lives.had[spec.name, s]):
            producer = self.job.maker[stream]
            lead = self.lives.leading(producer.name)
            if producer.mode == "upstreamBackup" and (not lead or any(not p.begun for p in lead)):
                self.exceeded.setdefault(producer.name, f"its consumer {spec.name} has lost its position")

    def _served_by_a_new_life(self, spec: SubjobSpec) -> None:
        """Upstream backup makes again only tuples that consumers had not *received* (Hwang §5.2.1: level-1
        acks follow level-0 acks). A consumer that fails before it has released the tuples of the earlier life
        asks for tuples that are gone."""
        for stream in spec.inputs:
            producer, begins = self.job.maker.get(stream), self.begins.get(stream, 0)
            if producer is None or producer.mode != "upstreamBackup":
                continue
            if self._released(spec, producer, stream) < begins:
                self.exceeded.setdefault(spec.name, f"it failed too soon after its producer of {stream}")

    def _released(self, spec: SubjobSpec, producer: SubjobSpec, stream: str) -> int:
        """The highest level-1 ack that reached the producer: an ack may be lost with its sender."""
        leading = self.lives.leading(producer.name)
        heard = (life.released.get((stream, spec.name), 0) for life in leading)
        return max(heard, default=self.lives.acked[spec.name, stream])

    def _answered_by_another_life(self, life: Life, stream: str) -> None:
        """As above, during the producer's roll call: it was answered by a life that has since been replaced
        by one with less input."""
        spec = self.spec[life.subjob]
        readers = (
            (s.name for s in self.job.subjobs if stream in s.inputs) if spec.mode == "upstreamBackup" else ()
        )
        for consumer in (
            c for reader in readers for c in self.lives.leading(reader) if self.lives.holds_the_lease(c)
        ):
            said = self._said.get((life.name, stream, consumer.subjob))
            if (
                said is not None
                and said.epoch < consumer.epoch
                and consumer.taken.get(stream, 0) < said.start
            ):
                self.exceeded.setdefault(
                    consumer.subjob, f"it failed while its producer of {stream} recovered"
                )

    def _needed_again(self, producer: SubjobSpec) -> None:
        """A consumer that goes on from its checkpoint, or from zero, needs tuples that its earlier life had
        received. They are in the output queue of its producer in upstream backup; a new life of the producer
        does not make them again."""
        stream = producer.stream
        for spec in (
            s for s in self.job.subjobs if stream in s.inputs and s.mode not in ("upstreamBackup", "amnesia")
        ):
            living = self.lives.instances(spec.name)
            if (
                max((self.lives.goes_on_from(p, stream) for p in living), default=0)
                < self._known[spec.name, stream]
            ):
                self.exceeded.setdefault(
                    spec.name, f"its producer of {stream} failed before it had received the tuples again"
                )

    def _led_by_a_former_secondary(self, life: Life, spec: SubjobSpec) -> None:
        """A primary releases what its secondary has stored. A standby that was its secondary before has less,
        and may take the Lease from it."""
        for former in (other for other in self.lives.leading(spec.name) if other is not life):
            if former.confirmed is not None and former.secondary not in (None, life.name):
                why = f"{life.name} took over though {former.secondary} was the secondary of {former.name}"
                self.exceeded.setdefault(spec.name, why)

    def _moved(self, life: Life) -> bool:
        """Whether the former primary handed over, which is no failure."""
        return any(other.handed for other in self.lives.instances(life.subjob) if other is not life)

    def _untouched(self, spec: SubjobSpec) -> bool:
        """Whether a start from zero gives the same stream again: no input was released, and no operator is
        arbitrary."""
        return not spec.arbitrary and all(self.lives.acked[spec.name, s] == 0 for s in spec.inputs)

    def _failed_with_a_sink(self, spec: SubjobSpec) -> None:
        """A restarted sink knows only its position, no watermarks, until its producer has answered it."""
        for sink in (sink for sink, stream in self.job.sinks.items() if stream == spec.stream):
            if any(life.epoch > 1 and not life.answered for life in self.lives.instances(sink)):
                self.exceeded.setdefault(spec.name, f"its sink {sink} was started again at the same time")

    def _failed_together(self, spec: SubjobSpec) -> None:
        """These modes survive single failures: no neighbour in the same mode, or without state, may be
        recovering at the same time."""
        if spec.mode == "upstreamBackup":
            self._needed_again(spec)
        for other in self.job.subjobs:
            near = spec.stream in other.inputs or other.stream in spec.inputs
            if spec.stream in other.inputs and other.name in self.exceeded:
                self.exceeded.setdefault(spec.name, f"its consumer {other.name} has lost its position")
            both = {spec.mode, other.mode}
            if not near or both == {"amnesia"} or not both <= {"amnesia", "upstreamBackup"}:
                continue
            lead = self.lives.leading(other.name)
            if not lead or any(not p.begun or p.waits.get(spec.stream, False) for p in lead):
                for name in (spec.name, other.name):
                    self.exceeded.setdefault(name, f"{spec.name} and {other.name} failed together")
