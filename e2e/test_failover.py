"""One job with tuples flowing all the while; its pods are killed one after the other, and nothing is lost.

The tests tell one story, in this order. The last ones compare every tuple that came out with what had to come
out.
"""

from __future__ import annotations

import sys

import pytest
from kubectl import PATIENCE, Job, Json, Namespace, name_of, node_of, run, until
from numbers_job import numbers_job
from prometheus_client.parser import text_string_to_metric_families
from story import (
    TAKE_OVER,
    assert_flowing,
    assert_right,
    standby_of,
    started,
    take_overs,
    wait_for_take_over,
    wait_until_protected,
)

NAME = "story"
RATE = 200
LIMIT = round(RATE * 160 * PATIENCE)


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, numbers_job(NAME, RATE, LIMIT), ("kept", "sums"))


def labelled_as_leased(job: Job, subjob: str) -> bool:
    primary, _ = job.lease(subjob)
    labels = {
        name_of(pod): pod["metadata"]["labels"]["understudy.dev/role"] for pod in job.pods(subjob=subjob)
    }
    return labels == {name: "primary" if name == primary else "secondary" for name in labels}


def shown_as_leased(job: Job, subjob: str) -> bool:
    shown = job.subjob(subjob)
    return (shown["currentPrimary"], shown["epoch"]) == job.lease(subjob)


# ---- all is well -----------------------------------------------------------------------------------------


def test_a_ready_job_is_protected_and_its_pairs_are_on_different_nodes(job: Job) -> None:
    assert job.is_true("Accepted")
    assert job.is_true("Protected")
    for subjob in ("keep", "sums"):
        pods = job.pods(subjob=subjob)
        assert len(pods) == len({node_of(pod) for pod in pods}) == 2
        roles = sorted(pod["metadata"]["labels"]["understudy.dev/role"] for pod in pods)
        assert roles == ["primary", "secondary"]
    status = job.status()
    figures = {"subjobs": "2/2", "protected": "2/2", "guarantee": "precise", "attention": ""}
    assert {name: status["summary"][name] for name in figures} == figures
    assert {subjob["mode"] for subjob in status["subjobs"]} == {"passiveStandby"}


def test_prometheus_reads_the_same_on_pods_and_operators(job: Job, operator: Namespace) -> None:
    primary, epoch = job.lease("keep")
    figures = samples(job.metrics(primary))
    assert figures["understudy_leads"] == [1]
    assert figures["understudy_epoch"] == [epoch]
    assert figures["understudy_tuples_in_total"][0] > 0
    assert "understudy_sink_tuples_written_total" in samples(job.metrics(f"{NAME}-sink-kept"))
    shown = until("the operator that leads knows the job", lambda: metrics_of_leader(operator), 30)
    assert 1 in shown["understudy_protected"]


def metrics_of_leader(operator: Namespace) -> dict[str, list[float]] | None:
    """Of the only one that leads and shows jobs; one that starts or ends may not answer."""
    pods = operator.list("pods", "app.kubernetes.io/name=understudy-operator")
    try:
        found = [samples(operator.metrics(name_of(pod), 8081)) for pod in pods]
    except AssertionError:
        return None
    leaders = [figures for figures in found if figures["understudy_leader"] == [1]]
    return leaders[0] if len(leaders) == 1 and "understudy_protected" in leaders[0] else None


def samples(text: str) -> dict[str, list[float]]:
    """Metric → the values of its series."""
    values: dict[str, list[float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            values.setdefault(sample.name, []).append(sample.value)
    return values


def test_kubectl_get_shows_at_a_glance_whether_the_job_is_safe(job: Job) -> None:
    heads, row = job.namespace.kubectl("get", "sj", NAME).splitlines()
    assert heads.split() == ["NAME", "READY", "SUBJOBS", "PROTECTED", "GUARANTEE", "LAST-FAILOVER", "AGE"]
    assert row.split()[:5] == [NAME, "True", "2/2", "2/2", "precise"]
    wide = job.namespace.kubectl("get", "sj", NAME, "-o", "wide").splitlines()[0].split()
    assert wide[7:] == ["PHASE", "RECOVERY", "OBJECTIVE", "IF-IT-FAILED-NOW", "ATTENTION"]


def test_the_plugin_says_that_it_is_safe(job: Job) -> None:
    plugin = [
        sys.executable,
        "-m",
        "understudy.cli.plugin",
        "status",
        NAME,
        "--namespace",
        job.namespace.name,
    ]
    assert f"{job.namespace.name}/{NAME}: SAFE" in run(*plugin)


def test_pods_are_restricted_and_may_touch_only_their_own_leases(job: Job) -> None:
    account = f"system:serviceaccount:{job.namespace.name}:understudy-{NAME}"
    for pod in job.pods():
        assert pod["spec"]["serviceAccountName"] == f"understudy-{NAME}"
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    allowed = job.namespace.kubectl("auth", "can-i", "--list", "--as", account)
    assert f"{NAME}-keep" in allowed
    assert "pods" not in allowed
    assert "secrets" not in allowed


# ---- kills -----------------------------------------------------------------------------------------------


def test_a_killed_primary_is_taken_over_from(job: Job) -> None:
    primary, epoch = job.lease("keep")
    standby = standby_of(job, "keep")
    assert_flowing(job)
    job.namespace.kill(primary)
    assert wait_for_take_over(job, "keep", primary, epoch) == standby
    assert_flowing(job)
    shown = until(
        "the status shows the new primary",
        lambda: (
            s
            if (s := job.subjob("keep")).get("currentPrimary") == standby and s.get("lastFailover")
            else None
        ),
        TAKE_OVER,
    )
    assert shown["epoch"] > epoch
    assert shown["lastFailover"]["to"] == standby
    assert "FailoverCompleted" in job.events()


def test_a_new_standby_comes_up_on_another_node_and_labels_follow(job: Job) -> None:
    wait_until_protected(job)
    pods = job.pods(subjob="keep")
    assert len({node_of(pod) for pod in pods}) == 2
    until("labels follow the Lease", lambda: labelled_as_leased(job, "keep"), TAKE_OVER)


def test_the_take_over_left_an_incident_with_its_steps(job: Job) -> None:
    def complete() -> Json | None:
        found = [i for i in take_overs(job) if i["spec"]["class"] == "permanent"]
        return next((i for i in found if "reprotected" in i.get("status", {})), None)

    incident = until("the incident is complete", complete, TAKE_OVER)
    assert incident["spec"]["subjob"] == "keep"
    steps = ("detected", "fenced", "promoted", "firstOutput", "reprotected")
    times = [incident["status"][step] for step in steps]
    assert times == sorted(times)
    assert incident["status"]["lost"] == 0
    print(f"recovery: {incident['status']['recoverySeconds']} s")


def test_a_refused_edit_leaves_the_job_running_and_says_why(job: Job) -> None:
    broken = numbers_job(NAME, RATE, LIMIT)
    broken["spec"]["subjobs"][1]["inputs"] = ["nowhere"]
    pods = {name_of(pod) for pod in job.pods()}
    job.namespace.apply(broken)
    until("the edit is refused", lambda: job.condition("Accepted").get("status") == "False", 30)
    assert "nowhere" in job.condition("Accepted")["message"]
    assert job.is_true("Ready")
    assert_flowing(job)
    assert {name_of(pod) for pod in job.pods()} == pods
    job.namespace.apply(numbers_job(NAME, RATE, LIMIT))
    until("the old manifest is accepted again", lambda: job.is_true("Accepted"), 30)
    assert {name_of(pod) for pod in job.pods()} == pods


def test_a_second_kill_is_taken_over_from_while_there_is_no_operator(job: Job, operator: Namespace) -> None:
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    operator.kubectl("scale", "deployment/understudy", "--replicas=0")
    until("the operator is gone", lambda: not operator.list("pods"), 60)
    assert_flowing(job)
    job.namespace.kill(primary)
    wait_for_take_over(job, "keep", primary, epoch)
    assert_flowing(job)
    assert_flowing(job, "sums")
    assert len(job.pods(subjob="keep")) == 1, "nobody replaces it while there is no operator"


def test_the_operator_comes_back_and_makes_good_what_it_missed(job: Job, operator: Namespace) -> None:
    operator.kubectl("scale", "deployment/understudy", "--replicas=2")
    until("a second instance", lambda: len(job.pods(subjob="keep")) == 2, 60)
    wait_until_protected(job)
    until("the status shows who leads", lambda: shown_as_leased(job, "keep"), TAKE_OVER)
    until("labels follow the Lease", lambda: labelled_as_leased(job, "keep"), TAKE_OVER)


def test_a_killed_sink_goes_on_where_it_stopped(job: Job) -> None:
    before = job.written("sums")
    old = job.pods(sink="sums")[0]["metadata"]["uid"]
    job.namespace.kill(f"{NAME}-sink-sums")
    until("another pod", lambda: [p for p in job.pods(sink="sums") if p["metadata"]["uid"] != old], 60)
    until(f"more than {before} tuples in sums", lambda: job.written("sums") > before, 60)


# ---- the end ---------------------------------------------------------------------------------------------


def test_the_job_completes(job: Job) -> None:
    until("phase Completed", lambda: job.status()["phase"] == "Completed", LIMIT / RATE + 120, every=2)
    until("only the sinks' pods are left", lambda: len(job.pods()) == 2, 60)
    assert {pod["status"]["phase"] for pod in job.pods()} == {"Succeeded"}
    assert "Completed" in job.events()


@pytest.mark.parametrize("sink", ["kept", "sums"])
def test_every_tuple_came_out_once_and_in_order(job: Job, sink: str) -> None:
    assert_right(job, sink, LIMIT)


def test_delete_removes_every_object(job: Job) -> None:
    job.namespace.kubectl("delete", "sj", NAME)
    kinds = "pods,services,configmaps,leases,serviceaccounts,roles,rolebindings,incidents"
    until(
        "everything of the job is gone",
        lambda: not job.namespace.list(kinds, f"understudy.dev/job={NAME}"),
        60,
    )
