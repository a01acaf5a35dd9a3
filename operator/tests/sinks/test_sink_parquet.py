"""Tuples in Parquet files that appear whole, and the manifest of those that count."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.streams.rows import rows
from understudy.sinks.files import LineLog
from understudy.sinks.manifest import Damaged, entries
from understudy.sinks.parquet import ParquetLog
from understudy.sinks.port import Life, Superseded
from understudy.sinks.rolling import Rolling


def written(folder: Path, *batches: tuple[int, int], life: Life | None = None) -> ParquetLog:
    log = ParquetLog(folder, life or Life())
    for batch in batches:
        log.write(rows(*batch))
        log.commit()
    return log


def promised(folder: Path) -> list[int]:
    """As a reader of the manifest finds it."""
    found: list[int] = []
    for entry in entries(folder):
        entry.check((folder / entry.file).read_bytes())
        found += pq.read_table(folder / entry.file)["_seq"].to_pylist()
        assert found[-1] + 1 == entry.next
    return found


def seen(folder: Path) -> list[int]:
    """As a reader that knows nothing of the manifest finds it."""
    return sorted(ds.dataset(folder, format="parquet").to_table()["_seq"].to_pylist())


def test_tuples_count_when_their_file_is_there(tmp_path: Path) -> None:
    log = ParquetLog(tmp_path, Life())
    log.write(rows(0, 5))
    assert (log.next, list(tmp_path.glob("*.parquet"))) == (0, [])
    log.commit()
    assert log.next == 5
    assert promised(tmp_path) == seen(tmp_path) == [0, 1, 2, 3, 4]


def test_columns_keep_their_types_and_the_event_time_stays_inside(tmp_path: Path) -> None:
    at = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    table = pa.table(
        {"_seq": [0], "_ts": [at], "at": [at], "l": [[1.5, None]], "s": [{"a": "é"}], "x": [b"\xff"]}
    )
    log = ParquetLog(tmp_path, Life())
    log.write(table)
    log.commit()
    found = pq.read_table(tmp_path / "part-00000000.parquet")
    assert found.to_pylist() == table.drop_columns(["_ts"]).to_pylist()


def test_a_file_is_complete_when_it_has_its_size(tmp_path: Path) -> None:
    log = ParquetLog(tmp_path, Life(), Rolling(bytes=rows(0, 10).nbytes))
    for start in range(0, 50, 5):
        log.write(rows(start, start + 5))
    assert log.next > 30
    assert len(list(tmp_path.glob("*.parquet"))) >= 3
    log.commit()
    assert promised(tmp_path) == list(range(50))


def test_other_columns_begin_another_file(tmp_path: Path) -> None:
    log = ParquetLog(tmp_path, Life())
    log.write(rows(0, 5))
    log.write(rows(5, 7).rename_columns(["_seq", "_ts", "w"]))
    log.commit()
    assert [(e.first, e.next) for e in entries(tmp_path)] == [(0, 5), (5, 7)]


def test_the_next_life_continues_behind_the_last_file(tmp_path: Path) -> None:
    written(tmp_path, (0, 5), (5, 9))
    assert written(tmp_path, (9, 12)).next == 12
    assert promised(tmp_path) == seen(tmp_path) == list(range(12))


def test_tuples_after_a_loss_are_in_a_file_of_their_own(tmp_path: Path) -> None:
    log = written(tmp_path, (0, 5))
    log.skip(8)
    log.write(rows(8, 10))
    log.commit()
    assert [(e.first, e.next) for e in entries(tmp_path)] == [(0, 5), (8, 10)]
    assert ParquetLog(tmp_path, Life()).next == 10


def test_a_life_that_was_superseded_makes_no_file(tmp_path: Path) -> None:
    earlier = written(tmp_path, (0, 5), life=Life("a", 1))
    later = ParquetLog(tmp_path, Life("a", 2))
    earlier.write(rows(5, 9))
    with pytest.raises(Superseded, match="life 2 of the sink has taken"):
        earlier.commit()
    later.write(rows(5, 7))
    later.commit()
    assert promised(tmp_path) == seen(tmp_path) == list(range(7))
    with pytest.raises(Superseded):
        ParquetLog(tmp_path, Life("a", 1))


def without_the_last_line(folder: Path) -> None:
    """As if the sink had died between the file and its line."""
    manifest = folder / "_manifest-00000.jsonl"
    manifest.write_bytes(b"".join(manifest.read_bytes().splitlines(keepends=True)[:-1]))


def test_a_file_whose_line_is_missing_is_adopted(tmp_path: Path) -> None:
    """Readers may have seen it."""
    written(tmp_path, (0, 5), (5, 9))
    without_the_last_line(tmp_path)
    before = (tmp_path / "part-00000001.parquet").read_bytes()
    log = written(tmp_path)
    assert log.next == 9
    assert (tmp_path / "part-00000001.parquet").read_bytes() == before
    assert promised(tmp_path) == list(range(9))


@settings(max_examples=40, deadline=None)
@given(start=st.integers(0, 2_500), size=st.integers(1, 600), cut=st.booleans())
def test_a_file_that_was_torn_before_its_line_was_written_does_not_count(
    tmp_path_factory: pytest.TempPathFactory, start: int, size: int, cut: bool
) -> None:
    folder = tmp_path_factory.mktemp("sink")
    written(folder, (0, 5), (5, 200))
    without_the_last_line(folder)
    path = folder / "part-00000001.parquet"
    whole = path.read_bytes()
    torn = (
        whole[:start]
        if cut
        else whole[:start] + bytes(len(whole[start : start + size])) + whole[start + size :]
    )
    path.write_bytes(torn)
    log = ParquetLog(folder, Life())
    assert log.next in (5, 200)
    log.write(rows(log.next, 210))
    log.commit()
    assert promised(folder) == seen(folder) == list(range(210))
    columns = pa.concat_tables(pq.read_table(folder / e.file) for e in entries(folder))
    assert columns.equals(rows(0, 210).drop_columns(["_ts"]))


@pytest.mark.parametrize("harm", ["zeros", "cut", "gone"])
def test_a_file_that_counts_and_is_damaged_is_named(tmp_path: Path, harm: str) -> None:
    written(tmp_path, (0, 5), (5, 200))
    path = tmp_path / "part-00000001.parquet"
    whole = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(whole[:300] + bytes(200) + whole[500:] if harm == "zeros" else whole[:300])
    with pytest.raises(OSError, match="part-00000001"):
        promised(tmp_path)
    with pytest.raises(OSError, match="part-00000001"):
        ParquetLog(tmp_path, Life())


def test_a_line_of_the_manifest_that_is_torn_does_not_count_and_its_file_is_adopted(tmp_path: Path) -> None:
    written(tmp_path, (0, 5), (5, 9))
    manifest = tmp_path / "_manifest-00000.jsonl"
    os.truncate(manifest, manifest.stat().st_size - 20)
    assert promised(tmp_path) == list(range(5))
    assert written(tmp_path).next == 9
    assert promised(tmp_path) == list(range(9))


def test_a_manifest_that_names_tuples_twice_is_refused(tmp_path: Path) -> None:
    written(tmp_path, (0, 5))
    manifest = tmp_path / "_manifest-00000.jsonl"
    manifest.write_bytes(manifest.read_bytes() * 2)
    with pytest.raises(Damaged, match="begins with tuple 0"):
        list(entries(tmp_path))


def test_a_folder_of_the_other_format_is_refused(tmp_path: Path) -> None:
    """Its position would be taken for 0."""
    LineLog(tmp_path / "lines", Life()).write(rows(0, 5))
    with pytest.raises(OSError, match="holds lines of JSON"):
        ParquetLog(tmp_path / "lines", Life())
    written(tmp_path / "files", (0, 5))
    with pytest.raises(OSError, match="holds Parquet files"):
        LineLog(tmp_path / "files", Life())
