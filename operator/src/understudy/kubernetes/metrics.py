"""The operator's metrics: gauges of the jobs that it looks at, and counters of what it has recorded.

Prometheus' `increase()` counts only what grows while it looks: of a series that begins with 1, it sees
nothing. So a new series shows 0 for FIRST_MS before it grows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    JOB_LABELS,
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
FIRST_MS: Final = 60_000  # longer than most scrape intervals

Key = tuple[str, str]
Reconcile = Callable[[str, str], float | None]


@dataclass(frozen=True, slots=True)
class Series:
    family: Family
    labels: tuple[str, ...]

    @classmethod
    def of(cls, sample: Sample) -> Series:
        return cls(sample.family, sample.labels)


class OperatorMetrics:
    """Called by the threads that reconcile, and by the thread of a scrape."""

    def __init__(
        self, leads: Callable[[], bool] = lambda: True, now: Callable[[], Millis] = steady_ms
    ) -> None:
        self._leads, self._now = leads, now
        self._jobs: dict[Key, tuple[Millis, JobSight]] = {}
        self._since: dict[Series, Millis] = {}
        self._held: list[Sample] = []
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
            self._jobs[sight.namespace, sight.name] = (self._now(), sight)
        self._add(zeros_of(sight))

    def did(self, seen: Observed, intent: Intent) -> None:
        """Called after the intent was carried out: what was recorded is counted once."""
        if isinstance(intent, RecordIncident):
            before = seen.incident(intent.name)
            known = before.status if before is not None else None
            self._add(counts_of(seen.namespace, intent.spec, intent.status, known))

    def forget(self, namespace: str, name: str) -> None:
        """Drops all series of a job that is gone."""
        job = (namespace, name)
        with self._lock:
            self._jobs.pop(job, None)
            self._held = [sample for sample in self._held if _job_of(sample) != job]
            self._since = {series: at for series, at in self._since.items() if _job_of(series) != job}
            for family, metric in self._kept.items():
                if family.labels[:2] == JOB_LABELS:
                    metric.remove_by_labels(dict(zip(JOB_LABELS, job, strict=True)))

    def drilled(
        self, namespace: str, job: str, before: FailoverDrillStatus, after: FailoverDrillStatus
    ) -> None:
        self._add(drills_of(namespace, job, before, after))

    def _gauges(self) -> Iterator[Sample]:
        """The registry asks for them before it reads the counters."""
        self._release()
        yield LEADER.at(self._leads())
        if self._leads():
            with self._lock:
                known = [sight for at, sight in self._jobs.values() if self._now() - at < KNOWN_MS]
            for sight in known:
                yield from gauges_of(sight)

    # ---- looks

    def timed(self, kind: str, reconcile: Reconcile) -> Reconcile:
        """The same function, measured."""
        self._add(RECONCILE_ERRORS.at(0, kind, word) for word in ("unreachable", "refused", "defect"))

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
            self._grow(RECONCILE.at((steady_ms() - begun) / 1000, kind))

    # ---- counters

    def _add(self, samples: Iterable[Sample]) -> None:
        """A sample of 0 only makes its series."""
        self._release()
        with self._lock:
            for sample in samples:
                self._kept[sample.family].labels(*sample.labels)
                self._since.setdefault(Series.of(sample), self._now())
                if sample.value:
                    self._held.append(sample)

    def _release(self) -> None:
        """Adds what is held back to the series that have shown their zero for long enough."""
        with self._lock:
            held, self._held = self._held, []
            for sample in held:
                if self._now() - self._since[Series.of(sample)] >= FIRST_MS:
                    self._grow(sample)
                else:
                    self._held.append(sample)

    def _grow(self, sample: Sample) -> None:
        metric = self._kept[sample.family].labels(*sample.labels)
        if isinstance(metric, Counter):
            metric.inc(sample.value)
        else:
            metric.observe(sample.value)


def _job_of(found: Sample | Series) -> Key | None:
    return (found.labels[0], found.labels[1]) if found.family.labels[:2] == JOB_LABELS else None


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
