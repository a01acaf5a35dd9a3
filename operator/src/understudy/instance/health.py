"""What an instance reports over HTTP from the start of its process: its status page, and whether it is
healthy."""

from __future__ import annotations

from dataclasses import replace

from understudy.instance.context import Context
from understudy.instance.enginewatch import EngineWatcher
from understudy.instance.instance_page import state_of, status_of
from understudy.process.clock import steady_ms
from understudy.process.latencies import Latencies
from understudy.protocol.engine import START_MS, not_started
from understudy.protocol.statuspage import InstancePage


class Health:
    def __init__(
        self, job: str, subjob: str, instance: str, latencies: Latencies, start_ms: int = START_MS
    ) -> None:
        """`start_ms`: how long Spark may take to start."""
        self._first = InstancePage(job=job, subjob=subjob, instance=instance)
        self._latencies, self._start_ms = latencies, start_ms
        self._began = steady_ms()
        self.context: Context | None = None
        self.engine: EngineWatcher | None = None
        """Both are None until Spark has started."""

    def status(self) -> InstancePage:
        engine = self.engine.status() if self.engine is not None else None
        own = status_of(self.context) if self.context is not None else self._first
        return replace(own, engine=engine, latencies=self._latencies.figures())

    def trouble(self) -> str | None:
        """Why the kubelet should restart this process."""
        if self.context is not None and self.context.story.engine_stalled is not None:
            return self.context.story.engine_stalled
        return not_started(steady_ms() - self._began, self._start_ms) if self.engine is None else None

    def ready(self) -> bool:
        return self.context is not None and state_of(self.context).serves
