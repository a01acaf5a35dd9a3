"""Expressions in plain Python against Spark itself."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pyspark.sql import SparkSession

from understudy_lab.verify.plain.expressions import term
from understudy_lab.verify.plain.types import DOUBLE, LONG, STRING

COLUMNS = {"n": LONG, "x": DOUBLE, "s": STRING}
ROWS: list[dict[str, Any]] = [
    {"n": n, "x": None if n == 5 else n / 7, "s": None if n == 3 else f"text {n} ä"} for n in range(-9, 12)
]
EXPRESSIONS = [
    "n % 4",
    "n div 4",
    "pmod(n, 4)",
    "n / 4",
    "(hash(n) % 100) / 500.0 + x",
    "hash(n)",
    "hash(s)",
    "hash(s, n, 7)",
    "n * 3 - 2",
    "-n + 1",
    "abs(n)",
    "x > 0.5",
    "n > 0.5",
    "n = 3 OR x < 0",
    "n = 3 AND x < 0",
    "NOT (x < 0)",
    "x IS NULL",
    "s IS NOT NULL",
    "n IN (1, 2, 3)",
    "x IN (1, NULL)",
    "n BETWEEN -2 AND 2",
    "n NOT BETWEEN -2 AND 2",
    "CASE WHEN n > 3 THEN 1 WHEN n > 0 THEN x ELSE NULL END",
    "if(n > 0, n, -1)",
    "coalesce(x, n)",
    "greatest(n, 3, x)",
    "least(n, 3)",
    "concat('p', n % 20, s)",
    "upper(s) || '!'",
    "length(s)",
    "sin(n * 0.05e0)",
    "sqrt(abs(n))",
    "floor(x)",
    "cast(x * 10 AS int)",
    "cast(n AS string)",
    "cast(n AS double) / 3",
    "crc32(s)",
    "1L + n",
    "2D * n",
    "true AND n > 1",
]


@pytest.mark.spark
def test_plain_python_computes_what_spark_computes(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(r["n"], r["x"], r["s"]) for r in ROWS], "n bigint, x double, s string")
    found = rows.selectExpr(*(f"{text} AS c{at}" for at, text in enumerate(EXPRESSIONS))).collect()
    for at, text in enumerate(EXPRESSIONS):
        plain = [term(text, COLUMNS).of(row) for row in ROWS]
        assert len(plain) == len(found)
        different = [(p, row[at]) for p, row in zip(plain, found, strict=True) if not _same(p, row[at])]
        assert not different, f"{text}: {different[:3]}"


def _same(plain: Any, sparks: Any) -> bool:
    if isinstance(plain, float) and isinstance(sparks, float):
        return math.isclose(plain, sparks, rel_tol=1e-12)
    return bool(type(plain) is type(sparks) and plain == sparks)
