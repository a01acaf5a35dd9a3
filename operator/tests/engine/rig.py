"""A process without roles: one Flight server, inboxes, and queries whose output is collected."""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.flight as flight
from pyspark.sql import SparkSession

from understudy.engine import serve
from understudy.engine.cells import BLOCK
from understudy.engine.folding import inbox_of
from understudy.engine.inbox import Inbox
from understudy.engine.lane import TIMESTAMP, InputKind, InputSpec
from understudy.engine.plan import BatchPlan
from understudy.engine.query import ElementQuery
from understudy.engine.schemas import inputs_of, stream_specs
from understudy.engine.state import InboxState
from understudy.instance.checkpointformat import Header, header_from_bytes, header_to_bytes
from understudy.model.elements import Element, elements_of
from understudy.model.job import StreamJob, Subjob
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.ids import Epoch
from understudy.streams.connection import ROWS
from understudy_lab.verify.plain.operators import Row


class Host(flight.FlightServerBase):  # type: ignore[misc]
    def __init__(self, spark: SparkSession) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self.spark = spark
        self.inboxes: dict[str, Inbox] = {}
        self.scratch = Path(tempfile.mkdtemp(dir="/dev/shm"))

    def do_action(self, context: Any, action: flight.Action) -> Iterator[bytes]:
        yield serve.cut(self.inboxes, action.body.to_pybytes())

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.FlightDataStream:
        return flight.RecordBatchStream(serve.rows(self.inboxes, ticket.ticket.removeprefix(ROWS)))

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        shutil.rmtree(self.scratch, ignore_errors=True)

    @contextmanager
    def running(self, inbox: Inbox) -> Iterator[Output]:
        self.inboxes[inbox.element.name] = inbox
        output = Output(inbox)
        output.query = ElementQuery.start(
            self.spark, inbox, f"127.0.0.1:{self.port}", self.scratch, output.collect
        )
        try:
            yield output
        finally:
            output.query.stop()
            del self.inboxes[inbox.element.name]


class Output:
    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.tables: list[pa.Table] = []
        self.plans: list[BatchPlan] = []
        self.query: ElementQuery

    def collect(self, plan: BatchPlan, table: pa.Table) -> None:
        self.plans.append(plan)
        self.tables.append(table)

    def wait(self, until: Any = None, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while not (until() if until else self.inbox.finished):
            if (why := self.query.failed()) is not None:
                raise AssertionError(why)
            if time.monotonic() > deadline:
                raise AssertionError(f"not done: {self.inbox.position}")
            time.sleep(0.005)

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables(self.tables) if self.tables else self.query.schema.empty_table()


def element(inputs: Sequence[str], operators: Sequence[Mapping[str, Any]], merge: str = "arrival") -> Element:
    subjob = Subjob.model_validate(
        {"name": "subject", "inputs": inputs, "operators": operators, "merge": merge}
    )
    (only,) = elements_of(subjob)
    return only


def generator_spec(name: str, rate: int, **fields: str) -> InputSpec:
    return InputSpec(name, InputKind.GENERATOR, pa.schema([]), rate, tuple(fields.items()), ordered=True)


def stream_spec(name: str, **columns: pa.DataType) -> InputSpec:
    return InputSpec(name, InputKind.STREAM, pa.schema(list(columns.items())))


def table_of(spec: InputSpec, rows: Sequence[Row]) -> pa.Table:
    columns = {
        "_seq": pa.array([r.seq for r in rows], pa.int64()),
        "_ts": pa.array([r.ts for r in rows], pa.int64()).cast(TIMESTAMP),
        **{f.name: pa.array([r.columns[f.name] for r in rows], f.type) for f in spec.schema},
    }
    return pa.table(columns)


Streams = Mapping[str, Sequence[Row]]


def feed(inbox: Inbox, streams: Streams, rng: random.Random, most: int) -> Iterator[None]:
    """Offers all tuples in pieces, in turns; ends each stream."""
    while any(inbox.wanted(name) < len(rows) for name, rows in streams.items()):
        for spec in dict.fromkeys(inbox.inputs):
            rows, start = streams[spec.name], inbox.wanted(spec.name)
            stop = min(len(rows), start + rng.randint(0, most))
            if spec.kind is InputKind.GENERATOR:
                inbox.advance(spec.name, stop)
            elif stop > start:
                inbox.offer(spec.name, table_of(spec, rows[start:stop]))
        yield
    for name, rows in streams.items():
        inbox.end(name, len(rows))


def run(
    host: Host,
    chain: Element,
    specs: Sequence[InputSpec],
    streams: Streams,
    seed: int = 0,
    most: int = 150,
    block: int = BLOCK,
) -> Output:
    """The element over whole streams, offered in random pieces while it runs."""
    inbox, rng = inbox_of(host.spark, chain, specs, block=block), random.Random(seed)
    with host.running(inbox) as output:
        for _ in feed(inbox, streams, rng, most):
            if rng.random() < 0.5:
                output.wait(lambda: inbox.idle)
        output.wait()
    return output


def run_job(host: Host, job: StreamJob, seed: int = 0) -> dict[str, pa.Table]:
    """Every element of a job whose generators have limits, one after the other. Stream → its tuples with
    `_seq`."""
    specs = stream_specs(host.spark, job)
    limits = {s.name: s.generator.limit for s in job.sources if s.generator is not None}
    made: dict[str, pa.Table] = {}
    for element in (e for subjob in job.subjobs for e in elements_of(subjob)):
        inbox, rng = inbox_of(host.spark, element, inputs_of(element, specs)), random.Random(seed)
        with host.running(inbox) as output:
            while any(inbox.wanted(name) < _length(name, limits, made) for name in element.inputs):
                for spec in inbox.inputs:
                    start = inbox.wanted(spec.name)
                    stop = min(_length(spec.name, limits, made), start + rng.randint(0, 300))
                    if spec.kind is InputKind.GENERATOR:
                        inbox.advance(spec.name, stop)
                    else:
                        inbox.offer(spec.name, made[spec.name].slice(start, stop - start))
            for name in element.inputs:
                inbox.end(name, _length(name, limits, made))
            output.wait()
        made[element.name] = output.table.add_column(
            0, "_seq", pa.array(range(output.table.num_rows), pa.int64())
        )
    return made


def _length(name: str, limits: Mapping[str, int | None], made: Mapping[str, pa.Table]) -> int:
    return made[name].num_rows if name in made else limits[name] or 0


def plain(table: pa.Table) -> list[tuple[int | None, dict[str, Any]]]:
    """Event time in microseconds and the columns, timestamps as microseconds too."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        columns[name] = (
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        ).to_pylist()
    times = columns.pop("_ts")
    return [(ts, {n: c[i] for n, c in columns.items()}) for i, ts in enumerate(times)]


def expected(rows: Sequence[Row]) -> list[tuple[int | None, dict[str, Any]]]:
    return [(row.ts, row.columns) for row in rows]


def sent(state: InboxState) -> InboxState:
    """As it comes out of a checkpoint."""
    header = Header(Checkpoint(Epoch(1), 1, {}), {"e": state}, ())
    found = header_from_bytes(header_to_bytes(header))
    assert isinstance(found, Header)
    return found.inboxes["e"]
