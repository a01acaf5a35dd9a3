"""Compares what the sinks of a run wrote with what an execution without failures gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from understudy.backends.local.folder import Folder
from understudy.backends.local.history import Comparison, compare, misnumbered
from understudy.backends.local.plain import NotPlain, plain_reference
from understudy.backends.local.promises import path_of, promised, repeatable
from understudy.backends.local.rows import Row, Torn, alike, read_sink
from understudy.backends.local.verdicts import Verdict, describe
from understudy.model.guarantees import Recovery
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.sinks import Sink

Reference = Callable[[str], Sequence[Row] | None]
"""A stream's tuples without failures, in order, as a sink writes them; None if they are different every time."""


class NotARun(Exception):
    """The folder is not one that `understudy run` left; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is left of a run."""

    job: StreamJob
    folder: Folder
    record: Mapping[str, Any]

    @property
    def complete(self) -> bool:
        return bool(self.record.get("complete", True))

    def declared_losses(self, sink: Sink) -> int:
        """Tuples that the processes on the sink's path say were lost."""
        path = {s.name for s in path_of(self.job, sink.input)}
        pages = [p for p in self.record.get("status", {}).values() if p.get("subjob") in path]
        losses = sum(loss["to"] - loss["from"] for page in pages for loss in page.get("losses", []))
        at_sink = self.record.get("status", {}).get(f"sink-{sink.name}", {}).get("lost", 0)
        return int(losses + at_sink)


def read_run(folder: Folder) -> Run:
    if not folder.job.is_file():
        raise NotARun(f"there is no {folder.job.name} in {folder.path}; name a folder that understudy run wrote to")
    job = load(folder.job.read_text())
    if not isinstance(job, StreamJob):
        raise NotARun(f"{folder.job}: " + "; ".join(refusal.message for refusal in job))
    record = json.loads(folder.record.read_text()) if folder.record.is_file() else {}
    return Run(job, folder, record)


def check(run: Run, reference: Reference) -> dict[str, Verdict]:
    return {sink.name: _check_sink(run, sink, reference) for sink in run.job.sinks}


def _check_sink(run: Run, sink: Sink, reference: Reference) -> Verdict:
    promise = promised(run.job, sink.input)
    if sink.files is None:
        return Verdict(promise, None, remark="not compared: it keeps no files")
    try:
        observed = read_sink(run.folder.sink(sink.name))
    except Torn as error:
        return Verdict(promise, None, objection=str(error))
    objection = misnumbered([row["_seq"] for row in observed])
    expected = reference(sink.input)
    if expected is not None and repeatable(run.job, sink.input):
        agreed = second_opinion(run.job, sink.input, expected)
        comparison = compare(*alike(expected, observed), open_end=not run.complete)
        return Verdict(promise, comparison, objection or agreed.objection, agreed.remark)
    remark = "the query may give another result each time, so tuples cannot be compared one by one"
    comparison = compare(*alike(observed if expected is None else expected, observed), open_end=not run.complete)
    return Verdict(promise, one_of_many(comparison, run.declared_losses(sink)), objection, remark)


@dataclass(frozen=True, slots=True)
class Opinion:
    remark: str | None = None
    objection: str | None = None


def second_opinion(job: StreamJob, stream: str, expected: Sequence[Row]) -> Opinion:
    """What plain Python makes of the same stream, where it can."""
    try:
        plain = plain_reference(job, stream)
    except NotPlain as what:
        return Opinion(f"only Spark computed the reference: plain Python has no {what}")
    found = compare(*alike(expected, plain))
    if found.recovery is Recovery.PRECISE:
        return Opinion("Spark and plain Python agree on the reference")
    return Opinion(objection=f"Spark and plain Python do not agree on the reference ({describe(found)}); report this")


def one_of_many(found: Comparison, declared: int) -> Comparison:
    """Where another execution without failures could differ too, only what the processes declared lost is lost."""
    recovery = Recovery.GAP if declared else Recovery.DIVERGENT
    return replace(found, recovery=recovery, lost=declared, duplicated=0, surplus=(), holes=())
