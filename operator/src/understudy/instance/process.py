"""`understudy subjob`: starts an instance, runs it in its role, and ends it."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import structlog

from understudy.engine.executors import tasks_running
from understudy.engine.folding import inbox_of
from understudy.engine.query import ElementQuery
from understudy.engine.schemas import inputs_of, stream_specs
from understudy.engine.session import parallelism, start_session
from understudy.instance.context import Context
from understudy.instance.enginewatch import EngineWatcher, Probe
from understudy.instance.health import Health
from understudy.instance.serving import InstanceServing
from understudy.instance.shell import Shell
from understudy.instance.warmup import warm_up
from understudy.model.elements import Element, elements_of
from understudy.model.job import StreamJob, Subjob
from understudy.modes.build import decided, instance_of
from understudy.process.credentials import own
from understudy.process.family import family, kill_all
from understudy.process.http import StatusServer
from understudy.process.latencies import Latencies
from understudy.process.ports import Surroundings
from understudy.protocol.engine import START_MS, Stand
from understudy.protocol.statuspage import State
from understudy.sources.reading import Sources
from understudy.streams.server import Server
from understudy.streams.spill import Spill
from understudy.streams.store import Store

log = structlog.get_logger()
# share of the queue memory for the shelf: its content is needed only at a take-over, so most of it can be on
# disk
SHELF_SHARE = 8
LOOK_SECONDS = 0.1
VITAL = frozenset({"ticker", "lease", "acks", "start-time", "kept-acks", "roll-call"})
WIRE_COLUMNS = [pa.field("_seq", pa.int64()), pa.field("_ts", pa.timestamp("us", "UTC"))]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process runs: its ports, the folder to which it may write, and the folder of the manifest's
    relative paths."""

    instance: str
    host: str
    flight_port: int  # 0: any
    status_port: int
    scratch: Path
    folder: Path


class SubjobProcess:
    def __init__(
        self,
        job: StreamJob,
        subjob: Subjob,
        surroundings: Surroundings,
        place: Place,
        start_ms: int = START_MS,
    ) -> None:
        """`start_ms`: how long Spark may take to start."""
        self.job, self.subjob, self.place = job, subjob, place
        self._surroundings = surroundings
        self._serving = InstanceServing()
        self._queries: list[ElementQuery] = []
        self._stop = threading.Event()
        self._failure: str | None = None
        self._shell: Shell | None = None
        self._probe: Probe | None = None
        self._health = Health(
            job.name, subjob.name, place.instance, Latencies(surroundings.neighbours), start_ms
        )

    def run(self) -> int:
        """Runs until it is asked to stop. Returns the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        threading.excepthook = self._thread_ended
        server = Server(self.place.host, self.place.flight_port, self._serving, own())
        address = f"{self.place.host}:{server.port}"
        health = self._health
        page = StatusServer(
            self.place.host, self.place.status_port, health.status, health.ready, health.trouble
        )
        self._surroundings.announce(self.subjob.name, self.place.instance, address, page.address)
        log.info("starting", instance=self.place.instance, address=address, status=page.address)
        try:
            self._start(address)
            self._watch()
        finally:
            self._close()
        if self._failure:
            log.error("failed", error=self._failure)
        return 1 if self._failure else 0

    def _start(self, address: str) -> None:
        shutil.rmtree(self.place.scratch, ignore_errors=True)
        self.place.scratch.mkdir(parents=True)
        spark = start_session(self.subjob.spark, app_name=self.place.instance, scratch=self.place.scratch)
        log.info("spark session started")
        specs = stream_specs(spark, self.job)
        elements = elements_of(self.subjob)
        tasks = parallelism(self.subjob.spark)
        inboxes = {e.name: inbox_of(spark, e, inputs_of(e, specs), parallelism=tasks) for e in elements}
        schemas = {name: spec.schema for name, spec in specs.items()}
        wire_schemas = {e.name: _on_wire(schemas[e.name]) for e in elements}
        stores = {e.name: self._store(e, wire_schemas[e.name]) for e in elements}
        sources = Sources.of(self.job, self.subjob, schemas, self.place.folder, self._surroundings)
        subjob = decided(self.job, self.subjob)
        core = instance_of(self.job, subjob, self.place.instance)
        spill = Spill(self.place.scratch / "shelf", self.subjob.queue.memory_bytes // SHELF_SHARE)
        context = Context(self.job, subjob, core, self._surroundings, address, inboxes, stores, spill)
        shell = Shell(context, sources)
        self._shell, self._serving.inboxes, self._serving.schemas = shell, inboxes, wire_schemas
        self._health.context = context
        for name, inbox in inboxes.items():
            output = partial(shell.outputs.on_output, name)
            self._queries.append(
                ElementQuery.start(spark, inbox, address, self.place.scratch / "queries", output)
            )
        context.story.state = State.WARMING_UP
        remote = self.subjob.spark.executors.instances > 0
        self._probe = Probe(self._failed_query, partial(tasks_running, spark) if remote else lambda: 0)
        self._probe.start()
        self._health.engine = EngineWatcher(context, inboxes, self._probe)
        warm_up(self.job, self.subjob, inboxes, self._surroundings, self._given_up)
        if self._given_up():
            return  # an instance that cannot run its query must not take the Lease
        self._serving.shell = shell
        context.story.state = State.READY
        shell.start()

    def _store(self, element: Element, schema: pa.Schema) -> Store:
        folder = self.place.scratch / "queues" / element.name
        bounds = self.subjob.queue
        return Store(schema, folder, bounds.memory_bytes, bounds.disk_bytes)

    def _watch(self) -> None:
        """Runs on the main thread, which never waits for the JVM: the JVM may hang."""
        while not self._given_up():
            self._stop.wait(LOOK_SECONDS)

    def _given_up(self) -> bool:
        """Whether a query has failed, Spark has stalled, the core has failed, or the process is to stop."""
        health, engine = self._health, self._health.engine
        if engine is not None and self._failure is None:
            engine.look()
            self._failure = engine.leaving(self._stand)
        self._failure = self._failure or (self._probe.failure if self._probe is not None else None)
        self._failure = self._failure or (health.context.story.error if health.context is not None else None)
        return self._failure is not None or self._stop.is_set()

    def _stand(self) -> Stand:
        """What this instance means for the subjob. Until the shell exists, no other process depends on it."""
        shell = self._serving.shell
        return shell.stand() if shell is not None else Stand(leads=False, covered=False, needed=False)

    def _thread_ended(self, ended: threading.ExceptHookArgs) -> None:
        """An unexpected error ended a thread. Without one of the VITAL threads an instance would only seem to
        work."""
        name = ended.thread.name if ended.thread is not None else ""
        log.error("thread ended", thread=name, error=repr(ended.exc_value), exc_info=ended.exc_value)
        if name in VITAL:
            self._failure = f"the thread {name} ended: {ended.exc_value!r}"

    def _failed_query(self) -> str | None:
        return next((error for query in self._queries if (error := query.failed())), None)

    def _close(self) -> None:
        """Leaves at once: consumers and peers notice the closed connections, and no other process needs the
        scratch folder. The JVM is killed, because one that hangs would not notice the end of its parent."""
        if self._shell is not None:
            self._shell.stop()
        kill_all(family(os.getpid())[1:])
        shutil.rmtree(self.place.scratch, ignore_errors=True)


def _on_wire(payload: pa.Schema) -> pa.Schema:
    return pa.schema([*WIRE_COLUMNS, *payload])


def leave(code: int) -> None:
    """Ends the process without waiting for Spark's own shutdown. Its JVM ends with it."""
    os._exit(code)
