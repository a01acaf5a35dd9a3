"""When nothing is failing any more: queues become short, and subjobs are protected again. Says where they are
not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from understudy_lab.exploration.history import QueueMeasured, ReadToTheEnd, Sent
from understudy_lab.exploration.lives import Life, Lives
from understudy_lab.exploration.survival import Survival
from understudy_lab.simulation.made_up_operators import rowwise
from understudy_lab.simulation.specs import Job, SubjobSpec

QUEUE_LIMIT = 40  # tuples in a queue when all is quiet
WINDOW = 100  # milliseconds in which messages are counted
ASKING = frozenset(
    (
        *("rx_subscribe", "rx_follow", "rx_refused", "rx_recovery_request", "rx_recovery", "TryLease"),
        *("rx_resumes", "rx_held", "rx_hand_over", "rx_data", "rx_ended", "rx_closed"),
    )
)  # what nobody says again when it has been answered
ASKED = 2  # of these, in a window when all is quiet
# Of any other kind, for each life: keep-alives, acks, checkpoints. Senders may not know who died
REPEATED = 25


@dataclass(frozen=True)
class Stillness:
    job: Job
    lives: Lives
    lengths: Sequence[QueueMeasured]
    ends: Sequence[ReadToTheEnd]
    sent: Sequence[Sent]
    survival: Survival
    replaced: Collection[str]  # subjobs whose alternative branch runs
    dead: Collection[str]  # subjobs that nobody runs any more

    # --- messages

    def restless(self) -> Iterator[str]:
        """Who has been answered asks no more, and what is told in turns is told as often as it was meant to
        be. Who waits in vain may ask for ever."""
        asked = {m.kind: m.count for m in self.sent if m.kind in ASKING and m.count}
        if sum(asked.values()) > ASKED and not self.waits_in_vain():
            yield f"{asked} were sent within {WINDOW} ms when all is quiet"
        for found in (m for m in self.sent if m.count > REPEATED * len(self.lives.of)):
            yield f"{found.kind} was sent {found.count} times within {WINDOW} ms when all is quiet"

    # --- queues

    def long_queues(self) -> Iterator[str]:
        late = self._late()
        for found in (m for m in self.lengths if m.stream not in late):
            name, tuples = self._held(found)
            if tuples > QUEUE_LIMIT:
                yield f"the queue of {name} still holds {tuples} tuples when all is quiet"

    def _held(self, found: QueueMeasured) -> tuple[str, int]:
        """Only a primary's queue, and the log of one that runs beside it, are kept short."""
        life = self.lives.of.get(found.owner)
        if life is None or life.leads:
            return found.stream, found.stop - found.start
        return f"{life.name}'s log", _not_newest(life, found) if life.runs else 0

    def _late(self) -> set[str]:
        """Streams that are released late, or not at all: to upstream backup and savepoint, which release what
        is behind their newest acked output, and so nothing while they make none or it is not acked; to a
        subjob that has no standby, or that can't begin anew; and all around a subjob that lost more than its
        mode survives."""
        beyond = [spec for spec in self.job.subjobs if self.job.behind(spec.stream, self.survival.exceeded)]
        late = {stream for spec in beyond for stream in (spec.stream, *spec.inputs)}
        stranded = self.waits_in_vain()
        for spec in reversed(self.job.subjobs):
            running = list(self.lives.instances(spec.name))
            alone = spec.mode != "savepoint" and len(running) < spec.replicas
            divergent = spec.name in self.survival.exceeded or spec.name in self.survival.divergent
            if (spec.promise == "rollback" or divergent) and self._over(spec.stream):
                late.add(spec.stream)  # its end was reached before it was sent again under new seqs
            waits = spec.stream in late and any(self._waits_for_acks(p) for p in running)
            holds = spec.mode in ("upstreamBackup", "savepoint") and _holds(spec)
            if alone or waits or holds or spec.name in stranded:
                late |= set(spec.inputs)
        return late

    def _over(self, stream: str) -> bool:
        """Whether an element that reads the stream from outside has read it to its end."""
        readers = {
            s.name: {n for n, _, ins in s.elements if stream in ins}
            for s in self.job.subjobs
            if stream in s.inputs
        }
        readers |= {sink: {sink} for sink, s in self.job.sinks.items() if s == stream}
        return any(readers.get(self.lives.of[m.life].subjob, set()) & {*m.elements} for m in self.ends)

    def _waits_for_acks(self, life: Life) -> bool:
        """Whether what it releases depends on acks that it does not get: in upstream backup, those of level
        0."""
        spec = self.job.maker[self.lives.spec[life.subjob].stream]
        if spec.mode != "upstreamBackup":
            return spec.mode == "savepoint"
        stop = max((m.stop for m in self.lengths if m.owner == life.name), default=0)
        return life.leads and any(
            life.received.get((spec.stream, c), 0) < stop for c in self._consumers(spec)
        )

    def _consumers(self, spec: SubjobSpec) -> set[str]:
        subjobs = {s.name for s in self.job.subjobs if spec.stream in s.inputs}
        return subjobs | {sink for sink, stream in self.job.sinks.items() if stream == spec.stream}

    # --- who waits for whom

    def waits_in_vain(self) -> set[str]:
        """Subjobs that nobody runs any more, and those that can't begin anew without one of them: a roll call
        waits for every consumer, a replay and a savepoint recovery for every producer."""
        found, others = set(self.dead), {s.name: s for s in self.job.subjobs}
        while found and (
            more := {n for n, s in others.items() if n not in found and self._waits_for(s) & found}
        ):
            found |= more
        return found

    def _waits_for(self, spec: SubjobSpec) -> set[str]:
        """The neighbours from which a new life has to hear before it begins."""
        lives = list(self.lives.instances(spec.name))
        asked = {s for life in lives for s in life.unanswered}
        rolls = [
            life for life in lives if life.leads and life.epoch > 1 and self._consumers(spec) - life.settled
        ]
        if any(not life.begun for life in lives if life.leads) and spec.mode == "upstreamBackup":
            asked |= set(spec.inputs)
        consumers = {c for life in rolls for c in self._consumers(spec) - life.settled}
        return consumers | {self.job.maker[s].name for s in asked if s in self.job.maker}

    # --- protection

    def unprotected(self) -> Iterator[str]:
        """Where there is a standby, or a replica, it could take over now."""
        excused = self.waits_in_vain() | set(self.replaced)
        for spec in (s for s in self.job.subjobs if s.name not in excused):
            if (why := self._weakness(spec)) is not None:
                yield f"{spec.name}: {why}"

    def _weakness(self, spec: SubjobSpec) -> str | None:
        living = list(self.lives.instances(spec.name))
        leading = [p for p in living if p.leads and (spec.family != "lease" or self.lives.holds_the_lease(p))]
        if not leading:
            return "nobody leads when all is quiet"
        if spec.family == "savepoint" or spec.mode == "amnesia" or len(living) < spec.replicas:
            return None
        if (spec.side_by_side or spec.family == "replica") and len(leading) < spec.replicas:
            return "a replica does not run beside the other when all is quiet"
        named = [p for p in leading if self.lives.leases.get(spec.name, ("", 0))[0] == p.name]
        exposed = [p.name for p in named if not self._protected(spec, p)]
        return f"{', '.join(exposed)} is not protected again when all is quiet" if exposed else None

    def _protected(self, spec: SubjobSpec, life: Life) -> bool:
        """Whether its secondary lives and has what it needs, and this one has heard so."""
        other = self.lives.of.get(life.secondary or "")
        if other is None or not other.alive or not life.begun:
            return False
        if spec.passive:
            stored = other.state is not None and other.state.epoch == life.epoch
            return stored and life.confirmed == life.epoch
        if spec.mode == "activeStandby":
            return other.runs and life.confirmed == life.epoch
        if spec.logged:
            return other.log == life.epoch and life.log_confirmed == life.epoch
        return spec.mode != "replicaBackup" or life.confirmed == life.epoch


def _not_newest(life: Life, log: QueueMeasured) -> int:
    """How much of an active secondary's log has lower watermarks than its end: the rest is never certain to
    be duplicate (Hwang §5.3), as several tuples may come of the same input."""
    steps = life.steps.get(log.stream, [])
    newest = steps[-1][1] if steps else {}
    older = [stop for stop, behind in steps if behind != newest]
    return max(0, min(log.stop, max(older, default=0)) - log.start)


def _holds(spec: SubjobSpec) -> bool:
    """Whether it may take in much and make nothing."""
    return len(spec.elements) > 1 or any(not rowwise(op) for _, op, _ in spec.elements)
