"""What is left to chance on the way to a stream."""

from __future__ import annotations

import pytest

from tests.local.jobs import job
from understudy_lab.verify.chance import ANYTHING, Chance, chance_of

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: chance}
spec:
  sources:
    - {name: a, generator: {rate: 10, fields: {k: "_seq % 3", v: "_seq"}}}
    - {name: b, generator: {rate: 10, fields: {k: "_seq % 3", v: "_seq"}}}
    - {name: f, files: {path: rows, format: jsonl, schema: "k int, v int, at timestamp", eventTime: at}}
  subjobs:
    - {name: first, inputs: INPUTS, operators: FIRST, merge: MERGE}
    - {name: second, inputs: [first], operators: SECOND}
  sinks: [{name: alerts, input: second, files: {path: out}}]
"""
UNION, PASS = "[{union: {}}]", "[{filter: {where: 'k = 1'}}]"
COUNT = '{aggregate: {window: {on: _seq, size: 10}, select: {n: "count(*)"}}}'
SECONDS = '{aggregate: {window: {on: ts, size: 1s}, select: {n: "count(*)"}}}'
KEPT = "[{map: {select: {window_start: window_start, window_end: window_end, n: n}}}]"
JOIN = '[{join: {with: WITH, on: "a.k = WITH.k", within: 1s, select: {k: a.k, v: a.v}}}]'


def chance(first: str, second: str = PASS, inputs: str = "[a, b]", merge: str = "arrival") -> Chance:
    text = (
        JOB.replace("INPUTS", inputs)
        .replace("FIRST", first)
        .replace("SECOND", second)
        .replace("MERGE", merge)
    )
    return chance_of(job(text), "second")


@pytest.mark.parametrize(
    ("first", "second"), [(UNION, PASS), (UNION, f"[{COUNT}]"), (JOIN.replace("WITH", "b"), f"[{SECONDS}]")]
)
def test_nothing_is_left_to_chance_where_event_time_decides(first: str, second: str) -> None:
    assert chance(first, second, merge="eventTime").nothing


def test_the_tuples_of_an_arrival_merge_are_certain_but_not_their_order() -> None:
    found = chance(UNION)
    assert (found.order, found.share, found.content, found.late) == (True, 1, False, False)


def test_the_pairs_of_a_join_are_certain_but_not_their_order_if_event_times_only_grow() -> None:
    found = chance(JOIN.replace("WITH", "b"))
    assert (found.order, found.content, found.late) == (True, False, False)


def test_pairs_may_come_too_late_if_event_times_go_back() -> None:
    found = chance(JOIN.replace("WITH", "f"), inputs="[a, f]")
    assert (found.late, found.met, found.content) == (True, ("a", "f"), False)


@pytest.mark.parametrize(("window", "late"), [(COUNT, False), (SECONDS, True)])
def test_the_set_of_windows_over_an_arrival_merge_is_certain_but_not_their_content(
    window: str, late: bool
) -> None:
    for first, second in ((UNION, f"[{window}]"), (f"[{{union: {{}}}}, {window}]", KEPT)):
        found = chance(first, second)
        assert found.windows is not None
        assert (found.late, found.sparse, found.content) == (late, False, False)


def test_a_map_that_keeps_the_bounds_keeps_windows_windows() -> None:
    both = "window_start: window_start, window_end: window_end"
    found = chance(UNION, f"[{COUNT}, {{map: {{select: {{{both}, m: n}}}}}}]")
    assert found.windows is not None
    assert not found.windows.select
    found = chance(UNION, f"[{COUNT}, {{map: {{select: {{m: n}}}}}}]")
    assert (found.windows, found.content, found.share) == (None, True, 1)


def test_shares_multiply_along_a_stream() -> None:
    half = "[{sample: {fraction: 0.5}}]"
    assert chance(half, half, inputs="[a]").share == 0.25


def test_a_seeded_sample_leaves_nothing_to_chance_unless_places_are() -> None:
    seeded = "{sample: {fraction: 0.5, seed: 1}}"
    assert chance(f"[{seeded}]", inputs="[a]").nothing
    assert chance(UNION, f"[{seeded}]") == ANYTHING


@pytest.mark.parametrize(
    "second",
    [
        "[{filter: {where: 'rand() > 0.5'}}]",
        "[{filter: {where: '_seq > 5'}}]",
        f"[{COUNT}, {{filter: {{where: 'n > 5'}}}}]",
        f"[{SECONDS}, {COUNT}]",
    ],
)
def test_an_operator_on_uncertain_places_or_contents_may_give_any_result(second: str) -> None:
    assert chance(UNION, second) == ANYTHING


def test_the_place_of_a_tuple_before_a_random_choice_is_certain() -> None:
    found = chance("[{sample: {fraction: 0.5}}, {map: {select: {k: k, n: _seq}}}]", inputs="[a]")
    assert (found.share, found.content) == (0.5, False)
