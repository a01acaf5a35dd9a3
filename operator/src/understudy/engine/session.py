"""A Spark session for small, frequent micro-batches."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from understudy.engine.executors import remote_conf
from understudy.engine.source import PlanSource
from understudy.model.functions import outside
from understudy.model.ha import SparkSettings

# A driver runs small batches and must start fast: the client compiler alone costs a third less CPU until the
# first batch (24 s instead of 36 s with the warm-up). What the server compiler would gain later was not
# measured.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


class Lacking(Exception):
    """This machine cannot run Spark; the message says what to do. Commands end with exit code 3."""


def start_session(settings: SparkSettings, *, app_name: str, scratch: Path) -> SparkSession:
    scratch.mkdir(parents=True, exist_ok=True)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_PYTHON"] = (
        sys.executable if settings.executors.instances else str(_worker_python(scratch))
    )
    remote = remote_conf(scratch) if settings.executors.instances else {}
    os.environ.setdefault("SPARK_LOCAL_IP", remote.get("spark.driver.host", "127.0.0.1"))
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_START)
    builder = SparkSession.builder.appName(app_name)
    fixed = fixed_settings(settings, scratch, os.environ["SPARK_LOCAL_IP"])
    for key, value in {**fixed, **remote, **settings.conf}.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        java = os.environ.get("JAVA_HOME") or "java on PATH"
        raise Lacking(f"{java} cannot run Spark: install Java 17 or later, or set JAVA_HOME to it") from None
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(PlanSource)
    _forget_functions(spark)
    return spark


def _forget_functions(spark: SparkSession) -> None:
    """Spark does not know the functions that a manifest may not call, even if a text is parsed differently
    there than it was when it was checked."""
    jvm, session = spark._jvm, spark._jsparkSession
    assert jvm is not None
    place = [jvm.scala.Option.apply(part) for part in ("builtin", "system")]
    registry = session.sessionState().functionRegistry()
    for name in outside():
        registry.dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, *place))


def _worker_python(scratch: Path) -> Path:
    """The interpreter for Spark's helpers and workers on this machine: the one of this process, with the same
    imports.

    Spark would put its own pyspark.zip first, and Python compiles its content again in every process: 1.7 s
    instead of 0.5 s of CPU for each of the three processes that a query needs.
    """
    folders = os.pathsep.join(
        os.path.abspath(path) for path in sys.path if path and not path.endswith(".zip")
    )
    script = scratch / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={quote(folders)} exec {quote(sys.executable)} "$@"\n')
    script.chmod(0o755)
    return script


def parallelism(settings: SparkSettings) -> int:
    """How many tasks can run at once."""
    return settings.driver.cores * max(1, settings.executors.instances)


def fixed_settings(settings: SparkSettings, scratch: Path, address: str) -> dict[str, str]:
    """What understudy sets itself, for every session."""
    return {
        "spark.master": f"local[{settings.driver.cores}]",
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.executor.extraJavaOptions": QUICK_START,
        "spark.driver.memory": settings.driver.memory.removesuffix("i").lower(),
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.local.dir": str(scratch / "spark"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.retainedJobs": "10",
        "spark.ui.retainedStages": "10",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "10",
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.streaming.ui.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(parallelism(settings)),
        "spark.sql.adaptive.enabled": "false",
        # never: if groups were sorted, a group's rows would be added up in another order than they arrived
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(2**31 - 1),
        # SQL is checked as it is written: nothing replaces ${…} in it
        "spark.sql.variable.substitute": "false",
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
        "spark.sql.streaming.numRecentProgressUpdates": "1",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.pollingDelay": "1ms",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
        "spark.python.worker.reuse": "true",
    }
