"""How aggregates are split into partials of panes."""

from __future__ import annotations

import pytest

from understudy.model.elements import elements_of
from understudy.model.job import Subjob
from understudy.model.operators import Aggregate
from understudy.model.panes import Mergeable, Whole, mergeable, panes_of


def split(**select: str) -> Mergeable | Whole:
    window = {"on": "_seq", "size": 10, "slide": 5}
    return mergeable(Aggregate.model_validate({"window": window, "select": select}))


@pytest.mark.parametrize(
    ("text", "partials", "folded"),
    [
        ("count(*)", ["count(*)"], "coalesce(sum(_p0), 0L)"),
        ("`SUM`(x * (y + 1))", ["`SUM`(x * (y + 1))"], "cast(sum(_p0) AS T)"),
        ("max(x) - min(x)", ["max(x)", "min(x)"], "max(_p0) - min(_p1)"),
        ("max(x) - max(x)", ["max(x)"], "max(_p0) - max(_p0)"),
        ("sum(x) filter (where f(y) > 1)", ["sum(x) filter (where f(y) > 1)"], "cast(sum(_p0) AS T)"),
        (
            "avg(x) FILTER (WHERE x > 0)",
            ["sum(cast((x) AS double)) FILTER (WHERE x > 0)", "count(x) FILTER (WHERE x > 0)"],
            "(sum(_p0) / nullif(sum(_p1), 0L))",
        ),
        ("concat('max(x) {0}', any(b))", ["any(b)"], "concat('max(x) {0}', any(_p0))"),
        ("1 + 1", [], "1 + 1"),
    ],
)
def test_each_call_becomes_a_partial_and_what_folds_it(text: str, partials: list[str], folded: str) -> None:
    found = split(a=text)
    assert isinstance(found, Mergeable)
    assert list(found.partials.values()) == partials
    assert found.select(dict.fromkeys(found.partials, "T")) == {"a": folded}


def test_columns_share_their_partials() -> None:
    found = split(n="count(x)", mean="avg(x)")
    assert isinstance(found, Mergeable)
    assert list(found.partials.values()) == ["count(x)", "sum(cast((x) AS double))"]


@pytest.mark.parametrize(
    "text",
    [
        "count(distinct x)",
        "percentile(x, 0.5)",
        "collect_list(x)",
        "max(x) + first(y)",
        "sum(x) OVER (PARTITION BY y)",
        "try_sum(x)",
        "median(x)",
        "listagg(x) WITHIN GROUP (ORDER BY x)",
    ],
)
def test_one_aggregate_that_cannot_be_merged_keeps_the_tuples(text: str) -> None:
    assert isinstance(split(n="count(*)", a=text), Whole)


@pytest.mark.parametrize(
    "before",
    [
        {"sample": {"fraction": 0.5}},
        {"filter": {"where": "rand() < 0.5"}},
        {"map": {"select": {"x": "now()"}}},
    ],
)
def test_windows_over_what_a_plan_chooses_keep_the_tuples(before: dict[str, object]) -> None:
    aggregate = {"window": {"on": "_seq", "size": 10, "slide": 5}, "select": {"n": "count(x)"}}
    subjob = Subjob.model_validate(
        {"name": "s", "inputs": ["a"], "operators": [before, {"aggregate": aggregate}]}
    )
    (element,) = elements_of(subjob)
    assert isinstance(panes_of(element), Whole)
