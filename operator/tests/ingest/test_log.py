"""The log of a push source: crashes, earlier owners, repeated requests, trims."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from understudy.ingest.commit import Answer, Committer, Request
from understudy.ingest.log import Log
from understudy.ingest.records import Batch, Damaged, Last, Record, State, records, to_bytes
from understudy.protocol.ids import Range, Seq
from understudy.sinks.port import Life, Superseded

SCHEMA = pa.schema([("n", pa.int64()), ("name", pa.string())])


def opened(folder: Path, life: int = 0, segment_bytes: int = 1 << 20) -> Log:
    return Log(folder / "log", Life("run", life), segment_bytes)


def batch(sequence: int, producer: str = "p") -> Batch:
    return Batch(producer, sequence, 1, b'{"n": %d}\n' % sequence)


def sequences(log: Log, start: int = 0) -> list[int]:
    return [found.sequence for _, found in log.bodies(Range(Seq(start), log.next))]


def newest(folder: Path) -> Path:
    return sorted((folder / "log").glob("*.log"))[-1]


def test_records_survive_their_bytes() -> None:
    written: list[Record] = [State(Seq(7), {"p": Last(3, 99)}), batch(4), batch(5, "größer")]
    raw = b"".join(map(to_bytes, written))
    assert [record for _, record in records(raw)] == written


@pytest.mark.parametrize("cut", range(1, len(to_bytes(batch(2)))))
def test_a_torn_record_ends_the_log_before_it(cut: int) -> None:
    raw = to_bytes(batch(1)) + to_bytes(batch(2))[:-cut]
    assert [record for _, record in records(raw)] == [batch(1)]


def test_a_record_of_zeros_ends_the_log() -> None:
    assert [record for _, record in records(to_bytes(batch(1)) + bytes(100))] == [batch(1)]


def test_a_log_continues_after_a_crash_behind_the_last_whole_record(tmp_path: Path) -> None:
    opened(tmp_path).append([batch(1), batch(2)])
    with newest(tmp_path).open("ab") as file:
        file.write(to_bytes(batch(3))[:-1])
    log = opened(tmp_path, 1)
    assert (log.next, log.last_of("p")) == (2, Last(2, batch(2).checksum))
    log.append([batch(3)])
    assert sequences(opened(tmp_path, 2)) == [1, 2, 3]


def test_an_earlier_owner_that_wakes_adds_nothing_and_gets_no_ack(tmp_path: Path) -> None:
    earlier = opened(tmp_path)
    earlier.append([batch(1)])
    later = opened(tmp_path, 1)
    with pytest.raises(Superseded):
        earlier.append([batch(2)])
    later.append([batch(3)])
    assert sequences(later) == sequences(opened(tmp_path, 2)) == [1, 3]


def test_an_earlier_owner_that_wakes_in_a_new_segment_adds_nothing(tmp_path: Path) -> None:
    earlier = opened(tmp_path, segment_bytes=1)
    earlier.append([batch(1)])
    later = opened(tmp_path, 1)
    with pytest.raises(Superseded):
        earlier.append([batch(2)])  # begins a segment
    assert sequences(later) == [1]


def test_an_earlier_life_does_not_take_the_log_back(tmp_path: Path) -> None:
    opened(tmp_path, 2)
    with pytest.raises(Superseded):
        opened(tmp_path, 1)


def test_a_log_of_many_segments_is_read_from_any_seq(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=200)
    for sequence in range(1, 31):
        log.append([batch(sequence)])
    assert len([*(tmp_path / "log").glob("*.log")]) > 5
    for start in range(30):
        assert sequences(log, start) == list(range(start + 1, 31))


def test_what_nobody_needs_is_removed_and_its_producers_stay_known(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=200)
    log.append([batch(1, "quiet")])
    for sequence in range(1, 31):
        log.append([batch(sequence)])
    before = log.size
    log.trim(Seq(20))
    assert 0 < log.first <= 20
    assert log.size < before
    again = opened(tmp_path, 1)
    assert (again.first, again.next) == (log.first, 31)
    assert again.last_of("quiet") == Last(1, batch(1).checksum)
    assert sequences(again, 20) == list(range(20, 31))


def test_a_log_whose_newest_segment_lost_its_beginning_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).append([batch(1)])
    newest(tmp_path).write_bytes(bytes(100))
    with pytest.raises(Damaged, match="does not begin with a state"):
        opened(tmp_path, 1)


# --- requests


def committer(folder: Path, life: int = 0) -> Committer:
    return Committer(opened(folder, life), SCHEMA)


def request(sequence: int, body: bytes = b'{"n": 1}\n', producer: str = "p") -> Request:
    return Request(producer, sequence, body)


def test_a_request_that_comes_again_is_acked_and_adds_nothing(tmp_path: Path) -> None:
    first = committer(tmp_path)
    assert first.commit([request(1), request(1)]) == [Answer(200, 1), Answer(200, repeated=True)]
    assert first.commit([request(1)]) == [Answer(200, repeated=True)]
    assert committer(tmp_path, 1).commit([request(1)]) == [Answer(200, repeated=True)]
    assert opened(tmp_path, 2).next == 1


def test_a_request_out_of_turn_is_refused_with_the_one_that_comes_next(tmp_path: Path) -> None:
    log = committer(tmp_path)
    (gap,) = log.commit([request(2)])
    assert (gap.status, gap.expected) == (409, 1)
    assert [a.status for a in log.commit([request(1), request(2), request(4)])] == [200, 200, 409]


def test_another_body_under_the_same_sequence_is_refused(tmp_path: Path) -> None:
    log = committer(tmp_path)
    log.commit([request(1, b'{"n": 1}')])
    assert log.commit([request(1, b'{"n": 1}\n')]) == [Answer(200, repeated=True)]
    (other,) = log.commit([request(1, b'{"n": 2}')])
    assert other.status == 409
    assert "another body" in str(other.why)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n",
        b"[1]",
        b"1\n2",
        b'{"n": "one"}',
        b'{"n": 1',
        b'{"n": 1}\n{"n": }',
        b'{"n": 1}{"n":\n',
        b'{"name": "}\n',
        b"\x00",
        b'{"n": 99999999999999999999}',
    ],
)
def test_a_bad_body_is_refused_and_its_neighbours_are_taken(tmp_path: Path, body: bytes) -> None:
    log = committer(tmp_path)
    found = log.commit([request(1), request(1, body, "bad"), request(2, b'{"n": 2}\n{"n": 3}')])
    assert [(answer.status, answer.rows) for answer in found] == [(200, 1), (400, 0), (200, 2)]
    assert found[1].why
    assert opened(tmp_path, 1).next == 3


def test_bodies_that_are_only_good_together_are_refused(tmp_path: Path) -> None:
    halves = [request(1, b'{"n": 1}{"n":', "a"), request(1, b"2}", "b")]
    assert [a.status for a in committer(tmp_path).commit(halves)] == [400, 400]


def test_blank_lines_and_several_objects_in_a_line_are_counted_as_rows(tmp_path: Path) -> None:
    bodies = [b'{"n": 1}\n\n{"n": 2}', b'{"n": 3} {"n": 4}\r\n']
    found = committer(tmp_path).commit([request(1, bodies[0]), request(2, bodies[1])])
    assert [answer.rows for answer in found] == [2, 2]
