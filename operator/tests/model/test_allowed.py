"""What a job may use of a cluster: each refusal names the field, the rule, and the chart value that allows
it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from understudy.engine.session import fixed_settings
from understudy.kubernetes.executors import executor_settings
from understudy.kubernetes.settings import PodSettings
from understudy.model.allowed import NOTHING_MORE, Allowed
from understudy.model.checks.cluster import faults
from understudy.model.ha import SparkSettings
from understudy.model.job import StreamJob
from understudy.model.refusal import Refusal
from understudy.model.spark_settings import ALWAYS, NEVER, is_allowed, why_never
from understudy.model.validate import check

from ..control.jobs import job, with_spark

Json = dict[str, Any]
CLAIM = {"persistentVolumeClaim": {"claimName": "data"}}


def with_sink_volume(volume: Json) -> StreamJob:
    return job(sinks=[{"name": "out", "input": "double", "files": {"path": "out", "volume": volume}}])


def with_source(**files: Any) -> StreamJob:
    return job(sources=[{"name": "ticks", "files": {"schema": "v int", **files}}])


def with_process(**template: Any) -> StreamJob:
    found = job().model_dump(mode="json", by_alias=True, exclude_unset=True)["subjobs"]
    found[0]["ha"] = {"onPermanentFailure": {"process": {"jobTemplate": template}}}
    return job(subjobs=found)


def only(found: tuple[Refusal, ...]) -> Refusal:
    (refusal,) = found
    assert refusal.message.startswith(refusal.field)
    return refusal


# ---- volumes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "volume",
    [
        CLAIM,
        {"configMap": {"name": "data"}},
        {"emptyDir": {}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
    ],
)
def test_every_job_may_use_these_volumes(volume: Json) -> None:
    assert not faults(with_sink_volume(volume), NOTHING_MORE)


@pytest.mark.parametrize(
    ("volume", "words", "allowed"),
    [
        ({"hostPath": {"path": "/data/x"}}, "jobs.allow.hostPaths", Allowed(host_paths=("/data",))),
        (
            {"csi": {"driver": "files.example"}},
            "jobs.allow.csiDrivers",
            Allowed(csi_drivers=frozenset({"files.example"})),
        ),
        (
            {"nfs": {"server": "nas", "path": "/"}},
            "jobs.allow.volumes",
            Allowed(volumes=frozenset({"nfs"})),
        ),
    ],
)
def test_other_volumes_need_a_chart_value_and_the_refusal_names_it(
    volume: Json, words: str, allowed: Allowed
) -> None:
    refused = only(faults(with_sink_volume(volume), NOTHING_MORE))
    assert (refused.reason, refused.field) == ("NotAllowed", "spec.sinks[0].files.volume")
    assert words in refused.message
    assert not faults(with_sink_volume(volume), allowed)


@pytest.mark.parametrize("path", ["/etc", "/database", "/data/../etc", "/", "data", ""])
def test_a_host_path_outside_the_allowed_folders_is_refused(path: str) -> None:
    allowed = Allowed(host_paths=("/data",), volumes=frozenset({"hostPath"}))
    assert (
        "jobs.allow.hostPaths"
        in only(faults(with_sink_volume({"hostPath": {"path": path}}), allowed)).message
    )


@pytest.mark.parametrize(
    "volume",
    [
        {"secret": {"secretName": "other-authority"}},
        {"projected": {"sources": [{"secret": {"name": "other"}}]}},
        {"csi": {"driver": "files.example", "nodePublishSecretRef": {"name": "other"}}},
        {"iscsi": {"secretRef": {"name": "other"}}},
    ],
)
def test_no_value_allows_a_volume_that_names_a_secret(volume: Json) -> None:
    generous = Allowed(
        volumes=frozenset({"secret", "projected", "iscsi"}), csi_drivers=frozenset({"files.example"})
    )
    assert "no chart value allows it" in only(faults(with_sink_volume(volume), generous)).message


@pytest.mark.parametrize(
    "volume", [{}, {"name": "credentials", "emptyDir": {}}, {"emptyDir": None}, {**CLAIM, "hostPath": {}}]
)
def test_a_volume_has_one_key_which_is_its_kind(volume: Json) -> None:
    assert "one key, its kind" in only(faults(with_sink_volume(volume), NOTHING_MORE)).message


def test_the_volume_of_a_source_is_checked_like_that_of_a_sink() -> None:
    secret = {"secret": {"secretName": "other-authority"}}
    assert (
        only(faults(with_source(path="in", volume=secret), NOTHING_MORE)).field
        == "spec.sources[0].files.volume"
    )


# ---- paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["..", "../../var/run/secrets/x", "/in/../../x", "in/.."])
def test_the_path_of_a_source_stays_in_its_volume(path: str) -> None:
    refused = only(faults(with_source(path=path, volume=CLAIM), NOTHING_MORE))
    assert (refused.reason, refused.field) == ("InvalidPath", "spec.sources[0].files.path")


def test_an_absolute_path_is_one_of_the_volume_and_none_of_the_pod() -> None:
    assert not faults(with_source(path="/in/a.jsonl", volume=CLAIM), NOTHING_MORE)
    refused = only(
        faults(with_source(path="/var/run/secrets/kubernetes.io/serviceaccount/token"), NOTHING_MORE)
    )
    assert "give the source a volume" in refused.message


# ---- Jobs and Spark settings -----------------------------------------------------------------------------


def test_a_job_template_needs_a_chart_value() -> None:
    refused = only(faults(with_process(spec={}), NOTHING_MORE))
    assert refused.field == "spec.subjobs[0].ha.onPermanentFailure.process.jobTemplate"
    assert "jobs.allow.jobTemplates" in refused.message
    assert not faults(with_process(spec={}), Allowed(job_templates=True))


def test_a_spark_setting_is_listed_or_needs_a_chart_value() -> None:
    assert not faults(with_spark(conf=dict.fromkeys(ALWAYS, "1")), NOTHING_MORE)
    assert not check(with_spark(conf=dict.fromkeys(ALWAYS, "1")))
    other = with_spark(conf={"spark.hadoop.fs.defaultFS": "x"})
    refused = only(faults(other, NOTHING_MORE))
    assert refused.field == "spec.subjobs[0].spark.conf.spark.hadoop.fs.defaultFS"
    assert "jobs.allow.sparkSettings" in refused.message
    for names in ({"spark.hadoop.fs.defaultFS"}, {"spark.hadoop.*"}):
        assert not faults(other, Allowed(spark_settings=frozenset(names)))
    assert not check(other), "a local run may set it"


def test_a_setting_on_which_something_rests_is_refused_whatever_the_chart_says() -> None:
    (refused,) = check(with_spark(conf={"spark.authenticate": "false"}))
    assert refused.field == "spec.subjobs[0].spark.conf.spark.authenticate"
    everything = frozenset({"spark.*"})
    assert is_allowed("spark.authenticate", everything)
    assert why_never("spark.authenticate")


def test_every_setting_that_understudy_sets_is_refused_in_manifests_or_harmless() -> None:
    """A manifest's settings come after understudy's own, so they would replace them."""
    subjob = with_spark(executors={"instances": 1}).subjobs[0]
    ours = {
        **fixed_settings(SparkSettings(), Path("/scratch"), "127.0.0.1"),
        **executor_settings("apps", subjob, PodSettings(image="i")),
    }
    assert [name for name in ours if not why_never(name) and name not in ALWAYS] == []


def test_no_setting_is_both_allowed_and_refused() -> None:
    assert not ALWAYS.keys() & NEVER.keys()
    assert [name for name in ALWAYS if why_never(name)] == []
