"""Manifests in, values or refusals out. No user input makes these functions raise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from .job import StreamJob
from .refusal import Refusal, did_you_mean, refuse
from .sentences import refusals
from .yamltext import Unreadable, read

API_VERSION: Final = "understudy.dev/v1alpha1"
KIND: Final = "StreamJob"
_TOP: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC: Final = ("sources", "subjobs", "sinks")


def load(text: str) -> StreamJob | list[Refusal]:
    """A StreamJob from the text of a manifest. It is well-formed, but not checked yet: see
    `validate.check`."""
    try:
        manifest = read(text)
    except Unreadable as error:
        return [Refusal("Unreadable", "", str(error))]
    return from_manifest(manifest)


def from_manifest(manifest: object) -> StreamJob | list[Refusal]:
    """A StreamJob from a parsed manifest, such as an object from the API server."""
    if not isinstance(manifest, Mapping):
        what = "is empty" if manifest is None else f"is a {type(manifest).__name__}, not a mapping"
        return [
            Refusal("NotAManifest", "", f"the manifest {what}: write apiVersion, kind, metadata and spec")
        ]
    if faults := [*_envelope(manifest), *_unknown(manifest, _TOP, ""), *_spec_faults(manifest)]:
        return faults
    metadata = {k: v for k, v in manifest["metadata"].items() if k in ("name", "namespace") and v is not None}
    try:
        return StreamJob.model_validate({**manifest["spec"], **metadata}, by_alias=True, by_name=False)
    except ValidationError as error:
        return refusals(error)


def to_manifest(job: StreamJob) -> dict[str, Any]:
    """The manifest that `from_manifest` reads back as the same job."""
    fields = job.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": job.name, "namespace": job.namespace},
        "spec": {name: fields[name] for name in _SPEC if name in fields},
    }


def _envelope(manifest: Mapping[str, Any]) -> list[Refusal]:
    faults = [
        refuse("WrongKind", field, f"{manifest.get(field)!r} is not what this reads; write {wanted}")
        for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND))
        if manifest.get(field) != wanted
    ]
    for field in ("metadata", "spec"):
        if not isinstance(manifest.get(field), Mapping):
            faults.append(refuse("MissingField", field, "is missing or not a mapping; write one"))
    return faults


def _spec_faults(manifest: Mapping[str, Any]) -> list[Refusal]:
    spec = manifest.get("spec")
    return _unknown(spec, _SPEC, "spec.") if isinstance(spec, Mapping) else []


def _unknown(found: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> list[Refusal]:
    return [
        refuse(
            "UnknownField",
            f"{prefix}{name}",
            f"is not a field here{did_you_mean(str(name), known)}; write one of {', '.join(known)}",
        )
        for name in found
        if name not in known
    ]
