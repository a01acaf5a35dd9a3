"""What an instance watches for is what the manifest says now."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from understudy.local.surroundings import LocalSurroundings
from understudy.model.ha import Driver, Ha, Overload

from .in_process import InProcessInstance, InProcessJob, until


def tell(instance: InProcessInstance, overload: Overload | None) -> None:
    changed: Ha = instance.context.wanted.model_copy(update={"overload": overload})
    instance.shell.changing.tell(changed)


def test_limits_that_come_with_an_edit_are_watched_from_then_on_and_no_longer_than_they_stand(
    tmp_path: Path,
) -> None:
    running = InProcessJob("{mode: amnesia}", tmp_path)
    try:
        first = running.instances["first-0"]
        running.begin()
        running.flows()
        tell(first, Overload(backlog=timedelta(seconds=1), withheld=99))
        first.inbox.hold()
        until(lambda: "backlog" in (first.status()["overload"] or ""), 60)
        tell(first, None)
        until(lambda: first.status()["overload"] is None)
    finally:
        running.close()


class Full(LocalSurroundings):
    """Where an instance has nearly all of the memory that it may have."""

    def memory_percent(self, driver: Driver) -> float:
        return 99.0


def test_memory_that_stays_near_its_limit_is_an_overload(tmp_path: Path) -> None:
    running = InProcessJob("{mode: amnesia, overload: {withheld: 99}}", tmp_path)
    try:
        first = running.instances["first-0"]
        first.context.surroundings = Full(tmp_path / "full")
        until(lambda: "memory is used up to 99 %" in (first.status()["overload"] or ""), 60)
    finally:
        running.close()
