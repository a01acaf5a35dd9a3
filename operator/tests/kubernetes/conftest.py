from __future__ import annotations

from collections.abc import Iterator

import pytest

from understudy.kubernetes.api import Api

from ..control.jobs import manifest
from .fake_api import FakeApi
from .test_reconcile import submit


@pytest.fixture
def fake() -> FakeApi:
    """An API server with one job. Modules that need other objects have a fixture of their own."""
    found = FakeApi()
    submit(found, manifest())
    return found


@pytest.fixture
def api(fake: FakeApi) -> Iterator[Api]:
    with fake.serving() as found:
        yield found
