"""CONTRIBUTING lists the files that know an operator. This holds the list true: no other file names an
operator that exists, except where a theory is about this one."""

from __future__ import annotations

import pytest

from understudy.model.operators import OPERATORS, Sample

from .naming import LABORATORY, importing, listed

TABLES = {"model/operators/__init__.py", "engine/operators.py"}
REFERENCES = {"verify/batch_queries.py", "verify/plain/streams.py"}
PLANS = {
    "aggregate": {"engine/windows.py", "model/panes.py"},
    "join": {"engine/join.py"},
    "python": {"engine/function.py"},
}
"""Plans of more than a few lines. Panes are partials of windows, and of nothing else."""
THEORIES = {
    "aggregate": {f"verify/{name}.py" for name in ("chance", "folding", "many", "sparse")},
    "join": {"verify/chance.py"},
    "map": {"verify/chance.py"},
    "union": {"verify/chance.py"},
}
"""How chance spreads along the streams: windows and joins change it, maps and unions leave no tuple out."""


@pytest.mark.parametrize("kind", OPERATORS)
def test_the_product_names_an_operator_where_contributing_says(kind: str) -> None:
    assert TABLES <= importing(OPERATORS[kind]) <= TABLES | PLANS.get(kind, set())
    assert OPERATORS[kind].__module__ == f"understudy.model.operators.{kind}"


@pytest.mark.parametrize("kind", OPERATORS)
def test_the_laboratory_names_an_operator_where_contributing_says(kind: str) -> None:
    assert importing(OPERATORS[kind], LABORATORY) <= REFERENCES | THEORIES.get(kind, set())


def test_the_worked_example_is_in_five_files() -> None:
    files = {"model/operators/sample.py"} | importing(Sample)
    files |= {f"understudy_lab/{module}" for module in importing(Sample, LABORATORY)}
    own = {name.replace("NAME", "sample") for name in listed("An operator")} - {"engine/sample.py"}
    assert files == own
    assert len(files) == 5


def test_contributing_lists_at_most_six_files_for_an_operator() -> None:
    assert listed("An operator") == {
        "model/operators/NAME.py",
        "engine/NAME.py",
        *TABLES,
        *(f"understudy_lab/{module}" for module in REFERENCES),
    }
    assert len(listed("An operator")) == 6
