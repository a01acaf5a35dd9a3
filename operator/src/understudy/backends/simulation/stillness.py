"""When nothing is failing any more: queues become short, and subjobs are protected again. Says where they are not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from understudy.backends.simulation.cluster import Cluster, SubjobSpec
from understudy.backends.simulation.networks import Job
from understudy.backends.simulation.operators import rowwise
from understudy.backends.simulation.process import Process
from understudy.modes.active_standby import ActiveStandby
from understudy.modes.instance import Role
from understudy.modes.savepoint import SavepointMode
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol.ids import Stream
from understudy.protocol.watermarks import newest

QUEUE_LIMIT = 40  # tuples in a queue when all is quiet


@dataclass(frozen=True)
class Stillness:
    job: Job
    cluster: Cluster
    exceeded: Collection[str]  # subjobs of which more failed than their mode survives
    divergent: Collection[str]
    replaced: Collection[str]  # subjobs whose alternative branch runs

    # --- queues

    def long_queues(self) -> Iterator[str]:
        late = self._late()
        sources = (s for s in self.cluster.sources.values() if s.queue.acks and s.name not in late)
        held = [(source.name, len(source.queue.held)) for source in sources]
        for spec in (s for s in self.job.subjobs if s.stream not in late):
            held += [self._held(p) for p in self.cluster.running[spec.name] if p.alive]
        for name, tuples in held:
            if tuples > QUEUE_LIMIT:
                yield f"the queue of {name} still holds {tuples} tuples when all is quiet"

    def _held(self, process: Process) -> tuple[str, int]:
        stream = Stream(process.spec.stream)
        match process.core:
            case core if process.serving:
                return stream, len(core.ledger.queues[stream].held)
            case ActiveStandby(running=True) as secondary:
                return f"{process.name}'s log", _not_newest(secondary, stream)
            case _:
                return stream, 0

    def _late(self) -> set[str]:
        """Streams that are released late, or not at all: to upstream backup and savepoint, which release what is behind
        their newest acked output, and so nothing while they make none or it is not acked; to a subjob that has no
        standby, or that can't begin anew; and all around a subjob that lost more than its mode survives."""
        beyond = [spec for spec in self.job.subjobs if self.job.behind(spec.stream, self.exceeded)]
        late = {stream for spec in beyond for stream in (spec.stream, *spec.inputs)}
        stranded = self.waits_in_vain()
        for spec in reversed(self.job.subjobs):
            running = self.cluster.running[spec.name]
            alone = spec.mode != "savepoint" and sum(p.alive for p in running) < spec.replicas
            renumbers = spec.promise == "rollback" or spec.name in self.exceeded or spec.name in self.divergent
            if renumbers and self._over(spec.stream):
                late.add(spec.stream)  # its end was reached before it was sent again under new seqs
            waits = spec.stream in late and any(_waits_for_acks(p) for p in running)
            holds = spec.mode in ("upstreamBackup", "savepoint") and _holds(spec)
            if alone or waits or holds or spec.name in stranded:
                late |= set(spec.inputs)
        return late

    def _over(self, stream: str) -> bool:
        elements = [e for p in self.cluster.consumers(stream) for e in p.elements.values() if stream in e.inputs]
        return any(e.finished for e in elements)

    # --- who waits for whom

    def waits_in_vain(self) -> set[str]:
        """Subjobs that nobody runs any more, and those that can't begin anew without one of them: a roll call waits for
        every consumer, a replay and a savepoint recovery for every producer."""
        found, others = set(self.cluster.control.dead), {s.name: s for s in self.job.subjobs}
        while more := {n for n, s in others.items() if n not in found and self._waits_for(s) & found}:
            found |= more
        return found

    def _waits_for(self, spec: SubjobSpec) -> set[str]:
        """The neighbours from which a new life has to hear before it begins."""
        cores = [p.core for p in self.cluster.running[spec.name] if p.alive]
        asked: set[str] = {s for core in cores if isinstance(core, SavepointMode) for s in core.unanswered}
        rolls = [core for core in cores if core.role is Role.PRIMARY and core.roll_open]
        if any(isinstance(core, UpstreamBackup) for core in rolls):
            asked |= set(spec.inputs)
        consumers = {s.name for s in self.job.subjobs if spec.stream in s.inputs} if rolls else set()
        return consumers | {self.job.maker[s].name for s in asked if s in self.job.maker}

    # --- protection

    def unprotected(self) -> Iterator[str]:
        """Where there is a standby, or a replica, it could take over now."""
        excused = self.waits_in_vain() | set(self.replaced)
        for spec in (s for s in self.job.subjobs if s.name not in excused):
            if (why := self._weakness(spec)) is not None:
                yield f"{spec.name}: {why}"

    def _weakness(self, spec: SubjobSpec) -> str | None:
        living = [p for p in self.cluster.running[spec.name] if p.alive]
        leading = [p for p in living if p.serving and (spec.family != "lease" or p.leads)]
        if not leading:
            return "nobody leads when all is quiet"
        if spec.family == "savepoint" or spec.mode == "amnesia" or len(living) < spec.replicas:
            return None
        exposed = [p.name for p in leading if not p.core.protected]
        if exposed:
            return f"{', '.join(exposed)} is not protected again when all is quiet"
        if (spec.side_by_side or spec.family == "replica") and len(leading) < spec.replicas:
            return "a replica does not run beside the other when all is quiet"
        return None


def _not_newest(secondary: ActiveStandby, stream: Stream) -> int:
    """How much of an active secondary's log has lower watermarks than its end: the rest is never certain to be
    duplicate (Hwang §5.3), as several tuples may come of the same input."""
    queue, logs = secondary.ledger.queues[stream], secondary.logs
    step, upto = logs[stream].before(queue.next), queue.next
    end = newest(logs, step.high) if step else {}
    while step is not None and newest(logs, step.high) == end:
        upto, step = step.first, logs[stream].before(step.first)
    return max(0, int(upto - queue.trimmed))


def _waits_for_acks(process: Process) -> bool:
    """Whether what it releases depends on acks that it does not get: in upstream backup, those of level 0."""
    if isinstance(process.core, UpstreamBackup):
        queues = (process.core.ledger.queues[s] for s in process.core.wiring.leaving)
        return process.serving and any(q.received_by_all < q.next for q in queues)
    return isinstance(process.core, SavepointMode)


def _holds(spec: SubjobSpec) -> bool:
    """Whether it may take in much and make nothing."""
    return len(spec.elements) > 1 or any(not rowwise(op) for _, op, _ in spec.elements)
