"""All checks before a job starts. A job that passes can be planned, run and deployed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .checks import branches, built, ends, expressions, names, timing, wiring
from .job import StreamJob
from .network import Walk, walk
from .refusal import Refusal

Check = Callable[[StreamJob], Iterator[Refusal]]
WalkCheck = Callable[[Walk], Iterator[Refusal]]

# Each stage relies on those before it: after a fault there, its own sentences would only follow from that
# fault.
NAMES: Final[tuple[Check, ...]] = (
    names.duplicate_streams,
    names.duplicate_sinks,
    names.duplicate_inputs,
    names.duplicate_elements,
    names.reserved_streams,
    names.one_pod_name,
    names.too_long,
    names.too_many,
)
INPUTS: Final[tuple[Check, ...]] = (
    wiring.unknown_inputs,
    wiring.element_inputs,
    wiring.operators_or_elements,
    built.sources,
    built.sinks,
)
WIRING: Final[tuple[Check, ...]] = (
    wiring.cycles,
    wiring.unread_elements,
    wiring.chains,
)
ALONE: Final[tuple[Check, ...]] = (
    ends.schemas,
    ends.sinks_of_sources,
    ends.shared_paths,
    ends.loops,
    ends.rules_of_kinds,
    ends.rolls,
    expressions.generator_names,
    expressions.generator_fields,
    expressions.stateful_elements,
    timing.intervals,
    built.checkpoints,
    built.spares,
    built.promises,
    built.replicas,
    built.spark_settings,
)
ALONG_THE_STREAMS: Final[tuple[WalkCheck, ...]] = (
    expressions.expressions,
    expressions.output_names,
    timing.windows,
    timing.event_time,
    timing.merge_event_time,
    branches.alternatives,
    ends.keys,
)


def check(job: StreamJob) -> tuple[Refusal, ...]:
    """Why a well-formed job is not accepted; empty if it is."""
    for stage in (NAMES, INPUTS, WIRING):
        if faults := tuple(refusal for one in stage for refusal in one(job)):
            return faults
    return _meaning(walk(job))


def _meaning(found: Walk) -> tuple[Refusal, ...]:
    if faults := tuple(built.operators(found)):
        return faults
    alone = (refusal for one in ALONE for refusal in one(found.job))
    along = (refusal for one in ALONG_THE_STREAMS for refusal in one(found))
    return tuple(dict.fromkeys([*alone, *along]))
