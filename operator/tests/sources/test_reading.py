"""What a subjob takes from the sources that it reads itself."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tests.streams.rows import rows, seqs
from understudy.model.sources import Files, Generator
from understudy.process.clock import now_ms
from understudy.protocol.ids import Range, Seq, WallMillis
from understudy.sources.port import News, Opening, Reader
from understudy.sources.readers import reader_of
from understudy.sources.reading import Sources

LONG_AGO = 3_600_000
PAYLOAD = pa.schema([("n", pa.int64())])


@dataclass
class Taken:
    """What a subjob was given."""

    room: bool = True
    news: list[tuple[int, list[int], bool]] = field(default_factory=list)
    skipped: list[Range] = field(default_factory=list)
    through: bool = True

    def advance(self, source: str, news: News) -> None:
        self.news.append((news.upto, seqs(news.rows), news.ended))
        self.skipped += [news.skipped] if news.skipped is not None else []

    def is_through(self, source: str) -> bool:
        return self.through

    def has_room(self, source: str) -> bool:
        return self.room


class Broker(Reader):
    """Holds the tuples from `oldest` up to 10."""

    def __init__(self, oldest: int) -> None:
        self._oldest, self._next, self.closed = Seq(oldest), Seq(0), False

    def begin(self, start: Seq | None, elapsed_ms: int) -> Seq:
        self._next = Seq(10) if start is None else Seq(max(start, self._oldest))
        return self._next

    def poll(self, elapsed_ms: int) -> News:
        first, self._next = self._next, Seq(min(self._next + 3, 10))
        return News(self._next, rows(first, self._next), ended=self._next == 10)

    def rows(self, wanted: Range) -> pa.Table:
        return rows(wanted.start, wanted.stop)

    def close(self) -> None:
        self.closed = True


def started(reader: Reader, taken: Taken, *, computed: bool = False) -> Sources:
    sources = Sources({"numbers": reader}, {"numbers"} if computed else ())
    sources.advance, sources.has_room = taken.advance, taken.has_room
    sources.is_through = taken.is_through
    sources.start_ms = WallMillis(now_ms() - LONG_AGO)
    return sources


def files(folder: Path, count: int) -> Reader:
    (folder / "numbers.jsonl").write_text("".join(f"{json.dumps({'n': n})}\n" for n in range(count)))
    return reader_of(Files(path="numbers.jsonl", schema_="n bigint"), Opening("numbers", PAYLOAD, folder))


def generator(limit: int) -> Reader:
    return reader_of(Generator(rate=100, limit=limit, fields={"n": "_seq"}), Opening("numbers", PAYLOAD))


def poll_to_the_end(sources: Sources, taken: Taken) -> None:
    """A reader of files has a thread of its own."""
    deadline = time.monotonic() + 10
    while not any(ended for _, _, ended in taken.news) and time.monotonic() < deadline:
        sources.poll()
        time.sleep(0.002)


def test_a_source_is_read_from_where_the_subjob_wants_it_to_its_end() -> None:
    taken = Taken()
    sources = started(Broker(oldest=0), taken)
    sources.begin("numbers", Seq(5))
    for _ in range(4):
        sources.poll()
    assert (taken.news, taken.skipped) == ([(8, [5, 6, 7], False), (10, [8, 9], True)], [])


def test_tuples_that_a_source_no_longer_has_are_skipped_and_said_to_be() -> None:
    taken = Taken()
    sources = started(Broker(oldest=7), taken)
    sources.begin("numbers", Seq(5))
    sources.poll()
    assert (taken.news, taken.skipped) == ([(10, [7, 8, 9], True)], [Range(Seq(5), Seq(7))])


def test_tuples_are_skipped_when_those_before_them_are_processed() -> None:
    taken = Taken(through=False)
    sources = started(Broker(oldest=7), taken)
    sources.begin("numbers", Seq(5))
    sources.poll()
    assert taken.news == []
    taken.through = True
    sources.poll()
    assert (taken.news, taken.skipped) == ([(10, [7, 8, 9], True)], [Range(Seq(5), Seq(7))])


def test_nothing_is_read_before_the_job_starts_or_while_there_is_no_room() -> None:
    taken = Taken()
    sources = started(Broker(oldest=0), taken)
    sources.begin("numbers", Seq(0))
    taken.room = False
    sources.poll()
    taken.room, sources.start_ms = True, WallMillis(now_ms() + LONG_AGO)
    sources.poll()
    assert taken.news == []


def test_a_role_that_ends_closes_its_sources_and_the_next_one_begins_where_it_wants() -> None:
    taken, broker = Taken(), Broker(oldest=0)
    sources = started(broker, taken)
    sources.begin("numbers", Seq(0))
    sources.poll()
    sources.stop()
    sources.poll()
    sources.begin("numbers", Seq(1))
    sources.poll()
    assert (broker.closed, taken.news) == (True, [(3, [0, 1, 2], False), (4, [1, 2, 3], False)])


def test_a_generator_tells_how_far_time_has_come_whether_or_not_there_is_room() -> None:
    taken = Taken(room=False)
    sources = started(generator(limit=50), taken, computed=True)
    sources.begin("numbers", None)
    sources.poll()
    assert (taken.news, taken.skipped) == ([(50, [], True)], [Range(Seq(0), Seq(50))])


def test_files_are_read_in_chunks_and_once_more_for_a_state(tmp_path: Path) -> None:
    taken = Taken()
    reader = files(tmp_path, 25_000)
    sources = started(reader, taken)
    sources.begin("numbers", Seq(10))
    poll_to_the_end(sources, taken)
    given = [seq for _, seqs, _ in taken.news for seq in seqs]
    assert given == list(range(10, 25_000))
    assert max(len(seqs) for _, seqs, _ in taken.news) <= 20_000
    assert [upto for upto, _, ended in taken.news if ended] == [25_000]
    assert seqs(sources.rows("numbers", Range(Seq(7), Seq(10)))) == [7, 8, 9]


def test_files_that_are_taken_up_at_their_newest_tuple_continue_after_what_the_job_took(
    tmp_path: Path,
) -> None:
    reader, first, second = files(tmp_path, 5), Taken(), Taken()
    sources = started(reader, first)
    sources.begin("numbers", Seq(0))
    poll_to_the_end(sources, first)
    sources = started(reader, second)
    sources.begin("numbers", None)
    poll_to_the_end(sources, second)
    assert ([n for n in second.news if n[2]], second.skipped) == ([(5, [], True)], [Range(Seq(0), Seq(5))])
