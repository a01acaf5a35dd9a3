"""Which records a source takes next; and that several writers at once come to one numbering."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from understudy.protocol.chosen import History
from understudy.protocol.ids import Range, Seq
from understudy.protocol.interleaving import Fetched, Partitions, Slice, propose
from understudy.protocol.numbering import Bad, LogEntry, Numbering, Offset, Place, Removed, Run, Taken

START = Numbering("topic-1")
MANY = 1_000


def piece(partition: int, start: int, stop: int, first: int, latest: int | None = None) -> Slice:
    return Slice(partition, Offset(start), Offset(stop), first, first if latest is None else latest)


def runs(entry: Taken | None) -> list[tuple[int, int, int]]:
    assert entry is not None
    return [(run.partition, run.start, run.stop) for run in entry.runs]


def partitions(*parts: Fetched, awaited: Iterable[int] = (), active: Iterable[int] = ()) -> Partitions:
    fetched: dict[int, list[Fetched]] = {}
    for part in parts:
        fetched.setdefault(part.partition, []).append(part)
    return Partitions(fetched, frozenset(awaited), frozenset(active))


def test_a_backlog_is_taken_in_the_order_of_event_time() -> None:
    at = partitions(piece(0, 0, 5, 10), piece(0, 5, 9, 30), piece(1, 0, 5, 20), piece(1, 5, 9, 40))
    assert runs(propose(START, at, MANY)) == [(0, 0, 5), (1, 0, 5), (0, 5, 9), (1, 5, 9)]


def test_nothing_is_taken_that_records_on_their_way_may_precede() -> None:
    parts = piece(0, 0, 5, 10), piece(0, 5, 9, 30), piece(1, 0, 5, 20)
    assert runs(propose(START, partitions(*parts, awaited=[1]), MANY)) == [(0, 0, 5), (1, 0, 5)]
    assert propose(START, partitions(*parts, awaited=[2]), MANY) is None


def test_what_is_taken_already_is_not_proposed() -> None:
    known = Numbering("topic-1", {0: Place(Offset(3))}, 1, Seq(3))
    bad = Bad(0, Offset(2), "no JSON")
    assert runs(propose(known, partitions(piece(0, 0, 2, 1), bad, piece(0, 3, 5, 1)), MANY)) == [(0, 3, 5)]
    assert runs(propose(known, partitions(piece(0, 0, 5, 1)), MANY)) == [(0, 3, 5)]


def test_at_most_so_many_tuples_are_taken() -> None:
    at = partitions(piece(0, 0, 5, 10, 19), piece(1, 0, 5, 20))
    assert runs(propose(START, at, 7)) == [(0, 0, 5), (1, 0, 2)]
    entry = propose(START, at, 3)
    assert runs(entry) == [(0, 0, 3)]
    assert entry is not None
    assert entry.latest == {0: 10}  # the greatest may be of a record that was left


def test_neighbouring_pieces_become_one_run() -> None:
    assert runs(
        propose(START, partitions(piece(0, 0, 5, 1), piece(0, 5, 7, 2), piece(0, 9, 10, 3)), MANY)
    ) == [
        (0, 0, 7),
        (0, 9, 10),
    ]


def test_bad_and_removed_records_are_told_even_without_tuples() -> None:
    removed = Removed(0, Offset(0), Offset(4))
    entry = propose(START, partitions(removed, Bad(0, Offset(4), "no JSON")), 0)
    assert entry is not None
    assert (entry.removed, len(entry.bad), entry.runs) == ((removed,), 1, ())


def test_event_time_waits_for_the_slowest_active_partition() -> None:
    at = partitions(piece(0, 0, 5, 10, 15), piece(1, 0, 5, 20, 25), active=[0, 1])
    entry = propose(START, at, MANY)
    assert entry is not None
    assert entry.progress == 15


def test_event_time_does_not_wait_for_an_idle_partition() -> None:
    known = Numbering("topic-1", {0: Place(Offset(5), 15), 1: Place(Offset(5), 25)}, 1, Seq(10), 15)
    entry = propose(known, partitions(active=[1]), MANY)
    assert entry == Taken(1, progress=25)
    assert propose(known, partitions(active=[0, 1]), MANY) is None
    assert propose(known, partitions(), MANY) == Taken(1, progress=25)


def test_event_time_waits_for_an_active_partition_without_records() -> None:
    entry = propose(START, partitions(piece(0, 0, 5, 10), active=[0, 1]), MANY)
    assert entry is not None
    assert entry.progress is None


def test_event_time_never_goes_back() -> None:
    known = Numbering("topic-1", {0: Place(Offset(5), 15)}, 1, Seq(5), 30)
    assert propose(known, partitions(active=[0]), MANY) is None


@dataclass
class Writer:
    """One instance: what it has fetched, how far it has read the log, and what it has sent."""

    history: History = field(default_factory=lambda: History.beginning(START))
    read: int = 0
    fetched: dict[int, int] = field(default_factory=dict)
    sent: list[LogEntry] = field(default_factory=list)

    def step(self, draw: random.Random, topic: dict[int, list[int]], log: list[LogEntry]) -> None:
        match draw.randrange(4):
            case 0:
                partition = draw.choice(sorted(topic))
                end = len(topic[partition])
                self.fetched[partition] = draw.randint(self.fetched.get(partition, 0), end)
            case 1:
                queues = {p: _pieces(p, topic[p][:upto]) for p, upto in self.fetched.items()}
                entry = propose(
                    self.history.numbering, Partitions(queues, active=set(topic)), draw.randint(0, 9)
                )
                self.sent += [entry] if entry is not None else []
            case 2 if self.sent:
                log.append(self.sent[0] if draw.random() < 0.2 else self.sent.pop(0))
            case _:
                self.follow(log, draw.randint(self.read, len(log)))

    def follow(self, log: list[LogEntry], upto: int) -> None:
        for entry in log[self.read : upto]:
            self.history.take(entry)
        self.read = upto


def _pieces(partition: int, records: list[int]) -> list[Fetched]:
    """A record is the offset's distance from the one before; every seventh is bad."""
    found: list[Fetched] = []
    offset = -1
    for gap in records:
        offset += gap
        bad = Bad(partition, Offset(offset), "seventh")
        found.append(bad if offset % 7 == 6 else piece(partition, offset, offset + 1, offset))
    return found


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(1, 3))
def test_any_interleaving_of_writers_gives_one_numbering(
    draw: random.Random, writers: int, count: int
) -> None:
    topic = {p: [draw.choice([1, 1, 2]) for _ in range(draw.randint(0, 12))] for p in range(count)}
    log: list[LogEntry] = []
    group = [Writer() for _ in range(writers)]
    for _ in range(60):
        draw.choice(group).step(draw, topic, log)
    last = Writer(fetched={p: len(records) for p, records in topic.items()})
    last.follow(log, len(log))
    queues = {p: _pieces(p, records) for p, records in topic.items()}
    while entry := propose(last.history.numbering, Partitions(queues, active=set(topic)), 5):
        log.append(entry)
        last.follow(log, len(log))
    for writer in group:
        writer.follow(log, len(log))
    numberings = [_tuples(writer.history) for writer in (*group, last)]
    assert all(numbering == numberings[0] for numbering in numberings)
    good = {(p, part.start) for p, queue in queues.items() for part in queue if isinstance(part, Slice)}
    assert len(numberings[0]) == len(good)
    assert set(numberings[0]) == good
    for partition in topic:
        taken = [offset for p, offset in numberings[0] if p == partition]
        assert taken == sorted(taken)


def _tuples(history: History) -> list[tuple[int, Offset]]:
    everything = Range(Seq(0), history.chosen.next)
    runs: list[Run] = [numbered.run for numbered in history.chosen.runs(everything)]
    return [(run.partition, Offset(at)) for run in runs for at in range(run.start, run.stop)]
