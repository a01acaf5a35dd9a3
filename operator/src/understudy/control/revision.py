"""Which pods of a running job an edit outdates. A pod carries the digests of what it was started with.

Only what the manifest says is digested, not defaults: an upgrade of the operator must not look like an edit.
Which field is in which digest is the table of `edits`.

| digest | covers | a difference means |
|---|---|---|
| revision | the whole manifest | nothing by itself: a pod keeps the manifest it was started with |
| query | what the pod computes, from which inputs | the pod is replaced at once |
| settings | readers, Spark settings, resources, certificate | the standby is replaced, then the primary |

The high-availability settings are in neither digest: running instances receive them, and report the newest
ones in their pages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from understudy.control.edits import Needs, of_subjob
from understudy.model.job import StreamJob, Subjob
from understudy.model.sinks import Sink
from understudy.model.sources import HINTS
from understudy.model.value import Value


@dataclass(frozen=True, slots=True)
class Digests:
    query: str
    settings: str


NO_DIGESTS = Digests("", "")


def revision_of(declared: StreamJob, failed: Iterable[str] = ()) -> str:
    """`failed`: the subjobs that are replaced by an alternative."""
    gone = sorted(failed)
    return _digest([_plain(declared), gone] if gone else _plain(declared))


def digests_of(job: StreamJob, subjob: Subjob, certificate: int = 0) -> Digests:
    fields = _plain(subjob)
    query = {name: value for name, value in fields.items() if of_subjob(name) is Needs.REPLACEMENT}
    settings = {name: value for name, value in fields.items() if of_subjob(name) is Needs.ROLLING}
    readers = [consumers_of(job, subjob.name), *_numbered(certificate)]
    return Digests(_digest([query, _sources(job, subjob)]), _digest([settings, *readers]))


def digests_before_live_edits(job: StreamJob, subjob: Subjob, certificate: int = 0) -> Digests:
    """The digests of pods from an operator that made new pods for every change of `ha`. Such pods cannot
    receive an edit."""
    fields = _plain(subjob)
    settings = [fields.pop(name, None) for name in ("ha", "spark")]
    query = [fields, str(subjob.ha.mode), _sources(job, subjob)]
    return Digests(
        _digest(query), _digest([settings, consumers_of(job, subjob.name), *_numbered(certificate)])
    )


def sink_digests(sink: Sink, certificate: int = 0) -> Digests:
    return Digests(_digest(_plain(sink)), _digest([certificate]) if certificate else "")


def _sources(job: StreamJob, subjob: Subjob) -> list[Any]:
    read = (source for source in job.sources if source.name in subjob.inputs)
    return [s.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=dict(HINTS)) for s in read]


def _numbered(certificate: int) -> list[int]:
    """Pods of a job without certificates keep the digests that they always had."""
    return [certificate] if certificate else []


def consumers_of(job: StreamJob, stream: str) -> tuple[str, ...]:
    subjobs = tuple(subjob.name for subjob in job.subjobs if stream in subjob.inputs)
    return subjobs + tuple(f"sink:{sink.name}" for sink in job.sinks if sink.input == stream)


def _plain(value: Value) -> dict[str, Any]:
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _digest(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:10]
