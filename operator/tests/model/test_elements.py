from __future__ import annotations

import pytest

from understudy.model.elements import Element, elements_of
from understudy.model.job import Subjob

from .manifests import job, manifest, subjob

COUNT = '{aggregate: {window: {on: _seq, size: 10}, groupBy: [patient], select: {n: "count(*)"}}}'
FILTER = '{filter: {where: "n > 1"}}'
BY_SEQ = '{filter: {where: "_seq % 2 = 0"}}'


def cut(operators: str, inputs: str = "[ecg]") -> tuple[Element, ...]:
    return elements_of(job(subjob(operators, inputs)).subjobs[0])


def by_hand(elements: str) -> Subjob:
    return job(manifest(subjobs=f"- name: beats\n  inputs: [ecg]\n  elements: {elements}")).subjobs[0]


def sizes(elements: tuple[Element, ...]) -> list[int]:
    return [len(element.operators) for element in elements]


def test_one_chain_with_one_window_is_one_element() -> None:
    (element,) = cut(f"[{FILTER}, {COUNT}, {FILTER}]")
    assert element.name == "beats"
    assert element.inputs == element.tables == ("ecg",)


def test_an_element_begins_before_a_second_window() -> None:
    first, second = cut(f"[{FILTER}, {COUNT}, {FILTER}, {COUNT}]")
    assert (first.name, second.name) == ("beats.1", "beats")
    assert sizes((first, second)) == [3, 1]
    assert second.inputs == ("beats.1",)
    assert second.tables == ("ecg",), "expressions go on to call the stream by the first input's name"


@pytest.mark.parametrize(
    "after", [BY_SEQ, '{map: {select: {k: "_seq"}}}', "{sample: {fraction: 0.5, seed: 1}}"]
)
def test_an_element_begins_before_what_needs_the_place_on_a_windows_output(after: str) -> None:
    assert sizes(cut(f"[{COUNT}, {after}]")) == [1, 1]


@pytest.mark.parametrize("after", [FILTER, "{sample: {fraction: 0.5}}", '{sql: "select n from ecg"}'])
def test_other_operators_stay_with_the_window(after: str) -> None:
    assert sizes(cut(f"[{COUNT}, {after}]")) == [2]


def test_the_place_before_a_window_is_the_inputs() -> None:
    assert sizes(cut(f"[{BY_SEQ}, {COUNT}]")) == [2]


def test_a_join_takes_the_stream_so_far_and_the_input_it_names() -> None:
    (element,) = cut(
        '[{filter: {where: "mv > 1"}}, {join: {with: pressure, on: "true", within: 1s}}]', "[ecg, pressure]"
    )
    assert element.inputs == ("ecg", "pressure")


def test_the_left_side_of_a_join_need_not_come_first_among_the_inputs() -> None:
    (element,) = cut('[{join: {with: pressure, on: "true", within: 1s}}]', "[pressure, ecg]")
    assert element.inputs == ("ecg", "pressure")


def test_two_joins_are_two_elements() -> None:
    joins = '[{join: {with: pressure, on: "true", within: 1s}}, {join: {with: log, on: "true", within: 1s}}]'
    first, second = cut(joins, "[ecg, pressure, log]")
    assert first.inputs == ("ecg", "pressure")
    assert second.inputs == ("beats.1", "log")
    assert second.tables == ("ecg", "log")


def test_a_join_does_not_share_an_element_with_the_union_before_it() -> None:
    first, second = cut('[{union: {}}, {join: {with: log, on: "true", within: 1s}}]', "[ecg, pressure, log]")
    assert first.inputs == ("ecg", "pressure")
    assert second.inputs == ("beats.1", "log")


def test_a_window_over_a_union_is_one_element() -> None:
    assert sizes(cut(f"[{{union: {{}}}}, {COUNT}]", "[ecg, pressure]")) == [2]


def test_no_element_has_two_stateful_operators() -> None:
    for element in cut(f"[{COUNT}, {COUNT}, {FILTER}, {COUNT}, {BY_SEQ}, {COUNT}]"):
        assert sum(op.is_stateful for op in element.operators) <= 1


def test_elements_cut_by_hand_keep_their_names() -> None:
    elements = elements_of(
        by_hand(
            f"[{{name: in, inputs: [ecg], operators: [{COUNT}]}}, "
            f"{{name: fin, inputs: [in], operators: [{FILTER}]}}]"
        )
    )
    assert [element.name for element in elements] == ["beats.in", "beats"]
    assert elements[1].inputs == ("beats.in",)
    assert elements[1].tables == ("in",)


def test_the_element_that_nobody_reads_gives_the_stream() -> None:
    one = by_hand(
        f"[{{name: a, inputs: [ecg], operators: [{FILTER}]}}, "
        f"{{name: c, inputs: [a], operators: [{FILTER}]}}, "
        f"{{name: b, inputs: [c], operators: [{FILTER}]}}]"
    )
    assert [element.name for element in elements_of(one)] == ["beats.a", "beats.c", "beats"]
