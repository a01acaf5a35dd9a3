"""Functions as users write them, for the `python` operator."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType


def scored(beats: DataFrame) -> DataFrame:
    """Expressions, and a function of Python's on each row."""
    grade = F.udf(lambda a: f"grade {a % 3}", "string")
    return beats.where("a % 5 <> 0").withColumn("grade", grade("a")).withColumn("n", F.col("_seq") * 2)


def spread(beats: DataFrame) -> DataFrame:
    """Several rows of one."""
    return beats.select("_row", "a", F.explode("xs").alias("x"))


def in_arrow(beats: DataFrame) -> DataFrame:
    """Whole batches of rows."""

    def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.set_column(1, "a", pc.multiply(batch["a"], 2))

    return beats.select("_row", "a").mapInArrow(
        doubled, StructType([beats.schema["_row"], StructField("a", LongType())])
    )


def forgets_where_rows_came_from(beats: DataFrame) -> DataFrame:
    return beats.select("a")


def counts(beats: DataFrame) -> DataFrame:
    return beats.groupBy("_row").agg(F.count("*").alias("a"))


def sorts(beats: DataFrame) -> DataFrame:
    return beats.orderBy("a")


def deals_out(beats: DataFrame) -> DataFrame:
    return beats.repartition(2)


def gives_nothing(beats: DataFrame) -> None:
    return None


def gives_text(beats: DataFrame) -> DataFrame:
    return beats.withColumn("a", F.col("a").cast("string"))
