"""What a PromQL expression names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from understudy.metrics.family import Family, Kind
from understudy.metrics.jobs import JOB_FAMILIES
from understudy.metrics.pages import PAGE_FAMILIES

METRIC = re.compile(r"\bunderstudy_[a-z_]+\b")
GROUPING = re.compile(r"\bby \(([^)]*)\)")
MATCHER = re.compile(r"\{([^}]*)\}")

TARGET = frozenset({"namespace", "pod", "le"})
"""Labels that Prometheus knows of a target in Kubernetes, and the one of a histogram's buckets."""


def shown(families: Iterable[Family]) -> dict[str, Family]:
    """The names under which Prometheus stores the families."""
    found: dict[str, Family] = {}
    for family in families:
        parts = ("_bucket", "_count", "_sum") if family.kind is Kind.HISTOGRAM else ("",)
        found |= {family.name + part: family for part in parts}
    return found


KNOWN = shown((*PAGE_FAMILIES, *JOB_FAMILIES))


def metrics_in(expression: str) -> set[str]:
    return set(METRIC.findall(expression))


def labels_in(expression: str) -> set[str]:
    """Those by which it groups or selects."""
    grouped = {label.strip() for found in GROUPING.findall(expression) for label in found.split(",")}
    selected = {
        re.split("[=!]", part)[0] for found in MATCHER.findall(expression) for part in found.split(",")
    }
    return grouped | selected


def strangers(expression: str) -> set[str]:
    """Metrics that do not exist, and labels that none of its metrics has."""
    metrics = metrics_in(expression)
    assert metrics, f"{expression!r} names no metric"
    has = {label for name in metrics & KNOWN.keys() for label in KNOWN[name].labels}
    return (metrics - KNOWN.keys()) | (labels_in(expression) - has - TARGET)
