"""Kills of a sink's process in the middle of its writes: a reader that is not ours finds each tuple once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from tests.instance.in_process import InProcessJob
from tests.sinks.killed_sink import HA, assert_exact, kill_often
from understudy.sinks.manifest import entries


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    """Instances that send to the sink of the job, and to nobody else."""
    made = InProcessJob(HA, tmp_path)
    made.reader.stop()
    made.begin()
    yield made
    made.close()


def test_lines_are_exact_after_kills(running: InProcessJob, tmp_path: Path) -> None:
    def found() -> list[tuple[int, int]]:
        text = b"".join(path.read_bytes() for path in sorted((tmp_path / "out").glob("*.jsonl")))
        rows = [json.loads(line) for line in text.splitlines(True) if line.endswith(b"\n")]
        return [(row["_seq"], row["n"]) for row in rows]

    kill_often(running, tmp_path, "files: {path: out}", lambda: len(found()))
    assert_exact(found())


def test_parquet_files_are_exact_after_kills(running: InProcessJob, tmp_path: Path) -> None:
    target = "files: {path: out, format: parquet, roll: {interval: 100ms}}"
    folder = tmp_path / "out"

    def count() -> int:
        return sum(entry.next - entry.first for entry in entries(folder))

    at_the_end = kill_often(running, tmp_path, target, count)
    table = ds.dataset(folder, format="parquet").to_table().sort_by("_seq")
    assert table.num_rows == at_the_end
    assert_exact(list(zip(table["_seq"].to_pylist(), table["n"].to_pylist(), strict=True)))


def test_a_delta_table_is_exact_after_kills(running: InProcessJob, tmp_path: Path) -> None:
    folder = str(tmp_path / "out")

    def count() -> int:
        return DeltaTable(folder).count() if DeltaTable.is_deltatable(folder) else 0

    kill_often(running, tmp_path, "delta: {path: out, roll: {interval: 100ms}}", count)
    table = DeltaTable(folder).to_pyarrow_table().sort_by("_seq")
    assert_exact(list(zip(table["_seq"].to_pylist(), table["n"].to_pylist(), strict=True)))
