from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .cluster import Cluster, cluster


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found
