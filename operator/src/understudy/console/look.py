"""What the console shows of a job, from what is known of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from understudy.console import safety
from understudy.console.network import Place, node_id, places, producer_id, ways
from understudy.console.seen import PROTECTED_AGAIN, IncidentSeen, JobSeen, ProcessSeen
from understudy.console.series import series
from understudy.console.view import (
    ConsoleView,
    Edge,
    IncidentView,
    Keeping,
    Node,
    NodeKind,
    Part,
    ProcessView,
    Series,
    Step,
    Way,
)
from understudy.model.elements import elements_of
from understudy.model.job import StreamJob, Subjob
from understudy.model.operators import kind_of
from understudy.model.plan import SubjobPlan
from understudy.model.sinks import Sink
from understudy.model.sources import Source
from understudy.modes.build import sink_consumer
from understudy.protocol.statuspage import Queue, State

NEWEST: Final = 20
"""So many incidents are shown."""
BEFORE_MS: Final = 2_000
AFTER_MS: Final = 2_000
"""How much of the sinks' time is shown before a fault, and after its last step."""
AT_LEAST_MS: Final = 4_000
AT_MOST_MS: Final = 30_000


def view_of(seen: JobSeen) -> ConsoleView:
    where = places(seen.job)
    newest = sorted(seen.incidents, key=lambda i: -i.at_ms)[:NEWEST]
    return ConsoleView(
        job=seen.job.name,
        place=seen.place,
        now_ms=seen.now_ms,
        started_ms=seen.started_ms,
        ended_ms=seen.ended_ms,
        verdict=safety.of_job(seen),
        nodes=(
            *(_source(s, where) for s in seen.job.sources),
            *(_subjob(seen, s, seen.plans.get(s.name), where) for s in seen.job.subjobs),
            *(_sink(seen, s, where) for s in seen.job.sinks),
        ),
        edges=tuple(replace(e, ways=_ways(e, where)) for e in _edges(seen)),
        sinks=tuple(_whole(seen, s.name) for s in seen.job.sinks if seen.started_ms is not None),
        incidents=tuple(_incident(seen, i) for i in newest),
    )


# --- nodes


def _source(source: Source, where: dict[str, Place]) -> Node:
    at = where[node_id(NodeKind.SOURCE, source.name)]
    rate = f", {source.rate:,} tuples per second" if source.rate else ""
    place = source.origin.place or ((source.origin.read_from,) if source.origin.read_from else ())
    said = "".join(f" {part}" for part in place)
    node = node_id(NodeKind.SOURCE, source.name)
    return Node(node, NodeKind.SOURCE, source.name, at.layer, at.row, f"{source.kind}{said}{rate}")


def _subjob(seen: JobSeen, subjob: Subjob, planned: SubjobPlan | None, where: dict[str, Place]) -> Node:
    name, at = node_id(NodeKind.SUBJOB, subjob.name), where[node_id(NodeKind.SUBJOB, subjob.name)]
    operators = [kind_of(operator) for element in elements_of(subjob) for operator in element.operators]
    return Node(
        *(name, NodeKind.SUBJOB, subjob.name, at.layer, at.row, ", ".join(operators)),
        verdict=safety.of_subjob(seen, subjob),
        keeping=_keeping(seen, subjob, planned),
        processes=tuple(_process(p) for p in seen.of(NodeKind.SUBJOB, subjob.name)),
    )


def _keeping(seen: JobSeen, subjob: Subjob, planned: SubjobPlan | None) -> Keeping | None:
    if planned is None:
        return None
    primary = seen.primary(subjob.name)
    page = primary.instance if primary is not None else None
    ended = seen.ended_ms is not None
    return Keeping(
        mode=(page.mode if page is not None else None) or str(subjob.ha.mode),
        guarantee=str(planned.choice.guarantee),
        why=planned.choice.why,
        operator_class=str(planned.verdict.operator_class),
        protected=page is not None and page.protected and not ended,
        cost=page.if_it_failed_now if page is not None and not ended else None,
    )


def _sink(seen: JobSeen, sink: Sink, where: dict[str, Place]) -> Node:
    name, at = node_id(NodeKind.SINK, sink.name), where[node_id(NodeKind.SINK, sink.name)]
    target = sink.target
    place = " ".join(target.place or ((target.folder,) if target.folder else ()))
    return Node(
        *(name, NodeKind.SINK, sink.name, at.layer, at.row, f"{sink.kind} {place}".strip()),
        verdict=safety.of_sink(seen, sink),
        processes=tuple(_process(p) for p in seen.of(NodeKind.SINK, sink.name)),
    )


def _process(process: ProcessSeen) -> ProcessView:
    state = process.page.state if process.page is not None else State.STARTING
    gone = process.part is Part.GONE
    return ProcessView(
        name=process.name,
        part=process.part,
        state="gone" if gone else str(state),
        serves=process.serves,
        epoch=process.instance.epoch,
        note=None if gone else safety.note_of(process),
    )


# --- edges


def _ways(edge: Edge, where: dict[str, Place]) -> tuple[Way, ...]:
    return tuple(Way(at.layer, at.row) for at in ways(where, edge.source, edge.target))


def _edges(seen: JobSeen) -> Iterator[Edge]:
    for subjob in seen.job.subjobs:
        for stream in subjob.inputs:
            yield _to_subjob(seen, stream, subjob)
    for sink in seen.job.sinks:
        yield _to_sink(seen, sink)


def _to_subjob(seen: JobSeen, stream: str, subjob: Subjob) -> Edge:
    ends = producer_id(seen.job, stream), node_id(NodeKind.SUBJOB, subjob.name)
    primary, queue = seen.primary(subjob.name), _queue(seen, stream)
    at = primary.instance.inputs.get(stream) if primary is not None else None
    reported = queue.consumers.get(subjob.name)
    behind = reported.lag_tuples if reported is not None else None
    lag = behind if behind is not None else at.waiting if at is not None else None
    return Edge(
        *ends,
        tuples=at.position if at is not None else None,
        rate=seen.rates.get((stream, subjob.name)),
        lag_tuples=lag,
        lag_ms=reported.lag_ms if reported is not None else None,
        full=queue.full,
    )


def _to_sink(seen: JobSeen, sink: Sink) -> Edge:
    queue = _queue(seen, sink.input)
    reported = queue.consumers.get(sink_consumer(sink.name))
    arrived = seen.arrivals.get(sink.name, ())
    return Edge(
        *(producer_id(seen.job, sink.input), node_id(NodeKind.SINK, sink.name)),
        tuples=arrived[-1].tuples if arrived else 0,
        rate=seen.rates.get((sink.input, sink_consumer(sink.name))),
        lag_tuples=reported.lag_tuples if reported is not None else None,
        lag_ms=reported.lag_ms if reported is not None else None,
        full=queue.full,
    )


def _queue(seen: JobSeen, stream: str) -> Queue:
    """The queue of the stream; empty if it is a source's, or its producer is not known."""
    primary = seen.primary(stream)
    return primary.instance.outputs.get(stream, Queue()) if primary is not None else Queue()


def counts_of(seen: JobSeen) -> dict[tuple[str, str], int]:
    """(stream, consumer) → how many tuples it has taken: what rates are made from."""
    found = {
        (stream, subjob.name): at.position
        for subjob in seen.job.subjobs
        if (primary := seen.primary(subjob.name)) is not None
        for stream, at in primary.instance.inputs.items()
    }
    sinks = {(s.input, sink_consumer(s.name)): seen.arrivals.get(s.name, ()) for s in seen.job.sinks}
    return {**found, **{key: arrived[-1].tuples if arrived else 0 for key, arrived in sinks.items()}}


# --- incidents


def _incident(seen: JobSeen, incident: IncidentSeen) -> IncidentView:
    last = max((AT_LEAST_MS, *(at for name, at in incident.steps.items() if name != PROTECTED_AGAIN)))
    begin, end = incident.at_ms - BEFORE_MS, incident.at_ms + min(last, AT_MOST_MS) + AFTER_MS
    behind = sinks_behind(seen.job, incident.subjob)
    return IncidentView(
        at_ms=incident.at_ms,
        subjob=incident.subjob,
        mode=incident.mode,
        cause=incident.cause,
        victim=incident.victim,
        role=incident.role,
        successor=incident.successor,
        steps=tuple(Step(n, at) for n, at in sorted(incident.steps.items(), key=lambda step: step[1])),
        recovery_ms=incident.recovery_ms,
        replayed=incident.replayed,
        lost=incident.lost,
        duplicated=incident.duplicated,
        sinks=tuple(series(s, seen.arrivals.get(s, ()), begin, end) for s in behind),
    )


def sinks_behind(job: StreamJob, subjob: str) -> list[str]:
    """The sinks that its tuples come to."""
    reached, waiting = {subjob}, [subjob]
    while waiting:
        stream = waiting.pop()
        next_ones = [s.name for s in job.subjobs if stream in s.inputs and s.name not in reached]
        reached |= set(next_ones)
        waiting += next_ones
    return [s.name for s in job.sinks if s.input in reached]


def _whole(seen: JobSeen, sink: str) -> Series:
    """From the start of the streams until now, or until the end."""
    end = seen.ended_ms if seen.ended_ms is not None else seen.now_ms
    return series(sink, seen.arrivals.get(sink, ()), seen.started_ms or end, end)
