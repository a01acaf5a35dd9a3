"""The operator's metrics: gauges of the jobs that it looks at, and counters of what it has recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)

from understudy.control.intents import Intent, PatchStatus, RecordIncident
from understudy.control.observed import Observed
from understudy.kubernetes.api import ApiError
from understudy.kubernetes.writes import Deposed, Outdated
from understudy.metrics.exposition import SampleCollector
from understudy.metrics.family import Family, Kind, Sample
from understudy.metrics.jobs import (
    JOB_FAMILIES,
    LEADER,
    RECONCILE,
    RECONCILE_ERRORS,
    JobSight,
    counts_of,
    drills_of,
    gauges_of,
    zeros_of,
)
from understudy.model.kinds import FailoverDrillStatus
from understudy.process.clock import steady_ms
from understudy.process.ports import Unreachable
from understudy.protocol.ids import Millis

# A job that was not looked at for so long is not known, as in `kubectl understudy status`
KNOWN_MS: Final = 180_000

Key = tuple[str, str]
Reconcile = Callable[[str, str], float | None]


class OperatorMetrics:
    """Called by the threads that reconcile, and by the thread of a scrape."""

    def __init__(self, leads: Callable[[], bool] = lambda: True) -> None:
        self._leads = leads
        self._jobs: dict[Key, tuple[Millis, JobSight]] = {}
        self._lock = threading.Lock()
        self.registry = CollectorRegistry()
        self.registry.register(SampleCollector(self._gauges))
        self._kept = {f: _metric(f, self.registry) for f in JOB_FAMILIES if _is_kept(f)}

    def serve(self, port: int, host: str = "0.0.0.0") -> WSGIServer:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        server, _ = start_http_server(port, host, self.registry)
        ProcessCollector(registry=self.registry)
        return server

    # ---- jobs

    def looked(self, seen: Observed, plan: Iterable[Intent]) -> None:
        """The gauges follow the newest status that was written."""
        written = [intent.status for intent in plan if isinstance(intent, PatchStatus)]
        run = seen.run
        sight = JobSight(
            namespace=seen.namespace,
            name=seen.name,
            status=written[-1] if written else seen.status,
            certificate_ends_ms=run.certificate_until_ms if run and run.certificate else None,
            certificate_lifetime_ms=seen.safeguards.certificate_ms,
        )
        with self._lock:
            self._jobs[sight.namespace, sight.name] = (steady_ms(), sight)
        self._add(zeros_of(sight))

    def did(self, seen: Observed, intent: Intent) -> None:
        """Called after the intent was carried out: what was recorded is counted once."""
        if isinstance(intent, RecordIncident):
            before = seen.incident(intent.name)
            known = before.status if before is not None else None
            self._add(counts_of(seen.namespace, intent.spec, intent.status, known))

    def forget(self, namespace: str, name: str) -> None:
        """Drops all series of a job that is gone."""
        with self._lock:
            self._jobs.pop((namespace, name), None)
        for family, metric in self._kept.items():
            if "streamjob" in family.labels:
                metric.remove_by_labels({"namespace": namespace, "streamjob": name})

    def drilled(
        self, namespace: str, job: str, before: FailoverDrillStatus, after: FailoverDrillStatus
    ) -> None:
        self._add(drills_of(namespace, job, before, after))

    def _gauges(self) -> Iterator[Sample]:
        yield LEADER.at(self._leads())
        if self._leads():
            with self._lock:
                known = [sight for at, sight in self._jobs.values() if steady_ms() - at < KNOWN_MS]
            for sight in known:
                yield from gauges_of(sight)

    # ---- looks

    def timed(self, kind: str, reconcile: Reconcile) -> Reconcile:
        """The same function, measured."""

        def measured(namespace: str, name: str) -> float | None:
            with self._reconciling(kind):
                return reconcile(namespace, name)

        return measured

    @contextmanager
    def _reconciling(self, kind: str) -> Iterator[None]:
        begun = steady_ms()
        try:
            yield
        except (Deposed, Outdated):
            raise  # not failures: another operator leads, or the look has to be repeated
        except Exception as error:
            self._add([RECONCILE_ERRORS.at(1, kind, _word(error))])
            raise
        finally:
            self._add([RECONCILE.at((steady_ms() - begun) / 1000, kind)])

    def _add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            metric = self._kept[sample.family].labels(*sample.labels)
            if isinstance(metric, Counter):
                metric.inc(sample.value)
            else:
                metric.observe(sample.value)


def _word(error: Exception) -> str:
    match error:
        case Unreachable():
            return "unreachable"
        case ApiError():
            return "refused"
        case _:
            return "defect"


def _is_kept(family: Family) -> bool:
    return family.kind is not Kind.GAUGE


def _metric(family: Family, registry: CollectorRegistry) -> Counter | Histogram:
    if family.kind is Kind.COUNTER:
        return Counter(family.name, family.help, family.labels, registry=registry)
    return Histogram(family.name, family.help, family.labels, registry=registry, buckets=family.buckets)
