"""Rows are compared by what they mean, not by the last bit of a double."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.streams.rows import rows
from understudy.sinks.parquet import ParquetLog
from understudy.sinks.port import Life
from understudy_lab.verify.reading import read_parquet
from understudy_lab.verify.rows import Torn, alike, read_sink

ROWS = [
    {"p": "a", "x": 0.1 + 0.2, "_seq": 0},
    {"p": "a", "x": 1.5, "_seq": 1},
    {"p": "b", "x": 1.5, "_seq": 2},
]


def test_equal_rows_have_equal_numbers_whatever_their_seq() -> None:
    expected, observed = alike(ROWS, [{**row, "_seq": n + 7} for n, row in enumerate(ROWS)])
    assert expected == observed == [0, 1, 2]


def test_the_last_bits_of_a_double_do_not_count() -> None:
    expected, observed = alike(ROWS, [{"p": "a", "x": 0.3, "_seq": 0}])
    assert observed == expected[:1]


@pytest.mark.parametrize(
    "row",
    [
        {"p": "a", "x": 0.31},
        {"p": "c", "x": 1.5},
        {"p": "a", "x": None},
        {"p": "a"},
        {"p": "a", "x": 1.5, "y": 1},
    ],
)
def test_another_row_has_a_number_of_its_own(row: dict[str, object]) -> None:
    expected, observed = alike(ROWS, [row, row])
    assert observed[0] not in expected
    assert observed[0] == observed[1]


def test_equal_rows_share_a_number() -> None:
    assert alike([ROWS[0], ROWS[1], ROWS[0]], [])[0] == [0, 1, 0]


def test_a_sink_is_read_in_the_order_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "part-00001.jsonl").write_text('{"n":3,"_seq":2}\n')
    (tmp_path / "part-00000.jsonl").write_text('{"n":1,"_seq":0}\n{"n":2,"_seq":1}\n')
    assert [row["n"] for row in read_sink(tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize("line", ['{"n":1,"_s', '{"n":1}', "[1]", ""])
def test_a_line_that_is_no_tuple_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "part-00000.jsonl").write_text(f'{{"n":1,"_seq":0}}\n{line}\n')
    with pytest.raises(Torn, match="line 2 of part-00000"):
        read_sink(tmp_path)


def test_parquet_files_are_read_as_the_manifest_promises_them(tmp_path: Path) -> None:
    log = ParquetLog(tmp_path, Life())
    for start in (0, 5):
        log.write(rows(start, start + 5))
        log.commit()
    assert read_parquet(tmp_path) == [{"_seq": n, "v": n * 10} for n in range(10)]
    (tmp_path / "part-00000001.parquet").write_bytes(b"")
    with pytest.raises(Torn, match="part-00000001"):
        read_parquet(tmp_path)
