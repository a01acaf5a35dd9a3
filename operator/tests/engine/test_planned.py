"""What is left to time and chance is taken from the batch plan: texts, plans, and what a replay makes of
them."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from understudy.engine.inbox import Inbox
from understudy.engine.plan import BatchPlan, Choice
from understudy.engine.planned import Names, expression
from understudy_lab.verify.lists import Row

from .rig import Host, Output, element, feed, sent, stream_spec, table_of

NAMES = Names("_clock", "_salt", ("_pos",), own=())
A = stream_spec("a", patient=pa.string(), x=pa.int64())
B = stream_spec("b", patient=pa.string(), y=pa.int64())
SECOND = 1_000_000
DRAWN = {"at": "now()", "day": "current_date", "luck": "rand()", "more": "rand()", "id": "uuid()"}


# --- texts


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("now()", "_clock"),
        ("current_timestamp", "_clock"),
        ("ts > now() - interval 5 seconds", "ts > _clock - INTERVAL '5' SECONDS"),
        ("current_date", "CAST(_clock AS DATE)"),
        ("curdate()", "CAST(_clock AS DATE)"),
        ("localtimestamp", "CAST(_clock AS TIMESTAMP_NTZ)"),
        ("unix_timestamp()", "UNIX_TIMESTAMP(_clock)"),
        (
            "rand()",
            "(CAST(SHIFTRIGHTUNSIGNED(XXHASH64(_salt, '2.x.0', _pos), 11) AS DOUBLE) / 9007199254740992)",
        ),
    ],
)
def test_a_call_becomes_what_the_plan_chose(text: str, wanted: str) -> None:
    assert expression(text, NAMES, "2.x") == wanted


@pytest.mark.parametrize(
    "text", ["mv  >  1", "'now()'", "rand(42)", "randn()", "`now` -- now()", "timestamp'now'"]
)
def test_a_text_that_a_plan_chooses_nothing_of_stays_as_it_was_written(text: str) -> None:
    assert expression(text, NAMES, "0") == text


def test_two_draws_are_two_calls() -> None:
    text = expression("rand() + rand()", NAMES, "0")
    assert "'0.0'" in text
    assert "'0.1'" in text


def test_a_bare_name_is_a_column_if_there_is_one() -> None:
    names = Names("_clock", "_salt", ("_pos",), own={"current_date"})
    assert expression("current_date", names, "0") == "current_date"
    assert expression("current_date()", names, "0") == "CAST(_clock AS DATE)"


# --- plans


class Watch:
    """A clock that is set by hand."""

    def __init__(self, time: int) -> None:
        self.time = time

    def __call__(self) -> int:
        return self.time


def clocked(time: int) -> tuple[Inbox, Watch]:
    watch = Watch(time)
    return Inbox(element(["a"], [{"map": {"select": {"at": "now()"}}}]), [A], clock=watch), watch


def rows(start: int, stop: int) -> pa.Table:
    return table_of(A, [Row(n, n, {"patient": "p", "x": n}) for n in range(start, stop)])


def next_plan(inbox: Inbox) -> BatchPlan:
    plan = inbox.cut(inbox.last_done, timeout=0)
    assert plan is not None
    inbox.begin(plan.number)
    inbox.done(plan.number)
    return plan


def test_the_time_of_plans_never_goes_back() -> None:
    inbox, watch = clocked(100)
    inbox.offer("a", rows(0, 1))
    assert next_plan(inbox).clock == 100
    watch.time = 50
    inbox.reset()
    inbox.offer("a", rows(0, 1))
    assert next_plan(inbox).clock == 100


def test_a_follower_takes_the_time_that_was_chosen_and_goes_on_from_there() -> None:
    inbox, watch = clocked(70)
    inbox.follow([Choice(0, 1, 0, (), clock=30), Choice(1, 2, 0, (), clock=90)])
    inbox.lead()
    inbox.offer("a", rows(0, 3))
    assert [next_plan(inbox).clock for _ in range(3)] == [30, 90, 90]
    watch.time = 120
    inbox.offer("a", rows(3, 4))
    assert next_plan(inbox).clock == 120


def test_a_standby_that_only_hears_of_choices_does_not_go_behind_them() -> None:
    inbox, _ = clocked(70)
    inbox.heard_of(Choice(0, 1, 0, (), clock=80))
    inbox.offer("a", rows(0, 1))
    assert next_plan(inbox).clock == 80


def test_a_state_carries_the_time() -> None:
    inbox, _ = clocked(100)
    inbox.offer("a", rows(0, 1))
    next_plan(inbox)
    state = sent(inbox.state())
    successor, _ = clocked(60)
    successor.restore(state, {})
    successor.offer("a", rows(1, 2))
    assert next_plan(successor).clock == 100


def test_nobody_asks_the_time_where_nothing_depends_on_it() -> None:
    inbox = Inbox(element(["a"], [{"filter": {"where": "x > 1"}}]), [A])
    inbox.offer("a", rows(0, 1))
    assert next_plan(inbox).clock is None
    assert inbox.state().clock == 0


@pytest.mark.parametrize("clock", [None, 5])
def test_a_choice_is_the_same_after_it_was_shipped(clock: int | None) -> None:
    runs = Inbox(element(["a", "b"], [{"union": {}}]), [A, A])  # two inputs, so that there are runs
    runs.offer("a", rows(0, 2))
    choice = next_plan(runs).choice()
    shipped = Choice(choice.start, choice.stop, choice.salt, choice.runs, clock)
    assert choice.runs
    assert Choice.of(shipped.to_ints()) == shipped


def test_a_choice_without_a_clock_is_shipped_as_it_was_before_there_was_one() -> None:
    assert Choice(0, 5, 7, ()).to_ints() == (0, 5, 7)


# --- on Spark


def run(host: Host, chain: Any, specs: Any, streams: Any, seed: int, choices: Any = None) -> Output:
    inbox, rng = Inbox(chain, specs, parallelism=1 + seed % 2, part_rows=20), random.Random(seed)
    if choices is not None:
        inbox.follow(choices)
        inbox.lead()
    with host.running(inbox) as output:
        for _ in feed(inbox, streams, rng, 150):
            if choices is None and rng.random() < 0.5:
                output.wait(lambda: inbox.idle)
        output.wait()
    return output


def stream(count: int, column: str) -> list[Row]:
    return [Row(n, n * 1000, {"patient": f"p{n % 3}", column: n}) for n in range(count)]


CHAINS: dict[str, list[dict[str, Any]]] = {
    "map": [{"filter": {"where": "rand() < 0.8 and x <= unix_micros(now())"}}, {"map": {"select": {"x": "x"} | DRAWN}}],
    "sql": [{"sql": "select s.x, {} from (select x, uuid() as before from a) s".format(
        ", ".join(f"{text} as {name}" for name, text in DRAWN.items()))}],
    "windows": [
        {"aggregate": {"window": {"on": "_seq", "size": 10, "slide": 5}, "groupBy": ["patient"],
                       "select": {"n": "count(*)", "age": "unix_micros(now()) - max(x)"}}},
        {"map": {"select": {"n": "n", "age": "age", "patient": "patient"} | DRAWN}},
        {"sample": {"fraction": 0.7}},
    ],
}  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize("name", CHAINS)
def test_another_process_that_is_told_the_choices_makes_the_same_tuples(host: Host, name: str) -> None:
    chain, streams = element(["a"], CHAINS[name]), {"a": stream(300, "x")}
    first = run(host, chain, [A], streams, seed=0)
    choices = [Choice.of(plan.choice().to_ints()) for plan in first.plans]
    again = run(host, chain, [A], streams, seed=1, choices=choices)
    assert again.table.equals(first.table)
    assert_drawn_well(first)


def assert_drawn_well(output: Output) -> None:
    table, plans = output.table, output.plans
    luck = [value for name in ("luck", "more") for value in table[name].to_pylist()]
    assert len(set(luck)) == len(luck) > 100
    assert 0 <= min(luck) < 0.1
    assert 0.9 < max(luck) < 1
    ids = table["id"].to_pylist()
    assert {UUID(text).version for text in ids} == {4}
    assert len(set(ids)) == len(ids)
    times = [value.timestamp() * SECOND for value in table["at"].to_pylist()]
    assert times == sorted(times)
    assert {round(t) for t in times} <= {plan.clock for plan in plans}
    assert table["day"].to_pylist()[0] == datetime.fromtimestamp(times[0] / SECOND, UTC).date()


@pytest.mark.spark
def test_pairs_are_drawn_for_by_the_places_of_both(host: Host) -> None:
    join = {
        "with": "b",
        "on": "a.patient = b.patient and rand() < 0.5",
        "within": "5ms",
        "select": {"x": "x", "y": "y"},
    }
    chain = element(
        ["a", "b"],
        [{"join": join | {"select": {"x": "x", "y": "y"} | DRAWN}}, {"filter": {"where": "rand() < 0.9"}}],
    )
    streams = {"a": stream(120, "x"), "b": stream(120, "y")}
    first = run(host, chain, [A, B], streams, seed=0)
    choices = [Choice.of(plan.choice().to_ints()) for plan in first.plans]
    assert run(host, chain, [A, B], streams, seed=3, choices=choices).table.equals(first.table)
    assert_drawn_well(first)
