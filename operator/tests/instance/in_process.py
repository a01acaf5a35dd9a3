"""Instances of a job in one process: real shells, queues, Leases and Flight connections; only Spark is
left out.

chain:  numbers ── first (keeps what is not divisible by three) ── second (sums of six, every three) ── reader
fork:   numbers ─┬ first (the same) ─────────────────┬ second (all of them, by event time) ── reader
                 └ third (keeps what is divisible) ──┘
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.engine.computing import PlanRow, results_of
from understudy.engine.inbox import Inbox
from understudy.engine.lane import WIRE, InputKind, InputSpec
from understudy.instance.context import Context
from understudy.instance.instance_page import status_of
from understudy.instance.serving import InstanceServing
from understudy.instance.shell import Shell
from understudy.local.surroundings import LocalSurroundings
from understudy.model.elements import elements_of
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.modes.build import instance_of, sink_consumer
from understudy.process.clock import now_ms, steady_ms
from understudy.process.credentials import own
from understudy.protocol.peermessage import Age
from understudy.protocol.statuspage import State, to_json
from understudy.protocol.watermarks import Step
from understudy.sources.reading import Sources
from understudy.streams.hearing import Hearing
from understudy.streams.reader import Asking, Handler, Incoming, StreamReader
from understudy.streams.replicas import reading_of
from understudy.streams.server import Server
from understudy.streams.spill import Spill
from understudy.streams.store import Store
from understudy_lab.verify.plain import plain_reference

RATE = 300
SIZE, SLIDE = 6, 3
PAYLOAD = pa.schema([("n", pa.int64())])
CHAIN = f"""
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {{name: running}}
spec:
  sources: [{{name: numbers, generator: {{rate: {RATE}, fields: {{n: "_seq"}}}}}}]
  subjobs:
    - {{name: first, inputs: [numbers], operators: [{{filter: {{where: "n % 3 != 0"}}}}], ha: HA}}
    - name: second
      inputs: [first]
      operators:
        - aggregate: {{window: {{on: _seq, size: {SIZE}, slide: {SLIDE}}}, select: {{n: "sum(n)"}}}}
      ha: HA
  sinks: [{{name: end, input: second, files: {{path: out}}}}]
"""


FORK = f"""
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {{name: running}}
spec:
  sources: [{{name: numbers, generator: {{rate: {RATE}, fields: {{n: "_seq"}}}}}}]
  subjobs:
    - {{name: first, inputs: [numbers], operators: [{{filter: {{where: "n % 3 != 0"}}}}], ha: HA}}
    - {{name: third, inputs: [numbers], operators: [{{filter: {{where: "n % 3 = 0"}}}}], ha: HA}}
    - {{name: second, inputs: [first, third], merge: eventTime, operators: [{{union: {{}}}}], ha: HA}}
  sinks: [{{name: end, input: second, files: {{path: out}}}}]
"""


def patient(ha: str) -> str:
    """Nobody is suspected for being slow, unless a test says when."""
    if "heartbeat" in ha:
        return ha
    return ha.removesuffix("}") + ", heartbeat: {interval: 100ms, misses: 100}}"


def job_of(text: str, ha: str) -> StreamJob:
    job = load(text.replace("HA", patient(ha)))
    assert isinstance(job, StreamJob), job
    return job


def expected(count: int) -> list[int]:
    """The first sums, as plain Python has them."""
    enough = CHAIN.replace(f"rate: {RATE}", f"rate: {RATE}, limit: {5 * count + 30}")
    sums = plain_reference(job_of(enough, "{mode: amnesia}"), "second")
    return [row["n"] for row in sums[:count]]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of an output queue in bytes, and of what an input may have waiting in tuples."""

    memory: int = 1 << 24
    disk: int = 1 << 28
    waiting: int = 500_000


WIDE = Bounds()


class InProcessInstance:
    """One instance."""

    def __init__(
        self, job: StreamJob, name: str, surroundings: LocalSurroundings, folder: Path, bounds: Bounds
    ) -> None:
        self.name, owner = name, name.rpartition("-")[0]
        subjob = job.subjob(owner)
        assert subjob is not None
        source = InputSpec("numbers", InputKind.GENERATOR, PAYLOAD, RATE, (("n", "_seq"),), ordered=True)
        streams = {s.name: InputSpec(s.name, InputKind.STREAM, PAYLOAD, ordered=True) for s in job.subjobs}
        specs = {"numbers": source, **streams}
        (element,) = elements_of(subjob)
        self.inbox = Inbox(element, [specs[i] for i in element.inputs], max_waiting=bounds.waiting)
        schema = pa.schema([*WIRE, *PAYLOAD])
        store = Store(schema, folder / name, bounds.memory, bounds.disk)
        serving = InstanceServing()
        self.server = Server("127.0.0.1", 0, serving, own())
        address = f"127.0.0.1:{self.server.port}"
        core = instance_of(job, subjob, name)
        spill = Spill(folder / name, bounds.memory)
        self.context = Context(
            job, subjob, core, surroundings, address, {owner: self.inbox}, {owner: store}, spill
        )
        sources = Sources.of(job, subjob, {"numbers": PAYLOAD}, folder, surroundings)
        self.shell = Shell(self.context, sources)
        serving.inboxes, serving.schemas, serving.shell = {owner: self.inbox}, {owner: schema}, self.shell
        surroundings.announce(owner, name, address, "")
        threading.Thread(target=self._run, args=(owner,), daemon=True).start()
        self.context.story.state = State.READY
        self.shell.start()

    def _run(self, owner: str) -> None:
        done = 0
        while not self.context.stopping.is_set():
            plan = self.inbox.cut(done, 0.1)
            if plan is not None:
                self.inbox.begin(plan.number)
                made = [(_made_by(owner, rows), ts) for ts, rows in results_of(self.inbox, plan)]
                self.shell.outputs.on_output(owner, plan, _table(made))
                self.inbox.done(plan.number)
                done = plan.number

    def status(self) -> dict[str, Any]:
        return to_json(status_of(self.context))

    def leave(self) -> None:
        self.inbox.close()
        self.shell.stop()
        self.server.shutdown()


def _made_by(owner: str, rows: list[PlanRow]) -> int | None:
    """What a subjob makes of the rows of one result."""
    numbers = [_number(row) for row in rows]
    match owner:
        case "first":
            return numbers[0] if numbers[0] % 3 else None
        case "third":
            return None if numbers[0] % 3 else numbers[0]
        case _:
            return sum(numbers)


def _number(row: PlanRow) -> int:
    """A generator's number is its seq; a stream's is in the column of its input."""
    known = [row[name] for name in ("i0_n", "i1_n") if row.get(name) is not None]
    return int(known[0]) if known else int(row["_seq"])


def _table(made: list[tuple[int | None, int | None]]) -> pa.Table:
    kept = [(n, ts) for n, ts in made if n is not None]
    times = pa.array([ts for _, ts in kept], pa.int64()).cast(WIRE.field("_ts").type)
    return pa.table({"_ts": times, "n": pa.array([n for n, _ in kept], pa.int64())})


class Reader(Handler):
    """The end of the chain: takes what is new and acks it."""

    def __init__(
        self,
        job: StreamJob,
        surroundings: LocalSurroundings,
        rows: list[int],
        sink: str = "end",
        last: Step | None = None,
    ) -> None:
        """`last`: the watermark of the last of `rows`."""
        self.rows, self.last = rows, last
        self.arrivals: list[int] = []  # when tuples came, on the steady clock
        self._hearing = Hearing()
        asking = Asking("second", sink_consumer(sink))
        self._reading = reading_of(job, asking, self, lambda: surroundings.addresses("second"), 1_000)
        self._reading.start()
        self._stopping = threading.Event()
        threading.Thread(target=self._ack, daemon=True).start()

    def _ack(self) -> None:
        while not self._stopping.wait(0.05):
            self._reading.watch()
            self._reading.ack([(0, len(self.rows)), (1, len(self.rows))])

    def expected(self, stream: str) -> int:
        return len(self.rows)

    def mark(self, stream: str) -> Step | None:
        return self.last

    def ages(self, stream: str) -> tuple[Age, ...]:
        return self._hearing.ages(stream, steady_ms())

    def incoming(self, reader: StreamReader, message: Incoming) -> None:
        self.last = message.mark or self.last
        new: list[int] = []
        if message.rows.num_rows:
            known = len(self.rows) - message.rows["_seq"][0].as_py()
            assert known >= 0, "a hole"
            new = message.rows["n"].to_pylist()[known:]
        self.rows += new
        self.arrivals += [steady_ms()] * bool(new)
        self._hearing.heard("second", message.epoch, steady_ms(), message.still_ms, new_tuples=bool(new))

    def longest_gap_ms(self, since: int) -> int:
        """Of the times between two arrivals, of which the second was after that moment."""
        return max(b - a for a, b in pairwise(self.arrivals) if b > since)

    def resumes(self, reader: StreamReader, released: int, start: int) -> None:
        raise AssertionError(f"tuples from {released} to {start} are lost")

    def stop(self) -> None:
        self._stopping.set()
        self._reading.stop()


class InProcessJob:
    def __init__(
        self,
        ha: str,
        folder: Path,
        text: str = CHAIN,
        bounds: Bounds = WIDE,
        holder: type[LocalSurroundings] = LocalSurroundings,
    ) -> None:
        """`holder`: what the first instances take for their surroundings."""
        self.job, self._folder, self._bounds = job_of(text, ha), folder, bounds
        self.surroundings = LocalSurroundings(folder / "surroundings")
        self.instances: dict[str, InProcessInstance] = {}
        for name in [f"{subjob.name}-0" for subjob in self.job.subjobs]:
            self.add(name, holder(folder / "surroundings"))
            until(lambda name=name: self.leader(name.rpartition("-")[0]) == name)  # type: ignore[misc]
        self.read()

    def read(self, rows: list[int] | None = None) -> None:
        """A reader that has these rows already."""
        self.reader = Reader(self.job, self.surroundings, rows or [])

    def add(self, name: str, surroundings: LocalSurroundings | None = None) -> InProcessInstance:
        at = surroundings or self.surroundings
        instance = self.instances[name] = InProcessInstance(self.job, name, at, self._folder, self._bounds)
        return instance

    def begin(self) -> None:
        self.surroundings.set_start_time(now_ms())

    def leader(self, subjob: str) -> str | None:
        lease = self.surroundings.read_lease(subjob)
        return lease.holder if lease else None

    def remove(self, name: str) -> None:
        self.instances.pop(name).leave()
        self.surroundings.withdraw(name)

    def flows(self, more: int = 40) -> None:
        """Until so many more results have come."""
        goal = len(self.reader.rows) + more
        until(lambda: len(self.reader.rows) >= goal)

    def close(self) -> None:
        self.reader.stop()
        for name in list(self.instances):
            self.remove(name)


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)
