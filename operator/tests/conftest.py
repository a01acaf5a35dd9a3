"""For all tests: a busy machine is no failure, and one Spark session serves all suites that need one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from understudy.engine.session import start_session
    from understudy.model.ha import Driver, SparkSettings

    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    scratch = Path(tempfile.mkdtemp(prefix="understudy-spark-", dir=memory))
    driver = Driver(cores=2, memory="1Gi")
    session = start_session(SparkSettings(driver=driver), app_name="tests", scratch=scratch)
    yield session
    session.stop()
    shutil.rmtree(scratch, ignore_errors=True)
