"""The dashboards: their queries name what exists, and a real Prometheus answers each of them with data."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.control.jobs import job
from tests.control.world import World
from understudy.metrics.dashboards import DASHBOARDS, dashboard_files
from understudy.metrics.grafana import Dashboard, Panel, to_json
from understudy.process.http import StatusServer
from understudy.protocol.statuspage import Input, InstancePage, Queue, StatusPage

from .operators import Operator
from .pages import PRIMARY, SINK, STANDBY
from .prometheus import Prometheus, Target, scraping
from .promql import strangers
from .test_alerts import ALERTS, RULES

SCRAPES = 2
PATIENCE_SECONDS = 120

PANELS = [(board, panel) for board in DASHBOARDS for panel in board.panels]
each_panel = pytest.mark.parametrize(
    ("board", "panel"), PANELS, ids=lambda found: getattr(found, "title", "")
)


@each_panel
def test_a_panel_asks_for_metrics_and_labels_that_exist(board: Dashboard, panel: Panel) -> None:
    for query in panel.queries:
        assert not strangers(query.expr)
        named = set(re.findall(r"{{(\w+)}}", query.legend))
        grouped = re.findall(r"by \(([^)]*)\)", query.expr)
        assert not grouped or named <= set(re.split(", *", grouped[-1])), "the legend names lost labels"


def test_panels_do_not_overlap_and_have_titles_of_their_own() -> None:
    for board in DASHBOARDS:
        panels = to_json(board)["panels"]
        cells = [cell for panel in panels for cell in _cells(panel["gridPos"])]
        assert len(cells) == len(set(cells))
        assert len({panel.title for panel in board.panels}) == len(board.panels)
        assert len({panel["id"] for panel in panels}) == len(panels)


def _cells(place: dict[str, int]) -> Iterator[tuple[int, int]]:
    for x in range(place["x"], place["x"] + place["w"]):
        assert x < 24
        yield from ((x, y) for y in range(place["y"], place["y"] + place["h"]))


def test_the_files_are_json_with_every_query() -> None:
    for board, text in zip(DASHBOARDS, dashboard_files().values(), strict=True):
        found = [t["expr"] for panel in json.loads(text)["panels"] for t in panel.get("targets", ())]
        assert found == [query.expr for panel in board.panels for query in panel.queries]


# ---- a real Prometheus ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It has scraped an operator that has seen failures, and processes whose streams flow."""
    operator = Operator(World(job())).run_for(40)
    look = operator.metrics.timed("streamjobs", lambda namespace, name: 5.0)
    operator.scraped()
    metrics = operator.metrics.serve(0, "127.0.0.1")
    pages = [StatusServer("127.0.0.1", 0, flowing(page), lambda: True) for page in (PRIMARY, STANDBY, SINK)]
    targets = [Target(f"127.0.0.1:{metrics.server_port}", {"namespace": "system"})]
    targets += [Target(page.address, {"namespace": "apps"}) for page in pages]
    folder = tmp_path_factory.mktemp("prometheus")
    try:
        with scraping(folder, targets, ALERTS) as found:
            wait_for(found, "count_over_time(understudy_ready[5m]) >= 2")
            look("apps", "demo")
            wait_for(found, "understudy_reconcile_seconds_count >= 1")
            fail(operator)
            wait_for(found, "count_over_time(understudy_failovers_total[5m]) >= 2")  # its zero
            operator.clock.pass_a_minute()
            wait_for(found, "changes(understudy_failovers_total[5m]) >= 1")
            wait_for(found, f"count_over_time(understudy_degraded[5m]) >= {SCRAPES}")
            yield found
    finally:
        metrics.shutdown()
        metrics.server_close()
        for page in pages:
            page.stop()


def fail(operator: Operator) -> None:
    """A primary dies, and later the job is degraded; the cost of the next failure is known."""
    world = operator.world
    world.kill(world.primary("keep"))
    operator.run_for(40)
    world.full.add("keep")
    operator.run_for(2)
    cost = {"replaySeconds": 0.2, "replayTuples": 50, "lostTuples": 0}
    subjobs = [{**subjob, "ifItFailedNow": cost} for subjob in world.status["subjobs"]]
    operator.metrics.looked(replace(world.observe(), status={**world.status, "subjobs": subjobs}), ())


def flowing(page: StatusPage) -> Callable[[], StatusPage]:
    """The page of a process of the operator's job; its streams go on with the time."""
    begun = time.monotonic()

    def now() -> StatusPage:
        passed = round(100 * (time.monotonic() - begun))
        if not isinstance(page, InstancePage):
            return replace(page, job="demo", tuples=page.tuples + passed)
        inputs = {
            name: Input(at.position + passed, at.available + passed) for name, at in page.inputs.items()
        }
        outputs = {name: _later(queue, passed) for name, queue in page.outputs.items()}
        return replace(page, job="demo", inputs=inputs, outputs=outputs)

    return now


def _later(queue: Queue, passed: int) -> Queue:
    return replace(queue, next=queue.next + passed, trimmed=queue.trimmed + passed)


def wait_for(prometheus: Prometheus, expression: str) -> list[dict[str, Any]]:
    """The first answer with data: on a busy machine a scrape may come too late."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (series := prometheus.query(expression)):
        assert time.monotonic() < deadline, f"Prometheus never saw {expression}"
        time.sleep(0.2)
    return series


def asked(expression: str) -> str:
    """As Grafana asks it, with the variables of the dashboard."""
    values = {"$namespace": "apps", "$streamjob": "demo", "$__rate_interval": "5m"}
    for variable, value in values.items():
        expression = expression.replace(variable, value)
    return expression


@pytest.mark.prometheus
@each_panel
def test_no_panel_is_empty(board: Dashboard, panel: Panel, prometheus: Prometheus) -> None:
    for query in panel.queries:
        series = wait_for(prometheus, asked(query.expr))
        for label in re.findall(r"{{(\w+)}}", query.legend):
            assert any(label in found["metric"] for found in series), f"no {label} in {query.expr}"


@pytest.mark.prometheus
def test_the_figures_in_prometheus_are_those_of_the_pages_and_incidents(prometheus: Prometheus) -> None:
    def value(expression: str) -> float:
        (found,) = wait_for(prometheus, expression)
        return float(found["value"][1])

    assert value("sum(understudy_failovers_total)") == 1
    assert value('understudy_queue_bytes{streamjob="demo"}') == PRIMARY.outputs["beats"].bytes
    assert value("sum(irate(understudy_sink_tuples_written_total[5m]))") == pytest.approx(100, rel=0.5)
    assert value('increase(understudy_recovery_seconds_count{streamjob="demo"}[1h])') > 0, (
        "the first one of a series counts"
    )


@pytest.mark.prometheus
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_prometheus_parses_every_alert(rule: dict[str, Any], prometheus: Prometheus) -> None:
    prometheus.query(rule["expr"])


@pytest.mark.prometheus
def test_alerts_come_of_the_state_that_was_scraped_and_not_of_another(prometheus: Prometheus) -> None:
    wait_for(prometheus, 'ALERTS{alertname="UnderstudyEngineStalled",alertstate="firing"}')
    found = {found["metric"]["alertname"] for found in prometheus.query("ALERTS")}
    assert {"UnderstudyEngineStalled", "UnderstudySinkStalled", "UnderstudyDegraded"} <= found
    assert not found & {"UnderstudyTuplesLost", "UnderstudyJobNotReady", "UnderstudyDrillFailed"}


@pytest.mark.prometheus
def test_a_query_that_cannot_be_parsed_is_refused(prometheus: Prometheus) -> None:
    with pytest.raises(ValueError, match="parse error"):
        prometheus.query("sum(understudy_leads")


def test_the_generated_files_lie_where_the_chart_looks_for_them() -> None:
    root = Path(__file__).parents[3]
    for path, text in dashboard_files().items():
        assert (root / path).read_text() == text
