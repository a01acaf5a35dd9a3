"""The table of functions against a real Spark session."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from understudy.model.functions import groups, outside

pytestmark = pytest.mark.spark

NAMED = re.compile(r"[a-z_][a-z0-9_]*")


def test_every_function_of_spark_is_in_the_table_with_its_effect(spark: SparkSession) -> None:
    found = {row[0] for row in spark.sql("SHOW FUNCTIONS").collect()}
    named = {name for name in found if NAMED.fullmatch(name)}
    assert len(named) > 500
    text = resources.files("understudy.model").joinpath("spark_functions.txt").read_text()
    table = {line.split()[0] for line in text.splitlines() if not line.startswith("#")}
    assert sorted(named - table) == [], "add them, each with what its result depends on"
    assert sorted(table - named - outside()) == [], "Spark no longer has them"
    assert table <= groups().keys()


@pytest.mark.parametrize(
    "call",
    [
        "reflect('java.util.UUID', 'randomUUID')",
        "system.builtin.java_method('java.util.UUID', 'randomUUID')",
        "try_reflect('java.util.UUID', 'randomUUID')",
    ],
)
def test_a_session_does_not_know_the_functions_that_run_java_code(spark: SparkSession, call: str) -> None:
    with pytest.raises(AnalysisException) as refused:
        spark.sql(f"select {call} as x").collect()
    assert refused.value.getCondition() in ("UNRESOLVED_ROUTINE", "REQUIRES_SINGLE_PART_NAMESPACE")


def test_nothing_replaces_variables_in_sql(spark: SparkSession) -> None:
    (row,) = spark.sql("select '${env:PATH}' as x").collect()
    assert row.x == "${env:PATH}"
