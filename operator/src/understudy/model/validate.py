"""Everything that is checked before a job starts. A job that passes can be planned, run and deployed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .checks import built, ends, expressions, names, timing, wiring
from .job import StreamJob
from .refusal import Refusal

Check = Callable[[StreamJob], Iterator[Refusal]]

# The others rest on these: with a fault here their sentences would only follow from it.
STRUCTURE: Final[tuple[Check, ...]] = (
    names.duplicate_streams,
    names.duplicate_sinks,
    names.duplicate_inputs,
    names.duplicate_elements,
    names.reserved_streams,
    names.too_long,
    wiring.unknown_inputs,
    wiring.cycles,
    wiring.operators_or_elements,
    wiring.element_inputs,
    wiring.unread_elements,
    wiring.chains,
    built.sources,
    built.sinks,
    built.operators,
)
MEANING: Final[tuple[Check, ...]] = (
    ends.schemas,
    ends.shared_paths,
    expressions.generator_names,
    expressions.generator_fields,
    expressions.stateful_elements,
    expressions.expressions,
    expressions.output_names,
    timing.windows,
    timing.event_time,
    timing.merge_event_time,
    timing.intervals,
    built.permanent_failures,
    built.checkpoints,
    built.promises,
    built.spark_settings,
)


def check(job: StreamJob) -> tuple[Refusal, ...]:
    """Why a well-formed job is not accepted; empty if it is."""
    faults = _all(STRUCTURE, job) or _all(MEANING, job)
    return tuple(dict.fromkeys(faults))


def _all(checks: tuple[Check, ...], job: StreamJob) -> list[Refusal]:
    return [refusal for one in checks for refusal in one(job)]
