"""Alerts fire when they should, name what exists, and lead to a section that exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from .promql import strangers

CHECKOUT = Path(__file__).parents[3]
ALERTS = CHECKOUT / "charts" / "understudy" / "files" / "alerts.yaml"
SERIES = Path(__file__).parent / "series" / "alerts_test.yaml"
MONITORING = CHECKOUT / "docs" / "operations" / "monitoring.md"

RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]
]
by_name = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])


def anchors(markdown: str) -> set[str]:
    """The sections of a page, as GitHub names them."""
    titles = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@by_name
def test_an_alert_has_a_severity_a_sentence_and_a_runbook_that_exists(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert notes["description"].endswith(".")
    page, _, anchor = notes["runbook_url"].partition("#")
    assert page == "docs/operations/runbooks.md"
    assert anchor in anchors((CHECKOUT / page).read_text())


@by_name
def test_an_alert_asks_for_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    assert not strangers(rule["expr"])


@by_name
def test_an_alert_names_only_labels_that_it_groups_by(rule: dict[str, Any]) -> None:
    used = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    grouped = re.search(r"by \(([^)]*)\)", rule["expr"])
    assert used <= set(re.split(", *", grouped[1]) if grouped else ())


@by_name
def test_an_alert_fires_in_some_test_and_is_silent_in_another(rule: dict[str, Any]) -> None:
    told = [case for test in yaml.safe_load(SERIES.read_text())["tests"] for case in test["alert_rule_test"]]
    cases = [case["exp_alerts"] for case in told if case["alertname"] == rule["alert"]]
    assert any(cases)
    assert not all(cases)


@by_name
def test_the_page_on_monitoring_lists_the_alert(rule: dict[str, Any]) -> None:
    assert f"| {rule['alert']} | {rule['labels']['severity']} |" in MONITORING.read_text()


def test_a_name_that_does_not_exist_is_found() -> None:
    assert strangers("sum by (subject) (rate(understudy_tuples_in_total[5m]))") == {"subject"}
    assert strangers('understudy_tuples_in{stream="a"}') == {"understudy_tuples_in", "stream"}


@pytest.mark.prometheus
def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    promtool("check", "rules", str(ALERTS))


@pytest.mark.prometheus
def test_promtool_sees_each_alert_fire_on_its_series_and_on_no_others() -> None:
    promtool("test", "rules", str(SERIES))


def promtool(*arguments: str) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
