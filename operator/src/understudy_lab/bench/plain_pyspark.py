"""The other side of the comparison: the query of a benchmark as an ordinary PySpark script. Uses nothing of
understudy.

    python plain_pyspark.py QUERY --rate 500 --start-ms MS --output DIR --checkpoint DIR [--limit N] [--conf
    K=V …]

The generator is a Python data source that yields Arrow batches of `_seq` and `ts`; its columns are Spark SQL.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

if TYPE_CHECKING:
    import pyarrow as pa

ORIGIN_MICROS = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
CHUNK = 100_000
PROGRESS_SECONDS = 0.2


class Generator(DataSource):  # type: ignore[misc]
    """Options: rate, start (milliseconds since 1970), limit, maxRows (per micro-batch), partitions."""

    @classmethod
    def name(cls) -> str:
        return "generator"

    def schema(self) -> str:
        return "_seq bigint, ts timestamp"

    def streamReader(self, schema: Any) -> GeneratorReader:
        return GeneratorReader(self.options)


class Span(InputPartition):  # type: ignore[misc]
    def __init__(self, start: int, stop: int) -> None:
        super().__init__((start, stop))
        self.start, self.stop = start, stop


class GeneratorReader(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, options: dict[str, str]) -> None:
        self._rate = float(options["rate"])
        self._start_ms = int(options["start"])
        self._limit = int(options["limit"])
        self._max_rows = int(options["maxRows"])
        self._partitions = int(options["partitions"])

    def initialOffset(self) -> dict[str, int]:
        return {"seq": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._max_rows)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        due = min(int((time.time() * 1000 - self._start_ms) * self._rate / 1000), self._limit)
        if not isinstance(limit, ReadAllAvailable):
            due = min(due, start["seq"] + limit.max_rows)
        return {"seq": max(due, start["seq"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Span]:
        count, first = self._partitions, start["seq"]
        total = end["seq"] - first
        edges = [first + total * n // count for n in range(count + 1)]
        return [Span(a, b) for a, b in pairwise(edges) if b > a]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        for first in range(partition.start, partition.stop, CHUNK):
            seq = np.arange(first, min(first + CHUNK, partition.stop), dtype="int64")
            micros = ORIGIN_MICROS + (seq * 1_000_000 / self._rate).astype("int64")
            ts = pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))
            yield pa.record_batch({"_seq": pa.array(seq), "ts": ts})


# --- the queries: the same as in jobs.py


def beats(source: DataFrame) -> DataFrame:
    ecg = source.selectExpr(
        "ts", "concat('p', _seq % 20) as patient", "sin(_seq * 0.05) + (hash(_seq) % 100) / 500.0 as mv"
    )
    windows = (
        ecg.where("mv > 0.5")
        .withWatermark("ts", "0 seconds")
        .groupBy(f.window("ts", "1 second", "100 milliseconds"), "patient")
        .agg(f.expr("count(*) as beats"), f.expr("max(mv) as peak"))
    )
    return windows.where("peak > 0.6").selectExpr(
        "patient", "window.start as window_start", "window.end as window_end", "beats", "peak"
    )


def rows(source: DataFrame) -> DataFrame:
    return (
        source.selectExpr(
            "_seq", "concat('p', _seq % 20) as patient", "hash(_seq) as h", "sin(_seq * 0.05) as mv"
        )
        .where("h % 1000 = 0")
        .selectExpr("patient", "h", "mv * 2 as mv2")
    )


QUERIES = {"beats": beats, "rows": rows}


# --- running it


def main() -> int:
    args = _arguments()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("plain")
    for setting in args.conf:
        key, _, value = setting.partition("=")
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(Generator)
    source = spark.readStream.format("generator").options(
        rate=str(args.rate),
        start=str(args.start_ms),
        limit=str(args.limit),
        maxRows=str(args.max_rows),
        partitions=str(args.partitions),
    )
    writer = QUERIES[args.query](source.load()).writeStream.format("json").outputMode("append")
    query = writer.option("checkpointLocation", str(args.checkpoint)).start(str(args.output))
    _follow(query, args.progress, args.limit)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("query", choices=sorted(QUERIES))
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--start-ms", type=int, required=True)
    parser.add_argument("--limit", type=int, default=10**15)
    parser.add_argument("--max-rows", type=int, default=10**9)
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--progress", type=Path, required=True)
    parser.add_argument("--conf", action="append", default=[])
    return parser.parse_args()


def _follow(query: StreamingQuery, path: Path, limit: int) -> None:
    """A line per micro-batch, until the generator's limit is reached."""
    last, done = -1, 0
    with path.open("a") as out:
        while query.isActive and done < limit:
            time.sleep(PROGRESS_SECONDS)
            for progress in query.recentProgress:
                if progress["batchId"] > last and progress["numInputRows"] > 0:
                    last = progress["batchId"]
                    done += progress["numInputRows"]
                    line = {
                        "batch": last,
                        "timestamp": progress["timestamp"],
                        "rows": progress["numInputRows"],
                        "ms": progress["durationMs"]["triggerExecution"],
                    }
                    out.write(json.dumps(line) + "\n")
                    out.flush()
    query.stop()


if __name__ == "__main__":
    sys.exit(main())
