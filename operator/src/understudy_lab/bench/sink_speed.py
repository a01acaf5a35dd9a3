"""How fast a sink of each kind writes: rows of four columns through the real writer, with its fence and its
syncs, in messages as they come from a producer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.sinks.port import Life, Opening, Writer
from understudy.sinks.writers import writer_of
from understudy_lab.postgres import NoServer, Server

TARGETS: Final = {"files, jsonl": 250_000, "files, parquet": 250_000}
"""Rows a second on one core."""

KINDS: Final = {
    "files, jsonl": "files: {path: out}",
    "files, parquet": "files: {path: out, format: parquet}",
    "delta": "delta: {path: out}",
    "postgres": "postgres: {secret: db, table: public.measured}",
}
MESSAGE: Final = 10_000  # rows


@dataclass(frozen=True)
class Speed:
    rows: int
    seconds: float
    processor_seconds: float
    """Of the sink's process; a database works in processes of its own."""

    @property
    def per_second(self) -> float:
        return self.rows / self.seconds

    @property
    def per_core(self) -> float:
        return self.rows / self.processor_seconds


@dataclass(frozen=True)
class Sinks:
    kinds: dict[str, Speed]
    left_out: str = ""
    """What could not be measured, and why."""

    @property
    def ratio(self) -> float:
        return min(self.kinds[kind].per_core / target for kind, target in TARGETS.items())

    @property
    def met(self) -> bool:
        return self.ratio >= 1


def measure(rows: int, folder: Path, say: Callable[[str], None]) -> Sinks:
    messages = [_message(start) for start in range(0, rows, MESSAGE)]
    found, left_out, server = {}, "", None
    try:
        for kind, target in KINDS.items():
            if kind == "postgres":
                try:
                    server = Server.of_debian()
                    server.start()
                    server.write_secret(folder / "secrets" / "db")
                except NoServer as error:
                    left_out = f"postgres was not measured: {error}"
                    continue
            found[kind] = _speed(_writer(target, folder / kind.replace(", ", "-"), folder), messages)
            say(f"{kind}: {found[kind].per_second:,.0f} rows a second")
    finally:
        if server is not None:
            server.remove()
    return Sinks(found, left_out)


def _speed(writer: Writer, messages: list[pa.Table]) -> Speed:
    began, used = time.perf_counter(), time.process_time()
    for message in messages:
        writer.write(message)
        if not writer.commit_ms:
            writer.commit()
    writer.commit()
    done = Speed(sum(m.num_rows for m in messages), time.perf_counter() - began, time.process_time() - used)
    assert writer.next == done.rows
    writer.close()
    return done


def _writer(target: str, output: Path, folder: Path) -> Writer:
    job = load(
        "{apiVersion: understudy.dev/v1alpha1, kind: StreamJob, metadata: {name: measured}, spec: {"
        'sources: [{name: s, generator: {rate: 1, fields: {n: "_seq"}}}], '
        "subjobs: [{name: b, inputs: [s], operators: [{filter: {where: n > 0}}]}], "
        f"sinks: [{{name: out, input: b, {target}}}]}}}}"
    )
    assert isinstance(job, StreamJob), job
    return writer_of(Opening(job, job.sinks[0], output, Life(), secrets=folder / "secrets"))


def _message(start: int) -> pa.Table:
    drawn = random.Random(start)
    seqs = range(start, start + MESSAGE)
    times = pa.array([1_767_225_600_000_000 + n * 2_000 for n in seqs], pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "_seq": pa.array(seqs, pa.int64()),
            "_ts": times,
            "patient": [f"p{n % 20}" for n in seqs],
            "mv": [drawn.gauss(0, 1) for _ in seqs],
            "at": times,
            "beats": pa.array([n % 7 for n in seqs], pa.int64()),
        }
    )
