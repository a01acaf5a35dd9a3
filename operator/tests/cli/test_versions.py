"""`kubectl understudy versions` names what does not fit, and takes nothing unknown for a fault."""

from __future__ import annotations

import json
from typing import Any

import yaml

from .cluster import Cluster


def misfits(demo: Cluster) -> Any:
    done = demo.run("versions", "-o", "json")
    found = json.loads(done.stdout)
    assert done.returncode == (1 if found["misfits"] else 0)
    return found["misfits"]


def test_a_cluster_of_one_version_fits_together(demo: Cluster) -> None:
    done = demo.run("versions")
    assert (done.returncode, done.stderr) == (0, "")
    assert "All of this fits together." in done.stdout
    assert "understudy-0.2.0" in done.stdout


def test_yaml_has_the_same_facts_as_json(demo: Cluster) -> None:
    json_text, yaml_text = (demo.run("versions", "-o", form).stdout for form in ("json", "yaml"))
    assert yaml.safe_load(yaml_text) == json.loads(json_text)


def test_a_pod_with_another_image_is_named(demo: Cluster) -> None:
    demo.pod("demo-keep-1", "secondary", "registry.example/understudy:0.0.9")
    (sentence,) = misfits(demo)
    assert "apps/demo-keep-1 runs registry.example/understudy:0.0.9" in sentence


def test_an_image_that_the_manifest_names_is_no_misfit(demo: Cluster) -> None:
    demo.pod("demo-keep-1", "secondary", "registry.example/mine:1")
    job = demo.fake.get("streamjobs", "demo")
    assert job is not None
    job["spec"]["subjobs"][0]["image"] = "registry.example/mine:1"
    demo.fake.put("streamjobs", job)
    assert misfits(demo) == []


def test_an_operator_of_another_version_and_a_missing_kind_are_named(demo: Cluster) -> None:
    operator = demo.fake.get("deployments", "understudy", "understudy")
    assert operator is not None
    operator["metadata"]["labels"]["app.kubernetes.io/version"] = "0.9.0"
    demo.fake.put("deployments", operator)
    del demo.fake.objects["customresourcedefinitions", "", "migrations.understudy.dev"]
    version, kind = misfits(demo)
    assert "is version 0.9.0, this plugin is 0.1.0" in version
    assert "There is no migrations.understudy.dev" in kind


def test_what_the_reader_may_not_see_is_unknown_and_no_misfit(demo: Cluster) -> None:
    demo.forbid("customresourcedefinitions", "deployments")
    assert misfits(demo) == []
    assert "Forbidden" in demo.run("versions").stdout


def test_no_answer_at_all_is_the_environments_fault(demo: Cluster) -> None:
    demo.forbid("customresourcedefinitions", "deployments", "pods", "streamjobs")
    assert demo.run("versions").returncode == 3
