"""How long a recovery takes on this engine, in each mode, from the fault to the first new output that is due.

    detection + r + micro-batches + Q · (p + c) + state · c

The formula and the tuples that are processed again, Q and state, are Hwang's (Table 3, `costs.again`); the
times are measured (`measured`). The micro-batches are this engine's: the next output needs at least one
micro-batch of each element, however few tuples there are. A window that is not full yet delays no output that
is due, so steps between two outputs do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from .costs import Again, Cost, Load, again, costs
from .elements import elements_of
from .guarantees import logs_steps
from .ha import Ha, Mode, SparkSettings
from .job import Subjob
from .measured import CLOSED, COLD_START, FIRST, MICRO_BATCH, READ, SILENT, TAKE_OVER, TUPLE
from .value import mebibytes


@dataclass(frozen=True, slots=True)
class Detection:
    """The time until a failed primary is suspected."""

    killed: timedelta
    """Its process ended but its machine runs: the connection is closed."""
    lost: timedelta
    """Its machine is lost: keep-alives are missed."""


@dataclass(frozen=True, slots=True)
class Takes:
    """The resources that all instances of a subjob request."""

    pods: int
    cores: int
    memory_mi: int


@dataclass(frozen=True, slots=True)
class Prediction:
    recovery: timedelta
    """From the end of the primary's process to the first new output."""
    lost_node: timedelta
    """From the loss of its machine to the first new output: the longest recovery from a single fault."""
    bandwidth_overhead: float
    """Ratio to the bytes of the input streams."""
    takes: Takes


def detection(ha: Ha) -> Detection:
    silence = ha.heartbeat.interval * (ha.heartbeat.misses + SILENT)
    return Detection(timedelta(seconds=CLOSED), silence)


def predictions(subjob: Subjob, load: Load, batch: float = MICRO_BATCH) -> Mapping[Mode, Prediction]:
    """The prediction for every mode, with the subjob's own intervals and resources, if a steady micro-batch
    takes `batch` seconds."""
    prices, todo = costs(load, subjob.ha, logs=logs_steps(subjob)), again(load, subjob.ha)
    return {mode: _prediction(mode, subjob, load, todo[mode], price, batch) for mode, price in prices.items()}


def _prediction(mode: Mode, subjob: Subjob, load: Load, todo: Again, price: Cost, batch: float) -> Prediction:
    ha = subjob.ha.model_copy(update={"mode": mode})
    begin = COLD_START / MICRO_BATCH * batch if ha.instances == 1 else TAKE_OVER
    after = timedelta(seconds=begin + _batches(mode, subjob, load, batch) + _replay(load, todo))
    found = detection(ha)
    return Prediction(
        found.killed + after, found.lost + after, price.bandwidth_overhead, takes(ha, subjob.spark)
    )


def _batches(mode: Mode, subjob: Subjob, load: Load, batch: float) -> float:
    """One micro-batch of each element; one more for modes that begin without state, to fill it."""
    elements = elements_of(subjob)
    stateful = sum(any(op.is_stateful for op in element.operators) for element in elements)
    first = FIRST * batch
    match mode:
        case (
            Mode.REPLICA_BACKUP
        ):  # the other replica sends all the time: the next micro-batch of its last element is enough
            return batch + _selection(load)
        case Mode.ACTIVE_STANDBY:
            return len(elements) * (batch + _selection(load))
        case Mode.UPSTREAM_BACKUP | Mode.SAVEPOINT:
            return (len(elements) + stateful) * (first + _selection(load))
        case Mode.AMNESIA:  # it has no state to fill
            return len(elements) * first
        case _:
            return len(elements) * (first + _selection(load))


def _selection(load: Load) -> float:
    """A micro-batch that closes a window, or joins, reads the whole selection again."""
    return load.state * min(1.0, FIRST * MICRO_BATCH * load.rate / load.step) * TUPLE


def _replay(load: Load, todo: Again) -> float:
    return todo.tuples * (load.effort * TUPLE + READ) + todo.state * READ


def takes(ha: Ha, spark: SparkSettings) -> Takes:
    """The resources of drivers and executors; an executor has the driver's cores and memory."""
    pods = ha.instances * (1 + spark.executors.instances)
    return Takes(pods, pods * spark.driver.cores, pods * mebibytes(spark.driver.memory))
