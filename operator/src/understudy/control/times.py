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


def at(ms: int) -> datetime:
    """In UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def millis(text: object) -> int | None:
    """The moment that Kubernetes wrote, or None."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
