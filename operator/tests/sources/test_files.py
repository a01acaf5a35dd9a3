"""The source `files`: formats, folders that grow, readers that begin at different times."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.streams.rows import seqs
from understudy.model.sources import Files, Format, OnBadFile
from understudy.protocol.ids import Range, Seq
from understudy.sources.choices import Choices, OwnChoices
from understudy.sources.files import FilesReader
from understudy.sources.port import Opening

PAYLOAD = pa.schema([("n", pa.int64())])
SECONDS = 60.0


def put(folder: Path, name: str, values: list[int], format: Format = Format.JSONL) -> None:
    """Renamed into place, as a writer should."""
    made = folder / f".{name}"
    table = pa.table({"n": pa.array(values, pa.int64())})
    match format:
        case Format.JSONL:
            made.write_text("".join(f"{json.dumps({'n': n})}\n" for n in values))
        case Format.CSV:
            pyarrow.csv.write_csv(table, made)
        case Format.PARQUET:
            pyarrow.parquet.write_table(table, made)
    made.rename(folder / name)


@dataclass
class Reading:
    """One reader, and what it has delivered."""

    folder: Path
    choices: Choices
    given: list[tuple[int, int]] = field(default_factory=list)
    """`_seq` and `n`."""
    ended: bool = False
    readers: list[FilesReader] = field(default_factory=list)
    """All that share the folder, to be closed."""

    def begin(self, start: int | None = 0, **fields: Any) -> Reading:
        files = Files(**{"path": "in", "schema_": "n bigint", "watch": True, **fields})
        self.reader = FilesReader(files, Opening("numbers", PAYLOAD, self.folder, self.choices))
        self.readers.append(self.reader)
        deadline = time.monotonic() + SECONDS
        while (first := self.reader.begin(None if start is None else Seq(start), 0)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        self.first = first
        return self

    def until(self, count: int) -> list[int]:
        """The values of so many tuples, which must have the seqs from the first on."""
        self._poll(lambda: len(self.given) >= count)
        assert [seq for seq, _ in self.given] == list(range(self.first, self.first + len(self.given)))
        return [n for _, n in self.given]

    def to_the_end(self) -> list[int]:
        self._poll(lambda: self.ended)
        return [n for _, n in self.given]

    def until_fault(self) -> str:
        self._poll(lambda: self.reader.fault is not None)
        return self.reader.fault or ""

    def _poll(self, done: Any) -> None:
        deadline = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < deadline, (self.given[-3:], self.reader.fault)
            news = self.reader.poll(0)
            assert news.rows is not None, "rows without a table are those that consumers compute"
            if news.rows.num_rows:
                self.given += zip(seqs(news.rows), news.rows["n"].to_pylist(), strict=True)
                assert news.upto == self.given[-1][0] + 1
            self.ended = news.ended
            time.sleep(0.002)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


@pytest.fixture
def reading(tmp_path: Path, inbox: Path) -> Iterator[Reading]:
    made = Reading(tmp_path, OwnChoices())
    yield made
    for reader in made.readers:
        reader.close()


def another(reading: Reading) -> Reading:
    """Another instance, which shares the choices of the job."""
    return Reading(reading.folder, reading.choices, readers=reading.readers)


@pytest.mark.parametrize("format", Format)
def test_files_are_read_in_the_order_of_their_names(reading: Reading, inbox: Path, format: Format) -> None:
    put(inbox, "b", [3, 4], format)
    put(inbox, "a", [1, 2], format)
    reading.begin(watch=False, format=format)
    assert reading.to_the_end() == [1, 2, 3, 4]


@pytest.mark.parametrize("format", Format)
def test_a_watched_folder_gives_new_files_as_they_appear(
    reading: Reading, inbox: Path, format: Format
) -> None:
    put(inbox, "a", [1, 2], format)
    reading.begin(format=format)
    assert reading.until(2) == [1, 2]
    put(inbox, "b", [3], format)
    put(inbox, "c", [], format)
    put(inbox, "d", [4], format)
    assert reading.until(4) == [1, 2, 3, 4]
    assert not reading.ended


def test_a_limit_ends_a_watched_folder(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1, 2])
    put(inbox, "b", [3, 4])
    assert reading.begin(limit=3).to_the_end() == [1, 2, 3]


def test_hidden_files_and_folders_are_left_out(reading: Reading, inbox: Path) -> None:
    (inbox / ".half").write_text("{")
    (inbox / "_SUCCESS").write_text("")
    (inbox / "more").mkdir()
    put(inbox, "a", [1])
    assert reading.begin(watch=False).to_the_end() == [1]


def test_a_reader_that_begins_later_numbers_as_the_first_did(reading: Reading, inbox: Path) -> None:
    put(inbox, "b", [1, 2])
    reading.begin().until(2)
    put(inbox, "a", [0])
    put(inbox, "c", [3])
    late = another(reading).begin(on_bad_record=OnBadFile.SKIP)
    assert late.until(3) == [1, 2, 3]


def test_a_file_with_a_smaller_name_stops_the_source_until_it_is_renamed(
    reading: Reading, inbox: Path
) -> None:
    put(inbox, "b", [1, 2])
    reading.begin().until(2)
    put(inbox, "a", [3])
    why = reading.until_fault()
    assert "a appeared after b was taken" in why
    assert "rename it" in why
    (inbox / "a").rename(inbox / "c")
    assert reading.until(3) == [1, 2, 3]
    assert reading.reader.fault is None


def test_a_reader_that_begins_later_notices_the_smaller_name_too(reading: Reading, inbox: Path) -> None:
    put(inbox, "b", [1, 2])
    reading.begin().until(2)
    put(inbox, "a", [0])
    other = another(reading).begin()
    assert other.until(2) == [1, 2]
    assert "a appeared after b was taken" in other.until_fault()


def test_the_end_of_a_folder_is_a_choice_too(reading: Reading, inbox: Path) -> None:
    put(inbox, "b", [1, 2])
    reading.begin(watch=False).to_the_end()
    put(inbox, "a", [0])
    assert another(reading).begin(watch=False).to_the_end() == [1, 2]


def test_two_readers_at_once_number_alike(reading: Reading, inbox: Path) -> None:
    first, second = reading.begin(), another(reading).begin()
    for n in range(20):
        put(inbox, f"{n:02}", [2 * n, 2 * n + 1])
    assert first.until(40) == second.until(40) == list(range(40))


def test_a_bad_file_stops_the_source_before_it_and_is_named(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1])
    (inbox / "b").write_text('{"n": 2}\n{"n": "two"}\n')
    put(inbox, "c", [3])
    reading.begin()
    assert reading.until(1) == [1]
    why = reading.until_fault()
    assert f"{inbox}/b can't be read: " in why
    put(inbox, "b", [2])
    assert reading.until(3) == [1, 2, 3]


def test_a_bad_file_of_a_folder_that_is_not_watched_ends_the_reader(reading: Reading, inbox: Path) -> None:
    (inbox / "a").write_text("no json")
    with pytest.raises(ValueError, match="in/a can't be read"):
        reading.begin(watch=False).to_the_end()


def test_bad_files_are_skipped_alike_by_all_readers(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1])
    (inbox / "b").write_text('{"n": 2}\n{"n": "two"}\n')
    put(inbox, "c", [3])
    assert reading.begin(on_bad_record=OnBadFile.SKIP).until(2) == [1, 3]
    put(inbox, "b", [2])  # too late: b has no tuples
    assert another(reading).begin(on_bad_record=OnBadFile.SKIP).until(2) == [1, 3]


@pytest.mark.parametrize("format", [Format.CSV, Format.PARQUET])
def test_a_file_without_a_column_of_the_schema_is_bad(reading: Reading, inbox: Path, format: Format) -> None:
    table = pa.table({"m": [1]})
    if format is Format.CSV:
        pyarrow.csv.write_csv(table, inbox / "a")
    else:
        pyarrow.parquet.write_table(table, inbox / "a")
    assert "in/a can't be read" in reading.begin(format=format).until_fault()


def test_a_file_that_changes_after_it_was_taken_is_named(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1, 2])
    reading.begin().until(2)
    put(inbox, "a", [1, 2, 3])
    why = another(reading).begin().until_fault()
    assert "a had 18 bytes when it was taken, and has 27 bytes now" in why


def test_old_files_may_be_removed_if_their_tuples_are_not_needed(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1, 2])
    put(inbox, "b", [3, 4])
    reading.begin().until(4)
    (inbox / "a").unlink()
    assert another(reading).begin(2).until(2) == [3, 4]


def test_a_tail_is_read_again(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1, 2, 3])
    put(inbox, "b", [4, 5, 6])
    reading.begin().until(6)
    found = another(reading).begin(6).reader.rows(Range(Seq(2), Seq(5)))
    assert (seqs(found), found["n"].to_pylist()) == ([2, 3, 4], [3, 4, 5])


def test_a_tail_may_be_empty(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1, 2, 3])
    reading.begin().until(3)
    assert reading.reader.rows(Range(Seq(3), Seq(3))).num_rows == 0


def test_a_reader_of_the_newest_tuples_begins_after_what_was_taken(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", [1, 2])
    reading.begin().until(2)
    put(inbox, "b", [3])
    other = another(reading).begin(None)
    assert other.first == 2
    assert other.until(1) == [3]


def test_a_folder_that_is_missing_is_waited_for(reading: Reading, inbox: Path) -> None:
    inbox.rmdir()
    reading.begin()
    assert "does not exist" in reading.until_fault()
    inbox.mkdir()
    put(inbox, "a", [1])
    assert reading.until(1) == [1]


def test_memory_does_not_grow_with_the_folder(tmp_path: Path, inbox: Path) -> None:
    """80 MB of parquet in two files, in a process of its own."""
    values = pa.table({"n": pa.array(range(1_000_000), pa.int64())})
    for name in ("a", "b"):
        with pyarrow.parquet.ParquetWriter(
            inbox / name, values.schema, compression="none", use_dictionary=False
        ) as writer:
            for _ in range(5):
                writer.write_table(values)
    assert sum(file.stat().st_size for file in inbox.iterdir()) > 75_000_000
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    count, peak = map(int, done.stdout.split())
    assert count == 10_000_000
    assert peak < 30_000_000


READ_ALL = """
import sys, time
from pathlib import Path
import pyarrow as pa
from understudy.model.sources import Files
from understudy.protocol.ids import Seq
from understudy.sources.files import FilesReader
from understudy.sources.port import Opening

files = Files(path="in", schema_="n bigint", format="parquet")
reader = FilesReader(files, Opening("numbers", pa.schema([("n", pa.int64())]), Path(sys.argv[1])))
reader.begin(Seq(0), 0)
while not (news := reader.poll(0)).ended:
    if not news.rows.num_rows:
        time.sleep(0.001)
print(news.upto, pa.default_memory_pool().max_memory())
"""


def test_a_thread_ends_with_its_role(reading: Reading, inbox: Path) -> None:
    put(inbox, "a", list(range(300_000)), Format.PARQUET)
    before = threading.enumerate()
    reading.begin(format=Format.PARQUET).until(1)
    (thread,) = [t for t in threading.enumerate() if t.name == "files-numbers" and t not in before]
    reading.reader.close()
    thread.join(SECONDS)
    assert not thread.is_alive()
