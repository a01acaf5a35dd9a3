from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.sinks.disks import disk, needs_disk
from tests.streams.rows import rows
from understudy.sinks.fence import make
from understudy.sinks.files import LineLog
from understudy.sinks.port import Life


def lines(path: Path) -> list[int]:
    return [json.loads(line)["_seq"] for line in path.read_text().splitlines()]


def test_a_new_log_begins_at_zero_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    LineLog(tmp_path, Life()).write(rows(0, 5))
    log = LineLog(tmp_path, Life())
    assert log.next == 5
    log.write(rows(5, 7))
    assert lines(log.path) == [0, 1, 2, 3, 4, 5, 6]


def test_a_log_knows_how_long_ago_earlier_lives_wrote_however_often_it_was_opened_since(
    tmp_path: Path,
) -> None:
    log = LineLog(tmp_path, Life())
    assert log.age_ms is None
    log.write(rows(0, 5))
    long_ago = time.time() - 100
    os.utime(log.path, (long_ago, long_ago))
    ages = [LineLog(tmp_path, Life()).age_ms or 0 for _ in range(3)]
    assert min(ages) >= 100_000


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


@given(start=st.integers(min_value=0, max_value=3_000), size=st.integers(min_value=1, max_value=600))
def test_zeros_between_whole_lines_end_what_is_kept(tmp_path_factory, start: int, size: int) -> None:  # type: ignore[no-untyped-def]
    """A crash of the machine leaves them where data was not synced."""
    folder = tmp_path_factory.mktemp("sink")
    log = LineLog(folder, Life())
    log.write(rows(0, 10))
    log.write(rows(10, 150))
    whole = log.path.read_bytes()
    torn = whole[:start] + bytes(min(size, max(0, len(whole) - start))) + whole[start + size :]
    log.path.write_bytes(torn)
    again = LineLog(folder, Life())
    assert again.path.read_bytes() == b"".join(line for line in whole.splitlines(True)[: again.next])
    assert again.next <= next(
        (n for n, line in enumerate(lines_of(torn)) if line not in lines_of(whole)), 150
    )
    again.write(rows(again.next, 150))
    assert log.path.read_bytes() == whole


def lines_of(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def test_two_pages_of_zeros_in_the_last_write_are_not_taken_for_tuples(tmp_path: Path) -> None:
    log = LineLog(tmp_path, Life())
    log.write(rows(0, 500))
    at = log.path.stat().st_size
    log.write(rows(500, 2_000))
    with log.path.open("rb+") as file:
        file.seek((at // 4096 + 2) * 4096)
        file.write(bytes(2 * 4096))
    again = LineLog(tmp_path, Life())
    assert 500 <= again.next < 1_000
    assert lines(again.path) == list(range(again.next))


def test_a_log_goes_on_in_a_new_file_when_one_is_full(tmp_path: Path) -> None:
    log = LineLog(tmp_path, Life(), part_bytes=100)
    for start in range(0, 50, 5):
        log.write(rows(start, start + 5))
    parts = sorted(tmp_path.glob("*.jsonl"))
    assert len(parts) > 3
    assert [seq for part in parts for seq in lines(part)] == list(range(50))
    assert LineLog(tmp_path, Life()).next == 50


def test_a_log_whose_newest_file_was_lost_goes_on_behind_the_one_before(tmp_path: Path) -> None:
    log = LineLog(tmp_path, Life(), part_bytes=100)
    log.write(rows(0, 10))
    log.write(rows(10, 12))
    log.path.write_bytes(bytes(len(log.path.read_bytes())))
    again = LineLog(tmp_path, Life())
    assert (again.next, again.path.name) == (10, "part-00001.jsonl")
    again.write(rows(10, 12))
    assert [seq for part in sorted(tmp_path.glob("*.jsonl")) for seq in lines(part)] == list(range(12))


def test_tuples_behind_a_loss_begin_a_new_file(tmp_path: Path) -> None:
    """Within a file, a gap is a sign that the file is torn."""
    log = LineLog(tmp_path, Life())
    log.write(rows(0, 5))
    log.write(rows(8, 10))
    assert [lines(part) for part in sorted(tmp_path.glob("*.jsonl"))] == [[0, 1, 2, 3, 4], [8, 9]]
    assert LineLog(tmp_path, Life()).next == 10


def test_a_gap_inside_a_file_ends_what_is_kept(tmp_path: Path) -> None:
    log = LineLog(tmp_path, Life())
    log.write(rows(0, 10))
    whole = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([*whole[:4], *whole[6:]]))
    again = LineLog(tmp_path, Life())
    assert again.next == 4
    again.write(rows(4, 10))
    assert log.path.read_bytes() == b"".join(whole)


def test_a_file_of_an_earlier_version_may_have_gaps(tmp_path: Path) -> None:
    text = "".join(f'{{"_seq":{seq},"v":1}}\n' for seq in (0, 1, 5, 6))
    (tmp_path / "part-00000.jsonl").write_text(text)
    (tmp_path / "_owner.json").write_text('{"run": "", "number": 0}')
    for _ in range(2):  # nor is it torn for those that come later
        assert LineLog(tmp_path, Life()).next == 7
    assert (tmp_path / "part-00000.jsonl").read_text() == text


@needs_disk
def test_what_was_written_is_there_after_a_loss_of_power(tmp_path: Path) -> None:
    """Also the folder, and the names in it. The process has to be gone before the disk can be mounted
    again."""
    with disk(tmp_path) as made:
        folder = made.path / "sinks" / "out"
        for start in (0, 20, 40):
            write = f"log.write(rows({start}, {start + 10})); log.write(rows({start + 10}, {start + 20}))"
            script = f"""
from pathlib import Path
from tests.sinks.disks import disk, needs_disk
from tests.streams.rows import rows
from understudy.sinks.files import LineLog
from understudy.sinks.port import Life
log = LineLog(Path({str(folder)!r}), Life(), part_bytes=300)
assert log.next == {start}
{write}
"""
            subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])
            made.lose_power()
        parts = sorted(folder.glob("*.jsonl"))
        assert [seq for part in parts for seq in lines(part)] == list(range(60))


def test_all_ancestors_of_the_folder_that_had_to_be_made_are_synced_from_above(tmp_path: Path) -> None:
    """Without, a crash of the machine could take the upper ones away, with all that is below."""
    first = make(tmp_path / "a" / "b" / "c")
    assert first == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    assert make(tmp_path / "a" / "b" / "c") == [tmp_path / "a" / "b"]


WATCHED = """
import sys
from pathlib import Path
from tests.streams.rows import rows
from understudy.sinks.disk import Disk
from understudy.sinks.files import LineLog
from understudy.sinks.port import Life

folder, disk, asked = Path(sys.argv[1]), Disk(), []

def hook(event, args):
    if any(isinstance(arg, str | Path) and str(arg).startswith(str(folder)) for arg in args):
        asked.append((event, bool(disk.under_way)))

sys.addaudithook(hook)
for number in range(3):
    log = LineLog(folder, Life("run", number), part_bytes=100, disk=disk)
    for start in range(log.next, log.next + 30, 10):
        log.write(rows(start, start + 10))
    if number == 1:
        log.path.write_bytes(b"")  # so that the next one reads the end of the file before
        asked.pop()
assert {"open", "os.mkdir", "os.rename", "os.scandir"} <= {event for event, _ in asked}, asked
print(sorted({event for event, is_step in asked if not is_step}))
"""


def test_whatever_a_log_asks_of_its_folder_is_a_step_that_is_watched(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WATCHED, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_event_time_stays_inside_and_times_are_iso(tmp_path: Path) -> None:
    log = LineLog(tmp_path, Life())
    log.write(rows(0, 1))
    assert json.loads(log.path.read_text()) == {"_seq": 0, "v": 0}
