"""Executors in pods of their own. The operator configures them in the environment of the driver; without
that, tasks run in the driver."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

EXECUTORS: Final = "UNDERSTUDY_EXECUTORS"
"""JSON: `conf`, settings for Spark, and `template`, after which executors' pods are modelled."""


def remote_conf(scratch: Path) -> dict[str, str]:
    told = os.environ.get(EXECUTORS)
    if told is None:
        return {}
    given = json.loads(told)
    template = scratch / "executor.json"
    template.write_text(json.dumps(given["template"]))
    return {**given["conf"], "spark.kubernetes.executor.podTemplateFile": str(template)}


def tasks_running(spark: SparkSession) -> int:
    """How many tasks Spark runs now, over all stages. Takes a few short calls to the JVM."""
    tracker = spark.sparkContext.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return sum(stage.numActiveTasks for stage in stages if stage is not None)
