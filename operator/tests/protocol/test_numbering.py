"""Which record is tuple n: the log of choices, its writers and its readers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.protocol.chosen import History
from understudy.protocol.ids import Range, Seq
from understudy.protocol.numbering import (
    Bad,
    LogEntry,
    Numbering,
    Offset,
    Place,
    Recreated,
    Removed,
    Run,
    Taken,
    follow,
)
from understudy.protocol.numbering_wire import NotUnderstood, from_bytes, to_bytes

START = Numbering("topic-1")


def run(partition: int, start: int, stop: int) -> Run:
    return Run(partition, Offset(start), Offset(stop))


def read(log: list[LogEntry]) -> History:
    assert isinstance(log[0], Numbering)
    history = History.beginning(log[0])
    for entry in log[1:]:
        history.take(entry)
    return history


def offsets(history: History, start: int, stop: int) -> list[tuple[int, int, int]]:
    """(seq, partition, offset) of each tuple."""
    found = []
    for numbered in history.chosen.runs(Range(Seq(start), Seq(stop))):
        for place, offset in enumerate(range(numbered.run.start, numbered.run.stop)):
            found.append((numbered.first + place, numbered.run.partition, offset))
    return found


def test_tuples_are_numbered_in_the_order_of_the_runs() -> None:
    history = read([START, Taken(0, (run(1, 0, 2), run(0, 5, 6))), Taken(1, (run(1, 3, 4),))])
    assert offsets(history, 0, 4) == [(0, 1, 0), (1, 1, 1), (2, 0, 5), (3, 1, 3)]


def test_of_two_writers_that_knew_the_same_the_first_counts() -> None:
    one, other = Taken(0, (run(0, 0, 3),)), Taken(0, (run(1, 0, 3),))
    assert offsets(read([START, one, other]), 0, 3) == offsets(read([START, one]), 0, 3)


def test_an_entry_that_was_sent_twice_counts_once() -> None:
    entry = Taken(0, (run(0, 0, 3),))
    assert read([START, entry, entry]).numbering.next == 3


@pytest.mark.parametrize(
    "entry",
    [
        Taken(1, (run(0, 3, 5),)),
        Taken(1, (run(0, 4, 4),)),
        Taken(1, (run(0, 4, 6), run(0, 5, 7))),
        Taken(1, (run(0, 6, 7), run(0, 4, 5))),
        Taken(1, (run(0, 4, 6),), bad=(Bad(0, Offset(5), "no JSON"),)),
        Taken(1, (run(0, 5, 6),), removed=(Removed(0, Offset(3), Offset(5)),)),
        Taken(2, (run(0, 4, 6),)),
        Recreated(1, "topic-1"),
        Numbering("topic-1", {0: Place(Offset(9))}, 1, Seq(9)),
    ],
    ids=[
        "taken before",
        "empty",
        "overlapping",
        "backwards",
        "bad and good",
        "not removed",
        "ahead",
        "the same",
        "state",
    ],
)
def test_an_entry_that_does_not_continue_is_ignored(entry: LogEntry) -> None:
    history = read([START, Taken(0, (run(0, 0, 4),))])
    before = history.numbering
    assert not history.take(entry)
    assert history.numbering == before


def test_offsets_without_a_record_need_no_entry() -> None:
    assert offsets(read([START, Taken(0, (run(0, 2, 3),)), Taken(1, (run(0, 7, 8),))]), 0, 2) == [
        (0, 0, 2),
        (1, 0, 7),
    ]


def test_bad_and_removed_records_take_no_number_and_are_not_taken_again() -> None:
    first = Taken(0, bad=(Bad(0, Offset(0), "no JSON"),), removed=(Removed(1, Offset(0), Offset(50)),))
    history = read([START, first])
    assert history.numbering.next == 0
    assert not history.take(Taken(1, (run(1, 49, 51),)))
    assert history.take(Taken(1, (run(0, 1, 2), run(1, 50, 51))))


def test_a_partition_that_is_added_begins_with_its_first_record() -> None:
    history = read([Numbering("topic-1", {0: Place(Offset(100))})])
    assert history.take(Taken(0, (run(7, 0, 1), run(0, 100, 101))))


def test_a_topic_that_is_made_again_is_taken_from_the_beginning_and_numbers_go_on() -> None:
    history = read([START, Taken(0, (run(0, 0, 4),)), Recreated(1, "topic-2"), Taken(2, (run(0, 0, 2),))])
    assert history.numbering.topic == "topic-2"
    assert offsets(history, 4, 6) == [(4, 0, 0), (5, 0, 1)]
    assert history.chosen.unreadable_before == 4
    assert history.chosen.begin_at(Seq(0), history.numbering) == {0: 0}


def test_a_topic_that_is_made_again_twice_is_not_the_first_of_the_two() -> None:
    late = Recreated(0, "topic-2")
    history = read([START, late, Recreated(1, "topic-3"), Taken(2, (run(0, 0, 2),)), late])
    assert (history.numbering.topic, history.numbering.places[0].next) == ("topic-3", 2)


def test_a_reader_may_begin_with_any_state_that_counts() -> None:
    whole: list[LogEntry] = [START, Taken(0, (run(0, 0, 4),), progress=7), Taken(1, (run(1, 0, 2),))]
    state = read(whole).numbering
    more = Taken(2, (run(0, 4, 6),))
    late, early = read([state, more]), read([*whole, state, more])
    assert late.numbering == early.numbering
    assert offsets(late, 6, 8) == offsets(early, 6, 8)
    assert late.chosen.progress(Seq(6)) == early.chosen.progress(Seq(6)) == 7


def test_nothing_is_known_before_the_first_state() -> None:
    assert follow(None, Taken(0, (run(0, 0, 4),))) is None


def test_who_follows_a_log_counts_as_its_readers_do() -> None:
    log: list[LogEntry] = [
        START,
        Taken(0, (run(0, 0, 4),)),
        Taken(0, (run(1, 0, 9),)),
        Taken(1, (run(1, 0, 2),)),
    ]
    known: Numbering | None = None
    for entry in log:
        known = follow(known, entry)
    assert known == read(log).numbering


def test_trimming_keeps_what_is_not_released() -> None:
    history = read([START, Taken(0, (run(0, 0, 4), run(1, 0, 4)), progress=5), Taken(1, (run(0, 4, 8),))])
    kept = offsets(history, 6, 12)
    history.chosen.trim(Seq(6))
    assert offsets(history, 6, 12) == kept
    history.chosen.trim(Seq(9))
    assert history.chosen.progress(Seq(9)) == 5
    with pytest.raises(ValueError, match="known are"):
        offsets(history, 5, 8)
    history.chosen.trim(Seq(100))
    assert history.chosen.start == history.chosen.next == 12


def test_each_partition_is_read_from_the_first_tuple_that_is_needed() -> None:
    history = read([START, Taken(0, (run(0, 0, 4), run(1, 0, 4), run(2, 0, 1), run(0, 4, 8)))])
    assert history.chosen.begin_at(Seq(6), history.numbering) == {0: 4, 1: 2, 2: 0}
    assert history.chosen.begin_at(Seq(13), history.numbering) == {0: 8, 1: 4, 2: 1}


def test_an_entry_moves_event_time_with_its_last_tuple_or_else_with_the_next_one() -> None:
    history = read(
        [START, Taken(0, (run(0, 0, 4),), progress=10), Taken(1, progress=20), Taken(2, (run(0, 4, 5),))]
    )
    assert [history.chosen.progress(Seq(seq)) for seq in (0, 2, 3, 4, 5)] == [None, None, 10, 20, 20]


TIMES = st.integers(-(2**40), 2**40)
STARTS = st.integers(0, 2**40).map(Offset)
RUNS = st.builds(lambda p, at, n: Run(p, at, Offset(at + n)), st.integers(0, 99), STARTS, st.integers(1, 9))
LOG_ENTRIES = st.one_of(
    st.builds(
        Taken,
        st.integers(0, 9),
        st.lists(RUNS, max_size=3).map(tuple),
        st.lists(st.builds(Bad, st.integers(0, 9), STARTS, st.text()), max_size=2).map(tuple),
        st.lists(RUNS.map(lambda r: Removed(r.partition, r.start, r.stop)), max_size=2).map(tuple),
        st.dictionaries(st.integers(0, 9), TIMES, max_size=2),
        st.none() | TIMES,
    ),
    st.builds(Recreated, st.integers(0, 9), st.text()),
    st.builds(
        Numbering,
        st.text(),
        st.dictionaries(st.integers(0, 9), st.builds(Place, STARTS, st.none() | TIMES), max_size=3),
        st.integers(0, 9),
        st.integers(0, 9).map(Seq),
        st.none() | TIMES,
    ),
)


@given(LOG_ENTRIES)
def test_an_entry_is_the_same_after_its_way_through_the_topic(entry: LogEntry) -> None:
    assert from_bytes(to_bytes(entry)) == entry


@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense", b"[]", b'{"v":2,"kind":"taken","serial":0}', b'{"v":1,"kind":"new","serial":0}'],
)
def test_a_reader_stops_at_what_it_does_not_understand(data: bytes) -> None:
    with pytest.raises(NotUnderstood):
        from_bytes(data)
