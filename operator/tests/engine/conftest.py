from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from .rig import Host


@pytest.fixture(scope="session")
def host(spark: SparkSession) -> Iterator[Host]:
    with Host(spark) as host:
        yield host
