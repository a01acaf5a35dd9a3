"""Where the nodes of a query network stand: layers from the sources to the sinks, and a place in each layer
so that few edges cross. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from understudy.console.view import NodeKind
from understudy.model.job import StreamJob
from understudy.model.network import in_order

SWEEPS: Final = 4


@dataclass(frozen=True, slots=True)
class Place:
    layer: int
    row: int


Link = tuple[str, str]
"""(id of the producer, id of the consumer)."""


def node_id(kind: NodeKind, name: str) -> str:
    """A sink may have the name of a subjob."""
    return f"{kind}/{name}"


def way_id(producer: str, consumer: str, layer: int) -> str:
    return f"{producer} > {consumer} @ {layer}"


def ways(where: Mapping[str, Place], producer: str, consumer: str) -> tuple[Place, ...]:
    """The places that an edge passes, so that no node stands on it."""
    between = range(where[producer].layer + 1, where[consumer].layer)
    return tuple(where[way_id(producer, consumer, layer)] for layer in between)


def producer_id(job: StreamJob, stream: str) -> str:
    return node_id(NodeKind.SOURCE if job.source(stream) is not None else NodeKind.SUBJOB, stream)


def links(job: StreamJob) -> list[Link]:
    reads = [(s.inputs, node_id(NodeKind.SUBJOB, s.name)) for s in job.subjobs]
    reads += [((s.input,), node_id(NodeKind.SINK, s.name)) for s in job.sinks]
    return [(producer_id(job, stream), consumer) for inputs, consumer in reads for stream in inputs]


def places(job: StreamJob) -> dict[str, Place]:
    """Of nodes, and of the ways that long edges take through the layers between."""
    layers = _layers(job)
    edges = list[Link]()
    for producer, consumer in links(job):
        between = range(layers[producer] + 1, layers[consumer])
        stops = [producer, *(way_id(producer, consumer, layer) for layer in between), consumer]
        edges += pairwise(stops)
        layers |= dict(zip(stops[1:-1], between, strict=True))
    columns = [[n for n, at in layers.items() if at == layer] for layer in range(1 + max(layers.values()))]
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        _sweep(columns if forward else columns[::-1], _neighbours(edges, forward))
    return {
        name: Place(layer, row) for layer, column in enumerate(columns) for row, name in enumerate(column)
    }


def _layers(job: StreamJob) -> dict[str, int]:
    """Each subjob one layer after the last that it reads; all sinks in the last layer; each source just
    before its first reader."""
    found = {s.name: 0 for s in job.sources}
    for subjob in in_order(job):
        found[subjob.name] = 1 + max(found[stream] for stream in subjob.inputs)
    last = 1 + max(found.values())
    first_reader = {
        s.name: min((found[j.name] for j in job.subjobs if s.name in j.inputs), default=1)
        for s in job.sources
    }
    sources = {node_id(NodeKind.SOURCE, name): at - 1 for name, at in first_reader.items()}
    subjobs = {node_id(NodeKind.SUBJOB, s.name): found[s.name] for s in job.subjobs}
    return {**sources, **subjobs, **{node_id(NodeKind.SINK, s.name): last for s in job.sinks}}


def _neighbours(edges: Sequence[Link], forward: bool) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for producer, consumer in edges:
        own, other = (consumer, producer) if forward else (producer, consumer)
        found.setdefault(own, []).append(other)
    return found


def _sweep(columns: Sequence[list[str]], neighbours: Mapping[str, list[str]]) -> None:
    """Puts each node at the mean place of its neighbours in the columns before."""
    place: dict[str, float] = {}
    for column in columns:
        means = {name: _mean(neighbours.get(name, ()), place, row) for row, name in enumerate(column)}
        column.sort(key=means.__getitem__)
        place |= {name: row / len(column) for row, name in enumerate(column)}


def _mean(names: Sequence[str], place: Mapping[str, float], otherwise: float) -> float:
    known = [place[name] for name in names if name in place]
    return sum(known) / len(known) if known else otherwise
