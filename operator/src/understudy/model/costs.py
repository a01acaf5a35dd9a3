"""What each mode costs a subjob: Hwang's Table 3 with the parameters of Table 5 and the job's own rates and
windows.

Recovery time is the paper's: from the detection of a failure until the former state is reached again, on the
paper's machines. Bandwidth overhead is a ratio: bytes for high availability over bytes of the input streams.
`understudy simulate planner` compares both with the simulator. How long a recovery takes on Spark is in
`prediction`: the same tuples are processed `again`, with other times per tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from .ha import Ha, Mode
from .job import StreamJob, Subjob
from .network import in_order

# Table 5
DEFAULT_RATE: Final = 1000.0
REDIRECT: Final = 0.040
DELAY: Final = 0.005
TUPLE_BYTES: Final = 50
ID_BYTES: Final = 8
WORK: Final = 10e-6
"""Seconds per input tuple of a filter; an aggregate costs size / slide times as much."""
RECEIVE: Final = TUPLE_BYTES * 8 / 16e6
"""Seconds to receive a tuple over a link of 16 Mbit/s."""

LOG_INTERVAL: Final = 0.020
"""Seconds between two log messages: output waits for this time and a round trip until its determinants are
stored."""

ACK_BYTES: Final = 2 * ID_BYTES
"""A level-0 and a level-1 ack; gives the 0.64 % of Table 6."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a subjob."""

    inputs: int
    rate: float
    """Input tuples per second (λ)."""
    emitted: float
    """Output tuples per second."""
    state: float
    """Input tuples that its windows and joins hold."""
    effort: float
    """Work per input tuple, in units of one filter."""
    filling: float = 1.0
    """Share of that work while a restarted subjob fills its state, because not all windows are open yet."""

    @property
    def step(self) -> float:
        """Input tuples between two outputs."""
        return max(self.rate / self.emitted, 1.0) if self.emitted else 1.0

    @property
    def work(self) -> float:
        """Seconds per input tuple (p)."""
        return self.effort * WORK


@dataclass(frozen=True, slots=True)
class Again:
    """Input that is processed again after a failure (Q)."""

    tuples: float = 0.0
    steps: float = 0.0
    """Input between two outputs, in steps."""
    state: float = 0.0
    """Tuples of the selection, to fill an empty state."""


@dataclass(frozen=True, slots=True)
class Cost:
    recovery: timedelta
    """After the detection, on the paper's machines."""
    bandwidth_overhead: float


def print_overhead(share: float) -> str:
    return f"+{share:.1%}" if 0 < share < 0.1 else f"+{share:.0%}"


def loads(job: StreamJob) -> Mapping[str, Load]:
    """The load of each subjob; rates follow the streams from the sources down."""
    rates = {source.name: float(source.rate or DEFAULT_RATE) for source in job.sources}
    found = {}
    for subjob in in_order(job):
        load = _load(subjob, sum(rates.get(name, DEFAULT_RATE) for name in subjob.inputs))
        found[subjob.name], rates[subjob.name] = load, load.emitted
    return found


def assumed_rates(job: StreamJob) -> Mapping[str, Mapping[str, float]]:
    """For each subjob: the sources above it that declare no rate, and the rate that `loads` assumes for
    them."""
    silent = {source.name: DEFAULT_RATE for source in job.sources if source.rate is None}
    found: dict[str, dict[str, float]] = {name: {name: rate} for name, rate in silent.items()}
    for subjob in in_order(job):
        found[subjob.name] = {
            name: rate for read in subjob.inputs for name, rate in found.get(read, {}).items()
        }
    return {subjob.name: found.get(subjob.name, {}) for subjob in job.subjobs}


def _load(subjob: Subjob, rate: float) -> Load:
    operators = subjob.operators or tuple(op for spec in subjob.elements for op in spec.operators)
    state = work = filling = 0.0
    flow = rate
    for operator in operators:
        effect = operator.effect(flow)
        effort = effect.effort * (flow / rate)
        state, work = state + effect.held * rate / flow, work + effort
        filling += _while_filling(effort)
        flow = effect.emitted
    return Load(len(subjob.inputs), rate, flow, state, work or 1.0, filling / work if work else 1.0)


def _while_filling(effort: float) -> float:
    """Only windows cost more than one filter. They are opened one by one: on average half of them are open,
    and the first."""
    return (effort + 1) / 2 if effort > 1 else effort


# ---- Table 3 ---------------------------------------------------------------------------------------------


def again(load: Load, ha: Ha) -> Mapping[Mode, Again]:
    """The input that a take-over processes again. M is the checkpoint interval for passive standby and the
    ack interval for the other modes. Half a step leads to the output that shows the state; half a step
    precedes the last acked output. (A savepoint is the beginning of the step *after* the last acked output,
    one step later than the cause of that output, so no step is added there.)"""
    ack, half = ha.ack_interval.total_seconds(), ha.checkpoint.interval.total_seconds() / 2
    return {
        Mode.AMNESIA: Again(),
        Mode.PASSIVE_STANDBY: Again(half * load.rate, steps=0.5),
        Mode.UPSTREAM_BACKUP: Again((ack + 2 * DELAY) * load.rate, steps=1.0, state=load.state),
        Mode.ACTIVE_STANDBY: Again(),
        Mode.REPLICA_BACKUP: Again(),
        Mode.SAVEPOINT: Again((ack / 2 + 2 * DELAY) * load.rate, state=load.state),
    }


def costs(load: Load, ha: Ha, *, logs: bool = False) -> Mapping[Mode, Cost]:
    """The cost of every mode. `logs`: upstream backup becomes precise by determinants, not by watermarks
    (Table 4)."""
    ack, todo = ha.ack_interval.total_seconds(), again(load, ha)
    acks = _share(load, ACK_BYTES, ack)
    precise = _determinants(load) if logs else _watermarks(load)
    return {
        Mode.AMNESIA: _cost(0.0, 0.0),
        Mode.PASSIVE_STANDBY: _passive(load, ha, _replay(load, todo[Mode.PASSIVE_STANDBY])),
        Mode.UPSTREAM_BACKUP: _cost(_replay(load, todo[Mode.UPSTREAM_BACKUP]), acks + precise),
        Mode.ACTIVE_STANDBY: _cost(((ack + 3 * DELAY) * load.emitted + 1) * RECEIVE, 1.0 + 1.5 * acks),
        Mode.REPLICA_BACKUP: _cost(0.0, 1.0 + load.emitted / load.rate + 2 * acks),
        Mode.SAVEPOINT: _cost(_replay(load, todo[Mode.SAVEPOINT]) + 2 * DELAY, _savepoints(load, ack)),
    }


def _replay(load: Load, todo: Again) -> float:
    """K + Qp, K = r + d."""
    tuples = todo.tuples + todo.steps * load.step
    state = todo.state * (load.work * load.filling + RECEIVE)
    return REDIRECT + DELAY + tuples * (load.work + RECEIVE) + state


def _passive(load: Load, ha: Ha, recovery: float) -> Cost:
    """A checkpoint ships the input that entered the state and stayed, the output that is not acked yet, and
    ids."""
    interval, ack = ha.checkpoint.interval.total_seconds(), ha.ack_interval.total_seconds()
    entered = min(interval * load.rate, max(load.state - load.step / 2, 0.0))
    unacked = min(interval, ack + DELAY) * load.emitted
    ids = (3 if load.state else 2) * load.inputs + 2
    shipped = (entered + unacked) * TUPLE_BYTES + ids * ID_BYTES
    return _cost(recovery, shipped / (interval * load.rate * TUPLE_BYTES))


def _watermarks(load: Load) -> float:
    """Precise recovery: an id with every tuple, for each input."""
    return load.inputs * ID_BYTES / TUPLE_BYTES


def _determinants(load: Load) -> float:
    """Precise recovery with a log: one bit for each tuple; with every message the positions and the selection
    before and after the step, and the seqs of its output; the answer names the message."""
    ids = 4 * load.inputs + 3
    return (load.rate / 8 + ids * ID_BYTES / LOG_INTERVAL) / (load.rate * TUPLE_BYTES)


def _savepoints(load: Load, ack: float) -> float:
    """One ACK for each input when outputs were acked: a seq, and a savepoint of two seqs and one more for
    each input."""
    return _share(load, 8 + 4 * load.inputs, max(ack, 1 / load.emitted if load.emitted else ack))


def _share(load: Load, message_bytes: int, interval: float) -> float:
    """f(1/M, c): periodic messages, one for each input stream, relative to the input's bytes."""
    return load.inputs * message_bytes / max(interval, 0.001) / (load.rate * TUPLE_BYTES)


def _cost(seconds: float, overhead: float) -> Cost:
    return Cost(timedelta(seconds=seconds), overhead)
