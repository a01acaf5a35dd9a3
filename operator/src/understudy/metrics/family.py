"""A metric family as a value: its name, its meaning, its labels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    """As Prometheus shows it: the name of a counter ends with `_total`."""
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Of a histogram: upper bounds, without the infinite one."""

    def at(self, value: float, *labels: str) -> Sample:
        if len(labels) != len(self.labels):
            raise ValueError(f"{self.name} has the labels {self.labels}, not {labels}")
        return Sample(self, labels, value)


@dataclass(frozen=True, slots=True)
class Sample:
    family: Family
    labels: tuple[str, ...]
    value: float


def gauge(name: str, help: str, *labels: str) -> Family:
    return Family(name, Kind.GAUGE, help, labels)


def counter(name: str, help: str, *labels: str) -> Family:
    return Family(name, Kind.COUNTER, help, labels)


def histogram(name: str, help: str, *labels: str, buckets: tuple[float, ...]) -> Family:
    return Family(name, Kind.HISTOGRAM, help, labels, buckets)


def families_in(namespace: dict[str, object]) -> tuple[Family, ...]:
    """The families that a module defines, in their order."""
    return tuple(value for value in namespace.values() if isinstance(value, Family))
