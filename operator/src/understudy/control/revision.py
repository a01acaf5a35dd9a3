"""What of a running job an edit changes. A pod carries the digests of what it was started with.

Only what the manifest says is digested, not defaults: an upgrade of the operator must not look like an edit.

| digest | covers | a difference means |
|---|---|---|
| revision | the whole manifest | nothing by itself: a pod keeps the manifest it was started with |
| query | what the pod computes, from which inputs, in which mode | the pod is replaced at once |
| settings | who reads it, timing, Spark settings, resources, certificate | the standby is replaced, then the primary |
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from understudy.model.job import StreamJob, Subjob
from understudy.model.sinks import Sink
from understudy.model.value import Value


@dataclass(frozen=True, slots=True)
class Digests:
    query: str
    settings: str


NO_DIGESTS = Digests("", "")


def revision_of(job: StreamJob) -> str:
    return _digest(_plain(job))


def digests_of(job: StreamJob, subjob: Subjob, certificate: int = 0) -> Digests:
    fields = _plain(subjob)
    settings = [fields.pop(name, None) for name in ("ha", "spark")]
    sources = [_plain(source) for source in job.sources if source.name in subjob.inputs]
    query = [fields, str(subjob.ha.mode), sources]
    return Digests(_digest(query), _digest([settings, consumers_of(job, subjob.name), *_numbered(certificate)]))


def sink_digests(sink: Sink, certificate: int = 0) -> Digests:
    return Digests(_digest(_plain(sink)), _digest([certificate]) if certificate else "")


def _numbered(certificate: int) -> list[int]:
    """Pods of a job without certificates have the digests that they always had."""
    return [certificate] if certificate else []


def consumers_of(job: StreamJob, stream: str) -> tuple[str, ...]:
    subjobs = tuple(subjob.name for subjob in job.subjobs if stream in subjob.inputs)
    return subjobs + tuple(f"sink:{sink.name}" for sink in job.sinks if sink.input == stream)


def _plain(value: Value) -> dict[str, Any]:
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _digest(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:10]
