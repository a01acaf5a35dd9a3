"""Remembers verdicts on jobs: to parse and plan a job takes longer than all the rest of a reconciliation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from understudy.control.admission import admit, plans_of
from understudy.control.revision import revision_of
from understudy.kubernetes.objects import accepted_text
from understudy.model.allowed import Allowed
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.plan import SubjobPlan
from understudy.model.refusal import Refusal

MOST: Final = 1_000

Json = dict[str, Any]
Verdict = StreamJob | tuple[Refusal, ...]


class Admitted:
    """Three small caches. Each maps a value that never changes to what follows from it."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._verdicts: dict[tuple[str, int], Verdict] = {}
        self._jobs: dict[str, StreamJob] = {}
        self._plans: dict[str, Mapping[str, SubjobPlan]] = {}

    def admit(self, body: Json) -> Verdict:
        """The verdict on one generation of a StreamJob's spec."""
        key = (body["metadata"]["uid"], body["metadata"]["generation"])
        if key not in self._verdicts:
            fields = ("apiVersion", "kind", "metadata", "spec")
            manifest = {name: body[name] for name in fields if name in body}
            _remember(self._verdicts, key, admit(manifest, self._allowed))
        return self._verdicts[key]

    def read(self, config_map: Json) -> StreamJob | None:
        """The job as it was recorded when it was accepted; None if this version cannot read it any more."""
        uid = config_map["metadata"]["uid"]
        if uid not in self._jobs:
            job = load(accepted_text(config_map))
            if not isinstance(job, StreamJob):
                return None
            _remember(self._jobs, uid, job)
        return self._jobs[uid]

    def plans(self, job: StreamJob | None) -> Mapping[str, SubjobPlan]:
        if job is None:
            return {}
        key = f"{job.namespace}/{job.name}/{revision_of(job)}"
        if key not in self._plans:
            _remember(self._plans, key, plans_of(job))
        return self._plans[key]


def _remember(memory: dict[Any, Any], key: object, value: object) -> None:
    """Adds an entry, and drops the oldest one if there are too many."""
    while len(memory) >= MOST:
        del memory[next(iter(memory))]
    memory[key] = value
