from __future__ import annotations

import pyarrow as pa
import pytest

from understudy.engine.inbox import Inbox
from understudy.engine.lane import ORIGIN
from understudy.engine.plan import Choice
from understudy.protocol.ids import Seq, Stream
from understudy.protocol.merge import Run

from .player import JOIN, ROW_WISE, UNION, count_window, numbered, spec_of, time_window
from .rig import element, generator_spec, table_of

MS = 1000


def test_a_follower_waits_for_the_tuples_of_a_choice_and_then_leads() -> None:
    chain = element(["a", "b"], UNION)
    a, b = (table_of(spec_of(name), numbered([MS, 2 * MS], n)) for n, name in enumerate("ab"))
    inbox = Inbox(chain, [spec_of("a"), spec_of("b")])
    inbox.follow([Choice(0, 2, 0, (Run(1, 0, 1), Run(0, 0, 1)))])
    inbox.offer("a", a)
    assert inbox.cut(0, timeout=0) is None
    inbox.lead()
    assert inbox.cut(0, timeout=0) is None, "what was chosen before comes first"
    inbox.offer("b", b)
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert [r["_in"] for r in sorted(inbox.rows(1, 0).to_pylist(), key=lambda r: r["_pos"])] == [1, 0]
    inbox.done(1)
    rest = inbox.cut(1, timeout=0)
    assert rest is not None
    assert (rest.start, rest.stop) == (2, 4)


def test_a_choice_that_leaves_the_order_open_ends_where_it_says() -> None:
    inbox = Inbox(element(["a", "b"], UNION, "eventTime"), [spec_of("a"), spec_of("b")])
    inbox.follow(())
    for n, name in enumerate("ab"):
        inbox.offer(name, table_of(spec_of(name), numbered([MS, 3 * MS, 5 * MS, 7 * MS], n)))
    assert inbox.cut(0, timeout=0) is None
    until = inbox.place_of({"a": 2, "b": 1})
    inbox.follow([Choice(0, until, 0, ())])
    inbox.lead()
    replayed = inbox.cut(0, timeout=0)
    assert replayed is not None
    assert replayed.stop == 3
    assert inbox.done(1).seqs == {"a": 2, "b": 1}
    rest = inbox.cut(1, timeout=0)
    assert rest is not None
    assert rest.start == 3


def test_a_generator_is_made_on_reading_and_leaves_no_tail() -> None:
    inbox = Inbox(element(["a"], count_window(4, 2)), [generator_spec("a", 500, x="_seq")])
    inbox.advance("a", 7)
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert (plan.start, plan.stop) == (0, 6)
    rows = inbox.rows(1, 0)
    assert rows["_seq"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert rows["_ts"].cast(pa.int64()).to_pylist() == [ORIGIN + n * 2000 for n in range(6)]
    position = inbox.done(1)
    assert (position.seqs, position.selection) == ({"a": 6}, {"a": 4})
    assert position.progress == ORIGIN + 7 * 2000, "the next window ends at 8, its last tuple has not come"


def test_an_aggregate_gets_no_plan_in_which_nothing_closes() -> None:
    inbox = Inbox(element(["a"], count_window(10, 10)), [generator_spec("a", 500, x="_seq")])
    inbox.advance("a", 9)
    assert inbox.cut(0, timeout=0) is None
    inbox.advance("a", 25)
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert plan.stop == 20
    inbox.done(plan.number)
    inbox.end("a", 25)
    assert inbox.finished, "windows that are not full when a stream ends are not emitted"


def test_a_plan_is_limited_by_the_rows_in_its_windows() -> None:
    inbox = Inbox(element(["a"], count_window(100, 10)), [generator_spec("a", 500, x="_seq")], max_rows=5000)
    inbox.advance("a", 10_000)
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert plan.stop == 500, "every tuple is in ten windows"


def test_a_plan_takes_no_more_than_what_there_is_room_for() -> None:
    inbox = Inbox(element(["a"], ROW_WISE), [generator_spec("a", 500, x="_seq")])
    inbox.advance("a", 10_000)
    inbox.take_at_most(70)
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert plan.stop == 70
    inbox.done(plan.number)
    inbox.take_at_most(0)
    plan = inbox.cut(1, timeout=0)
    assert plan is not None
    assert plan.stop == 71, "one tuple is always taken"


def test_a_window_that_there_is_no_room_for_is_closed_all_the_same() -> None:
    inbox = Inbox(element(["a"], count_window(100, 100)), [generator_spec("a", 500, x="_seq")])
    inbox.advance("a", 10_000)
    inbox.take_at_most(70)
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert plan.stop == 100


def test_a_window_larger_than_a_plan_is_found_however_far_the_source_is_ahead() -> None:
    spec = generator_spec("a", 1000, x="_seq")
    inbox = Inbox(element(["a"], time_window(5000, 5000, 0)), [spec], max_rows=100)
    inbox.advance("a", 10**15)
    inbox.cut(0, timeout=0)
    inbox.done(1)
    plan = inbox.cut(1, timeout=0)
    assert plan is not None
    assert (plan.start, plan.stop) == (1, 5001), "the first tuple closes all windows before it"


def test_rows_that_do_not_follow_are_refused() -> None:
    inbox = Inbox(element(["a"], ROW_WISE), [spec_of("a")])
    with pytest.raises(ValueError, match="expected consecutive ones from 0"):
        inbox.offer("a", table_of(spec_of("a"), numbered([1, 2, 3], 0)[1:]))
    with pytest.raises(KeyError, match="does not read b"):
        inbox.advance("b", 3)


def test_a_warm_up_changes_no_position() -> None:
    inbox = Inbox(element(["a", "b"], JOIN, "eventTime"), [generator_spec("a", 500, x="_seq"), spec_of("b")])
    inbox.warm_up(count=50)
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert plan.warm_up
    assert inbox.rows(1, 0).num_rows == 100
    assert inbox.done(1).merged == 0
    inbox.advance("a", 5)
    inbox.offer("b", table_of(spec_of("b"), numbered([ORIGIN + 3000], 0)))
    plan = inbox.cut(1, timeout=0)
    assert plan is not None
    assert not plan.warm_up
    assert plan.start == 0


def test_a_closed_inbox_releases_its_waiting_threads() -> None:
    inbox = Inbox(element(["a"], ROW_WISE), [spec_of("a")])
    inbox.close()
    assert inbox.cut(0, timeout=60) is None


def test_a_filter_that_lets_nothing_pass_still_makes_progress() -> None:
    inbox = Inbox(element(["a"], [{"filter": {"where": "false"}}]), [generator_spec("a", 1000, x="_seq")])
    inbox.advance("a", 10)
    inbox.cut(0, timeout=0)
    assert inbox.done(1).progress == ORIGIN + 10 * MS


def test_an_earlier_state_can_be_taken_up_again() -> None:
    inbox = Inbox(element(["a"], count_window(4, 4)), [spec_of("a")])
    inbox.offer("a", table_of(spec_of("a"), numbered([n * MS for n in range(4)], 0)))
    inbox.cut(0, timeout=0)
    before = inbox.state()
    inbox.done(1, made=1)
    assert inbox.state() != before
    assert inbox.earlier({Stream("a"): Seq(0)}) == before
    assert inbox.earlier({Stream("a"): Seq(3)}) is None
    inbox.reset()
    assert inbox.earlier({Stream("a"): Seq(0)}) is None, "another role has another past"


def numbered_rows(name: str, start: int, stop: int) -> pa.Table:
    return table_of(spec_of(name), numbered([n * MS for n in range(stop)], 0)).slice(start)


def test_an_input_gets_no_more_room_than_may_wait() -> None:
    inbox = Inbox(element(["a"], ROW_WISE), [spec_of("a")], max_waiting=10)
    inbox.offer("a", numbered_rows("a", 0, 8))
    assert inbox.room("a") == 2
    assert inbox.cut(0, timeout=0) is not None
    assert inbox.room("a") == 2, "what is under way is not done"
    inbox.done(1)
    assert inbox.room("a") == 10


def test_a_window_that_needs_more_than_may_wait_gets_it() -> None:
    inbox = Inbox(element(["a"], count_window(20, 20)), [spec_of("a")], max_waiting=10)
    inbox.offer("a", numbered_rows("a", 0, 15))
    assert inbox.room("a") > 0
    inbox.offer("a", numbered_rows("a", 15, 25))
    assert inbox.room("a") == 0
    assert inbox.cut(0, timeout=0) is not None


def test_an_input_that_is_ahead_of_another_waits_for_it() -> None:
    inbox = Inbox(element(["a", "b"], UNION, "eventTime"), [spec_of("a"), spec_of("b")], max_waiting=10)
    inbox.offer("a", numbered_rows("a", 0, 12))
    assert inbox.room("a") == 0
    assert inbox.room("b") == 10
