"""The Python function that the deterministic subjobs of the benchmarks call."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_mark = F.udf(lambda k: k + 1, "bigint")


def marked(rows: DataFrame) -> DataFrame:
    """Row by row, in a Python worker."""
    return rows.withColumn("k", _mark("k"))
