"""A short stream job that touches what every subjob touches: see train.sh."""

from __future__ import annotations

import importlib
import sys
import tempfile
import time

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

# What the operator and the runtime import, as far as the training job itself does not.
MODULES = (
    "asyncio",
    "kopf",
    "kubernetes.client",
    "kubernetes.config",
    "pandas",
    "pyarrow.flight",
    "pyarrow.parquet",
    "pydantic",
    "rich.console",
    "sqlglot",
    "structlog",
    "yaml",
)
# What an executor on Kubernetes, and a driver that asks for some, load.
CLASSES = (
    "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterSchedulerBackend",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    "io.fabric8.kubernetes.client.impl.KubernetesClientImpl",
)
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
SCHEMA = "_seq bigint, patient string, mv double"
ROWS = 500


class Range(InputPartition):
    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))
        self.start, self.end = start, end


class Reader(DataSourceStreamReader):
    """Hands out ROWS rows for each batch."""

    def __init__(self) -> None:
        self.at = 0

    def initialOffset(self) -> dict:
        return {"seq": 0}

    def latestOffset(self) -> dict:
        self.at += ROWS
        return {"seq": self.at}

    def partitions(self, start: dict, end: dict) -> list[Range]:
        return [Range(start["seq"], end["seq"])]

    def read(self, partition: Range):
        seqs = range(partition.start, partition.end)
        columns = [list(seqs), [f"p{n % 20}" for n in seqs], [n * 0.5 for n in seqs]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(column) for column in columns], names=["_seq", "patient", "mv"]
        )


class Source(DataSource):
    @classmethod
    def name(cls) -> str:
        return "training"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema) -> Reader:
        return Reader()


def run(spark: SparkSession, sql: str, mode: str, batches: int = 3) -> None:
    """Run a query over the source until it has made some batches."""
    done = []
    spark.readStream.format("training").load().createOrReplaceTempView("input")
    query = (
        spark.sql(sql)
        .writeStream.foreachBatch(lambda frame, number: done.append(frame.toArrow().num_rows))
        .outputMode(mode)
        .option("checkpointLocation", tempfile.mkdtemp())
        .start()
    )
    end = time.monotonic() + 300
    while len(done) < batches and query.isActive and time.monotonic() < end:
        time.sleep(0.2)
    if len(done) < batches:
        raise SystemExit(f"the training query made {len(done)} batches: {query.exception()}")
    query.stop()


def main(java_options: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraJavaOptions", java_options)
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.streaming.checkpointFileManagerClass", CHECKPOINTS)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(Source)
    run(spark, "select *, sin(mv) as y, concat('a', patient) as name from input where mv > 0.8", "append")
    run(
        spark,
        "select window(timestamp_micros(_seq), '100 microseconds', '10 microseconds') as w, patient, "
        "count(*), max(mv) "
        "from input group by 1, 2",
        "update",
    )
    for name in CLASSES:
        spark._jvm.java.lang.Class.forName(name)
    for name in MODULES:
        importlib.import_module(name)
    process = spark.sparkContext._gateway.proc
    spark.stop()
    process.stdin.close()
    if process.wait(timeout=300) != 0:
        raise SystemExit(f"Java ended with status {process.returncode}")


if __name__ == "__main__":
    main(sys.argv[1])
