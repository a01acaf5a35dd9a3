from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from understudy.protocol.merge import Pending, Run, greatest_of, merge, mergeable, places_of, runs_of
from understudy.protocol.selection import UNKNOWN

STREAM = st.lists(st.one_of(st.integers(0, 30), st.just(UNKNOWN)), max_size=25)
STREAMS = st.lists(STREAM, min_size=2, max_size=4)


def keys(streams: list[list[int]]) -> list[tuple[int, int, int]]:
    """The definition: (greatest so far, place, seq)."""
    return sorted(
        (max(times[: seq + 1]), place, seq)
        for place, times in enumerate(streams)
        for seq in range(len(times))
    )


@given(STREAMS)
def test_merged_tuples_are_in_the_order_of_their_keys(streams: list[list[int]]) -> None:
    places = merge([greatest_of(np.array(times, np.int64)) for times in streams])
    assert places.tolist() == [place for _, place, _ in keys(streams)]


@given(STREAMS, st.data())
def test_what_is_settled_stays_settled_however_the_tuples_arrive(
    streams: list[list[int]], data: st.DataObject
) -> None:
    greatest = [greatest_of(np.array(times, np.int64)) for times in streams]
    arrived, merged = [0] * len(streams), [0] * len(streams)
    order: list[int] = []
    while any(a < len(s) for a, s in zip(arrived, streams, strict=True)):
        place = data.draw(st.sampled_from([p for p, s in enumerate(streams) if arrived[p] < len(s)]))
        arrived[place] += data.draw(st.integers(1, len(streams[place]) - arrived[place]))
        pending = []
        for g, m, a, times in zip(greatest, merged, arrived, streams, strict=True):
            seen = int(g[a - 1]) if a else UNKNOWN
            coming = int(g[a]) if a < len(times) else 31
            progress = data.draw(st.sampled_from([seen, coming]))
            pending.append(Pending(g[m:a], progress, complete=a == len(times) and data.draw(st.booleans())))
        counts = mergeable(pending)
        order += merge([p.greatest[:n] for p, n in zip(pending, counts, strict=True)]).tolist()
        merged = [m + n for m, n in zip(merged, counts, strict=True)]
    assert order == [place for _, place, _ in keys(streams)][: len(order)]


def test_nothing_is_settled_while_an_input_is_unknown() -> None:
    silent = Pending(np.empty(0, np.int64), UNKNOWN, complete=False)
    assert mergeable([Pending(np.array([1, 2]), 2, complete=False), silent]) == [0, 0]


def test_progress_alone_lets_the_others_go_on() -> None:
    first, second = (
        Pending(np.array([1, 2, 5]), 5, complete=False),
        Pending(np.empty(0, np.int64), 2, complete=False),
    )
    assert mergeable([first, second]) == [2, 0], "at equal times the first input goes first"
    assert mergeable([second, first]) == [0, 1]


def test_a_finished_input_holds_nobody_up() -> None:
    over = Pending(np.array([1]), 1, complete=True)
    assert mergeable([Pending(np.array([3, 4]), 4, complete=False), over]) == [2, 1]


@given(st.lists(st.integers(0, 3), max_size=40))
def test_runs_say_the_same_as_places(order: list[int]) -> None:
    starts = [10, 20, 30, 40]
    runs = runs_of(np.array(order, np.int16), starts)
    assert places_of(runs).tolist() == order
    assert all(a.place != b.place for a, b in itertools.pairwise(runs))
    assert [Run.of(run.to_list()) for run in runs] == list(runs)
    for place, start in enumerate(starts):
        mine = [run for run in runs if run.place == place]
        assert [s for run in mine for s in range(run.start, run.stop)] == list(
            range(start, start + order.count(place))
        )
