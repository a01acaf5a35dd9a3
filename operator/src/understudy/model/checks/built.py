"""Fields that are in the schema but not built yet, and promises that a mode can't keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..choice import Choice, choose, out_of_reach
from ..classes import OperatorClass
from ..classification import class_of
from ..costs import loads
from ..ha import Backups, Guarantee, Mode
from ..job import StreamJob
from ..network import Walk
from ..operators import kind_of
from ..refusal import Refusal, path, refuse
from ..sinks import SINKS, SinkKind
from ..sources import SOURCES, SourceKind
from ..spark_settings import why_never


def sources(job: StreamJob) -> Iterator[Refusal]:
    for n, source in enumerate(job.sources):
        if not source.origin.available:
            field = path("spec", "sources", n, source.kind)
            yield _not_yet(field, f"the source {source.kind}", _available(SOURCES))


def sinks(job: StreamJob) -> Iterator[Refusal]:
    for n, sink in enumerate(job.sinks):
        if not sink.target.available:
            yield _not_yet(path("spec", "sinks", n, sink.kind), f"the sink {sink.kind}", _available(SINKS))


def _available(kinds: Mapping[str, type[SinkKind | SourceKind]]) -> str:
    return " or ".join(name for name, kind in kinds.items() if kind.available)


def operators(walk: Walk) -> Iterator[Refusal]:
    for step in walk.steps:
        if not step.operator.available:
            yield _not_yet(step.field, f"the operator {kind_of(step.operator)}", "python, sql or map")


def checkpoints(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        here, checkpoint = path("spec", "subjobs", n, "ha", "checkpoint"), subjob.ha.checkpoint
        if checkpoint.backups is Backups.UNSYNCHRONIZED:
            continue
        if class_of(subjob).operator_class is OperatorClass.ARBITRARY:
            why = f"{checkpoint.backups} backups do not make an arbitrary subjob repeat itself"
            yield refuse("NotAvailable", f"{here}.backups", f"{why}; write {Backups.UNSYNCHRONIZED}")


def spares(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        mode, field = subjob.ha.mode, path("spec", "subjobs", n, "ha", "spare")
        if subjob.ha.spare and mode is not Mode.AMNESIA:
            has = "chooses a mode by itself" if mode is Mode.AUTO else "has its standby already"
            yield refuse("InvalidSetting", field, f"{mode} {has}; leave it out, or write mode amnesia")


def _not_yet(field: str, what: str, instead: str) -> Refusal:
    return refuse("NotAvailable", field, f"{what} is not available yet; write {instead}")


def promises(job: StreamJob) -> Iterator[Refusal]:
    """A mode that is not built, or a guarantee or recovery time that it can't keep."""
    load_of = loads(job)
    for n, subjob in enumerate(job.subjobs):
        field, load = path("spec", "subjobs", n), load_of[subjob.name]
        choice = choose(subjob, load, field)
        refusal = choice if isinstance(choice, Refusal) else out_of_reach(subjob, choice.mode, load, field)
        if refusal:
            yield refusal


def replicas(job: StreamJob) -> Iterator[Refusal]:
    """Both replicas of a subjob send. A producer that diverges asks only one of them for its position. If the
    other one has received more, the output that it made from the former tuples is sent, too, and hides the
    output made from the tuples that replace them."""
    load_of = loads(job)
    found = {
        s.name: choose(s, load_of[s.name], path("spec", "subjobs", n)) for n, s in enumerate(job.subjobs)
    }
    taken = {name: choice for name, choice in found.items() if isinstance(choice, Choice)}
    for n, subjob in enumerate(job.subjobs):
        if subjob.name not in taken or taken[subjob.name].mode is not Mode.REPLICA_BACKUP:
            continue
        for name in subjob.inputs:
            if name in taken and taken[name].guarantee is Guarantee.ROLLBACK:
                yield refuse(
                    "ModeNotAvailable", path("spec", "subjobs", n, "ha", "mode"), _two_readers(name, taken)
                )


def _two_readers(name: str, taken: Mapping[str, Choice]) -> str:
    how = f"{taken[name].mode}, {taken[name].guarantee}"
    why = f"after a failure {name} ({how}) may send other tuples than before"
    return (
        f"{why}, and of two replicas that send, each may have taken others; "
        f"write mode activeStandby here, or a mode in which {name} is precise"
    )


def spark_settings(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        for name in subjob.spark.conf:
            field = path("spec", "subjobs", n, "spark", "conf", name)
            if not name.startswith("spark."):
                what = f"{name} is no Spark setting; write one that begins with spark."
                yield refuse("InvalidSetting", field, what)
            elif why := why_never(name):
                what = f"no job may set {name}: {why}, and no chart value allows it; leave it out"
                yield refuse("NotAllowed", field, what)
