"""How long a question in the Lease has gone without an answer, look by look."""

from __future__ import annotations

import pytest

from understudy.protocol.ids import Millis
from understudy.protocol.inquiry import LONGEST, Inquiry


def looked(*looks: tuple[str | None, int | None]) -> Inquiry:
    found = Inquiry()
    for question, now in looks:
        found = found.look(question, None if now is None else Millis(now))
    return found


def test_time_counts_while_the_same_question_stands() -> None:
    assert looked(("who?", 1_000), ("who?", 1_800), ("who?", 2_000)).unanswered == 1_000


@pytest.mark.parametrize("second", [None, "another"])
def test_a_question_that_is_gone_or_another_one_begins_from_nothing(second: str | None) -> None:
    assert looked(("who?", 1_000), ("who?", 1_800), (second, 2_000)) == Inquiry(second, Millis(2_000))


def test_time_in_which_nobody_looked_counts_little() -> None:
    assert looked(("who?", 0), ("who?", 60_000)).unanswered == LONGEST


@pytest.mark.parametrize("looks", [(None, 1_000), (1_000, None)])
def test_a_look_without_a_clock_counts_nothing(looks: tuple[int | None, int | None]) -> None:
    assert looked(*(("who?", now) for now in looks)).unanswered == 0
