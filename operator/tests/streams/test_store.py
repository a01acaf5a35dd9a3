from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

from tests.streams.rows import SCHEMA, rows, seqs
from understudy.streams.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(SCHEMA, tmp_path, memory_limit=1 << 20, disk_limit=1 << 30)


def test_a_reader_sees_only_what_was_published(store: Store) -> None:
    store.append(rows(0, 10), 0, None)
    assert seqs(store.wait(0, None, 0).rows) == []
    store.publish(6, ended=False)
    assert seqs(store.wait(2, None, 0).rows) == [2, 3, 4, 5]


def test_rows_that_do_not_follow_the_last_are_refused(store: Store) -> None:
    store.append(rows(0, 3), 0, None)
    with pytest.raises(ValueError, match="expected 3"):
        store.append(rows(4, 5), 4, None)


def test_a_waiting_reader_wakes_when_rows_are_published(store: Store) -> None:
    got: list[int] = []
    reader = threading.Thread(target=lambda: got.extend(seqs(store.wait(0, None, 30).rows)))
    reader.start()
    store.append(rows(0, 2), 0, None)
    store.publish(2, ended=False)
    reader.join(30)
    assert got == [0, 1]


def test_progress_comes_only_with_the_last_row_before_it(store: Store) -> None:
    store.append(rows(0, 5), 0, 77)
    store.publish(3, ended=False)
    assert store.wait(0, None, 0).progress is None
    store.publish(5, ended=False)
    assert store.wait(0, None, 0).progress == 77


def test_only_a_reader_that_has_every_tuple_hears_of_the_end(store: Store) -> None:
    store.append(rows(0, 70_000), 0, None)
    store.publish(70_000, ended=True)
    first = store.wait(0, None, 0)
    assert not first.ended
    assert store.wait(first.rows.num_rows, None, 0).ended


def test_what_exceeds_memory_is_read_back_from_disk(tmp_path: Path) -> None:
    store = Store(SCHEMA, tmp_path / "spill", memory_limit=1_000, disk_limit=1 << 30)
    for start in range(0, 1_000, 100):
        store.append(rows(start, start + 100), start, None)
    store.publish(1_000, ended=False)
    assert store.bytes - store.bytes_on_disk <= 1_000
    assert seqs(store.wait(0, None, 0).rows) == list(range(1_000))
    store.trim(1_000)
    assert store.bytes == store.bytes_on_disk == 0
    assert not list((tmp_path / "spill").iterdir()), "a process that dies leaves no files behind"


def test_a_full_queue_gives_no_room_until_it_is_trimmed(tmp_path: Path) -> None:
    store = Store(SCHEMA, tmp_path, memory_limit=100, disk_limit=2_000)
    store.append(rows(0, 80), 0, None)
    assert not store.wait_for_room(rows(80, 100).nbytes, 0)
    assert store.full
    store.trim(80)
    assert store.wait_for_room(rows(80, 100).nbytes, 0)
    assert not store.full


def test_an_empty_queue_takes_a_batch_that_is_larger_than_its_bound(tmp_path: Path) -> None:
    store = Store(SCHEMA, tmp_path, memory_limit=100, disk_limit=100)
    assert store.wait_for_room(10_000, 0)


def test_wide_rows_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    schema = pa.schema([("_seq", pa.int64()), ("text", pa.string())])
    store = Store(schema, tmp_path, memory_limit=1 << 30, disk_limit=0)
    store.append(pa.table({"_seq": range(64), "text": ["x" * (1 << 20)] * 64}, schema=schema), 0, None)
    store.publish(64, ended=True)
    first = store.wait(0, None, 0)
    assert 0 < first.rows.num_rows < 64
    assert not first.ended


def test_a_trim_keeps_a_chunk_that_is_partly_needed(store: Store) -> None:
    store.append(rows(0, 10), 0, None)
    store.publish(10, ended=False)
    store.trim(5)
    assert seqs(store.wait(5, None, 0).rows) == [5, 6, 7, 8, 9]
