"""The core's own speed: tuples per second through output queue, duplicate filter and acks, in Arrow batches.

A producer appends batches to its queue and publishes them; a consumer reads them, filters duplicates (every
tenth batch comes twice, as after a take-over) and acks at both levels, which trims the queue. No network and
no Spark: what is measured is what every tuple pays for, whatever the mode.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from understudy.modes.passive_standby import PassiveStandby
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.streams.store import Store

TARGET: Final = 2_000_000  # tuples per second
AGAIN: Final = 10  # every so many batches one comes twice
_SCHEMA: Final = pa.schema([("_seq", pa.int64()), ("value", pa.float64())])
_UP, _OUT, _BY = Stream("up"), Stream("out"), Consumer("next")


@dataclass(frozen=True)
class Core:
    tuples: int
    batch: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.tuples / self.seconds

    @property
    def ratio(self) -> float:
        return self.per_second / TARGET

    @property
    def met(self) -> bool:
        return self.per_second >= TARGET


def measure(tuples: int, batch: int, folder: Path) -> Core:
    """One primary whose consumer is itself played here; it is driven by events, as a shell would."""
    core = _primary()
    store = Store(_SCHEMA, folder / "spill", 1 << 30, 1 << 30)
    made = pa.table({"_seq": pa.array(range(batch), pa.int64()), "value": pa.array([1.0] * batch)})
    began = time.perf_counter()
    for start in range(0, tuples, batch):
        _pass(core, store, made, Seq(start), Seq(start + batch), twice=start // batch % AGAIN == 0)
    return Core(tuples, batch, time.perf_counter() - began)


def _primary() -> PassiveStandby:
    core = PassiveStandby(
        "job-0", Wiring({"out": (_UP,)}, {"out": (_BY,)}), Detector.of(100, 3), interval=500
    )
    core.handle(on.LeaseWon(LeaseRecord("job-0", "here", Epoch(1))))
    return core


def _pass(core: PassiveStandby, store: Store, made: pa.Table, start: Seq, stop: Seq, *, twice: bool) -> None:
    """A batch on its way: it arrives, is processed, published, read by the consumer, acked and trimmed."""
    for _ in range(1 + twice):
        core.handle(on.Arrived(_UP, Range(start, stop), Epoch(1)))
    store.append(made, start, None)
    for command in core.handle(on.Processed("out", {_UP: stop}, {_UP: stop}, stop - start)):
        if isinstance(command, do.Publish):
            store.publish(command.upto, command.ended)
    delivery = store.wait(start, None, 0.0)
    assert delivery.rows.num_rows == stop - start
    core.handle(on.Acked(_OUT, _BY, 0, stop, Epoch(1)))
    for command in core.handle(on.Acked(_OUT, _BY, 1, stop, Epoch(1))):
        if isinstance(command, do.Trim):
            store.trim(command.upto)
