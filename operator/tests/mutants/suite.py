"""The unit tests of the core, collected once by pytest; each can be run in any fork of the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.mutants.seeds import TooLong, limited

TESTS = Path(__file__).parents[1]
FOLDERS = ("protocol", "modes")
Work = Callable[["Suite"], int]


class Suite:
    """A plugin of pytest: what is done with the tests is somebody else's, who gets them all."""

    def __init__(self, work: Work) -> None:
        self._work, self._failed = work, False
        self._items: dict[str, pytest.Item] = {}

    @property
    def names(self) -> list[str]:
        return list(self._items)

    def fails(self, name: str) -> bool:
        item, self._failed = self._items[name], False
        try:
            with limited():
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        except TooLong:
            return True
        return self._failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
        settings.load_profile("repeatable")
        assert not session.testsfailed, "the tests cannot be collected"
        self._items = {item.nodeid: item for item in session.items}
        session.testsfailed = self._work(self)
        return True


def with_suite(work: Work) -> int:
    """`work` returns how much of it went wrong."""
    options = [
        "-q",
        "-s",
        "--tb=no",
        "--no-header",
        "--no-summary",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:timeout",
    ]
    folders = [str(TESTS / folder) for folder in FOLDERS]
    return int(pytest.main([*options, *folders], plugins=[Suite(work)]))
