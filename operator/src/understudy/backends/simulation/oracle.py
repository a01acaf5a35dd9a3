"""What came out, against what had to. Knows nothing of the protocols: it sees deliveries, Leases, trims and crashes."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any

from understudy.backends.simulation.cluster import Cluster, Monitor, SubjobSpec
from understudy.backends.simulation.endpoint import HELD
from understudy.backends.simulation.losses import Losses
from understudy.backends.simulation.networks import Job
from understudy.backends.simulation.operators import Aggregate, Join, Row, reference
from understudy.backends.simulation.process import Process
from understudy.backends.simulation.stillness import Stillness
from understudy.backends.simulation.validity import in_no_window, rows_of, wrong_choice
from understudy.modes.instance import Role
from understudy.modes.logged_backup import LoggedBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.failures import AlternativeBranch, FailureProcess, Handling, Report
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream


class Oracle(Monitor):
    def __init__(self, job: Job) -> None:
        self.job = job
        self.problems: list[str] = []
        self.tuples: dict[str, dict[int, Row | None]] = defaultdict(dict)
        self.arrived: dict[str, list[Row | None]] = defaultdict(list)
        self.losses = Losses(job)
        self.reports = (0, 0)  # inputs of which a loss was reported; in vain
        self.exceeded: dict[str, str] = {}  # subjob: why more failed than its mode survives
        self.spec = {s.name: s for s in job.subjobs}
        self.divergent: set[str] = set()  # subjobs that were taken over by a standby without the log of their steps
        self._without_log: set[tuple[str, int]] = set()  # process, epoch
        self._writers: dict[tuple[str, int], str] = {}
        self._stored: dict[tuple[str, str], int] = defaultdict(int)
        self._next: dict[str, int] = defaultdict(int)
        self._conflicts: dict[str, str] = {}
        self._accounted: dict[tuple[str, str], set[int]] = defaultdict(set)  # input that was taken, or reported lost
        self._begins: dict[str, int] = {}  # where the queue of a restarted producer begins
        self._given_up: dict[str, int] = {}  # seqs before were given up: what had them is sent again under later ones
        self._released1: dict[tuple[str, str], int] = defaultdict(int)  # level-1 acks
        self._taken: dict[tuple[str, int, str], int] = defaultdict(int)
        self._told: dict[tuple[str, str], int] = defaultdict(int)  # how much a subjob's producer has heard that it has
        self._by_the_replaced: set[tuple[str, str]] = set()  # who reported what as lost when another led already
        self._said: dict[tuple[str, str, str], on.Subscribed] = {}  # what consumers told a producer that they have
        self.ended: set[str] = set()  # sinks that came to the end
        self.at_the_end: set[str] = set()  # the same, and subjobs that have read all of their inputs
        self.replaced: set[str] = set()  # subjobs whose alternative branch runs
        self.stranded: set[str] = set()  # subjobs that can't begin anew without one that nobody runs any more

    def problem(self, text: str) -> None:
        if len(self.problems) < 20:
            self.problems.append(text)

    def _found(self, wrong: str | None) -> None:
        if wrong is not None:
            self.problem(wrong)

    # --- what is seen

    def delivered(self, process: Process, stream: str, start: int, rows: list[Row | None]) -> None:
        life = (process.name, process.generation, stream)
        if start < self._taken[life]:
            self.problem(f"{process.name} handed {stream}[{start}] to its elements twice")
        self._taken[life] = start + len(rows)
        if process.spec.promise == "gap":
            self._accounted[process.spec.name, stream].update(range(start, start + len(rows)))
        self.losses.took(process.spec.name, stream, start, rows, replaced=_replaced(process))
        known = self.tuples[stream]
        for seq, row in enumerate(rows, start):
            if seq in known and known[seq] != row and stream not in self._conflicts:
                self._conflicts[stream] = f"{stream}[{seq}] was two different tuples; {process.name} got the second"
            known.setdefault(seq, row)
        if process.spec.family == "sink":
            if start < self._next[process.name]:
                self.problem(f"sink {process.name} got {stream}[{start}] again")
            self._next[process.name] = start + len(rows)
            self.arrived[process.name] += rows

    def lost(self, process: Process, stream: str, missing: Range) -> None:
        if _replaced(process):
            self._by_the_replaced.add((process.spec.name, stream))
        self.losses.reported(process.spec.name, stream, missing)
        self._accounted[process.spec.name, stream].update(range(missing.start, missing.stop))

    def elected(self, process: Process, lease: LeaseRecord) -> None:
        core = process.core
        if isinstance(core, LoggedBackup) and core.role is Role.STANDBY and core.logged_in != lease.epoch - 1:
            self._without_log.add((process.name, lease.epoch))

    def leads(self, process: Process, command: do.Lead) -> None:
        self._goes_back(process.spec.stream, command.checkpoint)
        if process.spec.family != "lease" or process.spec.side_by_side:
            return
        if process.spec.promise == "gap" and command.checkpoint is None:
            self.losses.begun_anew(process.spec.stream)
        if process.spec.mode in ("upstreamBackup", "amnesia") and command.epoch > 1 and command.checkpoint is None:
            self._failed_together(process)  # one that was suspected wrongly is replaced as if it had died
            if (process.name, command.epoch) in self._without_log:
                self.divergent.add(process.spec.name)
        if process.spec.mode != "savepoint" and command.epoch > 1 and not command.live and not self._moved(process):
            self._served_by_a_new_life(process)
        other = self._writers.setdefault((process.spec.name, command.epoch), process.name)
        if other != process.name:
            self.problem(f"{process.spec.name}: {other} and {process.name} both lead in epoch {command.epoch}")

    def _goes_back(self, stream: str, checkpoint: Checkpoint | None) -> None:
        """Who continues from before a renumbering has the seqs of that time again."""
        if checkpoint is None or checkpoint.elements[stream].held.start < self._given_up.get(stream, 0):
            self._given_up.pop(stream, None)

    def subscribed(self, process: Process, event: on.Subscribed) -> None:
        self._said[process.name, event.stream, event.consumer] = event
        self._has(event.consumer, event.stream, event.start)

    def _has(self, consumer: str, stream: str, upto: int) -> None:
        self._told[consumer, stream] = max(self._told[consumer, stream], upto)

    def numbered(self, process: Process, stream: str, first: int) -> None:
        self._begins[stream] = first
        self._answered_by_another_life(process, stream)

    def renumbered(self, process: Process, stream: str, first: int) -> None:
        self._given_up[stream] = first

    def acked(self, process: Process, command: do.SendAck) -> None:
        self._has(process.spec.name, command.stream, command.upto)
        if command.level == 1:
            key = (process.spec.name, command.stream)
            self._released1[key] = max(self._released1[key], command.upto)

    def stored(self, process: Process, checkpoint: Checkpoint) -> None:
        for stream in process.spec.inputs:
            at = int(checkpoint.covers(Stream(stream)) or 0)
            key = (process.spec.name, stream)
            self._stored[key] = max(self._stored[key], at)
        self._joins_up(process.spec, checkpoint)

    def _joins_up(self, spec: SubjobSpec, checkpoint: Checkpoint) -> None:
        """A backup with which a consumer's does not match leaves a gap when both fail (Brettlecker, Figure 5c). Where
        the queue was renumbered, its first tuple is the one that was held first under the seqs of before."""
        if spec.promise != "precise" or spec.name in self.exceeded or not spec.passive:
            return
        stream = spec.stream
        start = int(checkpoint.elements[stream].held.start)
        for other in self.job.subjobs:
            if other.passive and stream in other.inputs and other.name not in self.exceeded:
                covered = self._stored[other.name, stream]
                if max(covered, self._given_up.get(stream, 0)) < start:
                    self.problem(
                        f"a backup of {spec.name} holds {stream} from {start} on; {other.name}'s covers {covered}"
                    )

    def trimmed(self, process: Any, command: do.Trim) -> None:
        """A queue may drop what each consumer's recovery no longer needs: for passive standby, what was stored; for
        active standby and replica backup, what both replicas have processed."""
        producer = self.job.maker.get(command.stream)
        if producer is not None and self._renumbers(producer):
            return  # seqs may be given up
        for spec in self.job.subjobs:
            replicated = spec.mode == "activeStandby" or (spec.side_by_side and spec.name not in self.exceeded)
            if replicated and command.stream in spec.inputs:
                self._both_have(process.cluster.running[spec.name], command)
            if spec.passive and command.stream in spec.inputs and spec.name not in self.exceeded:
                limit = max(self._stored[spec.name, command.stream], self._begins.get(command.stream, 0))
                if command.upto > limit:
                    self.problem(
                        f"{command.stream} was trimmed up to {command.upto}; {spec.name} has stored only up to {limit}"
                    )

    def _both_have(self, replicas: list[Process], command: do.Trim) -> None:
        for replica in replicas:
            at = replica.core.ledger.position(command.stream)
            beside = replica.spec.side_by_side and replica.serving and replica.leads
            if replica.alive and (beside or getattr(replica.core, "running", False)) and at < command.upto:
                self.problem(f"{command.stream} was trimmed up to {command.upto}; {replica.name} has only come to {at}")

    def handled(self, subjob: str, handling: Handling) -> None:
        match handling:
            case AlternativeBranch():
                self.losses.told(subjob)
                self.replaced.add(subjob)
                self.exceeded[subjob] = handling.why
            case FailureProcess() | Report():
                self.losses.told(subjob)
                self.exceeded.setdefault(subjob, handling.why)
            case _:
                pass

    def crashed(self, process: Process) -> None:
        """Is there still someone who could go on? Asked before the process dies."""
        spec = process.spec
        if spec.mode == "savepoint":
            return
        if process.serving:
            self._served_by_a_new_life(process)
        if spec.mode in ("upstreamBackup", "amnesia"):
            if process.serving and process.core.role is Role.PRIMARY:
                self._failed_together(process)
            return
        others = [p for p in process.cluster.running[spec.name] if p is not process and p.alive]
        if any(self._could_go_on(p) for p in others):
            return
        self._forgot(process)
        if not self._untouched(process):
            self.exceeded[spec.name] = f"{process.name} was the last with the state of {spec.name}"

    def _forgot(self, process: Process) -> None:
        """A producer in upstream backup that is recovering now can't hear from this consumer what it had."""
        had = self._had(process.cluster, process.spec)
        for producer in (self.job.maker[s] for s in process.spec.inputs if s in self.job.maker and had[s]):
            lead = [p for p in process.cluster.running[producer.name] if p.alive and p.serving]
            if producer.mode == "upstreamBackup" and (not lead or any(p.core.roll_open for p in lead)):
                self.exceeded.setdefault(producer.name, f"its consumer {process.spec.name} has forgotten what it had")

    def _served_by_a_new_life(self, process: Process) -> None:
        """Upstream backup makes again what consumers had not *received* (Hwang §5.2.1: level-1 acks follow level-0
        acks). One that fails before it has released what it received from the earlier life asks for what is gone."""
        for stream in process.spec.inputs:
            producer, begins = self.job.maker.get(stream), self._begins.get(stream, 0)
            if producer is None or producer.mode != "upstreamBackup":
                continue
            if self._released(process, producer, stream) < begins:
                self.exceeded.setdefault(process.spec.name, f"it failed too soon after its producer of {stream}")

    def _released(self, process: Process, producer: SubjobSpec, stream: str) -> int:
        """Of an input, as far as its producer has heard of it: an ack may die with who sent it."""
        leading = [p for p in process.cluster.running[producer.name] if p.alive and p.serving]
        acks = (p.core.ledger.queues[Stream(stream)].acks.get(Consumer(process.spec.name)) for p in leading)
        heard = (known.released for known in acks if known is not None)
        return max(heard, default=Seq(self._released1[process.spec.name, stream]))

    def _answered_by_another_life(self, process: Process, stream: str) -> None:
        """As above, where the producer still asked: the life that was replaced has answered for one that has less."""
        asked = process.cluster.consumers(stream) if process.spec.mode == "upstreamBackup" else ()
        for consumer in (c for c in asked if c.alive and c.core.role is Role.PRIMARY and c.leads):
            said = self._said.get((process.name, stream, consumer.spec.name))
            if (
                said is not None
                and said.epoch < consumer.core.epoch
                and consumer.core.ledger.received(Stream(stream)) < said.start
            ):
                self.exceeded.setdefault(consumer.spec.name, f"it failed while its producer of {stream} recovered")

    def _needed_again(self, process: Process) -> None:
        """A consumer that goes on from its checkpoint, or from zero, needs what its earlier life had received. That is
        in the queue of its producer in upstream backup; another life of the producer does not make it again."""
        stream = process.spec.stream
        for spec in (s for s in self.job.subjobs if stream in s.inputs and s.mode not in ("upstreamBackup", "amnesia")):
            living = [p for p in process.cluster.running[spec.name] if p.alive]
            if max((_goes_on_from(p, Stream(stream)) for p in living), default=0) < self._told[spec.name, stream]:
                self.exceeded.setdefault(spec.name, f"its producer of {stream} failed before it had again what it had")

    def _had(self, cluster: Cluster, spec: SubjobSpec) -> dict[str, int]:
        """How far any life of a subjob has got on each input."""
        lives = {p.name for p in cluster.processes.values() if p.spec is spec}
        had: dict[str, int] = defaultdict(int)
        for (life, _, stream), upto in self._taken.items():
            had[stream] = max(had[stream], upto if life in lives else 0)
        return had

    def _moved(self, process: Process) -> bool:
        """Whether the former primary handed over: that is no failure."""
        others = process.cluster.peers(process)
        return any(p.alive and p.core.move is not None and p.core.move.handed for p in others)

    def _could_go_on(self, process: Process) -> bool:
        if process.core.role is Role.PRIMARY:
            move = process.core.move
            moved = move is not None and move.handed and process.core.kept_back() is not None
            return process.spec.family != "lease" or process.leads or moved
        stored = process.core.stored()
        if process.spec.passive:
            return stored is not None and not self._fenced(process, stored.epoch)
        return bool(getattr(process.core, "running", False)) and not self._fenced(process, process.core.epoch)

    def _fenced(self, process: Process, epoch: Epoch) -> bool:
        """Whether the primary took the Lease anew since, to go on alone: it has sent what was chosen after that."""
        record = process.world.lease(process.spec.name)
        return process.core.hold_back and record is not None and epoch < record.epoch

    def _renumbers(self, spec: SubjobSpec) -> bool:
        """Whether seqs of its stream may be given up."""
        return spec.promise != "precise" or spec.name in self.exceeded or spec.name in self.divergent

    def _untouched(self, process: Process) -> bool:
        """Nothing was released and nothing non-deterministic was sent: a start from zero does the same again."""
        spec = process.spec
        if spec.arbitrary:
            return False
        return all(self._released1[spec.name, s] == 0 for s in spec.inputs)

    def _failed_together(self, process: Process) -> None:
        """Single failures: no neighbour in the same mode, or without memory, may be recovering at the same time."""
        cluster, spec = process.cluster, process.spec
        if spec.mode == "upstreamBackup":
            self._needed_again(process)
        for other in self.job.subjobs:
            near = spec.stream in other.inputs or other.stream in spec.inputs
            if spec.stream in other.inputs and other.name in self.exceeded:
                self.exceeded.setdefault(spec.name, f"its consumer {other.name} has forgotten what it had")
            both = {spec.mode, other.mode}
            if not near or both == {"amnesia"} or not both <= {"amnesia", "upstreamBackup"}:
                continue
            lead = [p for p in cluster.running[other.name] if p.alive and p.serving and p.core.role is Role.PRIMARY]
            if not lead or any(p.core.roll_open or self._unserved(p, spec.stream) for p in lead):
                for name in (spec.name, other.name):
                    self.exceeded.setdefault(name, f"{spec.name} and {other.name} failed together")

    def _unserved(self, process: Process, stream: str) -> bool:
        """Whether it is a new life that does not know where it is on this stream, and has not been told yet."""
        connection = process.inputs.connections.get(stream)
        return connection is not None and connection.start in (HELD, None) and not connection.answered

    # --- the verdict

    def stillness(self, cluster: Cluster) -> Stillness:
        return Stillness(self.job, cluster, self.exceeded.keys(), self.divergent, self.replaced)

    def judge(self, finished: bool) -> list[str]:
        behind = {*self.exceeded, *self.stranded}
        waiting = [
            s for s, stream in self.job.sinks.items() if s not in self.ended and not self.job.behind(stream, behind)
        ]
        if not finished and waiting:
            self.problem(f"no progress: sinks {', '.join(waiting)} have not come to the end")
        quality: dict[str, str] = {s.name: "exact" for s in self.job.sources}
        rows: dict[str, Any] = {s.name: list(s.rows) for s in self.job.sources}
        for spec in self.job.subjobs:
            self._judge(spec, quality, rows, finished)
            for stream in spec.inputs if finished and spec.promise == "gap" and spec.name not in self.exceeded else ():
                if quality[stream] == "exact" and spec.family == "lease":
                    self._judge_gap(spec, stream, len(rows[stream]))
        for sink, stream in self.job.sinks.items():
            self._judge_sink(sink, stream, quality[stream], rows.get(stream), finished)
        for text in (*self.losses.silent(rows, self.at_the_end), *self.losses.unfounded(partial(self._sound, quality))):
            self.problem(text)
        self.reports = self.losses.reports(rows)
        return self.problems

    def _sound(self, quality: dict[str, str], reader: str, stream: str, last: int) -> bool:
        """Whether nothing that the reader needs of the stream can have been lost. Seqs that a renumbering gave up are
        sent again under others; a backup does not say so, and who continues from it calls them lost."""
        if last < self._given_up.get(stream, 0) or (reader, stream) in self._by_the_replaced:
            return False
        gaps = reader in self.spec and self.spec[reader].promise == "gap"
        return quality[stream] != "gap" and reader not in self.exceeded and not gaps

    def _judge(self, spec: SubjobSpec, quality: dict[str, str], rows: dict[str, Any], finished: bool) -> None:
        out = spec.stream
        worst = [quality[s] for s in spec.inputs]
        if spec.name in self.exceeded or spec.promise == "gap" or "gap" in worst:
            quality[out] = "gap"
        elif spec.promise == "rollback" or spec.name in self.divergent or "covered" in worst:
            quality[out] = "covered"
        else:
            quality[out] = "exact"
        if quality[out] == "exact" and out in self._conflicts:
            self.problem(self._conflicts[out])
        if quality[out] == "exact":
            rows[out] = self._exact(spec, rows, finished)
        elif quality[out] == "covered" and out in self._begins and _diverges(spec):
            rows[out] = None
            windows = isinstance(spec.elements[-1][1], Aggregate)
            known = windows and all(isinstance(rows[s], list) for s in spec.inputs) and not spec.arbitrary
            if known and finished and self._read_to_the_end(out):
                self._found(in_no_window(spec, rows, self.tuples[out].values()))
        else:
            rows[out] = None if spec.name in self.replaced else rows_of(spec, rows)

    def _exact(self, spec: SubjobSpec, rows: dict[str, Any], finished: bool) -> list[Row]:
        got = self.tuples[spec.stream]
        if spec.arbitrary:
            made = [got[i] for i in sorted(got)]
            if len(made) == len(got) == max(got, default=-1) + 1:
                whole = finished and self._read_to_the_end(spec.stream)
                self._found(wrong_choice(spec, [rows[s] for s in spec.inputs], made, whole))
            return made  # type: ignore[return-value]
        known = dict(rows)
        for name, op, ins in spec.elements:
            known[name] = reference(op, [known[s] for s in ins])
        expected: list[Row] = known[spec.stream]
        for seq, row in sorted(got.items()):
            if seq >= len(expected) or row != expected[seq]:
                self.problem(f"{spec.name}[{seq}] is not what it would be without failures")
                break
        return expected

    def _read_to_the_end(self, stream: str) -> bool:
        """Whether somebody who skips nothing reads the stream: only then all of it has been seen."""
        readers = (s for s in self.job.subjobs if stream in s.inputs and s.name not in self.exceeded)
        return stream in self.job.sinks.values() or any(s.promise != "gap" for s in readers)

    def _judge_sink(self, sink: str, stream: str, quality: str, expected: Any, finished: bool) -> None:
        got = self.arrived[sink]
        if quality == "exact":
            if finished and list(got) != list(expected):
                self.problem(f"sink {sink}: {len(got)} tuples of {stream}, {len(expected)} were expected, or others")
            return
        if expected is None or not finished:
            return
        missing = set(expected) - {r for r in got if r is not None}
        if quality == "covered" and missing:
            self.problem(f"sink {sink}: {len(missing)} tuples of {stream} never came, and no loss is allowed")

    def _judge_gap(self, spec: SubjobSpec, stream: str, made: int) -> None:
        """Every input tuple was taken by some life, or its loss was reported. What a life had taken but not passed on
        when it died nobody can count (Hwang §4): the take-over itself tells of that."""
        skipped = set(range(made)) - self._accounted[spec.name, stream]
        if skipped:
            self.problem(f"{spec.name} skipped {stream}[{min(skipped)}] and {len(skipped) - 1} more without a report")


def _replaced(process: Process) -> bool:
    """Whether another leads in its place, and it does not know yet: what it takes, or says, may count for nothing."""
    if process.core.role is not Role.PRIMARY or process.spec.family not in ("lease", "replica"):
        return False
    others = process.cluster.running[process.spec.name]
    newer = any(p.alive and p.core.role is Role.PRIMARY and p.core.epoch > process.core.epoch for p in others)
    return newer if process.spec.family == "replica" else not process.leads


def _goes_on_from(process: Process, stream: Stream) -> int:
    """How much of an input it has, or has in its checkpoint."""
    if process.leads or getattr(process.core, "running", False):
        return process.core.ledger.received(stream)
    stored = process.core.stored()
    return int(stored.covers(stream) or 0) if stored is not None else 0


def _diverges(spec: SubjobSpec) -> bool:
    """Whether a restart from nothing makes other windows or pairs: the stream between the elements is numbered anew."""
    last = spec.elements[-1][1]
    return spec.mode == "upstreamBackup" and isinstance(last, Aggregate | Join) and len(spec.elements) > 1
