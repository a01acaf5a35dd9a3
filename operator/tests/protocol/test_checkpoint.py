"""What a checkpoint covers, and which part of it a receiver lacks."""

from __future__ import annotations

import pytest

from understudy.protocol.checkpoint import Checkpoint, ElementState, missing
from understudy.protocol.ids import Epoch, Range, Seq, Stream

UP, SIDE, OUT = Stream("up"), Stream("side"), Stream("out")


def span(start: int, stop: int) -> Range:
    return Range(Seq(start), Seq(stop))


def element(positions: dict[Stream, int], selection: dict[Stream, int], held: Range) -> ElementState:
    return ElementState(
        {s: Seq(n) for s, n in positions.items()}, {s: Seq(n) for s, n in selection.items()}, held
    )


FIRST = element({UP: 10, SIDE: 4}, {UP: 7, SIDE: 4}, span(0, 5))
SECOND = element({UP: 8}, {UP: 8}, span(2, 4))
CHECKPOINT = Checkpoint(Epoch(1), 3, {"first": FIRST, "second": SECOND})


@pytest.mark.parametrize(
    ("stored", "lacks"),
    [
        (None, span(5, 9)),
        (span(0, 4), span(5, 9)),
        (span(0, 5), span(5, 9)),
        (span(0, 7), span(7, 9)),
        (span(5, 9), span(9, 9)),
        (span(6, 8), span(5, 9)),
    ],
)
def test_a_receiver_lacks_what_follows_what_it_has_if_that_begins_early_enough(
    stored: Range | None, lacks: Range
) -> None:
    assert missing(span(5, 9), stored) == lacks


def test_a_position_is_the_least_of_the_elements_that_read_the_stream() -> None:
    assert [CHECKPOINT.position(s) for s in (UP, SIDE, OUT)] == [8, 4, None]


def test_input_that_is_kept_beyond_a_position_is_covered() -> None:
    extended = Checkpoint(Epoch(1), 3, CHECKPOINT.elements, extended={UP: Seq(15), SIDE: Seq(2)})
    assert [extended.covers(s) for s in (UP, SIDE, OUT)] == [15, 4, None]


def test_the_tuples_of_a_checkpoint_are_tails_queues_and_kept_input() -> None:
    tails, queues, kept = 3 + 0 + 0, 5 + 2, 15 - 8
    assert CHECKPOINT.tuples == tails + queues
    extended = Checkpoint(Epoch(1), 3, CHECKPOINT.elements, extended={UP: Seq(15)})
    assert extended.tuples == tails + queues + kept
