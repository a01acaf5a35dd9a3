"""The result without failures, computed as a batch by a Spark session of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.local.environment import cores
from understudy.local.sink_guarantees import path_of
from understudy.model.ha import Driver, SparkSettings
from understudy.model.job import StreamJob
from understudy_lab.verify.check import Reference
from understudy_lab.verify.rows import Row
from understudy_lab.verify.topics import NOWHERE, Elsewhere
from understudy_lab.verify.variants import without_draws

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "2Gi"


@contextmanager
def batch_reference(name: str, elsewhere: Elsewhere = NOWHERE) -> Iterator[Reference]:
    """Computes each stream when it is asked for. Relative paths in a job start here."""
    from understudy.engine.session import start_session

    settings = SparkSettings(driver=Driver(cores=cores(), memory=MEMORY))
    with tempfile.TemporaryDirectory(prefix="understudy-reference-") as scratch:
        spark = start_session(settings, app_name=f"{name}-reference", scratch=Path(scratch))
        try:
            yield lambda job, stream, ahead=None: _rows(spark, job, stream, ahead, elsewhere)
        finally:
            spark.stop()


def _rows(
    spark: SparkSession, job: StreamJob, stream: str, ahead: str | None, elsewhere: Elsewhere
) -> list[Row]:
    from understudy_lab.verify.batch_queries import reference
    from understudy_lab.verify.rows import rows_of

    wanted = without_draws(upstream_of(job, stream))
    return rows_of(reference(spark, wanted, Path.cwd(), ahead, elsewhere)[stream])


def upstream_of(job: StreamJob, stream: str) -> StreamJob:
    """The part of a job that a stream comes from, and the sinks of that stream."""
    path = path_of(job, stream)
    names = {name for subjob in path for name in subjob.inputs} | {stream}
    return job.model_copy(
        update={
            "sources": tuple(s for s in job.sources if s.name in names),
            "subjobs": tuple(s for s in job.subjobs if s in path),
            "sinks": tuple(s for s in job.sinks if s.input == stream),
        }
    )
