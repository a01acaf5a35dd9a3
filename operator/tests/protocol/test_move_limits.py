"""When a move is given up, and when an order that nobody has begun is taken back."""

from __future__ import annotations

from understudy.protocol.move_limits import LIMIT_MS, START_MS, is_late_to_begin, is_overdue, too_late

BEGAN = 7_000


def test_a_move_is_overdue_at_its_limit_and_not_before() -> None:
    assert not is_overdue(BEGAN, BEGAN + LIMIT_MS - 1)
    assert is_overdue(BEGAN, BEGAN + LIMIT_MS)
    assert too_late() == "it had not taken place after 300 s"


def test_an_order_that_nobody_began_is_taken_back_while_there_is_time_to_say_so() -> None:
    assert not is_late_to_begin(BEGAN, BEGAN + START_MS - 1)
    assert is_late_to_begin(BEGAN, BEGAN + START_MS)
    assert not is_overdue(BEGAN, BEGAN + START_MS)
