from __future__ import annotations

import pytest

from understudy.model.classes import OperatorClass
from understudy.model.classification import class_of
from understudy.model.functions import EFFECTS, effects, groups

from .manifests import job, subjob

R, C, D, A = OperatorClass


def verdict(operators: str, inputs: str = "[ecg]", rest: str = "ha: {}") -> tuple[OperatorClass, str]:
    found = class_of(job(subjob(operators, inputs, rest)).subjobs[0])
    return found.operator_class, found.why


JOIN = '[{join: {with: pressure, on: "ecg.patient = pressure.patient", within: 1s}}]'
BOTH = "[ecg, pressure]"
BY_TIME = "merge: eventTime"


@pytest.mark.parametrize(
    ("operators", "wanted", "why"),
    [
        ('[{filter: {where: "mv > 1"}}]', R, "one tuple at a time"),
        ('[{map: {select: {x: "sin(mv)"}}}]', R, "one tuple at a time"),
        ('[{sql: "select mv from ecg"}]', R, "one tuple at a time"),
        ("[{sample: {fraction: 0.5, seed: 7}}]", R, "seed and _seq"),
        ("[{sample: {fraction: 0.5}}]", A, "random"),
        ('[{aggregate: {window: {on: _seq, size: 1}, select: {n: "count(*)"}}}]', C, "place on the stream"),
        (
            '[{aggregate: {window: {on: ts, size: 1s, lateness: 5s}, select: {n: "count(*)"}}}]',
            C,
            "event time",
        ),
        (
            '[{filter: {where: "mv > 1"}}, '
            '{aggregate: {window: {on: _seq, size: 1}, select: {n: "count(*)"}}}]',
            C,
            "",
        ),
        ("[{python: {function: 'a:b'}}]", A, "not declared"),
        ("[{python: {function: 'a:b', deterministic: true}}]", D, "declared deterministic"),
        ("[{correlate: {function: 'a:b', deterministic: true}}]", D, "declared deterministic"),
    ],
)
def test_an_operator_has_the_class_of_the_paper(operators: str, wanted: OperatorClass, why: str) -> None:
    found, because = verdict(operators)
    assert found is wanted
    assert why in because


COUNTS = '{aggregate: {window: {on: %s}, select: {n: "count(*)"}}}'
BY_SEQ, BY_TS = (COUNTS % on for on in ("_seq, size: 1", "ts, size: 1s"))


@pytest.mark.parametrize(
    ("second", "wanted"),
    [(BY_SEQ, D), (BY_TS, C), ("{sample: {fraction: 0.5, seed: 7}}", D), ('{filter: {where: "n > 1"}}', C)],
)
def test_what_depends_on_seqs_inside_a_subjob_does_not_converge(second: str, wanted: OperatorClass) -> None:
    assert verdict(f"[{BY_SEQ}, {second}]")[0] is wanted


@pytest.mark.parametrize(
    ("operators", "rest", "wanted"),
    [
        (JOIN, "merge: arrival", A),
        (JOIN, BY_TIME, R),
        ('[{sql: "select patient from ecg union all select patient from pressure"}]', "merge: arrival", A),
        ('[{sql: "select patient from ecg union all select patient from pressure"}]', BY_TIME, R),
        ("[{union: {}}]", "merge: arrival", A),
        ("[{union: {}}]", BY_TIME, R),
    ],
)
def test_several_inputs_are_arbitrary_unless_merged_by_event_time(
    operators: str, rest: str, wanted: OperatorClass
) -> None:
    assert verdict(operators, BOTH, rest)[0] is wanted


@pytest.mark.parametrize(
    "expression",
    [
        "rand()",
        "rand(42)",
        "randn()",
        "random()",
        "uuid()",
        "current_timestamp()",
        "current_timestamp",
        "now()",
        "current_date",
        "localtimestamp",
        "unix_timestamp()",
        "timestamp'now'",
        "monotonically_increasing_id()",
        "spark_partition_id()",
        "input_file_name()",
        "shuffle(array(1, 2))",
        "version()",
        "current_user",
        "kll_sketch_merge_double(mv, mv)",
        "concat('p', cast(RAND() as string))",
        "case when mv > 1 then uuid() else 'x' end",
    ],
)
def test_chance_clock_and_place_are_arbitrary(expression: str) -> None:
    found, why = verdict(f'[{{map: {{select: {{x: "{expression}"}}}}}}]')
    assert found is A
    assert why


@pytest.mark.parametrize(
    ("expression", "by_plan"),
    [
        ("now()", True),
        ("current_timestamp", True),
        ("current_date()", True),
        ("curdate()", True),
        ("localtimestamp", True),
        ("unix_timestamp()", True),
        ("rand()", True),
        ("random() + rand()", True),
        ("uuid()", True),
        ("rand(42)", False),
        ("current_time", False),
        ("timestamp'now'", False),
        ("rand() + randn()", False),
        ("shuffle(array(now()))", False),
        ("spark_partition_id()", False),
    ],
)
def test_a_batch_plan_chooses_the_clock_and_plain_draws(expression: str, by_plan: bool) -> None:
    (one,) = job(subjob(f'[{{map: {{select: {{x: "{expression}"}}}}}}]', "[ecg]", "ha: {}")).subjobs
    assert (class_of(one).operator_class, class_of(one).by_plan) == (A, by_plan)


@pytest.mark.parametrize(
    ("expression", "by_plan"), [("max(ts) < now()", True), ("count_if(rand() > 0.5)", False)]
)
def test_an_aggregate_has_the_plans_clock_but_no_place_to_draw_for(expression: str, by_plan: bool) -> None:
    operators = f'[{{aggregate: {{window: {{on: _seq, size: 1}}, select: {{x: "{expression}"}}}}}}]'
    assert class_of(job(subjob(operators, "[ecg]", "ha: {}")).subjobs[0]).by_plan is by_plan


@pytest.mark.parametrize(
    "expression",
    ["hash(mv)", "unix_timestamp(ts)", "date'2026-01-01'", "'rand()'", "mv -- rand()", "md5(patient)"],
)
def test_functions_that_only_resemble_time_or_chance_are_repeatable(expression: str) -> None:
    assert verdict(f'[{{map: {{select: {{x: "{expression}"}}}}}}]')[0] is R


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("count(*)", C),
        ("sum(mv) / count(mv)", C),
        ("count(distinct patient)", C),
        ("approx_count_distinct(patient)", C),
        ("stddev(mv)", C),
        ("first(mv)", A),
        ("last(mv)", A),
        ("any_value(mv)", A),
        ("collect_list(mv)", A),
        ("collect_set(mv)", A),
        ("sort_array(collect_list(mv))", C),
        ("array_sort(collect_set(mv))", C),
        ("max_by(patient, mv)", A),
        ("percentile_approx(mv, 0.5)", A),
        ("string_agg(patient)", A),
        ("count_if(rand() > 0.5)", A),
        ("first(mv, true)", A),
        ("mode(mv)", A),
        ("kll_sketch_get_quantile_double(kll_sketch_agg_double(mv), 0.5)", A),
        ("approx_top_k_estimate(approx_top_k_accumulate(patient))", A),
        ("hll_sketch_estimate(hll_sketch_agg(patient))", A),
        ("theta_sketch_estimate(theta_sketch_agg(patient))", A),
        ("bitmap_count(bitmap_construct_agg(bitmap_bit_position(_seq)))", C),
        ("mode() within group (order by mv)", C),
        ("max(mv) filter (where mv > 1)", C),
    ],
)
def test_an_aggregate_that_depends_on_the_order_of_rows_is_arbitrary(
    expression: str, wanted: OperatorClass
) -> None:
    operators = f'[{{aggregate: {{window: {{on: _seq, size: 1}}, select: {{x: "{expression}"}}}}}}]'
    assert verdict(operators)[0] is wanted


def test_classes_are_ordered_from_special_to_general() -> None:
    assert [kind.generality for kind in (R, C, D, A)] == [0, 1, 2, 3]


def test_the_list_of_functions_is_sparks() -> None:
    assert len(groups()) > 500
    assert groups()["count"] == "agg"
    assert groups()["explode"] == "generator"
    assert "iif" not in groups()


def test_every_function_says_what_its_result_depends_on() -> None:
    assert set(effects().values()) == EFFECTS.keys()
    assert effects().keys() <= groups().keys()
