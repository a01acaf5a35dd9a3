"""Compares what the sinks of a run wrote with what an execution without failures gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from understudy.local.folder import Folder
from understudy.local.report.comparison import compare, misnumbered
from understudy.local.report.verdicts import Verdict, describe
from understudy.local.sink_guarantees import path_of, promised
from understudy.local.surroundings import LocalSurroundings
from understudy.model.guarantees import Recovery
from understudy.model.ha import Guarantee
from understudy.model.job import StreamJob
from understudy.model.load import from_manifest, load
from understudy.model.sinks import Sink
from understudy_lab.verify.chance import Chance, chance_of
from understudy_lab.verify.many import References, one_of_many
from understudy_lab.verify.plain import NotPlain, plain_reference
from understudy_lab.verify.reading import read_back
from understudy_lab.verify.rows import Row, Torn, alike
from understudy_lab.verify.topics import Elsewhere
from understudy_lab.verify.variants import without_draws, without_last_operator


class Reference(Protocol):
    """A stream's tuples without failures, in order, as a sink writes them; samples that draw let everything
    pass. Inputs meet in the order of event time; but where they meet in the order of arrival, all of `ahead`
    comes first."""

    def __call__(self, job: StreamJob, stream: str, ahead: str | None = None, /) -> Sequence[Row]: ...


class NotARun(Exception):
    """The folder is not one that `understudy run` left; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is left of a run."""

    job: StreamJob
    folder: Folder
    record: Mapping[str, Any]

    @property
    def elsewhere(self) -> Elsewhere:
        at = LocalSurroundings(self.folder.surroundings)
        return Elsewhere(at.identity(), at.secrets())

    @property
    def complete(self) -> bool:
        return bool(self.record.get("complete", True))

    def promised(self, sink: Sink) -> Guarantee:
        """The least that was promised at any time of the run."""
        versions = [from_manifest(manifest) for manifest in self.record.get("versions", [])]
        jobs = [self.job, *(job for job in versions if isinstance(job, StreamJob))]
        return min((promised(job, sink.input) for job in jobs), key=lambda guarantee: guarantee.strength)

    def declared_losses(self, sink: Sink) -> int:
        """Tuples that the processes on the sink's path say were lost."""
        path = {s.name for s in path_of(self.job, sink.input)}
        pages = [p for p in self.record.get("status", {}).values() if p.get("subjob") in path]
        losses = sum(loss["to"] - loss["from"] for page in pages for loss in page.get("losses", []))
        at_sink = self.record.get("status", {}).get(f"sink-{sink.name}", {}).get("lost", 0)
        return int(losses + at_sink)


def read_run(folder: Folder) -> Run:
    if not folder.job.is_file():
        raise NotARun(
            f"there is no {folder.job.name} in {folder.path}; name a folder that understudy run wrote to"
        )
    job = load(folder.job.read_text())
    if not isinstance(job, StreamJob):
        raise NotARun(f"{folder.job}: " + "; ".join(refusal.message for refusal in job))
    record = json.loads(folder.record.read_text()) if folder.record.is_file() else {}
    return Run(job, folder, record)


def check(run: Run, reference: Reference) -> dict[str, Verdict]:
    return {sink.name: _check_sink(run, sink, reference) for sink in run.job.sinks}


def _check_sink(run: Run, sink: Sink, reference: Reference) -> Verdict:
    promise = run.promised(sink)
    try:
        observed = read_back(sink, run.folder)
    except Torn as error:
        return Verdict(promise, None, objection=str(error))
    if observed is None:
        return Verdict(promise, None, remark="not compared: it keeps nothing that can be read")
    chance = chance_of(run.job, sink.input)
    expected = reference(run.job, sink.input)
    agreed = second_opinion(run.job, sink.input, expected)
    objection = misnumbered([row["_seq"] for row in observed]) or agreed.objection
    if chance.nothing:
        found = compare(*alike(expected, observed), open_end=not run.complete)
        return Verdict(promise, found, objection, agreed.remark)
    references = _references(run.job, sink.input, chance, reference, expected)
    one = one_of_many(references, observed, chance, run.declared_losses(sink), open_end=not run.complete)
    return Verdict(promise, one, objection, "; ".join(filter(None, (_many(chance), agreed.remark))))


def _references(
    job: StreamJob, stream: str, chance: Chance, reference: Reference, expected: Sequence[Row]
) -> References:
    ahead = [reference(job, stream, first) for first in chance.met if chance.late]
    inside = len(reference(without_last_operator(job, stream), stream)) if chance.sparse else 0
    return References(expected, ahead, inside)


def _many(chance: Chance) -> str:
    if chance.content and not chance.share:
        return "not compared: tuples of this query may differ each time; no process has declared a loss"
    if chance.content:
        return "what is in the tuples of this query may differ each time; compared is how many there are"
    if chance.windows:
        return (
            "what is in the windows of this query may differ each time; compared is which windows there are"
        )
    may = (("which tuples pass", chance.share < 1 or chance.late), ("order", chance.order))
    differ = " and ".join(what for what, does in may if does)
    return f"executions of this query may differ in {differ}; it is compared with all that they may give"


@dataclass(frozen=True, slots=True)
class Opinion:
    remark: str | None = None
    objection: str | None = None


def second_opinion(job: StreamJob, stream: str, expected: Sequence[Row]) -> Opinion:
    """What plain Python makes of the same stream, where it can."""
    try:
        plain = plain_reference(without_draws(job), stream)
    except NotPlain as what:
        return Opinion(f"only Spark computed the reference: plain Python does not know {what}")
    found = compare(*alike(expected, plain))
    if found.recovery is Recovery.PRECISE:
        return Opinion("Spark and plain Python agree on the reference")
    return Opinion(
        objection=f"Spark and plain Python do not agree on the reference ({describe(found)}); report this"
    )
