"""The chart says the same as the model, and helm accepts it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from understudy.control import names
from understudy.kubernetes.settings import OperatorPods, PodSettings
from understudy.model.allowed import NOTHING_MORE, Allowed

pytestmark = pytest.mark.helm

CHECKOUT = Path(__file__).parents[3]
CHART = CHECKOUT / "charts" / "understudy"


def helm() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "understudy" / "bin"
    found = shutil.which("helm") or next((str(path) for path in sorted(cache.glob("*/helm"))), None)
    assert found, "no helm, neither on PATH nor beside the cluster's programs: e2e/cluster/build makes it"
    return found


def rendered(*arguments: str) -> list[dict[str, Any]]:
    command = [helm(), "template", "understudy", str(CHART), "--kube-version", "1.35.0", *arguments]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [found for found in yaml.safe_load_all(text) if found]


def test_what_is_generated_is_up_to_date() -> None:
    subprocess.run([sys.executable, str(CHECKOUT / "charts" / "generate.py"), "--check"], check=True)


def test_helm_finds_nothing_wrong() -> None:
    subprocess.run([helm(), "lint", "--strict", str(CHART)], check=True, capture_output=True)


def test_the_crds_are_the_generated_ones_and_stay_when_the_chart_goes() -> None:
    for crd in [found for found in rendered() if found["kind"] == "CustomResourceDefinition"]:
        source = CHECKOUT / "crds" / f"{crd['spec']['names']['plural']}.yaml"
        assert crd["metadata"].pop("annotations")["helm.sh/resource-policy"] == "keep"
        original = yaml.safe_load(source.read_text())
        original["metadata"].pop("annotations", None)
        assert crd == original


def test_the_operator_reads_the_settings_that_the_chart_writes() -> None:
    (deployment,) = [found for found in rendered("--set", "image.tag=v9") if found["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    settings = PodSettings.from_json(json.loads(str(env["UNDERSTUDY_PODS"])))
    assert settings == PodSettings(
        image="localhost/understudy:v9",
        disruption_budgets=True,
        network_policies=True,
        operator=OperatorPods("default", deployment["spec"]["selector"]["matchLabels"]),
        mutual_tls=True,
    )
    assert env["UNDERSTUDY_ELECTION"] == "understudy"
    assert {"POD_NAME", "POD_NAMESPACE"} <= set(env)


def monitoring(*arguments: str) -> dict[str, dict[str, Any]]:
    """The objects that are only for Prometheus and Grafana."""
    found = rendered(*arguments)
    return {
        o["kind"]: o
        for o in found
        if o["apiVersion"].startswith("monitoring.") or o["kind"] in ("Service", "ConfigMap")
    }


def test_nothing_that_needs_the_prometheus_operator_is_made_unless_it_is_asked_for() -> None:
    assert monitoring() == {}
    (deployment,) = [found for found in rendered() if found["kind"] == "Deployment"]
    assert "annotations" not in deployment["spec"]["template"]["metadata"]


def test_monitors_find_the_pods_of_jobs_and_the_operators_by_ports_that_they_have() -> None:
    switches = "metrics.podMonitor.enabled=true,metrics.serviceMonitor.enabled=true,watchNamespaces={a,b}"
    found = monitoring("--set", switches, "--set", "metrics.podMonitor.labels.release=prom")
    assert found.keys() == {"PodMonitor", "ServiceMonitor", "Service"}
    pods = found["PodMonitor"]
    assert pods["metadata"]["labels"]["release"] == "prom"
    assert pods["spec"]["namespaceSelector"] == {"matchNames": ["a", "b"]}
    assert pods["spec"]["selector"]["matchExpressions"] == [{"key": names.JOB, "operator": "Exists"}]
    (endpoint,) = pods["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"], endpoint["honorLabels"]) == ("status", "/metrics", True)
    (deployment,) = [o for o in rendered() if o["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    (port,) = found["Service"]["spec"]["ports"]
    assert str(ports[port["targetPort"]]) == env["UNDERSTUDY_METRICS_PORT"] == str(port["port"])
    selector = found["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert selector.items() <= found["Service"]["metadata"]["labels"].items()


def test_the_rules_are_those_of_the_file_with_links_to_the_runbooks_that_were_named() -> None:
    where = "https://wiki.example/runbooks.md"
    switches = f"metrics.rules.enabled=true,metrics.rules.runbooks={where}"
    made = monitoring("--set", switches)["PrometheusRule"]["spec"]
    text = (CHART / "files" / "alerts.yaml").read_text()
    assert made == yaml.safe_load(text.replace("docs/operations/runbooks.md", where))
    assert where in str(made)


def test_each_dashboard_is_a_config_map_that_the_sidecar_finds() -> None:
    found = [o for o in rendered("--set", "metrics.dashboards.enabled=true") if o["kind"] == "ConfigMap"]
    texts: dict[str, str] = {}
    for config_map in found:
        assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
        texts |= {name.removeprefix("understudy-"): text for name, text in config_map["data"].items()}
    assert texts == {p.name: p.read_text() for p in (CHART / "files" / "dashboards").glob("*.json")}
    assert len(texts) == 2


def test_annotations_lead_a_prometheus_without_an_operator_to_operators_and_pods() -> None:
    more = ("--set", "metrics.annotations=true,operator.podAnnotations.mine=yes")
    (deployment,) = [o for o in rendered(*more) if o["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    assert template["metadata"]["annotations"] == {
        "mine": "yes",
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "8081",
        "prometheus.io/path": "/metrics",
    }
    env = {entry["name"]: entry.get("value") for entry in template["spec"]["containers"][0]["env"]}
    assert PodSettings.from_json(json.loads(str(env["UNDERSTUDY_PODS"]))).scrape_annotations


def test_only_probes_and_scrapes_reach_the_operator() -> None:
    (policy,) = [o for o in rendered() if o["kind"] == "NetworkPolicy"]
    (rule,) = policy["spec"]["ingress"]
    assert {port["port"] for port in rule["ports"]} == {"health", "metrics"}


def test_values_of_an_older_chart_are_enough() -> None:
    """`helm upgrade --reuse-values` has no values that are new."""
    assert [o["kind"] for o in rendered("--set", "metrics=null")] == [o["kind"] for o in rendered()]


def test_the_chart_allows_nothing_by_itself_and_what_its_values_name() -> None:
    def allowed(*values: str) -> Allowed:
        arguments = [part for value in values for part in ("--set", value)]
        (deployment,) = [found for found in rendered(*arguments) if found["kind"] == "Deployment"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        env = {entry["name"]: entry.get("value") for entry in container["env"]}
        return PodSettings.from_json(json.loads(str(env["UNDERSTUDY_PODS"]))).allowed

    assert allowed() == NOTHING_MORE
    assert allowed(
        "jobs.allow.volumes={nfs}",
        "jobs.allow.hostPaths={/data,/srv/out}",
        "jobs.allow.csiDrivers={files.example}",
        "jobs.allow.jobTemplates=true",
        "jobs.allow.sparkSettings={spark.hadoop.*}",
    ) == Allowed(
        volumes=frozenset({"nfs"}),
        host_paths=("/data", "/srv/out"),
        csi_drivers=frozenset({"files.example"}),
        job_templates=True,
        spark_settings=frozenset({"spark.hadoop.*"}),
    )


def test_two_operators_run_apart_and_a_drain_leaves_one() -> None:
    found = rendered()
    (deployment,) = [o for o in found if o["kind"] == "Deployment"]
    (budget,) = [o for o in found if o["kind"] == "PodDisruptionBudget"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"] == {"minAvailable": 1, "selector": deployment["spec"]["selector"]}
    assert "podAntiAffinity" in deployment["spec"]["template"]["spec"]["affinity"]
    assert not [o for o in rendered("--set", "operator.replicas=1") if o["kind"] == "PodDisruptionBudget"]


def test_the_operators_pod_fits_the_restricted_profile() -> None:
    (deployment,) = [o for o in rendered() if o["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_with_namespaces_given_the_operator_has_no_rights_elsewhere() -> None:
    found = rendered(
        "--set", "watchNamespaces={a,b}", "--set", "rbac.readNodes=false", "--set", "rbac.aggregate=false"
    )
    assert not [o for o in found if o["kind"].startswith("ClusterRole")]
    assert sorted(o["metadata"]["namespace"] for o in found if o["kind"] == "RoleBinding") == [
        "a",
        "b",
        "default",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        "image.tga=x",
        "operator.replicas=many",
        "watchNamespaces={A_b}",
        "jobs.allow.volumes={secret}",
        "jobs.allow.hostPaths={data}",
        "metrics.podMonitor.interval=often",
    ],
)
def test_values_that_mean_nothing_are_refused(wrong: str) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        rendered("--set", wrong)
