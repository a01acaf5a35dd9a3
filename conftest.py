"""For all suites. In continuous integration a test that is skipped has failed, unless its reason is known
here."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

KNOWN = {
    "e2e/test_chaos.py::test_savepoints_bring_back_a_subjob_that_lost_every_instance[front]": (
        "no savepoint there"
    ),
}
"""Test → why it may be skipped where everything else must run."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    _judge((yield).get_result())  # type: ignore[func-returns-value,attr-defined]


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    _judge((yield).get_result())  # type: ignore[func-returns-value,attr-defined]


def _judge(report: pytest.TestReport | pytest.CollectReport) -> None:
    expected_to_fail = hasattr(report, "wasxfail")
    if os.environ.get("CI") and report.skipped and not expected_to_fail and report.nodeid not in KNOWN:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped in continuous integration, which conftest.py gives no reason for: {why}"
