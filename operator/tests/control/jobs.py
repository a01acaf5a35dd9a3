"""Jobs that the tests of the operator use."""

from __future__ import annotations

from typing import Any

from understudy.model.job import StreamJob
from understudy.model.load import from_manifest


def manifest(**changes: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "sources": [
            {"name": "ticks", "generator": {"rate": 100, "limit": 1000, "fields": {"v": "_seq % 7"}}}
        ],
        "subjobs": [
            {"name": "keep", "inputs": ["ticks"], "operators": [{"filter": {"where": "v > 1"}}]},
            {"name": "double", "inputs": ["keep"], "operators": [{"map": {"select": {"w": "v * 2"}}}]},
        ],
        "sinks": [{"name": "out", "input": "double", "files": {"path": "out"}}],
    }
    return {
        "apiVersion": "understudy.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": "demo", "namespace": "apps"},
        "spec": spec | changes,
    }


def job(**changes: Any) -> StreamJob:
    found = from_manifest(manifest(**changes))
    assert isinstance(found, StreamJob), found
    return found


def with_modes(*modes: str) -> StreamJob:
    subjobs = manifest()["spec"]["subjobs"]
    return job(
        subjobs=[{**subjob, "ha": {"mode": mode}} for subjob, mode in zip(subjobs, modes, strict=True)]
    )


def with_settings(**ha: Any) -> StreamJob:
    subjobs = manifest()["spec"]["subjobs"]
    return job(subjobs=[{**subjobs[0], "ha": ha}, subjobs[1]])


def with_spark(**spark: Any) -> StreamJob:
    subjobs = manifest()["spec"]["subjobs"]
    return job(subjobs=[{**subjobs[0], "spark": spark}, subjobs[1]])


def with_query(where: str) -> StreamJob:
    subjobs = manifest()["spec"]["subjobs"]
    return job(subjobs=[{**subjobs[0], "operators": [{"filter": {"where": where}}]}, subjobs[1]])
