"""How far event time has come on an element's output: no later result has an earlier event time.

It is known where event times never decrease along the output: always after a time window, and otherwise if
the inputs have that property and are merged by event time. In other cases a consumer knows only the times it
has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from understudy.engine.cutting import Cutter
from understudy.engine.lane import InputSpec
from understudy.model.elements import Element
from understudy.model.job import Merge
from understudy.protocol.selection import UNKNOWN, CountWindow, EachRow, Micros, TimeWindow, Within, rule_of


def is_ordered(element: Element, inputs: Sequence[InputSpec]) -> bool:
    """Whether the event times of an element's output never decrease."""
    if isinstance(rule_of(element.operators), TimeWindow):
        return True
    return all(spec.ordered for spec in inputs) and (len(inputs) == 1 or element.merge is Merge.EVENT_TIME)


def output_progress(
    element: Element, inputs: Sequence[InputSpec], cutter: Cutter, position: int
) -> Micros | None:
    if not is_ordered(element, inputs):
        return None
    match cutter.rule:
        case TimeWindow() as windows:
            found = windows.next_end(cutter.sequence.before(position))
        case CountWindow() as windows:
            found = _at(cutter, windows.next_close(position) - 1)
        case EachRow() | Within():
            found = _at(cutter, position)
        case rule:
            assert_never(rule)
    return None if found == UNKNOWN else found


def _at(cutter: Cutter, place: int) -> Micros:
    """The least event time that the tuple at `place` of the merged input can have."""
    sequence = cutter.sequence
    if place < sequence.stop:
        return int(sequence.greatest(place, place + 1)[0])
    coming = [
        int(lane.greatest(seq, seq + 1)[0]) if seq < lane.stop else lane.progress
        for lane, seq in zip(cutter.lanes, sequence.seqs(sequence.stop), strict=True)
        if not (lane.complete and seq >= lane.stop)
    ]
    return max(sequence.before(sequence.stop), min(coming, default=UNKNOWN))
