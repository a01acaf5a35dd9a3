"""The checker is fed histories written by hand, each kind of Hwang's Figure 2 among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.local.report.comparison import compare, keeps, misnumbered
from understudy.model.guarantees import Recovery
from understudy.model.ha import Guarantee


def tuples(text: str) -> list[str]:
    return text.split()


E = tuples("t1 t2 t3 t4 t5 t6")


def judged(observed: str) -> tuple[Recovery, int, int, int]:
    found = compare(E, tuples(observed))
    return found.recovery, found.lost, found.duplicated, found.reordered


@pytest.mark.parametrize(
    ("observed", "recovery", "lost", "duplicated", "reordered"),
    [
        ("t1 t2 t3 t4 t5 t6", Recovery.PRECISE, 0, 0, 0),
        ("t1 t2 t3 t5 t6", Recovery.GAP, 1, 0, 0),
        ("t1 t2 t3 t2 t3 t4 t5 t6", Recovery.REPEATING, 0, 2, 0),
        ("t1 t2 t3 t'2 t'3 t4 t5 t6", Recovery.CONVERGENT, 0, 2, 0),
        ("t1 t2 t3 t'2 t'3 t'4 t'5 t'6", Recovery.DIVERGENT, 0, 2, 0),
    ],
)
def test_every_kind_of_recovery_in_figure_2_is_recognised(
    observed: str, recovery: Recovery, lost: int, duplicated: int, reordered: int
) -> None:
    assert judged(observed) == (recovery, lost, duplicated, reordered)


@pytest.mark.parametrize(
    ("observed", "recovery", "lost", "duplicated", "reordered"),
    [
        ("", Recovery.GAP, 6, 0, 0),
        ("t4 t5 t6", Recovery.GAP, 3, 0, 0),
        ("t1 t2 t3", Recovery.GAP, 3, 0, 0),
        ("t1 t2 t3 t4 t5 t6 t6", Recovery.REPEATING, 0, 1, 0),
        ("t1 t2 t3 t4 t5 t6 t1 t2 t3 t4 t5 t6", Recovery.REPEATING, 0, 6, 0),
        ("t1 t3 t2 t4 t5 t6", Recovery.DIVERGENT, 0, 0, 1),
        ("t6 t5 t4 t3 t2 t1", Recovery.DIVERGENT, 0, 0, 5),
        ("t1 t2 t'3 t'4 t5 t6", Recovery.GAP, 2, 0, 0),  # windows computed from less, then right again
        ("t1 t2 t2 t4 t5 t6", Recovery.GAP, 1, 1, 0),  # a repeat does not make up for a loss
        ("t1 t2 t3 t4 t5 t6 x", Recovery.DIVERGENT, 0, 1, 0),
        ("t1 t2 x t3 x t4 t5 t6", Recovery.CONVERGENT, 0, 2, 0),
    ],
)
def test_histories_at_the_edges(
    observed: str, recovery: Recovery, lost: int, duplicated: int, reordered: int
) -> None:
    assert judged(observed) == (recovery, lost, duplicated, reordered)


def test_nothing_expected_and_nothing_received_is_precise() -> None:
    assert compare([], []).recovery is Recovery.PRECISE


def test_equal_tuples_are_counted_and_the_missing_one_is_found() -> None:
    found = compare(tuples("a b a b a c"), tuples("a b a c"))
    assert (found.recovery, found.lost, found.reordered) == (Recovery.GAP, 2, 0)


def test_equal_tuples_repeated_are_repeats() -> None:
    found = compare(tuples("a a a"), tuples("a a a a"))
    assert (found.recovery, found.duplicated) == (Recovery.REPEATING, 1)


def test_a_run_that_was_stopped_has_not_lost_what_was_still_under_way() -> None:
    assert compare(E, tuples("t1 t2 t3"), open_end=True).recovery is Recovery.PRECISE
    assert compare(E, tuples("t1 t3"), open_end=True).lost == 1
    assert compare(E, tuples("t1 t2 t1 t2 t3"), open_end=True).recovery is Recovery.REPEATING


def test_the_places_of_surplus_tuples_are_named() -> None:
    assert compare(E, tuples("t1 t2 t3 t2 t3 t4 t5 t6")).surplus == (3, 4)


@pytest.mark.parametrize(
    ("observed", "holes"),
    [
        ("t1 t2 t5 t6", ((2, 2),)),
        ("t2 t3 t6", ((0, 1), (2, 2))),
        ("t1 t2 t3", ((3, 3),)),
        ("", ((0, 6),)),
        ("t1 t2 t3 t2 t3 t4 t5 t6", ()),
    ],
)
def test_the_places_of_missing_tuples_are_named(observed: str, holes: tuple[tuple[int, int], ...]) -> None:
    assert compare(E, tuples(observed)).holes == holes


def test_a_promise_is_kept_by_anything_at_least_as_strong() -> None:
    kept = {r: [g.value for g in Guarantee if keeps(r, g)] for r in Recovery}
    rollback = ["gap", "rollback"]
    assert kept == {
        Recovery.PRECISE: ["gap", "rollback", "precise"],
        Recovery.REPEATING: rollback,
        Recovery.CONVERGENT: rollback,
        Recovery.DIVERGENT: rollback,
        Recovery.GAP: ["gap"],
    }


@pytest.mark.parametrize("seqs", [[], [0], [1, 2, 3], [0, 1, 2]])
def test_seqs_from_0_or_1_without_holes_are_right(seqs: list[int]) -> None:
    assert misnumbered(seqs) is None


@pytest.mark.parametrize("seqs", [[2, 3], [0, 2], [0, 1, 1], [0, 2, 1]])
def test_other_seqs_are_not(seqs: list[int]) -> None:
    assert misnumbered(seqs)


streams = st.lists(st.integers(0, 4), max_size=30)


@given(streams, st.data())
def test_dropping_a_tuple_is_never_precise_nor_rollback(expected: list[int], data: st.DataObject) -> None:
    if not expected:
        return
    gone = data.draw(st.integers(0, len(expected) - 1))
    found = compare(expected, expected[:gone] + expected[gone + 1 :])
    assert (found.recovery, found.lost) == (Recovery.GAP, 1)


@given(streams, st.data())
def test_going_back_is_always_repeating(expected: list[int], data: st.DataObject) -> None:
    upto = data.draw(st.integers(0, len(expected)))
    back = data.draw(st.integers(0, upto))
    found = compare(expected, expected[:upto] + expected[back:])
    assert found.recovery is (Recovery.REPEATING if back < upto else Recovery.PRECISE)
    assert found.duplicated == upto - back


@given(streams, streams)
def test_the_counts_add_up(expected: list[int], observed: list[int]) -> None:
    found = compare(expected, observed)
    assert (found.tuples, found.expected) == (len(observed), len(expected))
    assert (found.recovery is Recovery.PRECISE) == (expected == observed)
    assert found.lost >= 0
    assert found.duplicated >= 0
    assert (found.lost > 0) == (found.recovery is Recovery.GAP)
