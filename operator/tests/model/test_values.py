from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from understudy.model.ha import Guarantee, Ha, Mode, Strategy
from understudy.model.job import Merge, StreamJob
from understudy.model.load import from_manifest, load, to_manifest
from understudy.model.operators import Aggregate, Filter, Join, Sql, Window, WindowOn
from understudy.model.value import parse_duration, print_duration
from understudy.model.yamltext import read

from .manifests import job, manifest, subjob


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("3s", timedelta(seconds=3)),
        ("1.5s", timedelta(milliseconds=1500)),
        ("2m", timedelta(minutes=2)),
        ("1h", timedelta(hours=1)),
        ("0s", timedelta(0)),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@given(st.integers(0, 10**9).map(lambda ms: timedelta(milliseconds=ms)))
def test_a_printed_duration_reads_back(duration: timedelta) -> None:
    assert parse_duration(print_duration(duration)) == duration


@pytest.mark.parametrize(
    "text", ["", "3", "s", "3 s", "3S", "-3s", "1e3s", "3s4", "٣s", "9" * 30 + "s", 3, None, True]
)
def test_an_invalid_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="write"):
        parse_duration(text)


def test_values_are_frozen() -> None:
    with pytest.raises(ValidationError):
        job(manifest()).name = "other"  # type: ignore[misc]


def test_defaults_are_those_of_the_documentation() -> None:
    (one,) = job(subjob('[{filter: {where: "mv > 1"}}]')).subjobs
    assert one.ha == Ha(mode=Mode.PASSIVE_STANDBY, guarantee=None, max_recovery=None)
    assert one.ha.checkpoint.interval == timedelta(milliseconds=500)
    assert one.ha.checkpoint.strategy is Strategy.SYNCHRONOUS
    assert one.ha.ack_interval == timedelta(milliseconds=50)
    assert (one.ha.heartbeat.interval, one.ha.heartbeat.misses) == (timedelta(milliseconds=100), 3)
    assert one.merge is Merge.ARRIVAL
    assert (one.spark.driver.cores, one.spark.driver.memory, one.spark.executors.instances) == (1, "1Gi", 0)


def test_guarantees_are_ordered() -> None:
    assert Guarantee.GAP.strength < Guarantee.ROLLBACK.strength < Guarantee.PRECISE.strength


def test_a_window_slides_by_its_size_by_default() -> None:
    assert Window(on=WindowOn.SEQ, size=100).slide == 100
    assert Window(on=WindowOn.TS, size=timedelta(seconds=10), slide=timedelta(seconds=5)).slide == timedelta(
        seconds=5
    )


def test_sql_is_also_a_plain_string() -> None:
    plain, nested = (
        job(subjob(f"[{{sql: {text}}}]")).subjobs[0].operators
        for text in ('"select mv from ecg"', "{query: select mv from ecg}")
    )
    assert plain == nested == (Sql(query="select mv from ecg"),)


def test_an_unquoted_on_is_a_key_like_any_other() -> None:
    """YAML 1.1 takes it for a boolean; kubectl therefore sends it as "true"."""
    window = {"size": 10, "true": "_seq"}
    operators = [
        {"aggregate": {"window": window, "select": {"n": "count(*)"}}},
        {"join": {"with": "b", "true": "a.x = b.x", "within": "1s"}},
    ]
    text = manifest()
    assert "on: _seq" in text
    raw = read(text)
    assert isinstance(raw, dict)
    raw["spec"]["subjobs"][0]["operators"] = operators
    loaded = from_manifest(raw)
    assert isinstance(loaded, StreamJob)
    aggregate, join = loaded.subjobs[0].operators
    assert isinstance(aggregate, Aggregate)
    assert aggregate.window.on is WindowOn.SEQ
    assert isinstance(join, Join)
    assert join.on == "a.x = b.x"


def test_what_kubernetes_adds_to_a_manifest_does_not_matter() -> None:
    raw = read(manifest())
    assert isinstance(raw, dict)
    raw["metadata"] |= {"uid": "x", "generation": 3, "annotations": {}, "namespace": "clinic"}
    raw["status"] = {"phase": "Running"}
    loaded = from_manifest(raw)
    assert isinstance(loaded, StreamJob)
    assert loaded.namespace == "clinic"


def test_a_job_goes_to_a_manifest_and_back() -> None:
    one = job(manifest())
    assert from_manifest(to_manifest(one)) == one


def test_parts_of_a_job_are_found_by_name() -> None:
    one = job(manifest())
    assert one.source("ecg") is one.sources[0]
    assert one.subjob("beats") is one.subjobs[0]
    assert one.sink("out") is one.sinks[0]
    assert one.subjob("nobody") is None


def test_python_code_makes_values_with_python_names() -> None:
    assert Filter(where="x > 1").where == "x > 1"
    assert Join(with_="b", on="true", within=timedelta(seconds=1)).with_ == "b"


@given(st.text(max_size=200))
def test_no_text_makes_the_loader_raise(text: str) -> None:
    assert isinstance(load(text), StreamJob | list)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "spec",
                        "sources",
                        "subjobs",
                        "sinks",
                        "name",
                        "inputs",
                        "operators",
                        "ha",
                        "filter",
                        "sql",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_no_manifest_makes_the_loader_raise(spec: object) -> None:
    found = from_manifest(
        {
            "apiVersion": "understudy.dev/v1alpha1",
            "kind": "StreamJob",
            "metadata": {"name": "x"},
            "spec": spec,
        }
    )
    assert isinstance(found, StreamJob | list)
    assert all("\n" not in refusal.message for refusal in (found if isinstance(found, list) else ()))


def test_a_spare_that_is_not_wanted_changes_nothing_in_the_settings_of_instances() -> None:
    asked, not_asked = Ha(mode=Mode.AMNESIA, spare=True), Ha(mode=Mode.AMNESIA)
    assert "spare" not in not_asked.told()
    assert not_asked.digest == Ha(mode=Mode.AMNESIA, spare=False).digest != asked.digest
    assert Ha.model_validate(asked.told()) == asked
    assert (not_asked.instances, asked.instances, Ha().instances) == (1, 2, 2)
