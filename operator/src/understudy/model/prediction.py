"""How long a recovery takes here, in each mode, from the fault to the first new output that is due.

    detection + r + micro-batches + Q · (p + c) + state · c

The formula and what is worked through again, Q and state, are Hwang's (Table 3, `costs.again`); the times are measured
(`measured`), and the micro-batches are this engine's: the next output is at least one of each element away, whatever is
in it. A window that is not full yet delays nothing that is due, so steps from one output to the next do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from .costs import Again, Cost, Load, again, costs
from .elements import elements_of, is_stateful
from .guarantees import logs_steps
from .ha import Ha, Mode, SparkSettings
from .job import Subjob
from .measured import CLOSED, COLD_START, FIRST_BATCH, READ, SILENT, STEADY_BATCH, TAKE_OVER, TUPLE
from .value import mebibytes


@dataclass(frozen=True, slots=True)
class Detection:
    """Until a primary that is gone is suspected."""

    killed: timedelta
    """Its process ended and its machine lives: the connection is closed."""
    lost: timedelta
    """Its machine is gone: keep-alives are missed."""


@dataclass(frozen=True, slots=True)
class Takes:
    """What all instances of a subjob ask for."""

    pods: int
    cores: int
    memory_mi: int


@dataclass(frozen=True, slots=True)
class Prediction:
    recovery: timedelta
    """From the end of the primary's process to the first new output."""
    lost_node: timedelta
    """The same from the loss of its machine: the longest that one fault takes."""
    bandwidth_overhead: float
    """Ratio to the bytes of the input streams."""
    takes: Takes


def detection(ha: Ha) -> Detection:
    silence = ha.heartbeat.interval * (ha.heartbeat.misses + SILENT)
    return Detection(timedelta(seconds=CLOSED), silence)


def predictions(subjob: Subjob, load: Load) -> Mapping[Mode, Prediction]:
    """Of every mode, with the subjob's own intervals and resources."""
    prices, todo = costs(load, subjob.ha, logs=logs_steps(subjob)), again(load, subjob.ha)
    return {mode: _prediction(mode, subjob, load, todo[mode], price) for mode, price in prices.items()}


def _prediction(mode: Mode, subjob: Subjob, load: Load, todo: Again, price: Cost) -> Prediction:
    ha = subjob.ha.model_copy(update={"mode": mode})
    found = detection(ha)
    after = timedelta(seconds=_begin(ha) + _batches(mode, subjob, load) + _replay(load, todo))
    return Prediction(found.killed + after, found.lost + after, price.bandwidth_overhead, takes(ha, subjob.spark))


def _begin(ha: Ha) -> float:
    """Until there is a primary that can begin a micro-batch."""
    return COLD_START if ha.instances == 1 else TAKE_OVER


def _batches(mode: Mode, subjob: Subjob, load: Load) -> float:
    """One of each element; and one more of those that begin without their state, to fill it."""
    elements = elements_of(subjob)
    stateful = sum(any(map(is_stateful, element.operators)) for element in elements)
    match mode:
        case Mode.ACTIVE_STANDBY | Mode.REPLICA_BACKUP:  # it ran all the time
            return len(elements) * (STEADY_BATCH + _selection(load))
        case Mode.UPSTREAM_BACKUP | Mode.SAVEPOINT:
            return (len(elements) + stateful) * (FIRST_BATCH + _selection(load))
        case _:
            return len(elements) * (FIRST_BATCH + _selection(load))


def _selection(load: Load) -> float:
    """A micro-batch that closes a window, or joins, reads the whole selection again."""
    return load.state * min(1.0, FIRST_BATCH * load.rate / load.step) * TUPLE


def _replay(load: Load, todo: Again) -> float:
    return todo.tuples * (load.effort * TUPLE + READ) + todo.state * READ


def takes(ha: Ha, spark: SparkSettings) -> Takes:
    """Of drivers and executors; an executor has the driver's cores and memory."""
    pods = ha.instances * (1 + spark.executors.instances)
    return Takes(pods, pods * spark.driver.cores, pods * mebibytes(spark.driver.memory))
