"""Watches this instance's engine: a thread probes the JVM, the calls of the queries are counted, and /proc
shows the processor time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from statistics import median

import structlog

from understudy.engine.inbox import Inbox
from understudy.instance.context import Context
from understudy.modes.build import millis
from understudy.process.clock import now_ms, steady_ms
from understudy.process.family import family, name_of, stopped, time_used, time_waited
from understudy.protocol.engine import (
    JVM,
    PATIENCE,
    EngineWatch,
    Signs,
    Stand,
    default_timeout,
    leaves,
    longest,
)
from understudy.protocol.ids import Millis
from understudy.protocol.statuspage import Activity, Engine, State

log = structlog.get_logger()
PROBE_SECONDS = 0.2
# after so long without a sign, the kernel is asked who waits for the processor, which takes a while
QUIET_MS = 500
FAMILY_MS = 5_000  # between two looks at which processes belong to the engine
# the same while the engine gives no sign: a Python worker that has just started may be doing the work
QUIET_FAMILY_MS = 1_000
GRACE_MS = 2_000  # time in which the standby of a stalled primary takes the Lease


class Probe(threading.Thread):
    """Probes the JVM again and again, and blocks if the JVM hangs. `ask` returns why a query has failed, if
    one has; `count` returns how many tasks run on executors."""

    def __init__(self, ask: Callable[[], str | None], count: Callable[[], int] = lambda: 0) -> None:
        super().__init__(name="engine-probe", daemon=True)
        self._ask, self._count = ask, count
        self.answers = self.tasks = 0
        self.failure: str | None = None

    def run(self) -> None:
        while self.failure is None:
            self.failure = self._asked()
            self.answers += 1
            time.sleep(PROBE_SECONDS)

    def _asked(self) -> str | None:
        try:
            self.tasks = self._count()
            return self._ask()
        except Exception as error:  # py4j raises various exceptions when the other end of its socket is gone
            return f"the JVM is gone: {error}"


class EngineWatcher:
    """Decides whether the engine has stalled. `look` is called a few times a second by the main thread of the
    process, which never waits for the JVM."""

    def __init__(self, context: Context, inboxes: Mapping[str, Inbox], probe: Probe) -> None:
        self._context, self._inboxes, self._probe = context, inboxes, probe
        self._watch = EngineWatch(remote=context.subjob.spark.executors.instances > 0)
        self._since: Millis | None = None  # when the stall was detected
        self._engine: list[int] = []  # the JVM and its Python workers
        self._listed = Millis(0)

    def look(self) -> None:
        now, quiet = steady_ms(), self._watch.quiet_ms >= QUIET_MS
        if now - self._listed >= (QUIET_FAMILY_MS if quiet else FAMILY_MS):
            self._list(now)
        looked = self._looked(now)
        if looked.stalled is not None and self._watch.stalled is None and self._listed != now:
            self._list(now)
            looked = self._looked(now)
        self._watch = looked
        self._tell(now)

    def _list(self, now: Millis) -> None:
        self._engine, self._listed = family(os.getpid())[1:], now

    def _looked(self, now: Millis) -> EngineWatch:
        waited = time_waited(self._engine) if self._watch.quiet_ms >= QUIET_MS else None
        counts = {JVM: self._probe.answers, **{name: inbox.steps for name, inbox in self._inboxes.items()}}
        idle = frozenset(name for name, inbox in self._inboxes.items() if inbox.keeps_waiting)
        batches = {name: inbox.begun for name, inbox in self._inboxes.items()}
        used, pid = time_used(self._engine), stopped(self._engine)
        who = f"{name_of(pid)} (process {pid})" if pid is not None else None
        signs = Signs(counts, idle, used, batches, waited, self._probe.tasks, who)
        return self._watch.look(now, signs, self.timeout_ms, longest(self._median_ms, self.timeout_ms))

    def _tell(self, now: Millis) -> None:
        why = self._watch.stalled
        if why is not None and self._since is None:
            log.error("engine stalled", why=why, timeout=self.timeout_ms)
            self._since = now
        elif why is None and self._since is not None:
            log.warning("engine works again")
            self._since = None
        self._context.story.engine_stalled, self._context.story.engine_quiet_ms = why, self._watch.quiet_ms

    @property
    def timeout_ms(self) -> int:
        """The engine timeout. It is longer during the warm-up: a cold Spark is slower, and no instance
        depends on it yet."""
        said = self._context.subjob.ha.engine_timeout
        usual = millis(said) if said is not None else default_timeout(self._median_ms)
        return usual * (PATIENCE if self._context.story.state is State.WARMING_UP else 1)

    @property
    def _median_ms(self) -> float | None:
        lately = self._context.story.batch_ms
        return median(lately) if lately else None

    def leaving(self, stand: Callable[[], Stand]) -> str | None:
        """Why the process has to end; None while it may continue."""
        why, since, now = self._watch.stalled, self._since, self._watch.looked
        if why is None or since is None or now is None or not leaves(stand(), now - since, GRACE_MS):
            return None
        return f"the engine stands still: {why}"

    def status(self) -> Engine:
        """The engine's part of the status page."""
        watch = self._watch
        idle = all(inbox.keeps_waiting for inbox in self._inboxes.values())
        state = Activity.STALLED if watch.stalled else Activity.IDLE if idle else Activity.WORKING
        since = now_ms() - watch.quiet_ms if watch.stalled else None
        return Engine(state, watch.stalled, since, watch.quiet_ms, self.timeout_ms)
