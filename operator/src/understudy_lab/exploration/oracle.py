"""Judges the output of a run against an execution without failures.

The oracle knows the history of the run and the injected faults, nothing else. It does not look into a mode
and does not ask an instance what it believes. What a mode promises and survives, it derives as the papers do:
from which instances were alive, what each had stored or confirmed, and which messages had reached it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from understudy_lab.exploration import history as seen
from understudy_lab.exploration.causes import Causes
from understudy_lab.exploration.history import Observation, Timed
from understudy_lab.exploration.lives import Life, Lives
from understudy_lab.exploration.reported_losses import Losses
from understudy_lab.exploration.stillness import Stillness
from understudy_lab.exploration.survival import Survival
from understudy_lab.exploration.validity import in_no_window, rows_of, wrong_choice
from understudy_lab.simulation.made_up_operators import Aggregate, Join, Row, reference
from understudy_lab.simulation.specs import Job, SubjobSpec


class Oracle:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.lives = Lives(job)
        self.survival = Survival(job, self.lives)
        self.causes = Causes(job, self.lives)
        self.problems: list[str] = []
        self.tuples: dict[str, dict[int, Row | None]] = defaultdict(dict)
        self.arrived: dict[str, list[Row | None]] = defaultdict(list)
        self.losses = Losses(job)
        self.reports = (0, 0)  # inputs with a reported loss; those of them that lack nothing
        self.spec = self.lives.spec
        self.replaced: set[str] = set()  # subjobs whose alternative branch runs
        self.dead: set[str] = set()  # subjobs that no instance will run again
        self._looked = 0
        self._writers: dict[tuple[str, int], str] = {}
        self._stored: dict[tuple[str, str], int] = defaultdict(int)
        self._next: dict[str, int] = defaultdict(int)
        self._conflicts: dict[str, str] = {}
        # subjob, input: seqs that were taken or reported as lost
        self._accounted: dict[tuple[str, str], set[int]] = defaultdict(set)
        # stream: lower seqs were given up by a renumbering, and their tuples are sent again under later ones
        self._given_up: dict[str, int] = {}
        # subjob, input: a loss was reported by a life that had already been replaced
        self._by_the_replaced: set[tuple[str, str]] = set()
        self._see: dict[type, Callable[[Any], None]] = {
            seen.Delivered: self._delivered,
            seen.LossReported: self._lost,
            seen.Led: self._led,
            seen.Moved: self._moved,
            seen.Renumbered: self._renumbered,
            seen.Stored: self._state_stored,
            seen.Trimmed: self._trimmed,
            seen.Handled: self._handled,
        }

    @property
    def exceeded(self) -> dict[str, str]:
        """Subjobs of which more failed than their mode survives, and why."""
        return self.survival.exceeded

    def problem(self, text: str) -> None:
        if len(self.problems) < 20:
            self.problems.append(text)

    def _found(self, wrong: str | None) -> None:
        if wrong is not None:
            self.problem(wrong)

    # --- what was seen

    def look(self, history: list[Timed]) -> None:
        """Read what the history has gained since the last look. Each event is judged by what came before
        it."""
        for now, event in history[self._looked :]:
            for wrong in self.causes.look(now, event):
                self.problem(wrong)
            see = self._see.get(type(event))
            if see is not None:
                see(event)
            self._found(self.survival.look(event))
            self.lives.look(event)
        self._looked = len(history)

    def _life(self, event: Any) -> Life:
        return self.lives.of[event.life]

    def _delivered(self, event: seen.Delivered) -> None:
        life, stream, start, rows = self._life(event), event.stream, event.start, event.rows
        if life.handed_on.get(stream, 0) > start:
            self.problem(f"{life.name} gave {stream}[{start}] to its elements twice")
        spec = self.spec.get(life.subjob)
        if spec is not None and spec.promise == "gap":
            self._accounted[life.subjob, stream].update(range(start, start + len(rows)))
        self.losses.took(life.subjob, stream, start, rows, event.epoch, replaced=self.lives.replaced(life))
        known = self.tuples[stream]
        for seq, row in enumerate(rows, start):
            if seq in known and known[seq] != row and stream not in self._conflicts:
                self._conflicts[stream] = (
                    f"two different tuples had the seq {stream}[{seq}]; {life.name} received the second"
                )
            known.setdefault(seq, row)
        if spec is None:
            self._written(life, stream, start, rows)

    def _written(self, life: Life, stream: str, start: int, rows: Iterable[Row | None]) -> None:
        """A sink has written these rows. Each tuple must be written once, whichever life writes it."""
        if start < self._next[life.subjob]:
            self.problem(f"sink {life.name} wrote {stream}[{start}] again")
        before = len(self.arrived[life.subjob])
        self.arrived[life.subjob] += rows
        self._next[life.subjob] = start + len(self.arrived[life.subjob]) - before

    def _lost(self, event: seen.LossReported) -> None:
        life = self._life(event)
        if self.lives.replaced(life):
            self._by_the_replaced.add((life.subjob, event.stream))
        self.losses.reported(life.subjob, event.stream, event.start, event.stop)
        self._accounted[life.subjob, event.stream].update(range(event.start, event.stop))

    def _moved(self, event: seen.Moved) -> None:
        if event.given_up:
            self.problem(f"{event.life} took over by a move that was given up")

    def _led(self, event: seen.Led) -> None:
        life = self._life(event)
        spec = self.spec[life.subjob]
        self._goes_back(spec.stream, event.state)
        if spec.family != "lease" or spec.side_by_side:
            return
        if spec.promise == "gap" and event.state is None:
            self.losses.started_empty(spec.stream, event.epoch)
        other = self._writers.setdefault((spec.name, event.epoch), life.name)
        if other != life.name:
            self.problem(f"{spec.name}: {other} and {life.name} both lead in epoch {event.epoch}")

    def _goes_back(self, stream: str, state: seen.State | None) -> None:
        """A life that continues from a state older than the renumbering uses the old seqs again."""
        if state is None or state.held[stream][0] < self._given_up.get(stream, 0):
            self._given_up.pop(stream, None)

    def _renumbered(self, event: seen.Renumbered) -> None:
        self._given_up[event.stream] = event.first

    def _state_stored(self, event: seen.Stored) -> None:
        spec = self.spec[self._life(event).subjob]
        for stream, at in event.state.covers.items():
            self._stored[spec.name, stream] = max(self._stored[spec.name, stream], at)
        self._joins_up(spec, event.state)

    def _joins_up(self, spec: SubjobSpec, state: seen.State) -> None:
        """If a backup's output queue starts after the input that a consumer's backup covers, both failing
        together leaves a gap (Brettlecker, Figure 5c). A renumbered queue still starts with the same
        tuple."""
        if spec.promise != "precise" or spec.name in self.exceeded or not spec.passive:
            return
        stream = spec.stream
        start = state.held[stream][0]
        for other in self.job.subjobs:
            if other.passive and stream in other.inputs and other.name not in self.exceeded:
                covered = self._stored[other.name, stream]
                if max(covered, self._given_up.get(stream, 0)) < start:
                    self.problem(
                        f"a backup of {spec.name} holds {stream} from {start} on, but the backup of "
                        f"{other.name} covers it only up to {covered}"
                    )

    def _trimmed(self, event: seen.Trimmed) -> None:
        """A queue may drop only what no consumer needs to recover: in passive standby, what is stored; in
        active standby and replica backup, what both instances have processed."""
        producer = self.job.maker.get(event.stream)
        if producer is not None and self.survival.renumbers(producer):
            return  # seqs may be given up
        for spec in self.job.subjobs:
            replicated = spec.mode == "activeStandby" or (
                spec.side_by_side and spec.name not in self.exceeded
            )
            if replicated and event.stream in spec.inputs:
                self._both_have(spec, event)
            if spec.passive and event.stream in spec.inputs and spec.name not in self.exceeded:
                limit = max(self._stored[spec.name, event.stream], self.survival.begins.get(event.stream, 0))
                if event.upto > limit:
                    self.problem(
                        f"{event.stream} was trimmed up to {event.upto}; {spec.name} has stored only up to "
                        f"{limit}"
                    )

    def _both_have(self, spec: SubjobSpec, event: seen.Trimmed) -> None:
        for life in self.lives.instances(spec.name):
            at = life.position(event.stream)
            beside = spec.side_by_side and life.leads and self.lives.holds_the_lease(life)
            if (beside or life.runs) and at < event.upto:
                self.problem(
                    f"{event.stream} was trimmed up to {event.upto}; {life.name} has only processed {at}"
                )

    def _handled(self, event: seen.Handled) -> None:
        if not event.runs:
            self.dead.add(event.subjob)
        if not event.loses:
            return
        self.losses.announced(event.subjob)
        if event.replaced:
            self.replaced.add(event.subjob)

    # --- the verdict

    def stillness(self, measured: list[Observation]) -> Stillness:
        """`measured`: the queues at this moment, and which lives have read all of their input."""
        lengths = [m for m in measured if isinstance(m, seen.QueueMeasured)]
        ends = [m for m in measured if isinstance(m, seen.ReadToTheEnd)]
        sent = [m for m in measured if isinstance(m, seen.Sent)]
        return Stillness(self.job, self.lives, lengths, ends, sent, self.survival, self.replaced, self.dead)

    def judge(self, finished: bool, measured: list[Observation]) -> list[str]:
        """`finished`: the run ended because all sinks had read their stream to the end."""
        at_the_end = {
            self.lives.of[m.life].subjob for m in measured if isinstance(m, seen.ReadToTheEnd) and m.all
        }
        behind = {*self.exceeded, *self.stillness(measured).waits_in_vain()}
        waiting = [
            s
            for s, stream in self.job.sinks.items()
            if s not in at_the_end and not self.job.behind(stream, behind)
        ]
        if not finished and waiting:
            self.problem(f"no progress: sinks {', '.join(waiting)} have not read their stream to the end")
        quality: dict[str, str] = {s.name: "exact" for s in self.job.sources}
        rows: dict[str, Any] = {s.name: list(s.rows) for s in self.job.sources}
        for spec in self.job.subjobs:
            self._judge(spec, quality, rows, finished)
            for stream in (
                spec.inputs if finished and spec.promise == "gap" and spec.name not in self.exceeded else ()
            ):
                if quality[stream] == "exact" and spec.family == "lease":
                    self._judge_gap(spec, stream, len(rows[stream]))
        for sink, stream in self.job.sinks.items():
            self._judge_sink(sink, stream, quality[stream], rows.get(stream), finished)
        for text in (
            *self.losses.silent(rows, at_the_end),
            *self.losses.unfounded(partial(self._sound, quality)),
        ):
            self.problem(text)
        self.reports = self.losses.reports(rows)
        return self.problems

    def _sound(self, quality: dict[str, str], reader: str, stream: str, last: int) -> bool:
        """Whether no tuple that the reader needs can have been lost. The tuples of seqs that a renumbering
        gave up are sent again under other seqs. A backup does not record that, so a life that continues from
        it reports them as lost."""
        if last < self._given_up.get(stream, 0) or (reader, stream) in self._by_the_replaced:
            return False
        gaps = reader in self.spec and self.spec[reader].promise == "gap"
        return quality[stream] != "gap" and reader not in self.exceeded and not gaps

    def _judge(self, spec: SubjobSpec, quality: dict[str, str], rows: dict[str, Any], finished: bool) -> None:
        out = spec.stream
        worst = [quality[s] for s in spec.inputs]
        if spec.name in self.exceeded or spec.promise == "gap" or "gap" in worst:
            quality[out] = "gap"
        elif spec.promise == "rollback" or spec.name in self.survival.divergent or "covered" in worst:
            quality[out] = "covered"
        else:
            quality[out] = "exact"
        if quality[out] == "exact" and out in self._conflicts:
            self.problem(self._conflicts[out])
        if quality[out] == "exact":
            rows[out] = self._exact(spec, rows, finished)
        elif quality[out] == "covered" and out in self.survival.begins and _diverges(spec):
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
        """Whether a reader that skips nothing reads the stream: only then has the oracle seen all of it."""
        readers = (s for s in self.job.subjobs if stream in s.inputs and s.name not in self.exceeded)
        return stream in self.job.sinks.values() or any(s.promise != "gap" for s in readers)

    def _judge_sink(self, sink: str, stream: str, quality: str, expected: Any, finished: bool) -> None:
        got = self.arrived[sink]
        if quality == "exact":
            if finished and list(got) != list(expected):
                self.problem(
                    f"sink {sink} wrote {len(got)} tuples of {stream}, not the {len(expected)} of an "
                    "execution without failures"
                )
            return
        if expected is None or not finished:
            return
        missing = set(expected) - {r for r in got if r is not None}
        if quality == "covered" and missing:
            self.problem(f"sink {sink} lacks {len(missing)} tuples of {stream}, and no loss is allowed")

    def _judge_gap(self, spec: SubjobSpec, stream: str, made: int) -> None:
        """Every input tuple was taken by some life, or its loss was reported. Tuples that a life had taken
        but not passed on when it died cannot be counted (Hwang §4); the take-over itself reveals them."""
        skipped = set(range(made)) - self._accounted[spec.name, stream]
        if skipped:
            self.problem(
                f"{spec.name} skipped {stream}[{min(skipped)}] and {len(skipped) - 1} more without a report"
            )


def _diverges(spec: SubjobSpec) -> bool:
    """Whether a restart from nothing makes other windows or pairs, because it gives the tuples between the
    elements other seqs."""
    last = spec.elements[-1][1]
    return spec.mode == "upstreamBackup" and isinstance(last, Aggregate | Join) and len(spec.elements) > 1
