"""Samples in the formats that Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from understudy.metrics.family import Family, Kind, Sample
from understudy.metrics.pages import samples_of
from understudy.protocol.statuspage import StatusPage


class SampleCollector(Collector):
    """Asks for the samples at each scrape. Histograms are not made of samples."""

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        found: dict[Family, list[Sample]] = {}
        for sample in self._samples():
            found.setdefault(sample.family, []).append(sample)
        for family, samples in found.items():
            yield _metric(family, samples)


def _metric(family: Family, samples: Iterable[Sample]) -> Metric:
    kind = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = kind(family.name, family.help, labels=family.labels)
    for sample in samples:
        metric.add_metric(sample.labels, sample.value)
    return metric


def exposition(page: StatusPage, accept: str = "") -> tuple[bytes, str]:
    """The metrics of the page, and their content type. `accept`: the header of the request."""
    registry = CollectorRegistry()
    registry.register(SampleCollector(lambda: samples_of(page)))
    encode, kind = choose_encoder(accept)
    return encode(registry), kind
