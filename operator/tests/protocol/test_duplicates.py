"""The duplicate filter (Xiao, Algorithm 2), on ranges."""

from __future__ import annotations

import random

from understudy.protocol.duplicates import DuplicateFilter, Hole
from understudy.protocol.ids import Range, Seq


def algorithm2(ids: list[int]) -> list[int]:
    """As the paper writes it, tuple by tuple."""
    greatest, output = -1, []
    for one in ids:
        if one > greatest:
            output.append(one)
            greatest = one
    return output


def test_two_replicas_of_a_stream_make_one_as_in_the_paper() -> None:
    rng = random.Random(3)
    for _ in range(200):
        sent, filter_, taken, ids = [0, 0], DuplicateFilter(), list[int](), list[int]()
        while min(sent) < 50:
            replica = rng.randrange(2)
            stop = min(sent[replica] + rng.randrange(1, 9), 50)
            arrived = Range(Seq(sent[replica]), Seq(stop))
            filter_, new = filter_.accept(arrived)
            assert isinstance(new, Range)
            taken += range(new.start, new.stop)
            ids += range(arrived.start, arrived.stop)
            sent[replica] = stop
        assert taken == algorithm2(ids) == list(range(50))


def test_an_equal_id_is_a_duplicate() -> None:
    filter_, _ = DuplicateFilter().accept(Range(Seq(0), Seq(5)))
    _, new = filter_.accept(Range(Seq(4), Seq(5)))
    assert isinstance(new, Range)
    assert not len(new)


def test_what_was_skipped_is_told() -> None:
    filter_, _ = DuplicateFilter().accept(Range(Seq(0), Seq(5)))
    same, hole = filter_.accept(Range(Seq(7), Seq(9)))
    assert hole == Hole(Range(Seq(5), Seq(7)), Range(Seq(7), Seq(9)))
    assert same == filter_
