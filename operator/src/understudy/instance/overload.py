"""Overload is noticed by the side that it affects (Brettlecker §3.2): backlog, processor and memory are
measured every second."""

from __future__ import annotations

import threading
import time
from typing import Final

import structlog

from understudy.instance.context import Context
from understudy.model.ha import Overload as Limits
from understudy.modes.build import millis
from understudy.process.clock import steady_ms
from understudy.protocol.failures import LoadWatch, Overload, Resource, ShareWatch

log = structlog.get_logger()
LOOKS: Final = 5
LOOK_SECONDS: Final = 1.0
NAP_SECONDS: Final = 0.01


class LoadMeter(threading.Thread):
    """Measures while the instance leads and there are limits, which may change. A finding stays on the status
    page until the instance no longer leads: the process that deployed the job decides where to move."""

    def __init__(self, context: Context) -> None:
        super().__init__(name="load", daemon=True)
        self._context = context
        self._arrivals: dict[str, int] = {}
        self._looked = time.monotonic()
        self._begin(Limits())

    def _begin(self, limits: Limits) -> None:
        self._limits = limits
        self._backlog = LoadWatch(
            millis(limits.backlog), LOOKS, round(LOOK_SECONDS * 1000), unit="ms of input"
        )
        self._withheld = ShareWatch(
            Resource.COMPUTATION, "the processor was withheld for", limits.withheld, LOOKS
        )
        self._memory = ShareWatch(Resource.MEMORY, "memory is used up to", limits.memory, LOOKS)

    def run(self) -> None:
        while not self._context.stopping.is_set():
            limits = self._context.subjob.ha.overload
            if limits is None or not self._context.leading:
                self._rest()
                continue
            withheld = self._withheld_percent()
            memory = self._context.surroundings.memory_percent(self._context.subjob.spark.driver)
            with self._context.lock:
                self._look(withheld, memory, limits)

    def _rest(self) -> None:
        with self._context.lock:
            self._context.story.overload = None
        self._begin(self._limits)
        self._context.stopping.wait(LOOK_SECONDS)

    def _withheld_percent(self) -> float:
        """The processor is withheld for as long as naps take longer than they should."""
        began = late = 0.0
        began = now = time.monotonic()
        while now - began < LOOK_SECONDS and not self._context.stopping.is_set():
            time.sleep(NAP_SECONDS)
            woke = time.monotonic()
            late += max(0.0, woke - now - NAP_SECONDS)
            now = woke
        return 100 * late / max(now - began, NAP_SECONDS)

    def _look(self, withheld: float, memory: float, limits: Limits) -> None:
        changed = limits != self._limits or not self._context.leading
        if changed or self._context.story.take_over_is_catching_up:
            return self._begin(limits)
        self._withheld, starved = self._withheld.look(withheld)
        self._memory, full = self._memory.look(memory)
        self._backlog, behind = self._backlog.look(steady_ms(), self._backlog_ms())
        for found in (starved, full, behind):
            self._tell(found)

    def _tell(self, found: Overload | None) -> None:
        if found is not None:
            log.warning("overloaded", resource=found.resource.value, why=found.why)
            self._context.story.overload = found.why

    def _backlog_ms(self) -> int:
        """The longest backlog of all inputs: waiting tuples, divided by the arrival rate since the last look.
        Input that waits because consumers take no output is not this machine's fault."""
        available, before, now = dict(self._context.story.available), self._arrivals, time.monotonic()
        elapsed, self._arrivals, self._looked = now - self._looked, available, now
        if any(store.full for store in self._context.stores.values()):
            return 0
        waits = []
        for stream, position in self._context.positions().items():
            came = available.get(stream, 0) - before.get(stream, 0)
            behind = available.get(stream, 0) - position
            waits.append(round(1000 * behind * elapsed / came) if came > 0 and behind > 0 else 0)
        return max(waits, default=0)
