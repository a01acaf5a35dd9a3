"""Moments as Kubernetes writes them. Inside, moments are milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(ms: int) -> str:
    """`2026-01-01T00:00:00Z`."""
    return (EPOCH + timedelta(seconds=ms // 1000)).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_ms(ms: int) -> str:
    """`2026-01-01T00:00:00.123Z`."""
    return f"{iso(ms)[:-1]}.{ms % 1000:03d}Z"


def fields_of(ms: int) -> tuple[int, int, int, int, int]:
    """Minute, hour, day, month, day of the week (0: Sunday), in UTC: as cron counts them."""
    at = EPOCH + timedelta(milliseconds=ms)
    return at.minute, at.hour, at.day, at.month, at.isoweekday() % 7


def millis(text: object) -> int | None:
    """The moment that Kubernetes wrote, or None."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
