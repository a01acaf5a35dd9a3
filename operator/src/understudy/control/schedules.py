"""Schedules: cron lines of five fields in a time zone, read by `cronsim`, which asks no clock.

They have the same meaning as in Debian's cron. If both the day of the month and the day of the week are
restricted, one of them has to match. A time that the change to summer time skips comes right after the
change; a time that occurs twice in autumn comes once.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from understudy.control.times import EPOCH, at

FIELDS: Final = 5
NEVER: Final = datetime.max.replace(tzinfo=UTC)


def refusal(line: str, zone: str | None) -> str | None:
    """Why the text is no schedule, in a sentence."""
    if (where := _zone(zone)) is None:
        return f"there is no time zone {zone!r}; write one such as Europe/Berlin, or leave it out for UTC"
    why = _error(line, where)
    return f"the schedule {line!r} is no cron line: {why}" if why else None


def is_due(line: str, zone: str | None, after_ms: int, until_ms: int) -> bool:
    """Whether a time of the schedule is in (after, until]."""
    after = at(after_ms)
    later = (
        moment for moment in CronSim(line, after.astimezone(_zone(zone))) if moment.astimezone(UTC) > after
    )
    return next(later, NEVER) <= at(until_ms)


def _error(line: str, zone: tzinfo) -> str | None:
    if (count := len(line.split())) != FIELDS:
        return f"it has {count} fields, not {FIELDS}"
    try:
        moments = CronSim(line, EPOCH.astimezone(zone))
    except CronSimError as error:
        return str(error).lower()
    return None if next(moments, None) else "no day is ever as it says"


def _zone(name: str | None) -> tzinfo | None:
    """None if there is no such time zone."""
    try:
        return ZoneInfo(name or "UTC")
    except (
        LookupError,
        ValueError,
        OSError,
    ):  # a name may also be a path that leads out of the database, or a folder
        return None
