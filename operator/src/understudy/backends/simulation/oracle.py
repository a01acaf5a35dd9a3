"""What came out, against what had to. Knows nothing of the protocols: it sees deliveries, Leases, trims and crashes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from functools import partial
from itertools import zip_longest
from typing import Any

from understudy.backends.simulation.cluster import Cluster, Monitor, SubjobSpec
from understudy.backends.simulation.endpoint import HELD
from understudy.backends.simulation.losses import Losses
from understudy.backends.simulation.networks import Job
from understudy.backends.simulation.operators import Aggregate, Operator, Row, reference
from understudy.backends.simulation.process import Process
from understudy.modes.instance import Role
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.failures import AlternativeBranch, FailureProcess, Handling, Report
from understudy.protocol.ids import Epoch, Range, Stream
from understudy.protocol.watermarks import newest

QUEUE_LIMIT = 40  # tuples in a queue when all is quiet


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
        self.stream_of = {spec.elements[-1][0]: spec for spec in job.subjobs}
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
        self._from_zero: set[str] = set()  # subjobs that lost their state, and can begin anew
        self._said: dict[tuple[str, str, str], on.Subscribed] = {}  # what consumers told a producer that they have
        self.ended: set[str] = set()  # sinks that came to the end
        self.at_the_end: set[str] = set()  # the same, and subjobs that have read all of their inputs
        self.replaced: set[str] = set()  # subjobs whose alternative branch runs
        self.stranded: set[str] = set()  # subjobs that can't begin anew without one that nobody runs any more

    def problem(self, text: str) -> None:
        if len(self.problems) < 20:
            self.problems.append(text)

    # --- what is seen

    def delivered(self, process: Process, stream: str, start: int, rows: list[Row | None]) -> None:
        life = (process.name, process.generation, stream)
        if start < self._taken[life]:
            self.problem(f"{process.name} handed {stream}[{start}] to its elements twice")
        self._taken[life] = start + len(rows)
        if process.spec.promise == "gap":
            self._accounted[process.spec.name, stream].update(range(start, start + len(rows)))
        self.losses.took(process.spec.name, stream, start, rows)
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
        self.losses.reported(process.spec.name, stream, missing)
        self._accounted[process.spec.name, stream].update(range(missing.start, missing.stop))

    def elected(self, process: Process, lease: LeaseRecord) -> None:
        core = process.core
        if isinstance(core, LoggedBackup) and core.role is Role.STANDBY and core.logged_in != lease.epoch - 1:
            self._without_log.add((process.name, lease.epoch))

    def leads(self, process: Process, command: do.Lead) -> None:
        self._goes_back(process.spec.elements[-1][0], command.checkpoint)
        if process.spec.family != "lease" or process.spec.side_by_side:
            return
        if process.spec.promise == "gap" and command.checkpoint is None:
            self.losses.begun_anew(process.spec.elements[-1][0])
        if process.spec.mode in ("upstreamBackup", "amnesia") and command.epoch > 1 and command.checkpoint is None:
            self._failed_together(process)  # one that was suspected wrongly is replaced as if it had died
            if (process.name, command.epoch) in self._without_log:
                self.divergent.add(process.spec.name)
        if process.spec.mode != "savepoint" and command.epoch > 1 and not command.live and not self._moved(process):
            self._served_by_a_new_life(process.spec)
        other = self._writers.setdefault((process.spec.name, command.epoch), process.name)
        if other != process.name:
            self.problem(f"{process.spec.name}: {other} and {process.name} both lead in epoch {command.epoch}")

    def _goes_back(self, stream: str, checkpoint: Checkpoint | None) -> None:
        """Who continues from before a renumbering has the seqs of that time again."""
        if checkpoint is None or checkpoint.elements[stream].held.start < self._given_up.get(stream, 0):
            self._given_up.pop(stream, None)

    def subscribed(self, process: Process, event: on.Subscribed) -> None:
        self._said[process.name, event.stream, event.consumer] = event

    def numbered(self, process: Process, stream: str, first: int) -> None:
        self._begins[stream] = first
        self._answered_by_another_life(process, stream)

    def renumbered(self, process: Process, stream: str, first: int) -> None:
        self._given_up[stream] = first

    def acked(self, process: Process, command: do.SendAck) -> None:
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
        if spec.promise != "precise" or spec.name in self.exceeded or not _passive(spec):
            return
        stream = spec.elements[-1][0]
        start = int(checkpoint.elements[stream].held.start)
        for other in self.job.subjobs:
            if _passive(other) and stream in other.inputs and other.name not in self.exceeded:
                covered = self._stored[other.name, stream]
                if max(covered, self._given_up.get(stream, 0)) < start:
                    self.problem(
                        f"a backup of {spec.name} holds {stream} from {start} on; {other.name}'s covers {covered}"
                    )

    def trimmed(self, process: Any, command: do.Trim) -> None:
        """A queue may drop what each consumer's recovery no longer needs: for passive standby, what was stored; for
        active standby and replica backup, what both replicas have processed."""
        producer = self.stream_of.get(command.stream)
        if producer is not None and self._renumbers(producer):
            return  # seqs may be given up
        for spec in self.job.subjobs:
            replicated = spec.mode == "activeStandby" or (spec.side_by_side and spec.name not in self.exceeded)
            if replicated and command.stream in spec.inputs:
                self._both_have(process.cluster.running[spec.name], command)
            if _passive(spec) and command.stream in spec.inputs and spec.name not in self.exceeded:
                limit = max(self._stored[spec.name, command.stream], self._begins.get(command.stream, 0))
                if command.upto > limit:
                    self.problem(
                        f"{command.stream} was trimmed up to {command.upto}; {spec.name} has stored only up to {limit}"
                    )

    def _both_have(self, replicas: list[Process], command: do.Trim) -> None:
        for replica in replicas:
            at = replica.core.ledger.position(command.stream)
            beside = replica.spec.side_by_side and replica.serving and self._leads(replica)
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
            self._served_by_a_new_life(spec)
        if spec.mode in ("upstreamBackup", "amnesia"):
            if process.serving and process.core.role is Role.PRIMARY:
                self._failed_together(process)
            return
        others = [p for p in process.cluster.running[spec.name] if p is not process and p.alive]
        if any(self._could_go_on(p) for p in others):
            return
        self._forgot(process)
        if self._untouched(process):
            self._from_zero.add(spec.name)
        else:
            self.exceeded[spec.name] = f"{process.name} was the last with the state of {spec.name}"

    def _forgot(self, process: Process) -> None:
        """A producer in upstream backup that is recovering now can't hear from this consumer what it had."""
        had = self._had(process.cluster, process.spec)
        for producer in (self.stream_of[s] for s in process.spec.inputs if s in self.stream_of and had[s]):
            lead = [p for p in process.cluster.running[producer.name] if p.alive and p.serving]
            if producer.mode == "upstreamBackup" and (not lead or any(p.core.roll_open for p in lead)):
                self.exceeded.setdefault(producer.name, f"its consumer {process.spec.name} has forgotten what it had")

    def _served_by_a_new_life(self, spec: SubjobSpec) -> None:
        """Upstream backup makes again what consumers had not *received* (Hwang §5.2.1: level-1 acks follow level-0
        acks). One that fails before it has released what it received from the earlier life asks for what is gone."""
        for stream in spec.inputs:
            producer = self.stream_of.get(stream)
            gone = producer is not None and producer.mode == "upstreamBackup"
            if gone and self._released1[spec.name, stream] < self._begins.get(stream, 0):
                self.exceeded.setdefault(spec.name, f"it failed too soon after its producer of {stream}")

    def _answered_by_another_life(self, process: Process, stream: str) -> None:
        """As above, where the producer still asked: the life that was replaced has answered for one that has less."""
        asked = process.cluster.consumers(stream) if process.spec.mode == "upstreamBackup" else ()
        for consumer in (c for c in asked if c.alive and c.core.role is Role.PRIMARY and self._leads(c)):
            said = self._said[process.name, stream, consumer.spec.name]
            if said.epoch < consumer.core.epoch and consumer.core.ledger.received(Stream(stream)) < said.start:
                self.exceeded.setdefault(consumer.spec.name, f"it failed while its producer of {stream} recovered")

    def _needed_again(self, process: Process) -> None:
        """A consumer that lost its state and begins from zero needs what its earlier life had received. That is in the
        queue of its producer in upstream backup; another life of the producer does not make it again."""
        stream = process.spec.elements[-1][0]
        for spec in (self.spec[name] for name in self._from_zero if stream in self.spec[name].inputs):
            lead = [p for p in process.cluster.running[spec.name] if p.alive and self._leads(p)]
            got = max((p.core.ledger.received(Stream(stream)) for p in lead), default=0)
            if got < self._had(process.cluster, spec)[stream]:
                self.exceeded.setdefault(spec.name, f"its producer of {stream} failed while it began anew")

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
            return process.spec.family != "lease" or self._leads(process) or moved
        stored = process.core.stored()
        if _passive(process.spec):
            return stored is not None and not self._fenced(process, stored.epoch)
        return bool(getattr(process.core, "running", False)) and not self._fenced(process, process.core.epoch)

    def _fenced(self, process: Process, epoch: Epoch) -> bool:
        """Whether the primary took the Lease anew since, to go on alone: it has sent what was chosen after that."""
        record = process.world.lease(process.spec.name)
        return process.core.hold_back and record is not None and epoch < record.epoch

    def _renumbers(self, spec: SubjobSpec) -> bool:
        """Whether seqs of its stream may be given up."""
        return spec.promise != "precise" or spec.name in self.exceeded or spec.name in self.divergent

    def _leads(self, process: Process) -> bool:
        """Whether the Lease is its own: a primary that was replaced forgets its state as soon as it learns of it."""
        record = process.world.lease(process.spec.name)
        if process.spec.side_by_side:
            return record is not None and record.epoch == process.core.epoch
        return record is not None and record.address == process.name

    def _untouched(self, process: Process) -> bool:
        """Nothing was released and nothing non-deterministic was sent: a start from zero does the same again."""
        spec = process.spec
        if _arbitrary(spec):
            return False
        return all(self._released1[spec.name, s] == 0 for s in spec.inputs)

    def _failed_together(self, process: Process) -> None:
        """Single failures: no neighbour in the same mode, or without memory, may be recovering at the same time."""
        cluster, spec = process.cluster, process.spec
        if spec.mode == "upstreamBackup":
            self._needed_again(process)
        for other in self.job.subjobs:
            near = spec.elements[-1][0] in other.inputs or other.elements[-1][0] in spec.inputs
            if spec.elements[-1][0] in other.inputs and other.name in self.exceeded:
                self.exceeded.setdefault(spec.name, f"its consumer {other.name} has forgotten what it had")
            both = {spec.mode, other.mode}
            if not near or both == {"amnesia"} or not both <= {"amnesia", "upstreamBackup"}:
                continue
            lead = [p for p in cluster.running[other.name] if p.alive and p.serving and p.core.role is Role.PRIMARY]
            if not lead or any(p.core.roll_open or self._unserved(p, spec.elements[-1][0]) for p in lead):
                for name in (spec.name, other.name):
                    self.exceeded.setdefault(name, f"{spec.name} and {other.name} failed together")

    def _unserved(self, process: Process, stream: str) -> bool:
        """Whether it is a new life that does not know where it is on this stream, and has not been told yet."""
        connection = process.inputs.connections.get(stream)
        return connection is not None and connection.start in (HELD, None) and not connection.answered

    # --- the verdict

    def judge(self, finished: bool) -> list[str]:
        behind = {*self.exceeded, *self.stranded}
        waiting = [
            s for s, stream in self.job.sinks.items() if s not in self.ended and not self._behind(stream, behind)
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
        if last < self._given_up.get(stream, 0):
            return False
        gaps = reader in self.spec and self.spec[reader].promise == "gap"
        return quality[stream] != "gap" and reader not in self.exceeded and not gaps

    def _behind(self, stream: str, subjobs: Collection[str]) -> bool:
        """Whether one of these subjobs is before this stream. Of one that lost more than its mode survives, the stream
        may end before it began; one that is stranded may not have begun."""
        spec = self.stream_of.get(stream)
        return spec is not None and (spec.name in subjobs or any(self._behind(s, subjobs) for s in spec.inputs))

    def _judge(self, spec: SubjobSpec, quality: dict[str, str], rows: dict[str, Any], finished: bool) -> None:
        out = spec.elements[-1][0]
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
            known = all(isinstance(rows[s], list) for s in spec.inputs) and not _arbitrary(spec)
            if known and finished and self._read_to_the_end(out):
                self._in_some_window(spec, rows)
        else:
            rows[out] = None if spec.name in self.replaced else self._expected_rows(spec, rows)

    def _exact(self, spec: SubjobSpec, rows: dict[str, Any], finished: bool) -> list[Row]:
        got = self.tuples[spec.elements[-1][0]]
        if _arbitrary(spec):
            made = [got[i] for i in sorted(got)]
            if len(made) == len(got) == max(got, default=-1) + 1:
                whole = finished and self._read_to_the_end(spec.elements[-1][0])
                judge = self._valid_choice if len(spec.elements) == 1 else self._valid_chain
                judge(spec, [rows[s] for s in spec.inputs], made, whole)
            return made  # type: ignore[return-value]
        known = dict(rows)
        for name, op, ins in spec.elements:
            known[name] = reference(op, [known[s] for s in ins])
        expected: list[Row] = known[spec.elements[-1][0]]
        for seq, row in sorted(got.items()):
            if seq >= len(expected) or row != expected[seq]:
                self.problem(f"{spec.name}[{seq}] is not what it would be without failures")
                break
        return expected

    def _read_to_the_end(self, stream: str) -> bool:
        """Whether somebody who skips nothing reads the stream: only then all of it has been seen."""
        readers = (s for s in self.job.subjobs if stream in s.inputs and s.name not in self.exceeded)
        return stream in self.job.sinks.values() or any(s.promise != "gap" for s in readers)

    def _valid_choice(self, spec: SubjobSpec, inputs: list[list[Row]], made: list[Any], finished: bool) -> None:
        """A union interleaves its inputs; a random filter leaves some out. Each row once, in order."""
        (_, op, _) = spec.elements[0]
        places: dict[Row, tuple[int, int]] = {}
        for i, rows in enumerate(inputs):
            for seq, row in enumerate(rows):
                image = op.take(0, [0], lambda _i, _s, r=row: r, 1)[0]  # type: ignore[misc]
                if image in places:
                    return self._each_once(spec, inputs, made, finished)
                places[image] = (i, seq)
        at = [-1] * len(inputs)
        for seq, row in enumerate(made):
            if row not in places:
                self.problem(f"{spec.name}[{seq}] comes from nowhere")
                return
            i, place = places[row]
            if place <= at[i] or (op.arity == 2 and place != at[i] + 1):
                self.problem(f"{spec.name}[{seq}] is out of order, repeated, or follows a loss")
                return
            at[i] = place
        if finished and op.arity == 2 and any(at[i] != len(rows) - 1 for i, rows in enumerate(inputs)):
            self.problem(f"{spec.name} did not pass on all of its input")

    def _each_once(self, spec: SubjobSpec, inputs: list[list[Row]], made: list[Any], finished: bool) -> None:
        """As above, where the inputs share rows and places can't be told apart."""
        op = spec.elements[0][1]
        wanted = Counter(op.take(0, [0], lambda _i, _s, r=row: r, 1)[0] for rows in inputs for row in rows)  # type: ignore[misc]
        got = Counter(made)
        if got - wanted or (finished and op.arity == 2 and wanted - got):
            self.problem(f"{spec.name} did not pass on each row of its input once")

    def _valid_chain(self, spec: SubjobSpec, inputs: list[list[Row]], made: list[Any], finished: bool) -> None:
        """As above, where another element follows: rows that look at one row each come once; windows are as many as the
        rows make. That a seq names one tuple is asked elsewhere."""
        (_, first, _), (_, last, _) = spec.elements
        images = [first.take(0, [0], lambda _i, _s, r=row: r, 1)[0] for rows in inputs for row in rows]  # type: ignore[misc]
        if isinstance(last, Aggregate):
            most = max(0, (len(images) - last.window) // last.advance + 1)
            if len({r[1] for r in images if r[1].bit_count() == 1}) == len(images):  # rows can be told apart
                self._overlapping(spec, last, made)
        else:
            wanted = Counter(r for row in images for r in last.take(0, [0], lambda _i, _s, r=row: r, 1))  # type: ignore[misc]
            most = wanted.total()
            if Counter(made) - wanted:
                self.problem(f"{spec.name} made rows that come of no row of its input, or more than once")
        if len(made) > most or (finished and first.arity == 2 and len(made) < most):
            self.problem(f"{spec.name} made {len(made)} rows; its input makes {most}")

    def _overlapping(self, spec: SubjobSpec, windows: Aggregate, made: list[Any]) -> None:
        """Windows over one stream: each has as many rows as it should, and shares as many with the next."""
        shared = max(0, windows.window - windows.advance)
        for seq, (row, following) in enumerate(zip_longest(made, made[1:])):
            met = (row[1] & following[1]).bit_count() if following is not None else shared
            if row[1].bit_count() != windows.window or met != shared:
                return self.problem(f"{spec.name}[{seq}] is no window over the same stream as the next")

    def _expected_rows(self, spec: SubjobSpec, rows: dict[str, Any]) -> set[Row] | None:
        """What must be among the output, if that can be told."""
        if any(rows[s] is None for s in spec.inputs):
            return None
        inner = dict(rows)
        for name, op, ins in spec.elements:
            if _rowwise(op):
                image: set[Row] = set()
                for i, s in enumerate(ins):
                    for row in inner[s]:
                        image.update(op.take(i, [0] * op.arity, lambda _i, _s, r=row: r, 1))  # type: ignore[misc]
                inner[name] = image
            elif all(isinstance(inner[s], list) for s in ins) and not op.arbitrary:
                inner[name] = reference(op, [inner[s] for s in ins])
            else:
                return None
        return set(inner[spec.elements[-1][0]])

    def _in_some_window(self, spec: SubjobSpec, rows: dict[str, Any]) -> None:
        """Which windows there are can't be told; but each row lies in one, except the last ones that fill none."""
        known = dict(rows)
        for name, op, ins in spec.elements[:-1]:
            known[name] = reference(op, [known[s] for s in ins])
        out, windows, (inner,) = spec.elements[-1]
        assert isinstance(windows, Aggregate)
        seen = 0
        for row in self.tuples[out].values():
            seen |= row[1] if row is not None else 0
        whole = known[inner][: max(0, len(known[inner]) - windows.window + 1)]
        missing = [seq for seq, row in enumerate(whole) if row[1] & ~seen]
        if missing:
            self.problem(f"{spec.name}: {inner}[{missing[0]}] and {len(missing) - 1} more are in no window")

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

    def quiet(self, cluster: Any) -> list[str]:
        """All has been delivered and acked: queues are short again. Says which are not."""
        self._long: list[str] = []
        late = self._late(cluster)
        for source in (s for s in cluster.sources.values() if s.queue.acks and s.name not in late):
            self._short(source.name, len(source.queue.held))
        for spec in self.job.subjobs:
            for process in cluster.running[spec.name] if spec.elements[-1][0] not in late else ():
                if process.alive and process.serving:
                    self._short(
                        spec.elements[-1][0], len(process.core.ledger.queues[Stream(spec.elements[-1][0])].held)
                    )
                elif process.alive and getattr(process.core, "running", False):
                    self._short(f"{process.name}'s log", self._not_newest(process.core, Stream(spec.elements[-1][0])))
        return self._long

    def _not_newest(self, secondary: Any, stream: Stream) -> int:
        """How much of an active secondary's log has lower watermarks than its end: the rest is never certain to be
        duplicate (Hwang §5.3), as several tuples may come of the same input."""
        queue, logs = secondary.ledger.queues[stream], secondary.logs
        step, upto = logs[stream].before(queue.next), queue.next
        end = newest(logs, step.high) if step else {}
        while step is not None and newest(logs, step.high) == end:
            upto, step = step.first, logs[stream].before(step.first)
        return max(0, int(upto - queue.trimmed))

    def _late(self, cluster: Any) -> set[str]:
        """Streams that are released late, or not at all: to upstream backup and savepoint, which release what is behind
        their newest acked output, and so nothing while they make none or it is not acked; to a subjob that has no
        standby, or that can't begin anew; and all around a subjob that lost more than its mode survives."""
        beyond = [spec for spec in self.job.subjobs if self._behind(spec.elements[-1][0], self.exceeded)]
        late = {stream for spec in beyond for stream in (spec.elements[-1][0], *spec.inputs)}
        stranded = self.waits_in_vain(cluster)
        for spec in reversed(self.job.subjobs):
            running = cluster.running[spec.name]
            alone = spec.mode != "savepoint" and sum(p.alive for p in running) < spec.replicas
            renumbers = spec.promise == "rollback" or spec.name in self.exceeded or spec.name in self.divergent
            if renumbers and self._over(cluster, spec.elements[-1][0]):
                late.add(spec.elements[-1][0])  # its end was reached before it was sent again under new seqs
            waits = spec.elements[-1][0] in late and any(self._waits_for_acks(p) for p in running)
            holds = spec.mode in ("upstreamBackup", "savepoint") and _holds(spec)
            if alone or waits or holds or spec.name in stranded:
                late |= set(spec.inputs)
        return late

    def _waits_for_acks(self, process: Process) -> bool:
        """Whether what it releases depends on acks that it does not get: in upstream backup, those of level 0."""
        if isinstance(process.core, UpstreamBackup):
            queues = (process.core.ledger.queues[s] for s in process.core.wiring.leaving)
            return process.serving and any(q.received_by_all < q.next for q in queues)
        return isinstance(process.core, SavepointMode)

    def waits_in_vain(self, cluster: Any) -> set[str]:
        """Subjobs that nobody runs any more, and those that can't begin anew without one of them: a roll call waits for
        every consumer, a replay and a savepoint recovery for every producer."""
        found, others = set(cluster.control.dead), {s.name: s for s in self.job.subjobs}
        while more := {n for n, s in others.items() if n not in found and self._waits_for(cluster, s) & found}:
            found |= more
        return found

    def _waits_for(self, cluster: Any, spec: SubjobSpec) -> set[str]:
        """The neighbours from which a new life has to hear before it begins."""
        cores = [p.core for p in cluster.running[spec.name] if p.alive]
        asked: set[str] = {s for core in cores if isinstance(core, SavepointMode) for s in core.unanswered}
        rolls = [core for core in cores if core.role is Role.PRIMARY and core.roll_open]
        if any(isinstance(core, UpstreamBackup) for core in rolls):
            asked |= set(spec.inputs)
        consumers = {s.name for s in self.job.subjobs if spec.elements[-1][0] in s.inputs} if rolls else set()
        return consumers | {self.stream_of[s].name for s in asked if s in self.stream_of}

    def _over(self, cluster: Any, stream: str) -> bool:
        elements = [e for p in cluster.consumers(stream) for e in p.elements.values() if stream in e.inputs]
        return any(e.finished for e in elements)

    def unprotected(self, cluster: Any) -> list[str]:
        """Nothing is failing any more: where there is a standby, or a replica, it could take over now."""
        excused = self.waits_in_vain(cluster) | self.replaced
        specs = (s for s in self.job.subjobs if s.name not in excused)
        return [f"{s.name}: {why}" for s in specs if (why := self._weakness(cluster, s)) is not None]

    def _weakness(self, cluster: Any, spec: SubjobSpec) -> str | None:
        living = [p for p in cluster.running[spec.name] if p.alive]
        leading = [p for p in living if p.serving and (spec.family != "lease" or self._leads(p))]
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

    def _short(self, name: str, held: int) -> None:
        if held > QUEUE_LIMIT:
            self._long.append(f"the queue of {name} still holds {held} tuples when all is quiet")


def _holds(spec: SubjobSpec) -> bool:
    """Whether it may take in much and make nothing."""
    return len(spec.elements) > 1 or any(not _rowwise(op) for _, op, _ in spec.elements)


def _diverges(spec: SubjobSpec) -> bool:
    """Whether a restart from nothing cuts other windows: the stream between the elements is numbered anew."""
    return spec.mode == "upstreamBackup" and isinstance(spec.elements[-1][1], Aggregate) and len(spec.elements) > 1


def _arbitrary(spec: SubjobSpec) -> bool:
    return any(op.arbitrary for _, op, _ in spec.elements)


def _passive(spec: SubjobSpec) -> bool:
    return spec.mode.startswith("passiveStandby")


def _rowwise(op: Operator) -> bool:
    return type(op).__name__ in ("Operator", "Filter", "Union")
