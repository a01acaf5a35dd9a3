from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from understudy.engine.session import start_session
from understudy.model.ha import Driver, SparkSettings

from .rig import Host


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    scratch = Path(
        tempfile.mkdtemp(prefix="understudy-engine-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    session = start_session(
        SparkSettings(driver=Driver(cores=2, memory="1Gi")), app_name="tests", scratch=scratch
    )
    yield session
    session.stop()
    shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture(scope="session")
def host(spark: SparkSession) -> Iterator[Host]:
    with Host(spark) as host:
        yield host
