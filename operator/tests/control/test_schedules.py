"""Cron lines in time zones, at moments that are given."""

from __future__ import annotations

import pytest

from understudy.control.schedules import is_due, refusal
from understudy.control.times import iso, millis

MINUTE_MS = 60_000


def ms(moment: str) -> int:
    found = millis(moment)
    assert found is not None
    return found


def due(line: str, zone: str | None, since: str, until: str) -> list[str]:
    """The minutes in (since, until] at which it is due."""
    minutes = range(ms(since) + MINUTE_MS, ms(until) + 1, MINUTE_MS)
    return [iso(at) for at in minutes if is_due(line, zone, at - MINUTE_MS, at)]


@pytest.mark.parametrize(
    ("line", "moments"),
    [
        ("0 3 * * *", ["2027-01-15T03:00:00Z"]),
        ("*/20 8-9 * * *", ["2027-01-15T08:40:00Z", "2027-01-15T09:20:00Z"]),
        ("30 6 1,15 * *", ["2027-01-15T06:30:00Z"]),
        ("30 6 1 * 5", ["2027-01-15T06:30:00Z", "2027-01-01T06:30:00Z"]),
        ("30 6 1 * FRI", ["2027-01-15T06:30:00Z", "2027-01-01T06:30:00Z"]),
        ("30 6 * jan mon-fri", ["2027-01-15T06:30:00Z"]),
        ("30 6 * * 7", ["2027-01-17T06:30:00Z"]),
    ],
)
def test_a_line_means_what_it_means_to_cron(line: str, moments: list[str]) -> None:
    assert refusal(line, None) is None
    for moment in moments:
        at = ms(moment)
        assert is_due(line, None, at - 1, at)
        assert not is_due(line, None, at, at + 59_000)
        assert not is_due(line, None, at - 59_000, at - 1)


def test_a_moment_between_two_looks_is_found_however_far_they_are_apart() -> None:
    assert is_due("0 3 * * *", None, ms("2027-01-15T02:59:59.500Z"), ms("2027-01-15T03:04:00.250Z"))
    assert not is_due("0 3 * * *", None, ms("2027-01-15T03:00:00.500Z"), ms("2027-01-16T02:59:59.999Z"))


@pytest.mark.parametrize(
    ("day", "moment"),
    [
        ("2027-01-15", "2027-01-15T01:30:00Z"),
        ("2027-07-15", "2027-07-15T00:30:00Z"),
        ("2027-03-28", "2027-03-28T01:00:00Z"),  # at 2:00 the clocks go forward: there is no 2:30
        ("2027-10-31", "2027-10-31T00:30:00Z"),  # at 3:00 they go back: there are two
    ],
)
def test_a_time_zone_has_summers_and_skips_and_repeats_an_hour(day: str, moment: str) -> None:
    assert due("30 2 * * *", "Europe/Berlin", f"{day}T00:00:00Z", f"{day}T12:00:00Z") == [moment]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "* * * *",
        "60 * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "* * 0 * *",
        "* * * * * *",
        "0 0 31 2 *",
    ],
)
def test_an_invalid_cron_line_is_refused_with_a_sentence(line: str) -> None:
    assert str(refusal(line, "Europe/Berlin")).startswith(f"the schedule {line!r} is no cron line: ")


@pytest.mark.parametrize("zone", ["Europe/Bern", "Europe", "../../etc/passwd", "/etc/passwd", "CEST+2\0"])
def test_an_unknown_time_zone_is_refused_with_a_sentence(zone: str) -> None:
    assert str(refusal("0 3 * * *", zone)).startswith(f"there is no time zone {zone!r}")
