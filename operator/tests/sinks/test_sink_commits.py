"""A sink whose writer commits many messages together, as a broker's transactions do: what is not committed was
never told to anybody."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from tests.model.manifests import job, manifest
from tests.streams.rows import rows
from understudy.local.surroundings import LocalSurroundings
from understudy.sinks.port import Life, Opening, Superseded, Writer
from understudy.sinks.sink import SinkProcess
from understudy.streams.reader import Incoming, StreamReader


class Transactions(Writer):
    """Keeps in memory what it would commit to a broker."""

    commit_ms = 3_600_000

    def __init__(self, *, fails: bool = False) -> None:
        self.next, self.fails = 0, fails
        self.open: list[int] = []
        self.committed: list[int] = []

    def check(self) -> None:
        """Nobody takes its place."""

    def close(self) -> None:
        self.open = []

    def write(self, rows: pa.Table) -> None:
        self.open += rows["_seq"].to_pylist()

    def commit(self) -> None:
        if self.fails:
            raise OSError("the broker is gone")
        self.committed += self.open
        self.next, self.open = (self.open[-1] + 1 if self.open else self.next), []


def sink_of(writer: Writer, folder: Path) -> SinkProcess:
    found = job(manifest())
    opening = Opening(found, found.sinks[0], folder / "out", Life())
    return SinkProcess(opening, writer, LocalSurroundings(folder / "surroundings"))


def send(sink: SinkProcess, table: pa.Table, end: int | None = None) -> None:
    sink.incoming(cast(StreamReader, sink._reader), Incoming(table, 1, None, 0, end))


def test_what_is_not_committed_yet_is_not_acked(tmp_path: Path) -> None:
    writer = Transactions()
    sink = sink_of(writer, tmp_path)
    send(sink, rows(0, 5))
    send(sink, rows(3, 8))
    assert (writer.open, sink.status().next) == (list(range(8)), 0)


def test_a_writer_that_waits_for_nothing_commits_each_message(tmp_path: Path) -> None:
    writer = Transactions()
    writer.commit_ms = 0
    sink = sink_of(writer, tmp_path)
    send(sink, rows(0, 5))
    assert (writer.committed, sink.status().next) == (list(range(5)), 5)


def test_what_waited_long_enough_is_committed_though_nothing_more_comes(tmp_path: Path) -> None:
    writer = Transactions()
    writer.commit_ms = 1
    sink = sink_of(writer, tmp_path)
    send(sink, rows(0, 5))
    sink.stop()
    assert sink.run() != 0
    assert writer.committed == list(range(5))


def test_a_stream_ends_when_its_last_tuple_is_committed(tmp_path: Path) -> None:
    writer = Transactions()
    sink = sink_of(writer, tmp_path)
    send(sink, rows(0, 5), end=8)
    assert not sink.done.is_set()
    send(sink, rows(5, 8), end=8)
    assert (sink.done.is_set(), writer.committed) == (True, list(range(8)))


def test_who_answers_a_roll_call_has_committed_what_it_says_it_has(tmp_path: Path) -> None:
    writer = Transactions()
    sink = sink_of(writer, tmp_path)
    send(sink, rows(0, 5))
    assert (sink.expected("beats"), writer.next) == (5, 5)


def test_tuples_before_a_hole_and_behind_it_are_not_committed_together(tmp_path: Path) -> None:
    """The position would be past the hole with a part of what is before it missing."""
    writer = Transactions()
    sink = sink_of(writer, tmp_path)
    send(sink, rows(0, 5))
    send(sink, rows(8, 9))
    assert (writer.committed, writer.open, sink.status().lost) == (list(range(5)), [8], 3)


def test_a_sink_that_cannot_commit_acks_nothing_and_ends(tmp_path: Path) -> None:
    sink = sink_of(Transactions(fails=True), tmp_path)
    send(sink, rows(0, 5), end=5)
    assert (sink.status().next, sink.done.is_set()) == (0, False)
    with pytest.raises(Superseded, match="the broker is gone"):
        sink.expected("beats")
    assert sink.run() == 1
