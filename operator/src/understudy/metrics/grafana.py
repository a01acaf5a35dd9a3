"""A Grafana dashboard as a value, and as the JSON that Grafana reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

WIDTH: Final = 24  # of Grafana's grid

Json = dict[str, Any]


class Kind(StrEnum):
    NUMBER = "stat"
    LINES = "timeseries"
    TABLE = "table"


class Unit(StrEnum):
    COUNT = "short"
    SECONDS = "s"
    BYTES = "bytes"
    BYTES_PER_SECOND = "Bps"
    PER_SECOND = "ops"
    YES_NO = "bool_yes_no"


@dataclass(frozen=True, slots=True)
class Query:
    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    about: str
    queries: tuple[Query, ...]
    unit: Unit = Unit.COUNT
    kind: Kind = Kind.LINES

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return (4, 4) if self.kind is Kind.NUMBER else (12, 8)


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    title: str
    rows: Mapping[str, Sequence[Panel]]
    """Title → panels."""
    of_job: bool = False

    @property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(panel for row in self.rows.values() for panel in row)


def number(title: str, about: str, expr: str, unit: Unit = Unit.COUNT) -> Panel:
    return Panel(title, about, (Query(expr),), unit, Kind.NUMBER)


def lines(title: str, about: str, *queries: tuple[str, str], unit: Unit = Unit.COUNT) -> Panel:
    return Panel(title, about, tuple(Query(*query) for query in queries), unit)


def table(title: str, about: str, expr: str) -> Panel:
    return Panel(title, about, (Query(expr),), kind=Kind.TABLE)


# ---- as Grafana reads it ---------------------------------------------------------------------------------

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def to_json(dashboard: Dashboard) -> Json:
    return {
        "uid": f"understudy-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["understudy"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _variables(dashboard)},
        "panels": list(_placed(dashboard)),
    }


def _variables(dashboard: Dashboard) -> list[Json]:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
    if not dashboard.of_job:
        return [source]
    jobs = 'understudy_ready{namespace="$namespace"}'
    return [
        source,
        _variable("namespace", "Namespace", "label_values(understudy_ready, namespace)"),
        _variable("streamjob", "StreamJob", f"label_values({jobs}, streamjob)"),
    ]


def _variable(name: str, label: str, query: str) -> Json:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": query,
        "refresh": 2,
        "sort": 1,
    }


def _placed(dashboard: Dashboard) -> Iterator[Json]:
    """The panels, from left to right and from top to bottom."""
    number = y = 0
    for title, panels in dashboard.rows.items():
        number += 1
        yield {"id": number, "type": "row", "title": title, "gridPos": _at(0, y, WIDTH, 1), "panels": []}
        y, x, height = y + 1, 0, 0
        for panel in panels:
            width, tall = panel.size
            if x + width > WIDTH:
                y, x, height = y + height, 0, 0
            number += 1
            yield {"id": number, "gridPos": _at(x, y, width, tall), **_panel(panel)}
            x, height = x + width, max(height, tall)
        y += height


def _at(x: int, y: int, width: int, height: int) -> Json:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel) -> Json:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "targets": [_target(panel, n, query) for n, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}} if panel.kind is Kind.NUMBER else {},
    }


def _target(panel: Panel, number: int, query: Query) -> Json:
    target = {
        "refId": chr(ord("A") + number),
        "datasource": _SOURCE,
        "expr": query.expr,
        "legendFormat": query.legend,
    }
    return target | ({"format": "table", "instant": True} if panel.kind is Kind.TABLE else {})
