"""The warm-up of a new instance: the query runs over a few real tuples, and its output is thrown away.

The tuples are real, because made-up values could fail where the job's own never do. If upstream has no tuples
yet, the query runs over none, which at least compiles it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.engine.inbox import Inbox
from understudy.model.job import StreamJob, Subjob
from understudy.process.ports import Surroundings
from understudy.protocol.ids import Stream
from understudy.protocol.peermessage import Peek
from understudy.streams import wire
from understudy.streams.connection import connect

log = structlog.get_logger()
ROWS = 200
ROUNDS = 3
LIMIT_SECONDS = 120.0
STEP_SECONDS = 0.2


def warm_up(
    job: StreamJob,
    subjob: Subjob,
    inboxes: Mapping[str, Inbox],
    surroundings: Surroundings,
    given_up: Callable[[], bool],
) -> None:
    """Runs the query over real tuples, and discards the output. Returns early once `given_up` returns true: a
    query has failed, or the process is to stop."""
    sources = {s.name for s in job.sources}
    held = {i: _peek(i, surroundings) for i in subjob.inputs if i not in sources}
    for _ in range(ROUNDS):
        for inbox in inboxes.values():
            inbox.warm_up({i: t for i, t in held.items() if t is not None}, ROWS)
    for name, inbox in inboxes.items():
        steps = range(round(LIMIT_SECONDS / STEP_SECONDS))
        if not any(inbox.wait_warmed_up(STEP_SECONDS) or given_up() for _ in steps):
            log.warning("warm-up did not end", element=name)


def _peek(stream: str, surroundings: Surroundings) -> pa.Table | None:
    """A few tuples that a producer of the stream holds, if one can be found quickly."""
    for address in surroundings.addresses(stream):
        try:
            with connect(address) as client:
                options = flight.FlightCallOptions(timeout=1.0)
                table = client.do_get(wire.ticket(Peek(Stream(stream), ROWS)), options).read_all()
        except (flight.FlightError, pa.ArrowException):
            continue
        if table.num_rows:
            return table
    return None
