"""Tuples in a Delta table, with the position in the transaction of each commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.streams.rows import rows
from understudy.sinks.delta import DeltaLog
from understudy.sinks.port import Life, Superseded
from understudy_lab.verify.reading import read_delta
from understudy_lab.verify.rows import Torn


def log(folder: Path, number: int = 1) -> DeltaLog:
    return DeltaLog(folder, Life("run", number), "job.sink.out")


def put(made: DeltaLog, start: int, stop: int) -> None:
    made.write(rows(start, stop))
    made.commit()


def seqs(folder: Path) -> list[int]:
    found: list[int] = DeltaTable(str(folder)).to_pyarrow_table()["_seq"].to_pylist()
    return sorted(found)


def test_tuples_and_position_are_in_one_commit(tmp_path: Path) -> None:
    made = log(tmp_path)
    made.write(rows(0, 5))
    assert (made.next, DeltaTable.is_deltatable(str(tmp_path))) == (0, False)
    made.commit()
    put(made, 5, 8)
    table = DeltaTable(str(tmp_path))
    assert (made.next, seqs(tmp_path), table.version()) == (8, list(range(8)), 1)
    assert table.transaction_version("job.sink.out") == 8


def test_the_next_life_continues_behind_the_position(tmp_path: Path) -> None:
    put(log(tmp_path, 1), 0, 5)
    later = log(tmp_path, 2)
    assert later.next == 5
    put(later, 5, 7)
    assert seqs(tmp_path) == list(range(7))


def test_a_replay_commits_nothing_twice(tmp_path: Path) -> None:
    """A sink that did not hear that its commit came through sends the tuples again."""
    put(log(tmp_path), 0, 5)
    again = log(tmp_path)
    put(again, 0, 7)
    assert (seqs(tmp_path), again.next) == (list(range(7)), 7)
    put(again, 3, 7)
    assert seqs(tmp_path) == list(range(7))


def test_a_life_that_was_superseded_commits_nothing(tmp_path: Path) -> None:
    earlier = log(tmp_path, 1)
    put(earlier, 0, 5)
    later = log(tmp_path, 2)
    earlier.write(rows(5, 9))
    with pytest.raises(Superseded, match="life 2 of the sink writes"):
        earlier.commit()
    with pytest.raises(Superseded):
        log(tmp_path, 1)
    put(later, 5, 7)
    assert seqs(tmp_path) == list(range(7))


def test_of_two_lives_that_found_no_table_the_later_one_writes(tmp_path: Path) -> None:
    earlier, later = log(tmp_path, 1), log(tmp_path, 2)
    put(earlier, 0, 5)
    put(later, 0, 7)
    earlier.write(rows(5, 9))
    with pytest.raises(Superseded):
        earlier.commit()
    assert seqs(tmp_path) == list(range(7))


def test_a_process_that_is_started_again_in_the_same_life_supersedes_the_one_before(tmp_path: Path) -> None:
    put(log(tmp_path), 0, 5)
    earlier = log(tmp_path)
    later = log(tmp_path)
    earlier.write(rows(5, 9))
    with pytest.raises(Superseded, match="another process"):
        earlier.commit()
    put(later, 5, 7)
    assert seqs(tmp_path) == list(range(7))


def test_a_writer_of_another_kind_may_commit_in_between(tmp_path: Path) -> None:
    made = log(tmp_path)
    put(made, 0, 5)
    put(made, 5, 9)
    DeltaTable(str(tmp_path)).optimize.compact()
    DeltaTable(str(tmp_path)).delete("_seq = 0")
    put(made, 9, 12)
    assert seqs(tmp_path) == list(range(1, 12))


def test_the_table_is_read_back_as_lines_of_json(tmp_path: Path) -> None:
    assert read_delta(tmp_path) == []
    put(log(tmp_path), 0, 2)
    assert read_delta(tmp_path) == [{"_seq": 0, "v": 0}, {"_seq": 1, "v": 10}]
    (file,) = tmp_path.glob("part-*.parquet")
    file.unlink()
    with pytest.raises(Torn):
        read_delta(tmp_path)


def test_a_table_that_is_damaged_ends_the_sink_with_a_sentence(tmp_path: Path) -> None:
    put(log(tmp_path), 0, 2)
    (version,) = (tmp_path / "_delta_log").glob("*.json")
    first = json.loads(version.read_text().splitlines()[0])
    version.write_text(json.dumps(first)[:-3])
    with pytest.raises(OSError, match="can't be read"):
        log(tmp_path)
