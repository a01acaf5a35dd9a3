"""Names that other objects have are not taken over: the job is refused."""

from __future__ import annotations

import pytest

from understudy.control.revision import revision_of
from understudy.control.taken import Other, taken_names

from .jobs import job, manifest


@pytest.mark.parametrize(
    ("kind", "name", "field"),
    [
        ("Service", "demo-keep", "spec.subjobs[0].name"),
        ("Lease", "demo-double", "spec.subjobs[1].name"),
        ("PodDisruptionBudget", "demo-keep-primary", "spec.subjobs[0].name"),
        ("Pod", "demo-keep-7", "spec.subjobs[0].name"),
        ("Pod", "demo-keep-room0", "spec.subjobs[0].name"),
        ("Job", "demo-keep-failed-3", "spec.subjobs[0].name"),
        ("Pod", "demo-sink-out", "spec.sinks[0].name"),
        ("ConfigMap", "demo-run", "metadata.name"),
        ("ConfigMap", f"demo-manifest-{revision_of(job())}", "metadata.name"),
        ("Secret", "demo-authority", "metadata.name"),
        ("Secret", "demo-certificate-2", "metadata.name"),
        ("ServiceAccount", "understudy-demo", "metadata.name"),
        ("Role", "understudy-demo", "metadata.name"),
        ("RoleBinding", "understudy-demo", "metadata.name"),
        ("NetworkPolicy", "understudy-demo", "metadata.name"),
    ],
)
def test_an_object_that_is_not_the_jobs_keeps_its_name(kind: str, name: str, field: str) -> None:
    (refused,) = taken_names(job(), [Other(kind, name)])
    assert (refused.reason, refused.field) == ("NameTaken", field)
    assert f"there is a {kind} {name} that does not belong to this job" in refused.message
    assert "another name, or remove the object" in refused.message


def test_the_sentence_names_the_other_job() -> None:
    (refused,) = taken_names(job(), [Other("Lease", "demo-keep", "demo-k")])
    assert "in use by StreamJob demo-k; give the subjob another name" in refused.message


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Deployment", "demo-keep"),
        ("Service", "demo"),
        ("Pod", "demo-keep"),
        ("Pod", "demo-keep-7-x"),
        ("Pod", "demo-keep-abc12"),
        ("ConfigMap", "demo-manifest-other"),
        ("Lease", "demo-keep-0"),
    ],
)
def test_other_names_do_not_matter(kind: str, name: str) -> None:
    assert not taken_names(job(), [Other(kind, name)])


def test_a_sink_may_not_have_a_name_that_a_pod_of_another_job_will_get() -> None:
    sinks = [{**manifest()["spec"]["sinks"][0], "name": "b-4"}]
    lease = Other("Lease", "demo-sink-b", "demo-sink")
    (refused,) = taken_names(job(sinks=sinks), [lease])
    assert refused.field == "spec.sinks[0].name"
    assert not taken_names(job(), [lease])


def test_each_part_is_refused_once() -> None:
    found = taken_names(job(), [Other("Lease", "demo-keep", "x"), Other("Service", "demo-keep")])
    assert [refused.field for refused in found] == ["spec.subjobs[0].name"]
