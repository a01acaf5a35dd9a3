"""The second opinion: streams computed in plain Python."""

from __future__ import annotations

from typing import Any

import pytest

from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy_lab.verify.check import second_opinion
from understudy_lab.verify.plain import NotPlain, plain_reference

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: plain}
spec:
  sources:
    - {name: a, generator: {rate: 10, limit: 40, fields: {k: "_seq % 3", v: "_seq * 2"}}}
    - {name: b, generator: {rate: 5, limit: 20, fields: {k: "_seq % 2", v: "-_seq"}}}
  subjobs:
    - name: both
      inputs: [a, b]
      merge: eventTime
      operators:
        - union: {}
        - filter: {where: "v >= 0 OR k = 1"}
      ha: {mode: amnesia}
    - name: sums
      inputs: [both]
      operators:
        - aggregate:
            window: {on: _seq, size: 10, slide: 5}
            groupBy: [k]
            select: {s: "sum(v)", n: "count(*)"}
      ha: {mode: amnesia}
    - name: some
      inputs: [a]
      operators: [OPERATOR]
      ha: {mode: amnesia}
  sinks:
    - {name: x, input: sums, console: {}}
    - {name: y, input: some, console: {}}
"""


def job(operator: str = 'map: {select: {x: "v"}}') -> StreamJob:
    found = load(JOB.replace("OPERATOR", f"{{{operator}}}"))
    assert isinstance(found, StreamJob), found
    return found


def test_inputs_meet_in_the_order_of_event_time_then_of_their_place() -> None:
    both = plain_reference(job(), "both")
    # a has two tuples for each of b; at equal times a's comes first.
    assert [row["v"] for row in both[:7]] == [0, 0, 2, 4, -1, 6, 8]
    assert [row["_seq"] for row in both] == list(range(len(both)))


def test_windows_cover_places_of_the_stream_and_are_emitted_when_full() -> None:
    both, sums = plain_reference(job(), "both"), plain_reference(job(), "sums")
    starts = sorted({row["window_start"] for row in sums})
    assert starts == list(range(0, len(both) - 10 + 1, 5))
    for row in sums:
        inside = [r["v"] for r in both[row["window_start"] : row["window_end"]] if r["k"] == row["k"]]
        assert (row["s"], row["n"]) == (sum(inside), len(inside))
    assert sums == sorted(sums, key=lambda r: (r["window_end"], r["k"]))


def test_windows_in_event_time_are_known_unless_their_bounds_come_out() -> None:
    """One tuple every 100 ms: windows of a second hold ten, and the one that never closes is not there."""
    window = "aggregate: {window: {on: ts, size: 1s}, select: {s: 'sum(v)'}}"
    found = load(JOB.replace("[OPERATOR]", f"[{{{window}}}, {{map: {{select: {{s: s}}}}}}]"))
    assert isinstance(found, StreamJob), found
    assert [row["s"] for row in plain_reference(found, "some")] == [90, 290, 490]


def test_the_group_of_null_comes_first() -> None:
    grouped = "aggregate: {window: {on: _seq, size: 10}, groupBy: [k], select: {n: 'count(*)'}}"
    text = JOB.replace('k: "_seq % 3"', 'k: "if(_seq % 3 = 0, null, _seq % 3)"')
    found = load(text.replace("OPERATOR", f"{{{grouped}}}"))
    assert isinstance(found, StreamJob), found
    assert [(row["k"], row["n"]) for row in plain_reference(found, "some")[:3]] == [(None, 4), (1, 3), (2, 3)]


@pytest.mark.parametrize(
    "operator",
    [
        "aggregate: {window: {on: ts, size: 1s}, select: {n: 'count(*)'}}",
        "map: {select: {x: \"date_format(ts, 'yyyy')\"}}",
        'map: {select: {x: "v / 0.5"}}',
        'map: {select: {x: "1 / v"}}',
        'sql: "select v from a"',
    ],
)
def test_a_query_that_plain_python_does_not_know_is_refused(operator: str) -> None:
    with pytest.raises(NotPlain):
        plain_reference(job(operator), "some")


@pytest.mark.parametrize(("change", "agreed"), [(0, True), (1, False)])
def test_two_references_that_differ_are_an_objection(change: int, agreed: bool) -> None:
    expected: list[Any] = [dict(row) for row in plain_reference(job(), "some")]
    expected[7]["x"] += change
    opinion = second_opinion(job(), "some", expected)
    assert (opinion.objection is None) is agreed


@pytest.mark.parametrize("merge", ["arrival", "eventTime"])
def test_inputs_that_arrive_meet_as_they_do_in_event_time(merge: str) -> None:
    found = load(
        JOB.replace("merge: eventTime", f"merge: {merge}").replace("OPERATOR", "{filter: {where: 'true'}}")
    )
    assert isinstance(found, StreamJob), found
    assert plain_reference(found, "both") == plain_reference(job(), "both")


def test_whole_numbers_that_meet_doubles_are_doubles() -> None:
    found = load(JOB.replace('v: "-_seq"', 'v: "_seq / 2"').replace("OPERATOR", "{filter: {where: 'true'}}"))
    assert isinstance(found, StreamJob), found
    assert {type(row["v"]) for row in plain_reference(found, "both")} == {float}


def test_both_references_keep_every_tuple_of_a_random_sample() -> None:
    drawing = job("sample: {fraction: 0.5}")
    everything = plain_reference(job("filter: {where: 'true'}"), "some")
    assert (
        second_opinion(drawing, "some", everything).remark == "Spark and plain Python agree on the reference"
    )
    assert second_opinion(drawing, "some", everything[1:]).objection
