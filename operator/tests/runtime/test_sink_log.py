from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.rows import rows
from understudy.runtime.fence import Life
from understudy.runtime.lines import LineLog


def lines(path: Path) -> list[int]:
    return [json.loads(line)["_seq"] for line in path.read_text().splitlines()]


def test_a_new_log_begins_at_zero_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    LineLog(tmp_path, Life()).write(rows(0, 5))
    log = LineLog(tmp_path, Life())
    assert log.next == 5
    log.write(rows(5, 7))
    assert lines(log.path) == [0, 1, 2, 3, 4, 5, 6]


@given(cut=st.integers(min_value=0, max_value=400))
def test_wherever_a_crash_tears_the_file_nothing_is_lost_or_written_twice(tmp_path_factory, cut: int) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("sink")
    log = LineLog(folder, Life())
    log.write(rows(0, 10))
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[: min(cut, len(whole))])
    again = LineLog(folder, Life())
    again.write(rows(again.next, 10))
    assert log.path.read_bytes() == whole


def test_event_time_stays_inside_and_times_are_iso(tmp_path: Path) -> None:
    log = LineLog(tmp_path, Life())
    log.write(rows(0, 1))
    assert json.loads(log.path.read_text()) == {"_seq": 0, "v": 0}
